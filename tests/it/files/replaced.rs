//! A file that is replaced after its row was read is never a new charge: its request fails before it is sent, or stays
//! in doubt if it may have been charged.

use super::sample::{addresses, faces, jpeg, pdf, put};
use crate::support::{
    program::{Said, rescreen},
    ran::results,
    tables::text,
};
use rescreen::{
    model::{ExitCode, Stop, state::State},
    simulator::Faults,
};
use std::fs;

#[tokio::test]
async fn a_replaced_file_fails_its_request_before_it_is_sent() {
    for removed in [false, true] {
        let mut world = faces(&[&jpeg(1, 300), &jpeg(2, 300)]).max_credits(3);
        // The budget stops the second request, whose file is replaced before the next run.
        world.run().await.exits(ExitCode::Budget).charged(3);
        match removed {
            true => fs::remove_file(world.path("files/s1.jpg")).unwrap(),
            false => put(&world, "s1.jpg", &jpeg(3, 300)),
        }
        let mut world = world.max_credits(100);
        let ran = world.run().await.exits(ExitCode::Failures).charged(3).counts(results(1).failures(1));
        assert_eq!(ran.failure_codes(), [("file_changed".to_owned(), 1)].into());
        let message = text(&ran.failures()[0], "message");
        assert!(message.starts_with("field `selfie_image_base64`: expected the file that was there"), "{message}");
        assert!(!message.contains("s1.jpg"), "{message}");
        assert_eq!(ran.report().sums.account.held.0, 0, "the hold is free");
        assert_eq!(ran.attempts().len(), 1, "it was never armed");
        // With the file restored, a retry sends it.
        put(&world, "s1.jpg", &jpeg(2, 300));
        world.retry().await.exits(ExitCode::Complete).charged(6).counts(results(2));
    }
}

#[tokio::test]
async fn a_row_with_an_equal_file_elsewhere_goes_on_if_the_other_file_is_replaced() {
    let mut world = addresses(&[&pdf(1, 300), &pdf(2, 300), &pdf(2, 300)]).max_credits(3);
    world.run().await.exits(ExitCode::Budget).charged(3);
    put(&world, "d1.pdf", &pdf(3, 300));
    let mut world = world.max_credits(100);
    world.run().await.exits(ExitCode::Complete).charged(6).counts(results(3));
    // Without an unchanged file, the request fails.
    let mut world = addresses(&[&pdf(1, 300), &pdf(2, 300), &pdf(2, 300)]).max_credits(3);
    world.run().await.exits(ExitCode::Budget).charged(3);
    put(&world, "d1.pdf", &pdf(3, 300));
    fs::remove_file(world.path("files/d2.pdf")).unwrap();
    let mut world = world.max_credits(100);
    world.run().await.exits(ExitCode::Failures).charged(3).counts(results(1).failures(2));
}

#[tokio::test(start_paused = true)]
async fn a_request_in_doubt_whose_file_was_replaced_stays_in_doubt() {
    let mut world = faces(&[&jpeg(1, 300), &jpeg(2, 300)]).in_flight(1).fault("drop_after@3").under_paused_time();
    let ran = world.run_until("the second charge", |stats| stats.charges == 2).await;
    let in_doubt = ran.report().sums.in_state(State::InDoubt);
    assert_eq!(in_doubt, 1, "{:?}", ran.report().sums.requests);
    put(&world, "s1.jpg", &jpeg(3, 300));
    let ran = world.run().await.exits(ExitCode::Doubt).counts(results(1).pending(1));
    assert!(
        ran.report().sent.stops.iter().any(|stop| matches!(stop, Stop::FilesChanged { .. })),
        "{:?}",
        ran.report().sent.stops
    );
    let message = ran.report().sent.stops[0].to_string();
    for part in ["field `selfie_image_base64` of row 2 of book.csv (sha256:", "restore the files and run again"] {
        assert!(message.contains(part), "{message}");
    }
    put(&world, "s1.jpg", &jpeg(2, 300));
    world.run().await.exits(ExitCode::Complete).charged(6).counts(results(2));
}

#[tokio::test]
async fn collect_repeats_a_request_with_its_files_from_the_ledger_alone() {
    // Its repeats are cut off before the service acts, so the request is in doubt whenever the interrupt comes.
    let repeats: String = (4..=60).map(|nth| format!(",drop_before@{nth}")).collect();
    let mut world = faces(&[&jpeg(1, 300), &jpeg(2, 300)]).in_flight(1).fault(&format!("drop_after@3{repeats}"));
    let ran = world.run_until("the second charge", |stats| stats.charges == 2).await;
    assert_eq!(ran.report().sums.in_state(State::InDoubt), 1, "{:?}", ran.report().sums.requests);
    world.running_service().simulator.set_faults(Faults::none());
    let url = world.running_service().url.clone();
    let collect = |code: i32| {
        let words = ["collect", "out", "--service", &url];
        Said::of(&mut rescreen(&world.path(""), &words)).exits(code)
    };
    fs::rename(world.path("files/s1.jpg"), world.path("files/elsewhere.jpg")).unwrap();
    let said = collect(8).says("of row 2 of book.csv").says("it found no file at this path");
    assert!(!said.stderr.contains("s1.jpg"), "{}", said.stderr);
    fs::rename(world.path("files/elsewhere.jpg"), world.path("files/s1.jpg")).unwrap();
    collect(0);
    let stats = world.running_service().simulator.stats();
    assert_eq!((stats.charges, stats.double_charges, stats.replays, stats.conflicts), (2, 0, 1, 0));
}

#[tokio::test]
async fn a_request_gets_no_file_of_a_request_that_was_deleted() {
    let mut world = addresses(&[&pdf(1, 300), &pdf(2, 300), &pdf(3, 300)]).max_credits(3);
    let book = fs::read_to_string(world.path("book.csv")).unwrap();
    // The last line has no line end. The budget leaves its row unsent, and the line is completed later.
    world.write("book.csv", book.trim_end());
    world.run().await.exits(ExitCode::Budget).charged(3);
    put(&world, "d3.pdf", &pdf(4, 300));
    world.append("book.csv", ".old\n4,d3.pdf\n");
    let mut world = world.max_credits(100);
    let ran = world.run().await.exits(ExitCode::Failures).charged(9).counts(results(3).failures(1)).adds_up(true);
    assert_eq!(ran.failure_codes(), [("incomplete_line".to_owned(), 1)].into());
}
