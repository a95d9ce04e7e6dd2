//! Help as a newcomer reads it, word for word.

use crate::support::program::{Said, rescreen};

fn help(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let said = Said::of(&mut rescreen(folder.path(), arguments)).exits(0);
    assert_eq!(said.stderr, "");
    said.stdout.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_help_of_the_program() {
    insta::assert_snapshot!(help(&["--help"]), @"");
}

#[test]
fn the_help_of_run() {
    insta::assert_snapshot!(help(&["run", "--help"]), @"");
}

#[test]
fn the_help_of_simulate() {
    insta::assert_snapshot!(help(&["simulate", "--help"]), @"");
}
