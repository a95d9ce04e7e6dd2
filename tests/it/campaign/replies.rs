//! Whatever happens to a reply, the request is paid for once.

use crate::support::{
    ran::results,
    tables::{number, text},
    world::World,
};
use rescreen::{
    model::{ExitCode, Mode, Stop, state::State},
    pipeline::RunReport,
    sink::DatasetKind,
};
use std::time::Duration;

#[tokio::test]
async fn a_lost_reply_is_sent_again_with_the_same_key() {
    let ran = World::new().rows(3).in_flight(1).fault("drop_after@2").run().await;
    let ran = ran.exits(ExitCode::Complete).charged(3).counts(results(3));
    assert_eq!((ran.stats.distinct_keys, ran.stats.replays, ran.posts()), (3, 1, 4));
    assert_eq!([1, 2, 3].map(|row| number(ran.result_of(row), "attempts")), [2, 1, 1]);
    let outcomes: Vec<(i64, String)> =
        ran.attempts().into_iter().map(|attempt| (attempt.request, attempt.outcome)).collect();
    assert_eq!(outcomes.iter().filter(|(request, _)| *request == 1).count(), 2);
    assert_eq!(outcomes[0], (1, "unknown".to_owned()));
}

#[tokio::test]
async fn a_connection_cut_before_any_work_leaves_the_request_in_doubt() {
    let ran = World::new().rows(2).in_flight(1).fault("drop_before@2").run().await;
    let ran = ran.exits(ExitCode::Complete).charged(2);
    assert_eq!((ran.stats.replays, ran.attempts()[0].outcome.as_str()), (0, "unknown"));
}

#[tokio::test]
async fn a_truncated_answer_is_not_an_answer() {
    let ran = World::new().rows(2).in_flight(1).fault("truncate@2").run().await;
    let ran = ran.exits(ExitCode::Complete).charged(2);
    assert_eq!((ran.stats.replays, number(ran.result_of(1), "attempts")), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_server_error_proves_nothing_and_is_settled_under_its_key() {
    for fault in ["error500@2", "error502@2", "error503@2"] {
        let ran = World::new().rows(2).in_flight(1).fault(fault).under_paused_time().run().await;
        let ran = ran.exits(ExitCode::Complete).charged(2);
        assert_eq!(number(ran.result_of(1), "attempts"), 2, "{fault}");
        assert_eq!(ran.attempts()[0].outcome, "unknown", "{fault}");
    }
}

#[tokio::test]
async fn a_503_that_states_no_charge_frees_the_hold() {
    let mut world = World::new().rows(2).in_flight(1).fault("error503_uncharged@2");
    let ran = world.run().await.exits(ExitCode::Complete).charged(2);
    assert_eq!(ran.attempts()[0].outcome, "uncharged");
    assert_eq!(ran.report().sums.account.held.0, 0);
}

#[tokio::test(start_paused = true)]
async fn requests_in_doubt_at_the_end_of_a_run_are_held_and_settled_by_the_next() {
    let mut world = World::new().rows(3).fault("drop_after@2,drop_after@4,drop_after@6").under_paused_time();
    let first = world.run_until("three charges", |stats| stats.charges == 3).await.in_state(State::InDoubt, 3);
    assert_eq!((first.report().sums.account.held.0, first.report().sums.account.charged.0), (3, 0));
    assert_eq!(first.stats.charges, 3);
    let pending = first.lines(DatasetKind::Pending);
    assert!(pending.iter().all(|line| text(line, "reason") == "in_doubt" && !line["deadline"].is_null()));
    let lines = first.report().lines().join("\n");
    assert!(lines.contains("3 requests may have been charged and have no answer yet"), "{lines}");
    let of_mode = |mode| RunReport { mode, ..first.report().clone() }.lines().join("\n");
    let sandbox = of_mode(Mode::Sandbox);
    assert!(!sandbox.contains("may have been charged"), "{sandbox}");
    assert!(sandbox.contains("3 requests were sent and have no answer yet; running again before "), "{sandbox}");
    let second = world.run().await.exits(ExitCode::Complete).charged(3).adds_up(true);
    assert_eq!((second.stats.replays, second.report().sums.account.held.0), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn foreign_pages_stop_the_run_when_the_balance_is_one_too() {
    let pages: Vec<String> = (2..=20).map(|nth| format!("html@{nth}")).collect();
    let mut world = World::new().rows(6).in_flight(1).fault(&pages.join(",")).under_paused_time();
    let ran = world.run().await.exits(ExitCode::Service).stops_with(|stop| matches!(stop, Stop::NotTheService { .. }));
    let ran = ran.in_state(State::Answered, 0).in_state(State::Failed, 0);
    assert_eq!(ran.stats.charges, 0);
    world.running_service().simulator.set_faults(rescreen::simulator::Faults::none());
    world.run().await.exits(ExitCode::Complete).charged(6);
}

#[tokio::test(start_paused = true)]
async fn foreign_pages_are_requested_again_when_the_balance_can_be_read() {
    let mut world = World::new().rows(6).in_flight(1).fault("html@2,html@4,html@6").under_paused_time();
    world.run().await.exits(ExitCode::Complete).charged(6).adds_up(true);
}

#[tokio::test(start_paused = true)]
async fn a_page_in_place_of_the_balance_stops_production_before_any_request() {
    let mut world = World::new().rows(2).fault("html@1,html@2,html@3").under_paused_time();
    let ran = world.run().await.exits(ExitCode::Service);
    let ran = ran.stops_with(|stop| matches!(stop, Stop::NotTheService { .. }));
    assert_eq!(ran.posts(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_pending_answer_is_asked_for_again_with_the_same_key() {
    let mut world = World::new().rows(2).in_flight(1).fault("pending@2").under_paused_time();
    let first = world.run_for(Duration::from_millis(1_000)).await.exits(ExitCode::Doubt).in_state(State::Repeating, 1);
    assert_eq!(text(&first.lines(DatasetKind::Pending)[0], "reason"), "repeating");
    let second = world.run().await.exits(ExitCode::Complete).charged(2);
    assert_eq!((second.stats.distinct_keys, second.replies(202)), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_pending_answer_is_waited_for_in_the_same_run() {
    let mut world = World::new().rows(2).fault("pending@2").under_paused_time();
    let ran = world.run().await.exits(ExitCode::Complete).charged(2);
    assert!(ran.elapsed >= Duration::from_secs(5), "{:?}", ran.elapsed);
    assert_eq!(number(ran.result_of(1), "attempts"), 2);
}

#[tokio::test(start_paused = true)]
async fn many_faults_at_random_still_pay_once() {
    let faults = "drop_after:0.05,drop_before:0.05,truncate:0.05,error502:0.05,error503_uncharged:0.05";
    let mut world = World::new().rows(120).fault(faults).service(|settings| settings.seed = 7).under_paused_time();
    for _ in 0..20 {
        let ran = world.run_for(Duration::from_millis(300)).await;
        assert_eq!(ran.stats.double_charges, 0);
        if ran.report().exit_code == ExitCode::Complete {
            break;
        }
    }
    world.run().await.exits(ExitCode::Complete).charged(120).counts(results(120)).adds_up(true);
}

#[tokio::test]
async fn messages_on_the_wire_are_the_attempts_in_the_ledger() {
    let mut world = World::new().rows(40).fault("drop_after@5,drop_before@9,error500@12,truncate@20");
    let ran = world.run().await.exits(ExitCode::Complete).charged(40);
    assert_eq!(ran.posts(), ran.attempts().len() as u64, "nothing below the program repeats a request");
    assert_eq!(ran.report().sums.attempts, ran.posts());
}
