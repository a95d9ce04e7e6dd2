//! Whether the answers of a check can be compared: both rounds must have their digests, made in the same way.

use super::round::Round;

/// Whether the answers of a check were compared by their digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswersCompared {
    Yes,
    /// A round has no results of the check.
    NoResults,
    /// An older release published a round, without digests.
    NoDigest,
    /// The rounds make the digest of different parts of the answer.
    OtherParts,
}

impl AnswersCompared {
    pub(super) fn of(old: &Round, new: &Round, check: &str) -> AnswersCompared {
        let (Some(old), Some(new)) = (old.results(check), new.results(check)) else {
            return AnswersCompared::NoResults;
        };
        if old.answer_digest.is_some() && new.answer_digest.is_some() && old.answer_digest != new.answer_digest {
            return AnswersCompared::OtherParts;
        }
        let has_digest = |columns: &[crate::sink::ColumnType]| {
            columns.iter().any(|column| column.name == super::round::DIGEST_COLUMN)
        };
        if has_digest(&old.schema) && has_digest(&new.schema) {
            AnswersCompared::Yes
        } else {
            AnswersCompared::NoDigest
        }
    }

    /// Why answers were not compared, for a message; `None` if they were, or if there is nothing to compare.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            AnswersCompared::Yes | AnswersCompared::NoResults => None,
            AnswersCompared::NoDigest => {
                Some("an older release published one of the rounds, without digests of answers")
            }
            AnswersCompared::OtherParts => Some("the declarations of the rounds compare different parts of the answer"),
        }
    }

    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            AnswersCompared::Yes => "compared",
            AnswersCompared::NoResults => "no_results",
            AnswersCompared::NoDigest => "no_digest",
            AnswersCompared::OtherParts => "other_parts",
        }
    }
}
