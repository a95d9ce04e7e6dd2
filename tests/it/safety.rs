//! The promise: the tests that SAFETY.md names exist.

use std::{collections::BTreeSet, fs, path::Path};

/// Names of functions and modules in a folder of the project.
fn names(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            names(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            for line in fs::read_to_string(&path).unwrap().lines() {
                let words: Vec<&str> = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
                let named = words.windows(2).filter(|pair| ["fn", "mod"].contains(&pair[0]));
                found.extend(named.map(|pair| pair[1].to_owned()));
            }
        }
    }
}

#[test]
fn every_test_named_in_safety_md_exists() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut there = BTreeSet::new();
    for folder in ["src", "tests"] {
        names(&project.join(folder), &mut there);
    }
    let text = fs::read_to_string(project.join("SAFETY.md")).unwrap();
    let named = text.split('`').skip(1).step_by(2).filter(|word| word.contains("::") && !word.contains(' '));
    let named: BTreeSet<&str> = named.flat_map(|word| word.split("::")).collect();
    assert!(named.len() > 30, "SAFETY.md names {} tests and modules", named.len());
    let missing: Vec<&str> = named.into_iter().filter(|name| !there.contains(*name)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}
