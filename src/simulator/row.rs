//! One row treated differently for ever: by its content, so that a repeat, a new key and a later run all meet the same. It
//! decides which rows those are, what they get, and whether the service has charged for it.

use super::{digest::Digest, reply::Refusal};
use crate::model::rng::Rng;

/// What such a row gets, whatever is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowTreatment {
    /// 401, 402, 403, 404, 405, 409, 500 or a redirect.
    Status(u16),
    /// 200 and nothing in it.
    Empty,
    /// An answer with a byte that is not UTF-8.
    BadUtf8,
    /// An answer with half a surrogate pair.
    Surrogate,
    /// An answer with a `NaN`.
    Nan,
    /// 202 with a `jobId`, although the check has no jobs.
    Job,
    /// 202 pending, for ever.
    Pending,
    /// 200 that says `success: false` and has no result.
    Unsuccessful,
}

/// The statuses a row may meet for ever.
const STATUSES: [u16; 10] = [301, 303, 307, 401, 402, 403, 404, 405, 409, 500];

const WORDS: [(&str, RowTreatment); 7] = [
    ("empty", RowTreatment::Empty),
    ("bad_utf8", RowTreatment::BadUtf8),
    ("surrogate", RowTreatment::Surrogate),
    ("nan", RowTreatment::Nan),
    ("job", RowTreatment::Job),
    ("pending", RowTreatment::Pending),
    ("unsuccessful", RowTreatment::Unsuccessful),
];

impl RowTreatment {
    /// Reads a status or a word.
    pub(super) fn of(text: &str) -> Option<RowTreatment> {
        let status = || text.parse().ok().filter(|status| STATUSES.contains(status)).map(RowTreatment::Status);
        WORDS.iter().find(|(word, _)| *word == text).map(|(_, treatment)| *treatment).or_else(status)
    }

    /// Whether the service works on the row and charges for it. What proves that nothing was charged charges nothing; of what
    /// proves nothing, half of the rows are charged; an answer that cannot be read is charged like any other.
    pub(super) fn acts(self, seed: u64, content: Digest) -> bool {
        match self {
            RowTreatment::Status(401..=403) | RowTreatment::Job | RowTreatment::Pending => false,
            RowTreatment::Status(_) => Rng::of(seed.rotate_left(3), content).below(2) == 0,
            _ => true,
        }
    }

    /// The refusal the row gets, where it gets one.
    pub(super) fn refusal(self) -> Option<Refusal> {
        let RowTreatment::Status(status) = self else { return None };
        Some(match status {
            401 => Refusal::new(401, "invalid_api_key", "this API key may not ask that"),
            402 => Refusal::insufficient_credits(1, 0),
            403 => Refusal::new(403, "forbidden", "a policy forbids this subject"),
            404 => Refusal::new(404, "not_found", "no record of this subject"),
            405 => Refusal::new(405, "method_not_allowed", "not for this subject"),
            409 => Refusal::new(409, "conflict", "an earlier failure is kept"),
            500 => Refusal::new(500, "internal_error", "something went wrong, and is kept"),
            status => Refusal::new(status, "moved", "look elsewhere"),
        })
    }
}

/// The rows that are treated so: those that the seed picks, with this probability.
pub(super) fn is_picked(seed: u64, content: Digest, probability: f64) -> bool {
    Rng::of(seed.rotate_left(9) ^ 0x70e5, content).fraction() < probability
}
