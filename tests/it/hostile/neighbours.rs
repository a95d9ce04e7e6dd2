//! Rows next to each other that are always refused, and one row that asks for a long pause: the other rows are answered
//! within a few runs.

use super::{Campaign, Hostile, Reply, at_once, json};
use std::time::Duration;

/// Runs until all other rows are answered, `runs` times at most.
#[track_caller]
fn answers_the_others(campaign: &Campaign<'_>, flags: &str, runs: usize, answered: usize) {
    let mut said = String::new();
    for _ in 0..runs {
        said = campaign.run_with(flags).stderr;
        if campaign.ledger().in_state("answered") == answered {
            return;
        }
    }
    panic!("{} of {answered} answered after {runs} runs: {said}", campaign.ledger().in_state("answered"));
}

#[test]
#[ignore = "make hostile"]
fn five_refused_rows_at_the_head_of_a_book_do_not_block_the_others() {
    at_once([302, 401, 403, 404, 405], |status| {
        let refused = move |asked: &super::Asked| (asked.row <= 5).then(|| Reply::status(status));
        let service = Hostile::new().script(refused).start();
        let campaign = Campaign::of(&service, 30);
        answers_the_others(&campaign, "", 2, 25);
        campaign.run();
        // A redirect is not about the row.
        let failed = if status == 302 { 0 } else { 5 };
        assert_eq!(campaign.ledger().in_state("failed"), failed, "HTTP {status}");
    });
}

#[test]
#[ignore = "make hostile"]
fn a_row_that_always_asks_for_an_hours_pause_does_not_block_the_others() {
    at_once([429, 503], |status| {
        let service = Hostile::new().on_row(7, Reply::status(status).header("retry-after", "3600")).start();
        let campaign = Campaign::of(&service, 60);
        campaign.run().exits(10);
        answers_the_others(&campaign, "--lift-pause", 1, 59);
    });
}

#[test]
#[ignore = "make hostile"]
fn no_guard_stops_a_campaign_that_is_complete() {
    let refused =
        |asked: &super::Asked| (asked.row > 30).then(|| Reply::error(422, json!({ "error": "no such person" })));
    let service = Hostile::new().script(refused).start();
    let campaign = Campaign::of(&service, 35);
    campaign.run().exits(3);
    campaign.run().exits(3);
    assert_eq!(campaign.ledger().in_state("failed"), 5);
    let sent = service.book().entries.len();
    campaign.run_with("--retry refused").exits(3);
    assert_eq!(service.book().entries.len(), sent + 5, "retried requests are sent again");
}

/// What happens in real time.
mod timed {
    use super::*;

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn sixty_rows_that_fail_without_a_charge_do_not_block_the_others() {
        let failing = |asked: &super::super::Asked| {
            (asked.row <= 60).then(|| Reply::error(503, json!({ "error": "upstream", "creditsUsed": 0 })))
        };
        let service = Hostile::new().script(failing).start();
        let campaign = Campaign::of(&service, 150);
        answers_the_others(&campaign, "--for 15s", 3, 90);
    }

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn six_keys_with_endless_conflicts_do_not_stop_a_run_of_slow_answers() {
        let conflicts = |asked: &super::super::Asked| match asked.row {
            1..=6 => Some(Reply::status(409)),
            _ => Some(Reply::clear().cost(1.0).after(Duration::from_millis(700))),
        };
        let service = Hostile::new().script(conflicts).start();
        let campaign = Campaign::of(&service, 40);
        answers_the_others(&campaign, "--for 30s --in-flight 8", 2, 34);
    }
}
