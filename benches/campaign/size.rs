//! The size of the program: its binary, and the number of crates in its dependency tree. The time of a cold release
//! build is measured by hand.

use super::{
    parameters::Parameters,
    table::{Line, mebibytes},
};
use std::{collections::BTreeSet, fs, process::Command};

pub fn measure(_: &Parameters) -> Vec<Line> {
    let bytes = fs::metadata(env!("CARGO_BIN_EXE_rescreen")).map_or(0, |metadata| metadata.len());
    let binary = Line::most("P11", "release binary", mebibytes(bytes), 25.0, "MiB");
    let crates = match (crates("normal,build,dev"), crates("normal,build")) {
        (Some(all), Some(built)) => {
            Line::most("", format!("crates, including those of tests ({built} without)"), all as f64, 280.0, "")
        }
        _ => Line::none("", "crates", "cargo tree failed"),
    };
    vec![binary, crates, Line::none("P11", "cold release build", "by hand: cargo build --release in an empty target")]
}

/// The number of crates in the tree, without this one.
fn crates(edges: &str) -> Option<usize> {
    let mut tree = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    tree.args(["tree", "--offline", "--prefix", "none", "--no-dedupe", "--format", "{p}", "--edges", edges]);
    let output = tree.current_dir(env!("CARGO_MANIFEST_DIR")).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    // A crate is a name and a version. The rest of the line is its source.
    let named = |line: &str| line.split(' ').take(2).map(str::to_owned).collect::<Vec<_>>();
    let all: BTreeSet<_> = text.lines().filter(|line| !line.is_empty()).map(named).collect();
    Some(all.len().saturating_sub(1))
}
