//! The simulator in each of its forms: what the doctor finds is what it was set to, and the lines that it prints work.

use super::{Diagnosis, diagnosed, found};
use crate::support::service::{Service, lifted};
use rescreen::{
    model::ExitCode,
    pipeline::{campaign::parse, doctor::Standing},
    simulator::{AuthAccepted, Dialect},
};
use std::time::Duration;

const AML: &str = "aml-screening";

fn quick() -> rescreen::simulator::Settings {
    rescreen::simulator::Settings { cooldown: Duration::from_millis(10), ..lifted() }
}

#[tokio::test]
async fn a_service_that_is_well_has_nothing_to_change_and_costs_nothing() {
    for dialect in [Dialect::Described, Dialect::Field] {
        let service = Service::start(rescreen::simulator::Settings { dialect, ..quick() });
        let diagnosis = diagnosed(&service.url, &[AML], |_| {}).await;
        assert_eq!(diagnosis.exit_code(), ExitCode::Complete, "{:#?}", diagnosis.findings);
        let bad = diagnosis.findings.iter().filter(|finding| finding.standing != Standing::Good).count();
        assert_eq!((bad, diagnosis.recommended.lines().len()), (0, 0), "{:#?}", diagnosis.findings);
        for subject in ["reachability", "API key", "header form", "balance", "clock", "rate", "replay", "409"] {
            found(&diagnosis, subject);
        }
        let stats = service.simulator.stats();
        assert_eq!((stats.charges, stats.balance), (0, 1_000_000));
    }
}

#[tokio::test]
async fn the_other_header_is_found_and_recommended() {
    let service = Service::start(rescreen::simulator::Settings { auth: AuthAccepted::Bearer, ..quick() });
    let diagnosis = diagnosed(&service.url, &[AML], |_| {}).await;
    assert_eq!(diagnosis.exit_code(), ExitCode::Complete, "{:#?}", diagnosis.findings);
    assert_eq!(found(&diagnosis, "header form").0, Standing::Note);
    works_with(&diagnosis, &service.url).await;
}

/// With the recommended lines, nothing more is recommended.
async fn works_with(diagnosis: &Diagnosis, url: &str) {
    let lines = diagnosis.recommended.lines().join("\n");
    assert!(!lines.is_empty());
    let own = parse(&lines).unwrap().service;
    let again = diagnosed(url, &[AML], |file| {
        file.service.auth = own.auth;
        file.service.balance_pointer = own.balance_pointer.clone();
        file.service.checks = own.checks.clone();
    });
    let again = again.await;
    assert!(again.recommended.lines().is_empty(), "{lines}\n{:#?}", again.findings);
    assert_eq!(again.exit_code(), ExitCode::Complete);
}

#[tokio::test]
async fn a_key_that_is_not_known_is_exit_code_7_and_nothing_is_posted() {
    let service = Service::start(rescreen::simulator::Settings { api_key: Some("another".to_owned()), ..quick() });
    let diagnosis = diagnosed(&service.url, &[AML], |_| {}).await;
    assert_eq!(diagnosis.exit_code(), ExitCode::Refused);
    assert!(found(&diagnosis, "API key").1.contains("refused in both headers"));
    assert_eq!(service.simulator.stats().checks(), 0);
}

#[tokio::test]
async fn a_lost_answer_or_a_conflict_that_is_not_refused_is_noted() {
    // A key that is forgotten at once is neither replayed nor compared.
    let service = Service::start(rescreen::simulator::Settings { key_life: Some(Duration::ZERO), ..quick() });
    let diagnosis = diagnosed(&service.url, &[AML], |_| {}).await;
    assert_eq!(diagnosis.exit_code(), ExitCode::Complete);
    assert_eq!(found(&diagnosis, "409").0, Standing::Note, "{:#?}", diagnosis.findings);
}

#[tokio::test]
async fn a_cooldown_of_ten_seconds_is_waited_for() {
    let service = Service::start(rescreen::simulator::Settings { cooldown: Duration::from_secs(3), ..quick() });
    let diagnosis = diagnosed(&service.url, &[AML], |_| {}).await;
    assert_eq!(found(&diagnosis, "replay").0, Standing::Good, "{:#?}", diagnosis.findings);
}

#[tokio::test]
async fn every_built_in_check_is_examined_if_none_is_named() {
    let service = Service::start(quick());
    let diagnosis = diagnosed(&service.url, &[], |_| {}).await;
    let routes = diagnosis.findings.iter().filter(|finding| finding.subject.starts_with("route of "));
    let (mut all, mut good) = (0, 0);
    for finding in routes {
        all += 1;
        good += usize::from(matches!(finding.standing, Standing::Good | Standing::Skipped));
    }
    assert_eq!(all, rescreen::catalogue::Catalogue::built_in().iter().count());
    assert_eq!(good, all, "{:#?}", diagnosis.findings);
    assert_eq!(service.simulator.stats().charges, 0);
}

#[tokio::test]
async fn the_doctor_keeps_to_the_rate() {
    let service = Service::start(rescreen::simulator::Settings { per_minute: 60, per_minute_max: 120, ..quick() });
    let diagnosis = diagnosed(&service.url, &[AML], |file| {
        (file.service.per_minute, file.service.per_minute_max) = (Some(60), Some(120));
    });
    let diagnosis = diagnosis.await;
    assert_eq!(diagnosis.exit_code(), ExitCode::Complete, "{:#?}", diagnosis.findings);
    let refused = service.simulator.stats().by_status.get(&429).copied().unwrap_or_default();
    assert_eq!(refused, 0, "{:?}", service.simulator.stats());
}
