//! The output folder is private to the owner, and leftovers are removed.

use super::{names, write};
use crate::outputs::manifest::{dataset, manifest};
use rescreen::sink::{DatasetKind, OutputFormat, OutputMode, claim, create_folder, set_aside, sweep, write_readme};
use std::fs;

#[cfg(unix)]
#[test]
fn folders_and_files_are_private_to_the_owner() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out/2026-11");
    create_folder(&out).unwrap();
    write_readme(&out, OutputMode::Production).unwrap();
    manifest().write_atomically(&out).unwrap();
    write(&out.join("results/aml/part-1.parquet"), OutputFormat::Parquet, 1).unwrap();
    let mode = |path: &str| fs::metadata(folder.path().join(path)).unwrap().permissions().mode() & 0o777;
    for path in ["out", "out/2026-11", "out/2026-11/results", "out/2026-11/results/aml"] {
        assert_eq!(mode(path), 0o700, "{path}");
    }
    for path in ["README.txt", "manifest.json", "results/aml/part-1.parquet"] {
        assert_eq!(mode(&format!("out/2026-11/{path}")), 0o600, "{path}");
    }
}

#[test]
fn the_readme_says_what_must_not_be_deleted_and_a_users_own_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    write_readme(folder.path(), OutputMode::Production).unwrap();
    let path = folder.path().join("README.txt");
    let text = fs::read_to_string(&path).unwrap();
    for words in ["ledger.sqlite", "may cost", "personal data", "manifest.json"] {
        assert!(text.contains(words), "{words}");
    }
    assert!(!text.contains("INVENTED"), "{text}");
    for (mode, inventor) in [(OutputMode::Sandbox, "sandbox of the service"), (OutputMode::Simulated, "simulator")] {
        write_readme(folder.path(), mode).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("INVENTED, NOT REAL VERIFICATIONS") && text.contains(inventor), "{text}");
    }
    fs::write(&path, "mine").unwrap();
    write_readme(folder.path(), OutputMode::Production).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn a_sweep_removes_leftovers_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let kept = [
        ".notes.txt.tmp",
        "failures/notes.txt",
        "failures/part-000002.jsonl",
        "failures/part-7.jsonl",
        "ledger.sqlite",
        "pending/mine.parquet",
        "pending/old/part-000001.parquet",
        "results/aml/part-000001.parquet",
        "results/aml/part-000009.parquet",
    ];
    let gone = [
        ".manifest.json.tmp",
        "failures/.part-000003.jsonl.tmp",
        "failures/part-000001.jsonl",
        "results/aml/.part-000002.parquet.tmp",
        "skipped/part-000001.parquet",
    ];
    for name in kept.iter().chain(&gone) {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    let mut manifest = manifest();
    manifest.complete = false;
    manifest.datasets = vec![
        dataset(DatasetKind::Results, Some("aml"), "results/aml/part-000001.parquet", 1),
        dataset(DatasetKind::Failures, None, "failures/part-000002.jsonl", 1),
    ];
    assert_eq!(sweep(folder.path(), &manifest, true).unwrap(), gone.len() as u64);
    assert_eq!(names(folder.path()), kept);
    assert_eq!(sweep(folder.path(), &manifest, true).unwrap(), 0);
}

#[test]
fn missing_files_need_no_move_and_a_failed_move_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (out, aside) = (folder.path().join("out"), folder.path().join("aside"));
    fs::create_dir_all(out.join("results/aml")).unwrap();
    fs::write(out.join("results/aml/part-000001.jsonl"), "paid for").unwrap();
    // A folder cannot be moved over one that has files.
    fs::create_dir_all(aside.join("results/aml")).unwrap();
    fs::write(aside.join("results/mine"), "mine").unwrap();
    let said = set_aside(&out, &aside, true).unwrap_err().to_string();
    assert!(said.contains("moving") && said.contains("out/results"), "{said}");
    assert_eq!(fs::read_to_string(out.join("results/aml/part-000001.jsonl")).unwrap(), "paid for");
    fs::remove_dir_all(&aside).unwrap();
    fs::create_dir(&aside).unwrap();
    set_aside(&out, &aside, true).unwrap();
    assert_eq!((names(&out), names(&aside)), (vec![], vec!["results/aml/part-000001.jsonl".to_owned()]));
}

#[test]
fn a_folder_among_the_results_of_another_ledger_cannot_be_claimed_and_one_beside_them_can() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    claim(&out, "one", "first", true).unwrap();
    for (inside, may_be) in [("another", true), ("results/another", false), ("failures", false)] {
        fs::create_dir_all(out.join(inside)).unwrap();
        assert_eq!(claim(&out.join(inside), "two", "second", true).is_ok(), may_be, "{inside}");
    }
}
