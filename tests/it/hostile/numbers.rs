//! Numbers that are not JSON, as Python's json module writes them: `NaN` and `Infinity`. The answer around one was paid
//! for: it is kept for review, and a charge of which nothing is known stops the run.

use super::{Campaign, Hostile, Reply};

const ROWS: u32 = 6;

#[test]
#[ignore = "make hostile"]
fn an_answer_with_a_number_that_cannot_be_read_is_for_review_and_is_kept() {
    let numbers = ["NaN", "Infinity", "-Infinity", "1e999"];
    super::at_once(numbers, |number| {
        let body = format!(r#"{{"success":true,"creditsUsed":1,"results":{{"match":[],"score":{number}}}}}"#);
        let service = Hostile::new().on_row(2, Reply::bytes(body.as_bytes())).start();
        let campaign = Campaign::of(&service, ROWS);
        campaign.run().exits(0);
        let ledger = campaign.ledger();
        let fate = ledger.row(2);
        assert_eq!((fate.verdict.as_str(), fate.finding.as_str()), ("review", "unreadable_number"), "{fate:?}");
        assert_eq!((service.book().charges(), ledger.charged()), (ROWS as usize, u64::from(ROWS)), "{number}");
        assert!(ledger.keeps(number.as_bytes()), "the ledger keeps the answer as it came");
        let shown = campaign.published("results", 2);
        assert_eq!((&shown["verdict"], &shown["finding"]), (&"review".into(), &"unreadable_number".into()));
        assert!(shown.to_string().contains(number), "{shown}");
        assert_eq!(campaign.published("results", 3)["verdict"], "clear");
    });
}

#[test]
#[ignore = "make hostile"]
fn a_charge_or_a_balance_that_is_not_a_number_stops_the_run() {
    for amounts in [r#""creditsUsed":NaN"#, r#""creditsUsed":1,"remainingCredits":NaN"#, r#""creditsUsed":1e999"#] {
        let body = format!(r#"{{"success":true,{amounts},"results":{{"match":[]}}}}"#);
        let service = Hostile::new().on_row(2, Reply::bytes(body.as_bytes())).start();
        let campaign = Campaign::of(&service, 40).with("--in-flight 1");
        let said = campaign.run();
        assert_ne!(said.code, 0, "{amounts}: {}", said.stderr);
        assert!(said.stderr.contains("NaN") || said.stderr.contains("1e999"), "{amounts}: {}", said.stderr);
        assert!(service.book().charges() < 10, "{amounts}: {} charges", service.book().charges());
        assert_eq!(campaign.ledger().row(2).verdict, "review", "the answer is kept");
    }
}
