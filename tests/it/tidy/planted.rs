//! The planted bugs stay outside the sources, and fit them: `make planted` adds them to a copy.

use std::{
    fs::{self, File},
    path::Path,
    process::Command,
};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_patch_that_plants_bugs_fits_the_sources() {
    let hooks = File::open(Path::new(ROOT).join("tests/planted/hooks.patch")).unwrap();
    let mut patch = Command::new("patch");
    patch.args(["--dry-run", "--strip", "1", "--directory", ROOT]).stdin(hooks);
    let Ok(output) = patch.output() else { return println!("SKIPPED: there is no `patch`") };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "tests/planted/hooks.patch is outdated:\n{said}");
}

#[test]
fn every_planted_bug_has_a_place_where_it_takes_effect() {
    let planted = Path::new(ROOT).join("tests/planted");
    let text = |path: &str| fs::read_to_string(planted.join(path)).unwrap();
    let files = ["hooks.patch", "src/model/planted_moves.rs", "src/client/planted_readings.rs"];
    let places: String = files.into_iter().chain(["src/pipeline/send/planted_steps.rs"]).map(text).collect();
    let list = text("src/model/planted.rs");
    let bugs: Vec<&str> = list.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(",")).collect();
    let bugs: Vec<&str> = bugs.into_iter().filter(|bug| bug.chars().all(char::is_alphanumeric)).collect();
    let is_used = |bug: &str| {
        [format!("planted!({bug})"), format!("planted(Bug::{bug})")].iter().any(|call| places.contains(call))
    };
    let unused: Vec<&str> = bugs.iter().copied().filter(|bug| !is_used(bug)).collect();
    assert!(bugs.len() > 80 && unused.is_empty(), "{} bugs, without a place: {unused:?}", bugs.len());
}
