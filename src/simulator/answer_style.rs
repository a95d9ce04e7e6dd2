//! The format of the service's answers: two dialects and two envelopes.

use super::statement::Statement;
use jiff::civil::Date;

/// How errors, charges and the balance are stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// As in the service's description: structured errors, and the statements of each envelope.
    #[default]
    Described,
    /// As such services were seen to answer: flat errors, only `remainingCredits`, and the balance as text.
    Field,
}

/// Where an answer's content is. The service's description has both envelopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Envelope {
    /// `results`, next to `requestId`, `remainingCredits` and other fields.
    #[default]
    Results,
    /// A `data` object and a `meta` object.
    DataMeta,
}

/// The format of all answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerStyle {
    pub(super) seed: u64,
    /// The day of the list, if it is not that of the request.
    pub(super) dataset: Option<Date>,
    pub(super) dialect: Dialect,
    pub(super) envelope: Envelope,
    pub(super) statement: Statement,
}
