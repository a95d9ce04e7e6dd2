//! The promise: no bytes from outside make the program panic or violate what must hold for them. Each check of the fuzz
//! targets is called with its corpus and with mutations of it that are the same on every machine.

#[path = "../../fuzz/checks/mod.rs"]
pub mod checks;

use crate::support::rng::Rng;
use checks::CHECKS;
use std::{collections::BTreeSet, fs, path::PathBuf};

/// A corpus is small because people read its cases.
const FILES_MAX: usize = 24;
const BYTES_MAX: usize = 8 << 10;

fn fuzz(inside: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(inside)
}

fn names(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(fuzz(folder)).unwrap_or_else(|error| panic!("fuzz/{folder}: {error}"));
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The corpus of a target: name and bytes.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = format!("corpus/{target}");
    names(&folder).into_iter().map(|name| (name.clone(), fs::read(fuzz(&folder).join(name)).unwrap())).collect()
}

/// Bytes that have a meaning in one of the formats.
const TELLING: [&[u8]; 16] = [
    b"\n",
    b"\r\n",
    b"\r",
    b"\"",
    b",",
    b"\0",
    b"{",
    b"}",
    b"null",
    b"-1",
    b"18446744073709551615",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\\",
    b"{{",
    b"]",
];

/// One to four changes to a case: change a byte, remove or repeat a range, copy a range from another case, or insert a
/// significant word.
fn mutated(mut case: Vec<u8>, other: &[u8], rng: &mut Rng) -> Vec<u8> {
    for _ in 0..=rng.below(4) {
        let from = rng.below(case.len() + 1);
        let to = (from + 1 + rng.below(16)).min(case.len()).max(from);
        match rng.below(6) {
            0 if from < case.len() => case[from] = rng.below(256) as u8,
            1 if from < case.len() => case[from] ^= 1 << rng.below(8),
            2 => drop(case.drain(from..to)),
            3 => {
                let twice = case[from..to].to_vec();
                case.splice(to..to, twice);
            }
            4 => {
                let begin = rng.below(other.len() + 1);
                let end = (begin + rng.below(32)).min(other.len());
                case.splice(from..from, other[begin..end].iter().copied());
            }
            _ => drop(case.splice(from..from, TELLING[rng.below(TELLING.len())].iter().copied())),
        }
    }
    case
}

/// Calls the check of a target with its corpus and with this many mutations.
fn hold(target: &str, mutations: usize) {
    let (_, check) = CHECKS.iter().find(|(name, _)| *name == target).unwrap();
    let cases = corpus(target);
    for (name, case) in &cases {
        eprintln!("fuzz/corpus/{target}/{name}");
        check(case);
    }
    let mut rng = Rng::new(0);
    for number in 0..mutations {
        let (name, case) = &cases[rng.below(cases.len())];
        let (_, other) = &cases[rng.below(cases.len())];
        let case = mutated(case.clone(), other, &mut rng);
        // Shown where the check panics.
        eprintln!("mutation {number}, of {name}: {:?}", String::from_utf8_lossy(&case));
        check(&case);
    }
}

#[test]
fn every_check_has_its_target_and_a_small_corpus() {
    let checks: BTreeSet<String> = CHECKS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names("corpus"), checks);
    assert_eq!(names("fuzz_targets"), checks.iter().map(|name| format!("{name}.rs")).collect());
    let manifest = fs::read_to_string(fuzz("Cargo.toml")).unwrap();
    for target in &checks {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{target}.rs\"")), "{target}");
        let cases = corpus(target);
        assert!((1..=FILES_MAX).contains(&cases.len()), "{target} has {} cases", cases.len());
        for (name, case) in cases {
            assert!(case.len() <= BYTES_MAX, "{target}/{name} has {} bytes", case.len());
        }
    }
}

#[test]
fn csv() {
    hold("csv", 150);
}

#[test]
fn jsonl() {
    hold("jsonl", 150);
}

#[test]
fn campaign_files() {
    hold("campaign_file", 300);
}

#[test]
fn templates() {
    hold("template", 300);
}

#[test]
fn retry_after() {
    hold("retry_after", 1_000);
}

#[test]
fn replies() {
    hold("reply", 500);
}

#[test]
fn screenings() {
    hold("screening", 12);
}

#[test]
fn manifests() {
    hold("manifest", 300);
}

#[test]
fn ledgers() {
    hold("ledger_open", 12);
}

#[test]
fn compressed() {
    hold("compressed", 150);
}

#[test]
fn encoded() {
    hold("encoded", 200);
}

#[test]
fn sheets() {
    hold("sheet", 200);
}

#[test]
fn upload_replies() {
    hold("upload_reply", 1_000);
}

#[test]
fn files() {
    hold("file", 2_000);
}

#[test]
fn forms() {
    hold("form", 500);
}

#[test]
fn states_of_jobs() {
    hold("job", 500);
}

#[test]
fn deliveries() {
    hold("delivery", 1_000);
}

#[test]
fn requests_to_the_receiver() {
    hold("receiver", 300);
}
