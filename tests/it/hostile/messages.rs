//! The message of a stop is true, and the command that it prints continues the campaign.

use super::{Campaign, Hostile, Reply, json};
use crate::support::program::Said;
use std::time::{Duration, Instant};

fn says(said: &Said, part: &str) -> bool {
    said.stderr.contains(part)
}

#[test]
#[ignore = "make hostile"]
fn json_without_content_is_reported_as_possibly_another_service() {
    let service = Hostile::new().on_all(Reply::exactly(&json!({ "message": "ok", "code": 0 }))).start();
    let said = Campaign::of(&service, 20).run().exits(10);
    assert!(!says(&said, "expected JSON"), "JSON is what came: {}", said.stderr);
    assert!(says(&said, "expected an answer from the service") && says(&said, "another service"), "{}", said.stderr);
}

#[test]
#[ignore = "make hostile"]
fn after_five_conflicts_no_message_says_that_running_again_is_free() {
    let service = Hostile::new().on_all(Reply::status(409)).start();
    let said = Campaign::of(&service, 50).run().exits(6);
    assert!(!says(&said, "at no cost"), "{}", said.stderr);
    assert!(says(&said, "may have been charged under their keys"), "{}", said.stderr);
}

#[test]
#[ignore = "make hostile"]
fn one_lasting_conflict_is_shown_in_the_services_words_and_nothing_says_that_it_settles() {
    let words = json!({ "error": { "code": "KEY_KNOWN", "message": "this key has another body" } });
    let service = Hostile::new().on_row(3, Reply::error(409, words)).start();
    let campaign = Campaign::of(&service, 8);
    let said = campaign.run().exits(8);
    assert!(says(&said, "HTTP 409 until the end (KEY_KNOWN)"), "{}", said.stderr);
    assert!(!says(&said, "at no cost") && says(&said, "--list --include-in-doubt"), "{}", said.stderr);
    let status = campaign.say("status out/hostile");
    assert!(status.stdout.contains("KEY_KNOWN"), "{}", status.stdout);
}

#[test]
#[ignore = "make hostile"]
fn collect_can_lift_the_pause_that_it_names() {
    let lost_then_paused = |asked: &super::Asked| match (asked.row, asked.is_healed) {
        (1, false) => Some(Reply::lost()),
        (3.., false) => Some(Reply::status(429).header("retry-after", "7200")),
        _ => None,
    };
    let service = Hostile::new().script(lost_then_paused).start();
    let campaign = Campaign::of(&service, 6);
    campaign.run_with("--in-flight 2").exits(10);
    service.heal();
    let said = campaign.say("collect out/hostile").exits(10);
    assert!(says(&said, "--lift-pause"), "{}", said.stderr);
    campaign.say("collect out/hostile --lift-pause");
    assert_eq!(campaign.ledger().in_state("in_doubt"), 0);
}

#[test]
#[ignore = "make hostile"]
fn a_limit_that_leaves_rows_is_not_complete_and_the_printed_command_reads_them() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 10);
    for flags in ["--limit 4", "-q --limit=5"] {
        let said = campaign.run_with(flags);
        assert_eq!((said.code, &campaign.manifest()["complete"]), (9, &json!(false)), "{}", said.stderr);
        let command = said.next_command();
        assert!(command.contains("run book.csv") && !command.contains("--limit"), "{command}");
    }
    campaign.run().exits(0);
    assert_eq!(campaign.manifest()["complete"], json!(true));
}

#[test]
#[ignore = "make hostile"]
fn collect_that_leaves_rows_prints_the_command_that_sends_them() {
    let service = Hostile::new().script(|asked| (asked.row == 2 && !asked.is_healed).then(Reply::lost)).start();
    let campaign = Campaign::of(&service, 10).limit(5);
    campaign.run_until_asked(1..=5);
    service.heal();
    let said = campaign.say("collect out/hostile").exits(8);
    let command = said.next_command().to_owned();
    assert!(command.starts_with("rescreen run book.csv") && command.contains("--max-credits 5"), "{command}");
    let words = format!("{} --max-credits 100", command.replace("rescreen ", "").replace("--max-credits 5", ""));
    campaign.say(&words).exits(0);
}

#[test]
#[ignore = "make hostile"]
fn after_a_remembered_stop_the_printed_command_buys_nothing_and_the_flag_that_the_message_names_resumes() {
    let strange = json!({ "success": true, "results": { "outcome": 7 } });
    let service = Hostile::new().on_all(Reply::answer(strange)).start();
    let campaign = Campaign::of(&service, 60);
    campaign.run().exits(6);
    let paid = service.book().charges();
    let said = campaign.run().exits(6);
    assert_eq!(service.book().charges(), paid);
    let command = said.next_command().trim_start_matches("rescreen ").to_owned();
    assert!(says(&campaign.say(&command).exits(6), "To run anyway, add --continue-anyway"));
    assert_eq!(service.book().charges(), paid, "`{command}` bought the same fault again");
    campaign.say(&format!("{command} --continue-anyway"));
    assert!(service.book().charges() > paid, "--continue-anyway continues");
}

#[test]
#[ignore = "make hostile"]
fn a_request_quarantined_for_another_reason_is_not_said_to_have_an_old_key() {
    let refused_later = |asked: &super::Asked| {
        (asked.row == 2).then(|| if asked.nth == 1 { Reply::lost() } else { Reply::status(400) })
    };
    let service = Hostile::new().script(refused_later).start();
    let campaign = Campaign::of(&service, 5);
    let said = campaign.run();
    assert_eq!(campaign.ledger().row(2).state, "quarantined", "exit {}: {}", said.code, said.stderr);
    assert!(!says(&said, "too old") && says(&said, "in quarantine"), "{}", said.stderr);
}

/// What happens in real time.
mod timed {
    use super::*;

    /// `GET /my_credits` returns this reply once. The run waits for at least `least` and asks again.
    #[track_caller]
    fn waits_before_it_asks_again(reply: Reply, least: Duration) {
        let status = reply.status;
        let service = Hostile::new()
            .balance_script(move |nth, balance| match nth {
                0 => reply.clone(),
                _ => Reply::error(200, json!({ "available_credits": balance })),
            })
            .start();
        let campaign = Campaign::of(&service, 3);
        let begun = Instant::now();
        campaign.run().exits(0);
        assert!(begun.elapsed() >= least, "HTTP {status}: it waited {:?} of {least:?}", begun.elapsed());
        // The balance is read twice before the first request, and once after the last.
        assert_eq!(service.book().balance_readings, 3, "HTTP {status}");
    }

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn a_retry_after_on_the_balance_query_is_obeyed_as_on_a_check() {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                waits_before_it_asks_again(Reply::status(503).header("retry-after", "6"), Duration::from_secs(6))
            });
            scope.spawn(|| waits_before_it_asks_again(Reply::status(429), Duration::from_secs(5)));
        });
    }
}
