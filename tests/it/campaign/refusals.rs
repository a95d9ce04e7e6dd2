//! Refusals of the request itself, unrecognised answers and missing routes: the run stops early, nothing is lost, and a
//! fixed declaration continues.

use crate::support::{
    ran::results,
    tables::text,
    world::{World, book, people},
};
use rescreen::{
    catalogue::Spelling,
    model::{ExitCode, Stop, field::FieldKind, state::State},
    pipeline::campaign::file::Share,
    sink::DatasetKind,
};
use serde_json::json;

/// The declaration sends text where the service expects a number.
fn wrong_type(declaration: &mut rescreen::catalogue::Declaration) {
    let entity = declaration.fields.iter_mut().find(|field| field.name == "entity").unwrap();
    entity.kind = FieldKind::Text;
    entity.allowed.clear();
    entity.names.clear();
}

fn mistyped() -> World {
    World::new().in_flight(1).declares(wrong_type).campaign(|file| {
        file.checks[0].fields.insert("entity".into(), "kind".into());
    })
}

fn book_of_kinds(kinds: &[&str]) -> String {
    let rows = kinds.iter().enumerate().map(|(at, kind)| format!("{at},P{at:05} Vexford,{kind}\n"));
    "no,name,kind\n".to_owned() + &rows.collect::<String>()
}

#[tokio::test]
async fn five_equal_refusals_in_a_row_stop_the_run() {
    let mut world = mistyped().csv(&book_of_kinds(&["0"; 12]));
    let ran = world.run().await.exits(ExitCode::Guard).charged(0).counts(results(0).failures(5).pending(7));
    let ran = ran.stops_with(|stop| matches!(stop, Stop::SameRefusals { count: 5, .. }));
    for line in ran.failures() {
        assert_eq!((text(line, "stage"), text(line, "code")), ("send", "refused"));
        assert_eq!((&line["http_status"], &line["retryable"]), (&json!(400), &json!(true)));
        assert!(text(line, "message").contains("HTTP 400"));
    }
}

#[tokio::test]
async fn an_explicit_error_limit_lifts_that_guard() {
    let mut world = mistyped().csv(&book_of_kinds(&["0"; 12])).campaign(|file| {
        file.guards.max_errors = Some(Share::Percent(100.0));
    });
    let ran = world.run().await.exits(ExitCode::Failures).charged(0).counts(results(0).failures(12)).adds_up(true);
    assert_eq!(ran.failure_codes(), [("refused".into(), 12)].into());
}

#[tokio::test]
async fn a_retried_refusal_gets_a_new_key_and_is_charged_at_most_once() {
    let mut world = mistyped().csv(&book_of_kinds(&["0", "0"]));
    let first = world.run().await.exits(ExitCode::Failures).counts(results(0).failures(2));
    let second = world.retry().await.exits(ExitCode::Failures).charged(0).counts(results(0).failures(2));
    let key = |ran: &crate::support::ran::Ran| ran.failures()[0]["idempotency_key"].clone();
    assert_ne!(key(&first), key(&second));
}

#[tokio::test]
async fn unrecognised_answers_stop_the_run_after_twenty() {
    let mut world = World::new().rows(60).in_flight(1).declares(|declaration| {
        declaration.verdict.recognised = "payload.outcome is defined".into();
    });
    let ran = world.run().await.exits(ExitCode::Guard).counts(results(0).pending(60));
    let ran = ran.stops_with(|stop| matches!(stop, Stop::Unrecognised { unrecognised: 20, of: 20, .. }));
    assert_eq!(ran.stats.credits_charged, 20);
    let pending = ran.lines(DatasetKind::Pending).iter();
    assert_eq!(pending.filter(|line| text(line, "reason") == "unrecognised" && !line["answer"].is_null()).count(), 20);
    let mut world = world.campaign(|file| file.declarations.clear());
    let fixed = world.run().await.exits(ExitCode::Complete).charged(60).counts(results(60));
    let known = fixed.results().iter().filter(|line| text(line, "verdict") != "unrecognised").count();
    assert_eq!(known, 60, "those that are paid for are judged again");
}

#[tokio::test]
async fn a_missing_route_leaves_the_requests_in_doubt_until_it_is_corrected() {
    let world = World::new().rows(6).declares(|declaration| declaration.routes.guide = "/aml-nowhere".into());
    let mut world = world.may_lose_checks("the simulator does not count requests to an unknown route");
    let ran =
        world.run().await.exits(ExitCode::Service).charged(0).counts(results(0).pending(6)).in_state(State::InDoubt, 5);
    let ran =
        ran.stops_with(|stop| matches!(stop, Stop::Misrouted { status: 404, path, .. } if path == "/aml-nowhere"));
    assert!(ran.report().lines().join("\n").contains("alternate"), "the likely remedy is printed");
    let mut world = world.campaign(|file| file.declarations.clear());
    world.run().await.exits(ExitCode::Complete).charged(6);
}

#[tokio::test]
async fn a_wrong_base_path_is_noticed_at_the_balance() {
    let mut world = World::new().rows(3);
    let url = format!("{}/v9", world.running_service().url);
    let mut world = world.campaign(|file| file.service.url = Some(url));
    let ran = world.run().await.exits(ExitCode::Service).charged(0).counts(results(0).pending(3));
    assert_eq!(ran.posts(), 0);
}

#[tokio::test]
async fn the_alternate_spelling_is_the_same_check_and_the_same_charge() {
    let mut world = World::new().csv(&book(1..=3)).campaign(|file| file.service.routes = Spelling::Alternate);
    let ran = world.run().await.exits(ExitCode::Complete).charged(3);
    assert_eq!(ran.stats.by_route["POST /aml-pep"], 3);
    world.append("book.csv", &people(4..=5));
    let mut world = world.campaign(|file| file.service.routes = Spelling::Guide);
    let ran = world.run().await.exits(ExitCode::Complete).charged(5);
    assert_eq!(ran.stats.by_route["POST /aml-screening"], 2);
}
