//! A service that moves to another address: the ledger follows only if the user says so, and then nothing is paid twice.

use crate::support::{ran::results, world::World};
use axum::{body::Body, http::Response};
use rescreen::model::{ExitCode, SIMULATOR_MARKER, Stop, state::State};
use std::sync::atomic::{AtomicU32, Ordering};

const OLD: &str = "https://api.example.com";
const NEW: &str = "https://verify.example.org";

/// Six rows at the old address: some are answered, the answer of one is lost, and then the service redirects.
async fn half_paid() -> World {
    let mut world = World::new().rows(6).in_flight(1).under_paused_time().fault("drop_after@4");
    world.is_at(OLD, None);
    let passed = AtomicU32::new(0);
    world.paused().stands_between(move |path, _| {
        // The account and four checks.
        let moved = passed.fetch_add(1, Ordering::Relaxed) >= 5;
        let target = format!("{NEW}{path}?key=secret-part");
        let reply = Response::builder().status(308).header(SIMULATOR_MARKER, "1").header("location", target);
        moved.then(|| reply.body(Body::empty()).unwrap())
    });
    let ran = world.run().await.exits(ExitCode::Service);
    assert_eq!(ran.stats.double_charges, 0);
    let said = ran.report().lines().join("\n");
    assert!(said.contains("redirects") && said.contains(&format!("(HTTP 308) to {NEW}/")), "{said}");
    assert!(said.contains(&format!("set [service] url = \"{NEW}\"")) && !said.contains("secret-part"), "{said}");
    assert!(ran.report().sums.in_state(State::InDoubt) > 0, "{:?}", ran.report().sums.requests);
    world.paused().works_again();
    world
}

#[tokio::test(start_paused = true)]
async fn a_ledger_follows_a_service_that_moved_and_what_is_in_doubt_keeps_its_key() {
    let mut world = half_paid().await;
    world.is_at(NEW, None);
    let refused = world.run().await.exits(ExitCode::Usage);
    let said = refused.error();
    assert!(said.contains(&format!("add `--service-moved-from {OLD}` if the same service has moved")), "{said}");
    world.is_at(NEW, Some(&format!("{}/", OLD.to_uppercase())));
    let ran = world.run().await.exits(ExitCode::Complete).charged(6).counts(results(6));
    assert_eq!(ran.stats.distinct_keys, 6);
    // The same command works again, and so does one without the flag.
    world.run().await.exits(ExitCode::Complete).charged(6);
    world.is_at(NEW, None);
    world.run().await.exits(ExitCode::Complete).charged(6);
    world.is_at(OLD, None);
    world.run().await.exits(ExitCode::Usage);
    let moves = &ran.report().sums.service_moves;
    assert_eq!(moves.iter().map(|one| (one.from.as_str(), one.to.as_str())).collect::<Vec<_>>(), [(OLD, NEW)]);
}

#[tokio::test(start_paused = true)]
async fn collect_follows_a_service_that_moved() {
    let mut world = half_paid().await;
    world.is_at(NEW, Some(OLD));
    let ran = world.collect(None).await.in_state(State::InDoubt, 0);
    assert_eq!(ran.stats.double_charges, 0);
    world.is_at(NEW, None);
    world.run().await.exits(ExitCode::Complete).charged(6).counts(results(6));
}

#[tokio::test(start_paused = true)]
async fn a_ledger_does_not_follow_from_an_address_that_it_does_not_have() {
    let mut world = half_paid().await;
    for from in ["https://other.example.com", "https://api.example.com/v1", "http://127.0.0.1"] {
        world.is_at(NEW, Some(from));
        world.run().await.exits(ExitCode::Usage);
    }
    world.is_at(NEW, Some("simulated"));
    world.run().await.exits(ExitCode::Usage);
}

#[tokio::test(start_paused = true)]
async fn an_address_is_the_same_in_another_case() {
    let mut world = World::new().rows(2).under_paused_time();
    world.is_at("HTTPS://Api.Example.com:443/", None);
    world.run().await.exits(ExitCode::Complete).charged(2);
    world.is_at(OLD, None);
    let ran = world.run().await.exits(ExitCode::Complete).charged(2);
    assert!(ran.report().sums.service_moves.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_redirect_of_the_account_says_where_it_leads() {
    let mut world = World::new().rows(2).under_paused_time();
    world.paused().stands_between(|path, _| {
        let reply = Response::builder().status(302).header(SIMULATOR_MARKER, "1");
        let reply = reply.header("location", "https://user:pass@sign-in.example.net/login?who=1");
        path.contains("credits").then(|| reply.body(Body::empty()).unwrap())
    });
    let ran = world.run().await.exits(ExitCode::Service);
    let location = Some("https://sign-in.example.net/login".to_owned());
    ran.stops_with(|stop| matches!(stop, Stop::Misrouted { status: 302, location: found, .. } if *found == location));
}
