//! What stops one worker for a reason of the account stops all, until a person decides.

use super::{Job, Machines};
use crate::support::{API_KEY, program::Said};

#[test]
fn a_refused_api_key_stops_all_workers_until_a_person_resumes() {
    let Some(machines) = Machines::new(&["--key", API_KEY]) else { return };
    machines.prepare("a", &Job::default());
    let mut wrong = machines.command("a", &["run", "--yes"]);
    Said::of(wrong.env("RESCREEN_API_KEY", "sk-not-the-right-one")).exits(7).says("refuses the API key (HTTP 401)");
    machines.prepare("b", &Job::default());
    let said =
        machines.run("b").exits(7).says("stops all workers that share it. It said: the service refuses the API key");
    assert!(said.stderr.contains("rescreen book resume --reason"), "{}", said.stderr);
    let book = |arguments: &[&str]| Said::of(&mut machines.command("b", &[&["book"], arguments].concat()));
    book(&["status"]).exits(0).shows("halted at").shows("refuses the API key (HTTP 401)");
    assert_eq!(machines.charged(), 0);
    let credits = Said::of(&mut machines.command("b", &["credits"]));
    credits.exits(0).shows("1000000");
    book(&["resume", "--reason", " "]).exits(2).says("expected what was found and done");
    book(&["resume", "--reason", "the key of a was old"]).exits(0).says("may send again");
    book(&["resume", "--reason", "the key of a was old"]).exits(0).says("were not stopped; nothing was changed");
    machines.run("b").exits(0);
    assert_eq!(machines.charged(), 60);
    let notes = machines.postgres.sql("SELECT what, why LIKE 'the service refuses%' FROM rescreen.note ORDER BY id");
    assert_eq!(notes, "halted|t\nresumed|f");
}

#[test]
fn a_price_that_is_too_low_stops_the_workers_that_are_under_way() {
    for (stated, says) in [
        ("used", "the service states 3 credits for `aml-screening`"),
        ("nothing", "more than all workers of this account explain"),
    ] {
        let flags = ["--price", "aml-screening=3", "--latency", "100ms", "--charge-stated", stated];
        let Some(machines) = Machines::new(&flags) else { return };
        let job = Job { rows: 500, ..Job::default() };
        let ended = ["a", "b"].map(|worker| machines.start(worker, &job)).map(|worker| worker.ends().exits(4));
        let said = [&ended[0].stderr, &ended[1].stderr];
        assert!(said.iter().any(|text| text.contains(says)), "{said:?}");
        let sent = machines.service.stats().checks();
        assert!(sent < 200, "{stated}: {sent} of 1,000 rows were sent");
    }
}

#[test]
fn workers_with_another_rate_wait_until_no_other_is_running() {
    let Some(machines) = Machines::new(&[]) else { return };
    machines.start("a", &Job { rows: 3, ..Job::default() }).ends().exits(0);
    // As if the first one were still running.
    machines.postgres.sql("UPDATE rescreen.worker SET left_at = NULL");
    machines.prepare("b", &Job { per_minute: 3_000, rows: 3, ..Job::default() });
    machines.run("b").exits(2).says("other workers send 6000, at most 12000 in any, requests a minute");
    machines.postgres.sql("UPDATE rescreen.worker SET seen_at = seen_at - interval '21 minutes'");
    machines.run("b").exits(0);
}
