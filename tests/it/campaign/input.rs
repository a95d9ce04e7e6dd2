//! Changes of an input between two runs: appended rows are accepted. Everything else is refused before anything is
//! sent, and the message names the rows.

use crate::support::{
    ran::results,
    world::{World, book, people},
};
use rescreen::model::ExitCode;

/// 2,500 rows, in three splits, of 50 people.
fn long_book() -> String {
    book(1..=50) + &people(1..=50).repeat(49)
}

/// A world that has screened those rows.
async fn screened() -> World {
    let mut world = World::new().csv(&long_book());
    world.run().await.exits(ExitCode::Complete).charged(50);
    world
}

/// Runs again; expects a usage error and that nothing was sent.
async fn refused(world: &mut World) -> String {
    let before = world.running_service().simulator.stats();
    let again = world.run().await.exits(ExitCode::Usage);
    assert_eq!(again.stats, before);
    again.error()
}

#[tokio::test]
async fn a_changed_byte_in_a_known_row_is_refused_with_its_rows() {
    let mut world = screened().await;
    let mut bytes = long_book().into_bytes();
    let of_row_1500 = bytes.len() * 3 / 5;
    bytes[of_row_1500] = b'#';
    world.write("book.csv", &String::from_utf8(bytes).unwrap());
    let message = refused(&mut world).await;
    assert!(message.contains("book.csv") && message.contains("row 1500 was sent, and has changed."), "{message}");
}

#[tokio::test]
async fn a_shortened_input_is_refused_with_its_counts() {
    let mut world = screened().await;
    world.write("book.csv", &long_book()[..30_000]);
    let message = refused(&mut world).await;
    assert!(message.contains("book.csv") && message.contains("2500"), "{message}");
}

#[tokio::test]
async fn a_row_that_grows_at_its_end_is_not_ingested_again() {
    let mut world = World::new().csv(book(1..=3).trim_end());
    world.run().await.exits(ExitCode::Complete).charged(3);
    world.append("book.csv", "-and-more\n");
    world.run().await.exits(ExitCode::Complete).charged(3).counts(results(3));
    world.write("book.csv", &(book(1..=3) + &people(4..=5)));
    world.run().await.exits(ExitCode::Complete).charged(5);
}

#[tokio::test]
async fn a_new_input_beside_the_known_one_is_refused() {
    let mut world = World::new().rows(3);
    world.run().await.exits(ExitCode::Complete);
    world.write("more.csv", &book(4..=5));
    let mut world = world.campaign(|file| file.input.paths.push("more.csv".into()));
    let message = refused(&mut world).await;
    assert!(message.contains("new campaign"), "{message}");
}

#[tokio::test]
async fn an_input_that_was_read_to_its_end_is_not_needed_again() {
    let mut world = World::new().rows(3).max_credits(2);
    world.run().await.exits(ExitCode::Budget).charged(2);
    std::fs::remove_file(world.path("book.csv")).unwrap();
    let mut world = world.max_credits(3).campaign(|file| file.input.paths = vec!["december.csv".into()]);
    let message = refused(&mut world).await;
    assert!(message.contains("december.csv"), "another input, which is not there: {message}");
    let mut world = world.campaign(|file| file.input.paths = vec!["book.csv".into()]);
    world.run().await.exits(ExitCode::Complete).charged(3).counts(results(3)).adds_up(true);
}

#[tokio::test]
async fn a_changed_template_changes_no_key_of_an_ingested_row() {
    let mut world = World::new().rows(5).max_credits(2);
    world.run().await.exits(ExitCode::Budget).charged(2);
    let mut world = world.max_credits(100).campaign(|file| {
        file.checks[0].fields.insert("name".into(), "{{ name | upper }}".into());
    });
    world.append("book.csv", &people(6..=6));
    let ran = world.run().await.exits(ExitCode::Complete).charged(6);
    let sent = |row| ran.result_of(row)["sent"].as_str().unwrap().to_owned();
    assert!(sent(5).contains("P00005 Vexford") && sent(6).contains("P00006 VEXFORD"), "{} {}", sent(5), sent(6));
}

#[tokio::test]
async fn with_a_row_limit_the_first_rows_are_read_and_the_rest_later() {
    let mut world = World::new().rows(10).campaign(|file| file.input.limit = Some(4));
    let some = world.run().await.exits(ExitCode::TimeIsUp).charged(4).counts(results(4));
    assert!(!some.manifest().complete, "the input was not read to its end");
    let mut world = world.campaign(|file| file.input.limit = None);
    world.run().await.exits(ExitCode::Complete).charged(10).adds_up(true);
}

#[tokio::test]
async fn an_input_of_another_length_than_expected_sends_nothing() {
    let mut world = World::new().rows(10).campaign(|file| file.input.expect_rows = Some((11, 20)));
    let ran = world.run().await.exits(ExitCode::Guard).charged(0).counts(results(0).pending(10));
    assert_eq!(ran.posts(), 0);
    let mut world = world.campaign(|file| file.input.expect_rows = Some((10, 10)));
    world.run().await.exits(ExitCode::Complete).charged(10);
}

#[tokio::test]
async fn an_input_that_is_named_twice_is_refused() {
    let mut world = World::new().rows(3).campaign(|file| file.input.paths = vec!["book.csv".into(); 2]);
    let message = refused(&mut world).await;
    assert!(message.contains("book.csv is named twice"), "{message}");
}
