//! The verdict: the interpretation of an answer, from a closed list. It depends on the fields of the answer, never on
//! the HTTP status, and a null, new or missing value never becomes `clear`.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What an answer means. The list of six verdicts is fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The answer is favourable.
    Clear,
    /// Unfavourable as a matter of record: an invalid ID, a closed account.
    Adverse,
    /// A person must check it: every name match, a mismatch, a warning, a null or new status.
    Review,
    /// The source has no record.
    NotFound,
    /// The answer states facts, without a judgement.
    Data,
    /// The answer has none of the fields that the rules read.
    Unrecognised,
}

impl Verdict {
    pub const ALL: [Verdict; 6] =
        [Verdict::Clear, Verdict::Adverse, Verdict::Review, Verdict::NotFound, Verdict::Data, Verdict::Unrecognised];

    /// The name used in outputs and messages.
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

    /// The verdict with a name from [`Verdict::as_str`].
    pub fn from_word(word: &str) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|verdict| verdict.as_str() == word)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The finding of an answer whose matches were all accepted before.
pub const ACCEPTED_BEFORE: &str = "accepted_before";

/// A verdict with its finding, a code from the closed list in the check's declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub finding: String,
}

impl Judgement {
    /// The judgement of an answer that has none of the fields that the rules read.
    pub fn unrecognised() -> Judgement {
        Judgement { verdict: Verdict::Unrecognised, finding: "unrecognised".to_owned() }
    }

    /// The judgement once a person has accepted everything that made it `review`. Any other verdict stays.
    pub fn accepted(self) -> Judgement {
        match self.verdict {
            Verdict::Review => Judgement { verdict: Verdict::Clear, finding: ACCEPTED_BEFORE.to_owned() },
            _ => self,
        }
    }

    /// The same judgement with a doubt: the verdict becomes `review`, unless a person must already check the answer.
    pub fn doubted(self, finding: &str) -> Judgement {
        match self.verdict {
            Verdict::Unrecognised | Verdict::Review => self,
            _ => Judgement { verdict: Verdict::Review, finding: finding.to_owned() },
        }
    }
}
