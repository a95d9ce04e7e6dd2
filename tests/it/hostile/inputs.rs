//! What a person does between or during runs: completes an input, loses an API key, asks for quiet output.

use super::{Campaign, Hostile, Reply};
use std::{fs, io::Write};

#[test]
#[ignore = "make hostile"]
fn requests_in_doubt_under_a_lost_api_key_are_resolved_by_an_explicit_decision() {
    let service = Hostile::new().script(|asked| (asked.row == 3).then(Reply::lost)).start();
    let campaign = Campaign::of(&service, 6);
    campaign.run_until_asked(1..=6);
    assert_eq!(campaign.ledger().in_state("in_doubt"), 1);
    let listed = campaign.say("resolve out/hostile --list");
    assert_eq!(listed.stdout.lines().count(), 0, "without the flag only quarantined requests are listed");
    let listed = campaign.say("resolve out/hostile --list --include-in-doubt").exits(8);
    assert_eq!(listed.stdout.lines().count(), 1, "{}", listed.stdout);
    campaign.say("resolve out/hostile --write-off --reason key-rotated");
    assert_eq!(campaign.ledger().row(3).state, "in_doubt", "nothing is decided without the flag");
    campaign.say("resolve out/hostile --write-off --include-in-doubt --reason key-rotated").exits(0);
    let ledger = campaign.ledger();
    let fate = ledger.row(3);
    assert_eq!((fate.state, fate.possibly_charged, fate.charged), ("failed", true, 1), "{fate:?}");
    campaign.run().exits(3);
    assert_eq!((service.book().keys_of(3), campaign.ledger().charged()), (1, 6));
}

#[test]
#[ignore = "make hostile"]
fn an_unterminated_last_line_completed_later_affects_that_row_alone() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 5);
    let append = |text: &str| {
        let mut file = fs::OpenOptions::new().append(true).open(campaign.path().join("book.csv")).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    append("6,R00006 Hal");
    campaign.run().exits(0);
    append("loway\n7,R00007 Quist\n8,R00008 Quist\n");
    let said = campaign.run();
    assert!([0, 3].contains(&said.code), "exit {}: {}", said.code, said.stderr);
    // Either as a failure, or as a note: the result that was paid for is published, and the note says what was
    // screened.
    let rows = [campaign.dataset("failures"), campaign.dataset("results")].concat();
    let row = rows.iter().find(|row| row["subject"] == "6").expect("row 6 is published").to_string();
    assert!(row.contains("R00006 Hal") && !row.contains("R00006 Halloway"), "{row}");
    assert!(said.stderr.contains("row 6"), "{}", said.stderr);
    assert_eq!(rows.len(), 8);
    assert_eq!((service.book().credits(), service.book().charged_twice()), (8.0, vec![]));
    assert_eq!(campaign.run().code, said.code, "the run after it is not refused either");
}

#[test]
#[ignore = "make hostile"]
fn an_unterminated_last_line_only_terminated_later_changes_nothing() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 5);
    let path = campaign.path().join("book.csv");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.trim_end()).unwrap();
    campaign.run().exits(0);
    fs::write(&path, text).unwrap();
    campaign.run().exits(0);
    assert_eq!((service.book().credits(), campaign.dataset("results").len()), (5.0, 5));
}

#[test]
#[ignore = "make hostile"]
fn quiet_still_says_why_a_run_stopped_and_how_to_continue() {
    let cases = [
        (4, Hostile::new(), "--max-credits 3", "limit"),
        (4, Hostile::new().price(9.0), "", "price"),
        (7, Hostile::new().on_all(Reply::status(401)), "", "API key"),
        (8, Hostile::new().on_row(2, Reply::lost()), "--for 4s", "may have been charged"),
        (10, Hostile::new().on_all(Reply::status(404)), "", "404"),
    ];
    for (code, hostile, flags, why) in cases {
        let service = hostile.start();
        let campaign = Campaign::of(&service, 10);
        let said = campaign.run_with(&format!("-q {flags}"));
        let says = said.stderr.to_lowercase().contains(&why.to_lowercase()) && said.stderr.contains("rescreen ");
        assert!(said.code == code && says, "expected exit {code} for `{why}`, exit {}: `{}`", said.code, said.stderr);
        assert_eq!(said.stdout, "");
    }
}
