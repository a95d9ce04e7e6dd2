//! What a person does to the input between runs.

use super::{Campaign, Hostile};
use std::{fs, io::Write};

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
