//! The verdict: our closed reading of an answer. It comes from the answer's own fields, never from the HTTP status, and a
//! null, new or missing value never becomes `clear`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What an answer means, in six words that never grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Answered, favourable.
    Clear,
    /// Unfavourable as a matter of record: an invalid ID, a closed account.
    Adverse,
    /// A person must look: every name match, a mismatch, a warning, a null or new status.
    Review,
    /// The source has no record.
    NotFound,
    /// A lookup that states facts and judges nothing.
    Data,
    /// The answer has none of the fields the rules read.
    Unrecognised,
}

impl Verdict {
    pub const ALL: [Verdict; 6] =
        [Verdict::Clear, Verdict::Adverse, Verdict::Review, Verdict::NotFound, Verdict::Data, Verdict::Unrecognised];

    /// The word in outputs and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Clear => "clear",
            Verdict::Adverse => "adverse",
            Verdict::Review => "review",
            Verdict::NotFound => "not_found",
            Verdict::Data => "data",
            Verdict::Unrecognised => "unrecognised",
        }
    }

    /// The verdict of a word written by [`Verdict::as_str`].
    pub fn from_word(word: &str) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|verdict| verdict.as_str() == word)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A verdict with its finding: a code from the closed list of the check's declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub finding: String,
}

impl Judgement {
    /// An answer that has none of the fields the rules read.
    pub fn unrecognised() -> Judgement {
        Judgement { verdict: Verdict::Unrecognised, finding: "unrecognised".to_owned() }
    }

    /// The same answer with a doubt about it: a person must look, unless one must already.
    pub fn doubted(self, finding: &str) -> Judgement {
        match self.verdict {
            Verdict::Unrecognised | Verdict::Review => self,
            _ => Judgement { verdict: Verdict::Review, finding: finding.to_owned() },
        }
    }
}
