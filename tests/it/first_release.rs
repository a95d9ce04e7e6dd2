//! The promise: a campaign that was begun with the first release is finished by every later one. `tests/golden/0.1.0` has the
//! output folder of a campaign that stopped in the middle, with its ledger, as that release left it. A release that
//! changes the schema must still read it.

use crate::support::{ran::results, world::World};
use axum::{body::Body, http::Response};
use rescreen::model::{ExitCode, SIMULATOR_MARKER, state::State};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

const OLD: &str = "https://api.example.com";
/// The requests that were answered when the campaign stopped.
const ANSWERED: u64 = 3;

/// Eight people, and a row without a name.
fn world() -> World {
    let mut world = World::new().csv(&(crate::support::world::book(1..=8) + "9,\n")).in_flight(1).under_paused_time();
    world.is_at(OLD, None);
    world
}

fn frozen() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/0.1.0/out")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

/// Runs until some requests are answered and others are in doubt, because a reply is lost and then the service redirects.
/// `RESCREEN_FREEZE=1` writes the folder anew, which is right only before the release.
#[tokio::test(start_paused = true)]
async fn the_campaign_that_is_frozen_can_be_made_again() {
    let mut world = world().fault("drop_after@4");
    let passed = AtomicU32::new(0);
    world.paused().stands_between(move |_, _| {
        let has_moved = passed.fetch_add(1, Ordering::Relaxed) >= 5;
        let reply = Response::builder().status(308).header(SIMULATOR_MARKER, "1").header("location", OLD);
        has_moved.then(|| reply.body(Body::empty()).unwrap())
    });
    let ran = world.run().await.exits(ExitCode::Service);
    let states = [State::Planned, State::InDoubt, State::Answered].map(|state| ran.report().sums.in_state(state));
    assert!(states.iter().all(|count| *count > 0), "{states:?}");
    assert_eq!(states[2], ANSWERED);
    if std::env::var_os("RESCREEN_FREEZE").is_some() {
        drop(fs::remove_dir_all(frozen()));
        copy(&ran.out, &frozen());
    }
}

#[tokio::test(start_paused = true)]
async fn a_campaign_of_the_first_release_is_finished_and_pays_only_for_the_rest() {
    let mut world = world();
    copy(&frozen(), &world.path("out"));
    for _ in 0..2 {
        let ran = world.run().await.exits(ExitCode::Failures).counts(results(8).failures(1));
        // The service of this test knows nothing of what was answered before.
        assert_eq!((ran.stats.charges, ran.stats.double_charges), (8 - ANSWERED, 0));
        let account = &ran.report().sums.account;
        assert_eq!((account.charged.0, account.held.0), (8, 0));
    }
}
