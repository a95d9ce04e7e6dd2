//! Rows that are permanently treated differently, by their content, so that a repeat, a new key and a later run all get
//! the same reply. This module decides which rows those are, what they get, and whether the service has charged for
//! them.

use super::{digest::Digest, reply::Refusal, rng::Rng};

/// The permanent treatment of such a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowTreatment {
    /// 401, 402, 403, 404, 405, 409, 500 or a redirect.
    Status(u16),
    /// 200 with an empty body.
    Empty,
    /// An answer without its last character.
    Broken,
    /// An answer with a byte that is not UTF-8.
    BadUtf8,
    /// An answer with half a surrogate pair.
    Surrogate,
    /// An answer with a `NaN`.
    Nan,
    /// 202 with a `jobId`, although the check has no jobs.
    Job,
    /// 202 pending, permanently.
    Pending,
    /// 200 with `success: false` and no result.
    Unsuccessful,
}

/// The statuses that a row can get permanently.
const STATUSES: [u16; 10] = [301, 303, 307, 401, 402, 403, 404, 405, 409, 500];

const WORDS: [(&str, RowTreatment); 8] = [
    ("empty", RowTreatment::Empty),
    ("broken", RowTreatment::Broken),
    ("bad_utf8", RowTreatment::BadUtf8),
    ("surrogate", RowTreatment::Surrogate),
    ("nan", RowTreatment::Nan),
    ("job", RowTreatment::Job),
    ("pending", RowTreatment::Pending),
    ("unsuccessful", RowTreatment::Unsuccessful),
];

impl RowTreatment {
    /// Parses a status or a name.
    pub(super) fn of(text: &str) -> Option<RowTreatment> {
        let status = || text.parse().ok().filter(|status| STATUSES.contains(status)).map(RowTreatment::Status);
        WORDS.iter().find(|(word, _)| *word == text).map(|(_, treatment)| *treatment).or_else(status)
    }

    /// Whether the service works on the row and charges for it. A reply that proves that nothing was charged is free.
    /// With a reply that proves nothing, half of the rows are charged. An unreadable answer is charged like any other.
    pub(super) fn acts(self, seed: u64, content: Digest) -> bool {
        match self {
            RowTreatment::Status(401..=403) | RowTreatment::Job | RowTreatment::Pending => false,
            RowTreatment::Status(_) => Rng::of(seed.rotate_left(3), content).below(2) == 0,
            _ => true,
        }
    }

    /// The refusal that the row gets, if any.
    pub(super) fn refusal(self) -> Option<Refusal> {
        let RowTreatment::Status(status) = self else { return None };
        Some(match status {
            401 => Refusal::new(401, "invalid_api_key", "this API key is not allowed to send this request"),
            402 => Refusal::insufficient_credits(1, 0),
            403 => Refusal::new(403, "forbidden", "a policy forbids this subject"),
            404 => Refusal::new(404, "not_found", "no record of this subject"),
            405 => Refusal::new(405, "method_not_allowed", "this method is not allowed for this subject"),
            409 => Refusal::new(409, "conflict", "an earlier failure is kept"),
            500 => Refusal::new(500, "internal_error", "an internal error occurred and is kept"),
            status => Refusal::new(status, "moved", "this route has moved"),
        })
    }
}

/// Whether the seed picks a row, with this probability.
pub(super) fn is_picked(seed: u64, content: Digest, probability: f64) -> bool {
    Rng::of(seed.rotate_left(9) ^ 0x70e5, content).fraction() < probability
}
