//! What a run leaves in its folder: result parts are only added, changed snapshots are replaced as a whole, every line says
//! that the simulator answered, and only the owner can read it.

use crate::support::{
    ran::{Ran, results},
    tables::{files, read, text},
    world::{World, people},
};
use rescreen::{
    model::ExitCode,
    sink::{DatasetKind, OutputMode},
};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

fn contents(out: &Path, under: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    files(out, under).into_iter().map(|file| (file.clone(), fs::read(out.join(file)).unwrap())).collect()
}

/// The parts of one kind that the manifest names.
fn named(ran: &Ran, kind: DatasetKind) -> Vec<PathBuf> {
    let datasets = ran.manifest().datasets.iter().filter(|one| one.kind == kind);
    let mut paths: Vec<PathBuf> = datasets.flat_map(|one| &one.parts).map(|part| (&part.path).into()).collect();
    paths.sort();
    paths
}

#[tokio::test]
async fn result_parts_are_only_added_and_a_changed_snapshot_is_replaced_as_a_whole() {
    let mut world = World::new().rows(10).max_credits(4);
    world.append("book.csv", "torn\n");
    let first =
        world.run().await.exits(ExitCode::Budget).charged(4).counts(results(4).failures(1).pending(6)).adds_up(false);
    let before = contents(&first.out, "results");
    let mut world = world.max_credits(100);
    let second = world.run().await.exits(ExitCode::Failures).charged(10).counts(results(10).failures(1)).adds_up(true);
    let after = contents(&second.out, "results");
    assert_eq!((before.len(), after.len()), (1, 2));
    assert!(before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)), "a part never changes");
    for kind in [DatasetKind::Failures, DatasetKind::Pending, DatasetKind::Skipped] {
        let there = files(&second.out, kind.as_str());
        assert_eq!(there, named(&second, kind), "one snapshot, the one the manifest names");
        // A changed one has a new name, so that readers of the old one are not disturbed.
        assert_eq!(there != named(&first, kind), kind == DatasetKind::Pending, "{kind:?}");
    }
    let globbed: usize = after.keys().map(|path| read(&second.out.join(path)).len()).sum();
    assert_eq!(globbed, 10, "a reader by glob sees what a reader by manifest sees");
}

#[tokio::test]
async fn pending_asks_say_why() {
    let mut world = World::new().rows(5).max_credits(2);
    let ran = world.run().await.exits(ExitCode::Budget).counts(results(2).pending(3));
    assert!(ran.lines(DatasetKind::Pending).iter().all(|line| text(line, "reason") == "unsent"));
}

#[tokio::test]
async fn every_output_says_that_it_was_simulated() {
    let csv =
        crate::support::world::book(1..=4).replace("4,P00004 Vexford,active", "4,P00004 Vexford,closed") + "torn\n";
    let mut world = World::new().csv(&csv).max_credits(2);
    world.file.checks[0].when = Some("status == 'active'".into());
    let ran = world.run().await.exits(ExitCode::Budget).counts(results(2).failures(1).pending(1).skipped(1));
    assert_eq!(ran.manifest().mode, OutputMode::Simulated);
    for kind in [DatasetKind::Results, DatasetKind::Failures, DatasetKind::Pending, DatasetKind::Skipped] {
        assert!(ran.lines(kind).iter().all(|line| text(line, "mode") == "simulated"), "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rehearsal_says_so_before_the_first_answer() {
    let mut world = World::new().sandbox().rows(2).under_paused_time();
    world.paused().refuses_connections();
    let ran = world.run().await;
    assert_eq!((ran.posts(), ran.manifest().mode), (0, OutputMode::Simulated));
}

#[tokio::test]
async fn a_lost_part_or_manifest_is_written_again_byte_for_byte() {
    let mut world = World::new().rows(30);
    let first = world.run().await.exits(ExitCode::Complete);
    let before = contents(&first.out, "results");
    fs::remove_dir_all(first.out.join("results")).unwrap();
    fs::remove_file(first.out.join("manifest.json")).unwrap();
    let again = world.run().await.exits(ExitCode::Complete).charged(30).adds_up(true);
    assert_eq!(contents(&again.out, "results"), before);
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_goes_to_a_new_part_although_rows_after_it_are_published() {
    let mut world = World::new().rows(3).in_flight(1).fault("drop_after@2,drop_after@4").under_paused_time();
    let first = world.run_until("three charges", |stats| stats.charges == 3).await;
    let parts = first.manifest().datasets[0].parts.len();
    let second = world.run().await.exits(ExitCode::Complete).charged(3).adds_up(true);
    let rows: Vec<u64> = second.manifest().datasets[0].parts.iter().map(|part| part.rows).collect();
    assert!(rows.len() > parts && rows.iter().sum::<u64>() == 3, "{rows:?}");
}

#[tokio::test]
async fn folders_and_files_are_private_to_the_owner() {
    let mut world = World::new().rows(2);
    world.append("book.csv", &(people(3..=3) + "torn\n"));
    let ran = world.run().await.exits(ExitCode::Failures);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for file in files(&ran.out, "") {
        let path = ran.out.join(&file);
        assert_eq!(mode(&path), 0o600, "{}", file.display());
        assert_eq!(mode(path.parent().unwrap()), 0o700, "the folder of {}", file.display());
    }
}
