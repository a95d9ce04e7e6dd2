//! The comparison of published folders that are made row by row.

use crate::support::rounds::{End, Published};
use rescreen::{
    Error,
    model::ExitCode,
    pipeline::compare::{AnswersCompared, Change, CompareOptions, Comparison, changed_rows, compare},
    sink::{Manifest, OutputFormat, OutputMode},
};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

pub(super) const CLEAR: End = End::Result("clear", "no_match", 1);
pub(super) const REVIEW: End = End::Result("review", "pep_match", 2);

/// Two rounds: each row has its check, its subject, and how it ended in the old and in the new round.
struct Rounds {
    folder: TempDir,
    old: Published,
    new: Published,
}

impl Rounds {
    fn new(formats: (OutputFormat, OutputFormat)) -> Rounds {
        let folder = tempfile::tempdir().unwrap();
        Rounds { folder, old: Published::new("2026-10", formats.0), new: Published::new("2026-11", formats.1) }
    }

    fn old_folder(&self) -> PathBuf {
        self.folder.path().join("2026-10")
    }

    fn new_folder(&self) -> PathBuf {
        self.folder.path().join("2026-11")
    }

    fn row(&mut self, check: &str, subject: &str, number: u64, old: Option<End>, new: Option<End>) {
        let (old_folder, new_folder) = (self.old_folder(), self.new_folder());
        if let Some(end) = old {
            self.old.row(&old_folder, check, Some(subject), number, end);
        }
        if let Some(end) = new {
            // Another order of the rows, so that a position alone leads to no partner.
            self.new.row(&new_folder, check, Some(subject), 1_000 - number, end);
        }
    }

    fn published(self) -> Folders {
        let (old, new) = (self.old_folder(), self.new_folder());
        self.old.publish(&old);
        self.new.publish(&new);
        Folders { old, new, _folder: self.folder }
    }
}

struct Folders {
    old: PathBuf,
    new: PathBuf,
    _folder: TempDir,
}

impl Folders {
    fn compare(&self, options: &CompareOptions) -> Result<(Comparison, Vec<String>), Error> {
        let mut lines = Vec::new();
        let comparison = compare(&self.old, &self.new, options, &mut |ask| {
            lines.push(format!("{} {} {}", ask.check, ask.subject, ask.change));
            Ok(())
        })?;
        Ok((comparison, lines))
    }

    #[track_caller]
    fn refused(&self) -> Error {
        self.compare(&CompareOptions::default()).expect_err("the rounds are compared")
    }
}

/// A row of every kind.
fn every_kind(rounds: &mut Rounds) {
    let rows: [(&str, &str, Option<End>, Option<End>); 13] = [
        ("aml", "a", Some(CLEAR), Some(CLEAR)),
        ("aml", "b", Some(CLEAR), Some(REVIEW)),
        ("aml", "c", Some(REVIEW), Some(CLEAR)),
        ("aml", "d", Some(REVIEW), Some(End::Result("review", "sanctions_match", 3))),
        ("aml", "e", Some(REVIEW), Some(End::Result("review", "pep_match", 9))),
        ("aml", "f", Some(CLEAR), Some(End::Failure("refused"))),
        ("aml", "g", Some(End::Failure("refused")), Some(CLEAR)),
        ("aml", "h", None, Some(CLEAR)),
        ("aml", "i", Some(CLEAR), None),
        ("aml", "j", Some(End::Skipped("when: x")), Some(CLEAR)),
        ("aml", "k", Some(CLEAR), Some(End::Pending("unsent"))),
        ("said", "b", Some(CLEAR), Some(End::Result("data", "found", 1))),
        ("said", "a", Some(End::Failure("refused")), Some(End::Failure("refused"))),
    ];
    for (at, (check, subject, old, new)) in rows.into_iter().enumerate() {
        rounds.row(check, subject, at as u64 + 1, old, new);
    }
}

#[test]
fn every_kind_of_change_is_found_in_both_formats_and_between_them() {
    let (parquet, jsonl) = (OutputFormat::Parquet, OutputFormat::Jsonl);
    for formats in [(parquet, parquet), (jsonl, jsonl), (jsonl, parquet)] {
        let mut rounds = Rounds::new(formats);
        every_kind(&mut rounds);
        let folders = rounds.published();
        let (comparison, lines) = folders.compare(&CompareOptions::default()).unwrap();
        assert_eq!(
            lines,
            [
                "aml a unchanged",
                "aml b new_match",
                "aml c cleared",
                "aml d finding_changed",
                "aml e answer_changed",
                "aml f failed_now",
                "aml g failed_before",
                "aml h joined",
                "aml i left",
                "aml j not_answered",
                "aml k not_answered",
                "said a not_answered",
                "said b verdict_changed",
            ]
        );
        let aml = &comparison.checks[0];
        assert_eq!((aml.check.as_str(), aml.answers, aml.repeated_subjects), ("aml", AnswersCompared::Yes, 0));
        assert_eq!((aml.old.asks, aml.new.asks), (10, 10));
        assert_eq!(aml.old.versions, [("2026-10".to_owned(), 8)].into());
        assert_eq!(aml.new.versions, [("2026-11".to_owned(), 8)].into());
        assert_eq!((comparison.changed(), comparison.count(Change::NotAnswered)), (9, 3));
        assert_eq!((comparison.old.campaign.as_str(), comparison.new.campaign.as_str()), ("2026-10", "2026-11"));
        let changed = changed_rows(&folders.old, &folders.new, &CompareOptions::default()).unwrap();
        assert_eq!((changed.len(), changed.left), (8, 1), "the one that left has no row");
        let id = |row| rescreen::sink::result_id("2026-11", OutputMode::Sandbox, Some("aml"), "book.csv", row);
        let [is, is_not, no_id] = [&id(998), &id(999), "x"].map(|id| changed.get(id).is_some());
        assert!(is && !is_not && !no_id);
        let only = CompareOptions { checks: vec!["said".to_owned()], ..CompareOptions::default() };
        assert_eq!(folders.compare(&only).unwrap().1, ["said a not_answered", "said b verdict_changed"]);
        let unknown = CompareOptions { checks: vec!["aml2".to_owned()], ..CompareOptions::default() };
        let refused = folders.compare(&unknown).unwrap_err().to_string();
        assert_eq!(refused, "expected a check of the rounds (aml, said), found `aml2`");
    }
}

#[test]
fn an_older_round_without_digests_is_compared_by_verdict_and_finding_alone() {
    let mut rounds = Rounds::new((OutputFormat::Parquet, OutputFormat::Jsonl));
    rounds.old.has_digests = false;
    every_kind(&mut rounds);
    let (comparison, lines) = rounds.published().compare(&CompareOptions::default()).unwrap();
    assert!(lines.contains(&"aml e unchanged".to_owned()), "{lines:?}");
    assert_eq!(comparison.checks[0].answers, AnswersCompared::NoDigest);
    assert_eq!(comparison.changed(), 8);
}

#[test]
fn answers_whose_digests_are_made_of_other_parts_are_not_compared() {
    let mut rounds = Rounds::new((OutputFormat::Parquet, OutputFormat::Parquet));
    rounds.new.digest.compared = vec!["/match".to_owned()];
    every_kind(&mut rounds);
    let (comparison, lines) = rounds.published().compare(&CompareOptions::default()).unwrap();
    assert!(lines.contains(&"aml e unchanged".to_owned()), "{lines:?}");
    assert_eq!(comparison.checks[0].answers, AnswersCompared::OtherParts);
    assert!(comparison.checks[0].answers.reason().is_some());
}

#[test]
fn rounds_of_different_modes_or_without_subjects_are_refused() {
    let mut rounds = Rounds::new((OutputFormat::Jsonl, OutputFormat::Jsonl));
    rounds.new.mode = OutputMode::Production;
    every_kind(&mut rounds);
    let folders = rounds.published();
    let refused = folders.refused();
    assert_eq!(refused.exit_code(), ExitCode::Usage);
    let refused = refused.to_string();
    assert!(refused.contains("found sandbox in") && refused.ends_with("--across-modes"), "{refused}");
    let across = CompareOptions { across_modes: true, ..CompareOptions::default() };
    assert_eq!(folders.compare(&across).unwrap().0.changed(), 9);

    let mut rounds = Rounds::new((OutputFormat::Jsonl, OutputFormat::Jsonl));
    every_kind(&mut rounds);
    let old_folder = rounds.old_folder();
    rounds.old = Published::new("2026-10", OutputFormat::Jsonl);
    fs::remove_dir_all(&old_folder).unwrap();
    rounds.old.row(&old_folder, "aml", None, 1, CLEAR);
    let refused = rounds.published().refused().to_string();
    assert!(refused.contains("2026-10: expected subjects") && refused.contains("--id"), "{refused}");
}

/// Changes the manifest of a folder as another program could.
fn with_manifest(folder: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let path = folder.join("manifest.json");
    let mut manifest = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    fs::write(&path, manifest.to_string()).unwrap();
}

#[test]
fn a_folder_that_is_under_way_damaged_or_hostile_is_refused() {
    for format in [OutputFormat::Parquet, OutputFormat::Jsonl] {
        let published = || {
            let mut rounds = Rounds::new((format, format));
            every_kind(&mut rounds);
            rounds.published()
        };
        let folders = published();
        with_manifest(&folders.new, |manifest| manifest["under_way"] = true.into());
        let refused = folders.refused().to_string();
        assert!(refused.contains("under way") && refused.contains("`rescreen collect "), "{refused}");

        let part = |folders: &Folders| {
            let manifest = Manifest::read(&folders.old).unwrap().unwrap();
            folders.old.join(&manifest.datasets[0].parts[0].path)
        };
        let folders = published();
        fs::remove_file(part(&folders)).unwrap();
        assert!(folders.refused().to_string().contains("found no file at this path"));
        let folders = published();
        let bytes = fs::read(part(&folders)).unwrap();
        fs::write(part(&folders), &bytes[..bytes.len() - 1]).unwrap();
        let refused = folders.refused();
        assert!(refused.to_string().contains(" bytes, found "), "{refused}");
        assert_eq!(refused.exit_code(), ExitCode::Storage);

        let folders = published();
        with_manifest(&folders.old, |manifest| manifest["datasets"][0]["parts"][0]["path"] = "../secret".into());
        assert!(folders.refused().to_string().contains("found a path with `..`"));
        let folders = published();
        with_manifest(&folders.old, |manifest| manifest["datasets"][0]["parts"][0]["rows"] = 3.into());
        assert!(folders.refused().to_string().contains("expected 3 rows, found "));
        let folders = published();
        with_manifest(&folders.old, |manifest| {
            let columns = manifest["datasets"][0]["schema"].as_array_mut().unwrap();
            columns.iter_mut().find(|column| column["name"] == "subject").unwrap()["type"] = "integer".into();
        });
        let refused = folders.refused().to_string();
        assert!(refused.contains("column `subject`") && refused.contains("manifest"), "{refused}");
        let folders = published();
        with_manifest(&folders.old, |manifest| {
            let datasets = manifest["datasets"].as_array_mut().unwrap();
            datasets.push(datasets[0].clone());
        });
        assert!(folders.refused().to_string().contains("two datasets of results for one check"));
        let folders = published();
        // A damaged file of the same size.
        let bytes: Vec<u8> = bytes.iter().map(|byte| if *byte == b'"' { b'x' } else { byte ^ 0x15 }).collect();
        fs::write(part(&folders), bytes).unwrap();
        let refused = folders.refused().to_string();
        assert!(refused.contains("damaged"), "{refused}");
    }
}
