//! A request that the service accepts as a job: recorded, held, published as pending, and never sent again.

use super::{AFRICA, BUSINESS, FOREIGN, world};
use crate::support::{
    ran::{Ran, results},
    tables::text,
};
use rescreen::{
    model::{ExitCode, Stop, budget::BudgetRefusal, state::State},
    sink::DatasetKind,
};
use std::time::Duration;

fn held(ran: &Ran) -> (u64, u64) {
    let account = ran.report().sums.account;
    (account.held.0, account.charged.0)
}

#[tokio::test]
async fn jobs_are_pending_with_their_id_keep_their_hold_and_are_not_sent_again() {
    let mut world = world(BUSINESS, 3, 7);
    let first = world.run().await.exits(ExitCode::Jobs).in_state(State::Submitted, 3).counts(results(0).pending(3));
    assert_eq!((held(&first), first.posts(), first.stats.jobs), ((21, 0), 3, 3));
    let pending = first.lines(DatasetKind::Pending);
    for line in pending {
        assert_eq!(text(line, "reason"), "service_job");
        assert!(text(line, "job_id").starts_with("job_") && !line["deadline"].is_null(), "{line:?}");
    }
    let mut ids: Vec<&str> = pending.iter().map(|line| text(line, "job_id")).collect();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    let lines = first.report().lines().join("\n");
    assert!(lines.contains("3 requests are in progress at the service as jobs, the oldest since "), "{lines}");
    assert!(first.report().waits_for_jobs());

    let second = world.run().await.exits(ExitCode::Jobs).in_state(State::Submitted, 3).counts(results(0).pending(3));
    assert_eq!((held(&second), second.posts()), ((21, 0), 3), "nothing was sent");
}

#[tokio::test]
async fn a_charge_that_comes_when_a_job_is_done_is_explained_by_its_hold() {
    let mut world = world(BUSINESS, 130, 7).service(|settings| settings.job_time = Some(Duration::ZERO));
    let ran = world.run().await.exits(ExitCode::Jobs).in_state(State::Submitted, 130);
    assert!(ran.report().sent.stops.is_empty(), "{:?}", ran.report().sent.stops);
    assert_eq!((held(&ran), ran.report().sent.unexplained.0), ((910, 0), 0));
    assert!(ran.stats.credits_charged > 700 && ran.stats.credits_charged <= 910, "{:?}", ran.stats);
    assert_eq!(ran.stats.double_charges, 0);
}

#[tokio::test]
async fn after_the_first_job_was_accepted_without_a_charge_the_others_are_sent_together() {
    let ran = world(BUSINESS, 40, 7).run().await.in_state(State::Submitted, 40);
    let readings = ran.stats.by_route.get("GET /my_credits").copied().unwrap_or_default();
    assert!(readings <= 4, "{readings} readings for 40 jobs");
}

#[tokio::test]
async fn a_lost_202_is_sent_again_under_its_key_and_names_the_same_job() {
    let ran = world(BUSINESS, 2, 7).in_flight(1).fault("drop_after@2").run().await;
    let ran = ran.exits(ExitCode::Jobs).in_state(State::Submitted, 2);
    assert_eq!((ran.stats.jobs, ran.stats.distinct_keys, ran.posts()), (2, 2, 3));
    assert_eq!(held(&ran), (14, 0));
    let outcomes: Vec<String> = ran.attempts().into_iter().map(|attempt| attempt.outcome).collect();
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "accepted").count(), 2, "{outcomes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_202_without_a_job_id_is_repeated_until_it_names_one() {
    let mut world = world(BUSINESS, 1, 7).in_flight(1).fault("pending@2").under_paused_time();
    let first = world.run_for(Duration::from_millis(500)).await.exits(ExitCode::Doubt);
    let first = first.in_state(State::Repeating, 1);
    assert_eq!((first.stats.jobs, held(&first)), (0, (7, 0)));
    let second = world.run().await.exits(ExitCode::Jobs).in_state(State::Submitted, 1);
    assert_eq!((second.stats.jobs, second.stats.distinct_keys, held(&second)), (1, 1, (7, 0)));
}

#[tokio::test]
async fn the_holds_of_jobs_count_against_the_budget_in_every_run() {
    let mut world = world(BUSINESS, 3, 7).max_credits(20);
    for _ in 0..2 {
        let ran = world.run().await.exits(ExitCode::Budget).in_state(State::Submitted, 2);
        let ran = ran.stops_with(|stop| matches!(stop, Stop::Budget(BudgetRefusal::Limit { .. })));
        assert_eq!((held(&ran), ran.posts()), ((14, 0), 2));
    }
    let ran = world.max_credits(21).run().await.exits(ExitCode::Jobs).in_state(State::Submitted, 3);
    assert_eq!(held(&ran), (21, 0));
}

#[tokio::test]
async fn a_job_that_requires_more_than_the_price_stops_the_run_and_raises_its_hold() {
    let mut world = world(BUSINESS, 4, 7).service(|settings| {
        settings.prices.insert(BUSINESS.to_owned(), 9);
    });
    let ran = world.run().await.exits(ExitCode::Budget);
    let ran = ran.stops_with(|stop| matches!(stop, Stop::Price { stated, .. } if stated.0 == 9));
    assert_eq!((ran.posts(), held(&ran)), (1, (9, 0)), "the first is sent alone");
}

#[tokio::test]
async fn an_absurd_cost_of_a_job_is_not_held_and_stops_the_run() {
    for (required, is_held) in [(700, 700), (701, 7)] {
        let mut world = world(BUSINESS, 4, 7).service(|settings| {
            settings.prices.insert(BUSINESS.to_owned(), required);
        });
        let ran = world.run().await.exits(ExitCode::Budget);
        let ran = ran.stops_with(|stop| match stop {
            Stop::Price { stated, .. } => (stated.0, is_held) == (700, 700),
            Stop::AmountUnreadable { found, .. } => (found.as_str(), is_held) == ("701", 7),
            _ => false,
        });
        assert_eq!((ran.posts(), held(&ran)), (1, (is_held, 0)), "{required}");
    }
}

#[tokio::test]
async fn a_real_time_check_that_becomes_a_job_holds_what_the_job_route_needs() {
    let mut world = world(FOREIGN, 2, 6).service(|settings| {
        settings.fallback_of_hundred = 100;
        settings.quirks.job_without_webhook = true;
    });
    let ran = world.run().await.exits(ExitCode::Jobs).in_state(State::Submitted, 2);
    assert_eq!(held(&ran), (14, 0), "7 each, although the price is 6");
    assert!(ran.report().sent.stops.is_empty(), "{:?}", ran.report().sent.stops);
}

#[tokio::test]
async fn an_african_document_is_a_job_too() {
    let ran = world(AFRICA, 2, 4).run().await.exits(ExitCode::Jobs).in_state(State::Submitted, 2);
    assert_eq!((held(&ran), ran.stats.jobs), ((8, 0), 2));
}

#[tokio::test]
async fn in_sandbox_a_job_holds_nothing() {
    let ran = world(BUSINESS, 2, 7).sandbox().run().await.exits(ExitCode::Jobs).in_state(State::Submitted, 2);
    assert_eq!((held(&ran), ran.stats.charges), ((0, 0), 0));
}

#[tokio::test]
async fn equal_rows_share_one_job() {
    let mut world = world(BUSINESS, 2, 7);
    let first = std::fs::read_to_string(world.path("book.csv")).unwrap();
    let again = first.lines().nth(1).unwrap().replacen("1,", "3,", 1);
    world.append("book.csv", &format!("{again}\n"));
    let ran = world.run().await.in_state(State::Submitted, 2).counts(results(0).pending(3));
    assert_eq!((ran.stats.jobs, held(&ran)), (2, (14, 0)));
}

#[tokio::test(start_paused = true)]
async fn an_empty_error_beside_a_job_is_no_error() {
    for error in ["false", r#""""#, "{}", "[]", "null", r#"{"code": null, "message": null}"#] {
        let minute = Duration::from_secs(60);
        let mut world = world(BUSINESS, 1, 7).under_paused_time().service(|settings| settings.job_time = Some(minute));
        world.running_service();
        world.paused().changes_answers(move |body| Some(body.replacen('{', &format!(r#"{{"error": {error}, "#), 1)));
        world.run().await.exits(ExitCode::Jobs).in_state(State::Submitted, 1);
        world.paused().works_again();
        world.paused().at_hours_minutes(0, 10).await;
        world.collect(None).await.exits(ExitCode::Complete).charged(7).counts(results(1));
    }
}
