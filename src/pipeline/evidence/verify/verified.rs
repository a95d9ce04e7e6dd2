//! The result of a verification.

use crate::sink::OutputMode;

/// What was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Evidence,
    Outputs,
}

/// A file that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub file: String,
    pub fault: String,
}

/// The result. Without faults, everything is as it was, and adds up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    pub subject: Subject,
    /// Files that were read.
    pub files: u64,
    pub faults: Vec<Fault>,
    /// What could not be compared, and what else a reader should know.
    pub notes: Vec<String>,
    /// The seal that was found.
    pub seal: Option<String>,
    /// What it is about, unless that cannot be read.
    pub about: Option<About>,
}

/// What evidence or published files are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    pub campaign: String,
    pub mode: OutputMode,
    pub complete: bool,
    pub rows: u64,
    pub credits: u64,
    /// When and by whom evidence was made.
    pub made: Option<(String, String)>,
}
