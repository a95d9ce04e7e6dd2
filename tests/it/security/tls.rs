//! Untrusted certificates: nothing is sent to the server that shows one, the run says whose it is and what to do, and
//! with the right authority the campaign completes. The authorities are made for each test.

use super::{
    outcomes,
    wire::{Answer, Wire, clear},
    world,
};
use crate::support::{
    program::{Said, rescreen},
    ran::results,
    world::World,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rescreen::model::{ExitCode, Stop, state::State};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use std::sync::Arc;

/// A certificate authority made for a test.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        let base64 = STANDARD.encode(self.0.der());
        let lines: Vec<&str> = base64.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
    }

    /// A service with a certificate of this authority.
    fn serves(&self, host: &str, change: impl FnOnce(&mut CertificateParams)) -> Wire {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap();
        Wire::behind_tls(Arc::new(config), |_, _| Answer::Bytes(clear()))
    }
}

/// The world of a service behind TLS that trusts this authority in addition to the system's.
fn trusting(authority: &Authority, wire: &Wire) -> World {
    let world = world(2, wire).campaign(|file| file.service.ca_file = Some("ca.pem".into()));
    world.write("ca.pem", &authority.pem());
    world
}

/// The run stops before anything is sent and says what is wrong with the certificate. Nothing is held, and the same
/// world completes once the right service runs there.
async fn is_refused(wire: &Wire, world: &mut World, why: &str) {
    let ran = world.run().await.exits(ExitCode::Service).in_state(State::Planned, 2);
    let ran = ran.stops_with(|stop| matches!(stop, Stop::Untrusted { .. }));
    let said = ran.report().lines().join("\n");
    for part in ["127.0.0.1", why, "ca_file", "nothing was sent"] {
        assert!(said.contains(part), "expected `{part}` in:\n{said}");
    }
    assert_eq!((ran.attempts().len(), ran.report().sums.account.held.0), (0, 0));
    assert!(wire.messages().is_empty(), "{:?}", wire.messages());
    assert!(!wire.refused().is_empty(), "no connection was refused");
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_stops_the_run_until_the_right_ca_file_is_given() {
    let authority = Authority::new();
    let wire = authority.serves("127.0.0.1", |_| {});
    let mut world = world(2, &wire);
    is_refused(&wire, &mut world, "authority that issued it is not known").await;
    world.write("other.pem", &Authority::new().pem());
    let mut world = world.campaign(|file| file.service.ca_file = Some("other.pem".into()));
    is_refused(&wire, &mut world, "not").await;
    world.write("ca.pem", &authority.pem());
    let mut world = world.campaign(|file| file.service.ca_file = Some("ca.pem".into()));
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(2));
    assert_eq!((wire.checks().len(), ran.attempts().len()), (2, 2));
}

#[tokio::test]
async fn an_expired_certificate_stops_the_run() {
    let authority = Authority::new();
    let wire = authority.serves("127.0.0.1", |params| params.not_after = date_time_ymd(2020, 1, 1));
    is_refused(&wire, &mut trusting(&authority, &wire), "it has expired").await;
}

#[tokio::test]
async fn a_certificate_that_is_not_valid_yet_stops_the_run() {
    let authority = Authority::new();
    let wire = authority.serves("127.0.0.1", |params| params.not_before = date_time_ymd(2100, 1, 1));
    is_refused(&wire, &mut trusting(&authority, &wire), "it is not valid yet").await;
}

#[tokio::test]
async fn a_certificate_of_another_host_stops_the_run() {
    let authority = Authority::new();
    let wire = authority.serves("service.example", |_| {});
    is_refused(&wire, &mut trusting(&authority, &wire), "it is for another host").await;
}

#[tokio::test]
async fn in_sandbox_without_a_balance_reading_every_attempt_is_proven_not_written() {
    let authority = Authority::new();
    let wire = authority.serves("service.example", |_| {});
    let mut world = trusting(&authority, &wire).sandbox();
    let ran = world.run().await.exits(ExitCode::Service).in_state(State::Planned, 2);
    let ran = ran.stops_with(|stop| matches!(stop, Stop::Untrusted { .. }));
    assert!(outcomes(&ran).iter().all(|outcome| outcome == "not_written"), "{:?}", outcomes(&ran));
    assert!(!ran.attempts().is_empty() && wire.messages().is_empty());
}

#[test]
fn the_balance_is_not_requested_from_an_unverified_server_either() {
    let wire = Authority::new().serves("127.0.0.1", |_| {});
    let folder = tempfile::tempdir().unwrap();
    let said = Said::of(&mut rescreen(folder.path(), &["credits", "--service", &wire.url])).exits(10);
    said.says("certificate of 127.0.0.1").says("ca_file");
    assert!(wire.messages().is_empty());
}
