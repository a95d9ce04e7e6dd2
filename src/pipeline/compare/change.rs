//! What changed for a subject between two rounds. This module decides the kind of each change, from what both rounds have
//! about the subject and one check. Every pair has exactly one kind.

use crate::model::Verdict;
use std::fmt;

/// A kind of change, in the order in which changes are shown: those that a person has to check come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// The verdict became `review` or `adverse`, from `clear` or `not_found`.
    NewMatch,
    /// The verdict became `clear` or `not_found`, from `review` or `adverse`.
    Cleared,
    /// Another verdict, and neither of the above.
    VerdictChanged,
    /// The same verdict for another reason.
    FindingChanged,
    /// The same verdict and finding, and the compared part of the answer differs.
    AnswerChanged,
    /// A result before, and a failure now.
    FailedNow,
    /// A failure before, and a result now.
    FailedBefore,
    /// Only in the new round.
    Joined,
    /// Only in the old round.
    Left,
    /// Pending or skipped in at least one round, or failed in both.
    NotAnswered,
    /// The same verdict and finding, and the compared part of the answer does not differ.
    Unchanged,
}

impl Change {
    pub const ALL: [Change; 11] = [
        Change::NewMatch,
        Change::Cleared,
        Change::VerdictChanged,
        Change::FindingChanged,
        Change::AnswerChanged,
        Change::FailedNow,
        Change::FailedBefore,
        Change::Joined,
        Change::Left,
        Change::NotAnswered,
        Change::Unchanged,
    ];

    /// The name in outputs and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Change::NewMatch => "new_match",
            Change::Cleared => "cleared",
            Change::VerdictChanged => "verdict_changed",
            Change::FindingChanged => "finding_changed",
            Change::AnswerChanged => "answer_changed",
            Change::FailedNow => "failed_now",
            Change::FailedBefore => "failed_before",
            Change::Joined => "joined",
            Change::Left => "left",
            Change::NotAnswered => "not_answered",
            Change::Unchanged => "unchanged",
        }
    }

    /// The change with a name from [`Change::as_str`].
    pub fn from_word(word: &str) -> Option<Change> {
        Change::ALL.into_iter().find(|change| change.as_str() == word)
    }

    /// Whether something changed. A missing answer does not count as a change.
    pub fn is_change(self) -> bool {
        !matches!(self, Change::NotAnswered | Change::Unchanged)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How an ask ended in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Result(Verdict),
    Failure,
    Pending,
    Skipped,
}

impl Outcome {
    /// The name in outputs.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Result(_) => "result",
            Outcome::Failure => "failure",
            Outcome::Pending => "pending",
            Outcome::Skipped => "skipped",
        }
    }

    pub fn verdict(self) -> Option<Verdict> {
        match self {
            Outcome::Result(verdict) => Some(verdict),
            _ => None,
        }
    }
}

/// What a round has about an ask, as far as it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compared<'a> {
    pub outcome: Outcome,
    pub finding: &'a str,
    /// The digest of the compared part of the answer; `None` if it is not known or cannot be compared.
    pub digest: Option<[u8; 16]>,
}

/// The kind of change from one round to the next; `None` if neither has the ask.
pub fn change(old: Option<Compared<'_>>, new: Option<Compared<'_>>) -> Option<Change> {
    let (old, new) = match (old, new) {
        (None, None) => return None,
        (None, Some(_)) => return Some(Change::Joined),
        (Some(_), None) => return Some(Change::Left),
        (Some(old), Some(new)) => (old, new),
    };
    Some(match (old.outcome, new.outcome) {
        (Outcome::Result(_), Outcome::Failure) => Change::FailedNow,
        (Outcome::Failure, Outcome::Result(_)) => Change::FailedBefore,
        (Outcome::Result(before), Outcome::Result(now)) if before != now => match (is_match(before), is_match(now)) {
            (Some(false), Some(true)) => Change::NewMatch,
            (Some(true), Some(false)) => Change::Cleared,
            _ => Change::VerdictChanged,
        },
        (Outcome::Result(_), Outcome::Result(_)) if old.finding != new.finding => Change::FindingChanged,
        (Outcome::Result(_), Outcome::Result(_)) => match (old.digest, new.digest) {
            (Some(before), Some(now)) if before != now => Change::AnswerChanged,
            _ => Change::Unchanged,
        },
        _ => Change::NotAnswered,
    })
}

/// Whether a verdict means that a person has to check the row; `None` for a verdict that does not judge.
fn is_match(verdict: Verdict) -> Option<bool> {
    match verdict {
        Verdict::Review | Verdict::Adverse => Some(true),
        Verdict::Clear | Verdict::NotFound => Some(false),
        Verdict::Data | Verdict::Unrecognised => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Adverse, Clear, Data, NotFound, Review, Unrecognised};

    fn result(verdict: Verdict) -> Option<Compared<'static>> {
        Some(Compared { outcome: Outcome::Result(verdict), finding: "f", digest: Some([1; 16]) })
    }

    fn other(outcome: Outcome) -> Option<Compared<'static>> {
        Some(Compared { outcome, finding: "f", digest: None })
    }

    #[test]
    fn an_ask_in_one_round_joined_or_left_however_it_ended() {
        assert_eq!(change(None, None), None);
        for one in [result(Clear), other(Outcome::Failure), other(Outcome::Pending), other(Outcome::Skipped)] {
            assert_eq!(change(None, one), Some(Change::Joined));
            assert_eq!(change(one, None), Some(Change::Left));
        }
    }

    #[test]
    fn an_ask_without_a_result_failed_or_was_not_answered() {
        assert_eq!(change(result(Clear), other(Outcome::Failure)), Some(Change::FailedNow));
        assert_eq!(change(other(Outcome::Failure), result(Clear)), Some(Change::FailedBefore));
        assert_eq!(change(other(Outcome::Failure), other(Outcome::Failure)), Some(Change::NotAnswered));
        for open in [Outcome::Pending, Outcome::Skipped] {
            for one in [result(Review), other(Outcome::Failure), other(open)] {
                assert_eq!(change(one, other(open)), Some(Change::NotAnswered));
                assert_eq!(change(other(open), one), Some(Change::NotAnswered));
            }
        }
    }

    #[test]
    fn every_pair_of_different_verdicts_has_its_kind() {
        let free = [Clear, NotFound];
        let matches = [Review, Adverse];
        for before in Verdict::ALL {
            for now in Verdict::ALL.into_iter().filter(|now| *now != before) {
                let expected = match () {
                    () if free.contains(&before) && matches.contains(&now) => Change::NewMatch,
                    () if matches.contains(&before) && free.contains(&now) => Change::Cleared,
                    () => Change::VerdictChanged,
                };
                assert_eq!(change(result(before), result(now)), Some(expected), "{before} to {now}");
            }
        }
        assert_eq!(change(result(Data), result(Review)), Some(Change::VerdictChanged));
        assert_eq!(change(result(Unrecognised), result(Adverse)), Some(Change::VerdictChanged));
    }

    #[test]
    fn the_finding_counts_before_the_answer_and_an_unknown_digest_says_nothing() {
        let with = |finding, digest| Some(Compared { outcome: Outcome::Result(Review), finding, digest });
        let (one, two) = (Some([1; 16]), Some([2; 16]));
        assert_eq!(change(with("a", one), with("b", two)), Some(Change::FindingChanged));
        assert_eq!(change(with("a", one), with("a", two)), Some(Change::AnswerChanged));
        assert_eq!(change(with("a", one), with("a", one)), Some(Change::Unchanged));
        assert_eq!(change(with("a", None), with("a", two)), Some(Change::Unchanged));
    }

    #[test]
    fn names_lead_back_to_their_kinds() {
        for change in Change::ALL {
            assert_eq!(Change::from_word(change.as_str()), Some(change));
        }
        assert_eq!(Change::from_word("changed"), None);
        assert!(Change::ALL.is_sorted());
    }
}
