//! A decision as a line of the file: one JSON object, whose last member is the digest of the line and of the digest before it. So
//! a change to any byte of the file is found, and names the line. The form never changes, because old lines are read for years.

use super::About;
use crate::model::chain;
use serde::{Deserialize, Serialize};

/// What a person decided about a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// The match needs no person again while it is the same.
    Accepted,
    /// The match needs a person in every round.
    NotAccepted,
}

impl Word {
    pub const ALL: [Word; 2] = [Word::Accepted, Word::NotAccepted];

    /// The word in the file and in a worklist.
    pub fn as_str(self) -> &'static str {
        match self {
            Word::Accepted => "accepted",
            Word::NotAccepted => "not_accepted",
        }
    }
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// Its number in the file, from 1.
    pub n: u64,
    pub decision: Word,
    /// `production`, `sandbox` or `simulated`.
    pub mode: String,
    /// The catalogue name of the check.
    pub check: String,
    pub subject: String,
    /// The digest of what was asked.
    pub content: String,
    /// The identity of the match.
    #[serde(rename = "match")]
    pub match_id: String,
    /// The digest of the match.
    pub digest: String,
    pub why: String,
    pub by: String,
    /// When it was recorded: UTC, ISO 8601.
    pub at: String,
    /// The campaign whose answer the person looked at, and the row of its results.
    pub campaign: String,
    pub result_id: String,
}

impl Decision {
    /// The match that it is about.
    pub fn about(&self) -> About<'_> {
        let Decision { mode, check, subject, content, match_id, .. } = self;
        About { mode, check, subject, content, match_id }
    }

    /// Its line, without the end of the line, and the digest there. `before` is the digest of the line before.
    pub fn line(&self, before: &str) -> (String, String) {
        chain::line(&serde_json::to_string(self).expect("texts and numbers"), before)
    }

    /// Reads a line, and returns the digest there.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_line(line: &str, before: &str, number: u64) -> Result<(Decision, String), String> {
        let (text, chain) = chain::of_line(line, before)?;
        let decision: Decision = serde_json::from_str(&text)
            .map_err(|_| "expected a decision, found another line; a later release may have written it".to_owned())?;
        if decision.n != number {
            return Err(format!("expected the decision {number}, found {}", decision.n));
        }
        Ok((decision, chain.to_owned()))
    }
}
