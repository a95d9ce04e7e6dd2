//! A last line without a line end is a row. When the line is completed later, that row alone is affected.

use crate::support::{
    ran::results,
    tables::text,
    world::{World, book, people},
};
use rescreen::model::ExitCode;

#[tokio::test]
async fn a_row_sent_before_its_line_was_complete_keeps_its_answer_and_later_rows_are_read() {
    let whole = book(1..=2);
    let mut world = World::new().csv(whole.trim_end().trim_end_matches("active"));
    world.run().await.exits(ExitCode::Complete).counts(results(2)).charged(2);
    world.append("book.csv", &format!("active\n{}", people(3..=4)));
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(4)).charged(4);
    let lines = ran.report().lines().join("\n");
    assert!(lines.contains("row 2 of book.csv was read before its line was complete: it was sent"), "{lines}");
    world.run().await.exits(ExitCode::Complete).counts(results(4)).charged(4);
}

#[tokio::test]
async fn a_row_not_sent_before_its_line_was_complete_fails_alone() {
    let whole = book(1..=3);
    let mut world = World::new().csv(whole.trim_end().trim_end_matches("active")).max_credits(1);
    world.run().await.exits(ExitCode::Budget).counts(results(1).pending(2));
    world.append("book.csv", &format!("active\n{}", people(4..=4)));
    let mut world = world.max_credits(100);
    for _ in 0..2 {
        let ran = world.run().await.exits(ExitCode::Failures).counts(results(3).failures(1)).charged(3).adds_up(true);
        let failure = &ran.failures()[0];
        assert_eq!((text(failure, "code"), text(failure, "subject")), ("incomplete_line", "3"));
        assert!(text(failure, "message").contains("the row was not sent"));
    }
}

#[tokio::test]
async fn a_row_that_failed_before_its_line_was_complete_stays_a_failure() {
    let whole = book(1..=2);
    let mut world = World::new().csv(whole.trim_end().trim_end_matches(",active"));
    world.run().await.exits(ExitCode::Failures).counts(results(1).failures(1));
    world.append("book.csv", &format!(",active\n{}", people(3..=3)));
    let ran = world.run().await.exits(ExitCode::Failures).counts(results(2).failures(1)).charged(2).adds_up(true);
    assert_eq!(text(&ran.failures()[0], "code"), "ragged_row");
}
