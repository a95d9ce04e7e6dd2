//! A case: which call or point fails, how, and in which campaign. Decides which cases are tried: all of them where
//! there are few, otherwise a sample that starts with the first and ends with the last.

use std::{collections::BTreeMap, fmt};

/// Commits are grouped by what happens to be waiting, so a run may have a few passes more or fewer than the counted
/// one.
const MORE: u64 = 3;

/// Where storage fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// At the program's fault points.
    Program,
    /// At the system calls of the process, including SQLite's and those that open and create files.
    System,
}

/// The campaign that is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One check, Parquet.
    Plain,
    /// Two checks of each row, JSON lines.
    TwoChecks,
    /// One check of a document for each row. Some documents are uploaded first.
    Documents,
}

/// One fault in one campaign, spelled `system/plain/write:7:once:eio` in `RESCREEN_FAULT_CASE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    pub layer: Layer,
    pub shape: Shape,
    /// The spelling in the layer's variable: `write:7:once:eio`.
    pub fault: String,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layer = match self.layer {
            Layer::Program => "program",
            Layer::System => "system",
        };
        let shape = match self.shape {
            Shape::Plain => "plain",
            Shape::TwoChecks => "two-checks",
            Shape::Documents => "documents",
        };
        write!(f, "{layer}/{shape}/{}", self.fault)
    }
}

impl Case {
    /// Which pass it is, counted from 1.
    pub fn number(&self) -> u64 {
        self.fault.split(':').nth(1).expect("a fault has a number").parse().unwrap()
    }

    /// The process dies there.
    pub fn kills(&self) -> bool {
        self.fault.contains(":killed:")
    }

    pub fn is_of_kind(&self, kind: &str) -> bool {
        self.fault.split(':').next() == Some(kind)
    }
}

/// The number of cases for each kind.
#[derive(Clone, Copy)]
pub struct Measure {
    /// Up to this many passes, each pass fails in every way. Above it, each pass fails in one way, in turn.
    pub all_ways_max: u64,
    /// Up to this many passes all are tried. Above it, a sample at even distances; fewer for calls that only read.
    pub tried_max: u64,
}

/// The cases for the counted passes, alternating between a broken disk and a full one.
pub fn cases(layer: Layer, shape: Shape, counts: &BTreeMap<String, u64>, measure: Measure) -> Vec<Case> {
    let mut cases = Vec::new();
    for (kind, count) in counts {
        let reads = ["open", "read"].contains(&kind.as_str());
        let tried_max = if reads { (measure.tried_max / 3).max(24) } else { measure.tried_max };
        for (turn, number) in numbers(*count, tried_max).into_iter().enumerate() {
            let ways = ways(layer, kind);
            let taken =
                if *count <= measure.all_ways_max { ways } else { &ways[turn % ways.len()..=turn % ways.len()] };
            for (at, how) in taken.iter().enumerate() {
                // A disk that cannot be read is broken, however much space it has.
                let is_full = !reads && (turn / ways.len() + at).is_multiple_of(2);
                let error = if is_full || *how == "short" { "enospc" } else { "eio" };
                cases.push(Case { layer, shape, fault: format!("{kind}:{number}:{how}:{error}") });
            }
        }
    }
    cases
}

fn ways(layer: Layer, kind: &str) -> &'static [&'static str] {
    match (layer, kind) {
        (Layer::System, "write") => &["once", "forever", "short"],
        (Layer::System, _) => &["once", "forever"],
        (Layer::Program, _) => &["once", "forever", "killed"],
    }
}

/// About this many of the numbers from 1 to a little beyond `count`, including the first and the last few.
fn numbers(count: u64, tried_max: u64) -> Vec<u64> {
    let last = count + MORE;
    if last <= tried_max {
        return (1..=last).collect();
    }
    let spread = tried_max.saturating_sub(2 * MORE).max(2);
    let even = (0..spread).map(|at| 1 + at * (count - MORE - 1) / (spread - 1));
    // The last few are close together because a run may have fewer passes than were counted.
    even.chain(count - MORE + 1..=last).collect()
}

#[test]
fn a_sample_of_many_passes_includes_the_first_and_the_last() {
    assert_eq!(numbers(5, 20), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(numbers(100, 10), [1, 33, 65, 97, 98, 99, 100, 101, 102, 103]);
    assert_eq!(numbers(100, 3), [1, 97, 98, 99, 100, 101, 102, 103]);
}
