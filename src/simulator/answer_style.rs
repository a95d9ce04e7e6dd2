//! How the service speaks: the two dialects and envelopes of its description.

use super::statement::Statement;

/// How errors, charges and the balance are spoken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// As the service is described: structured errors, and what each envelope is described to state.
    #[default]
    Described,
    /// As such services were seen to answer: flat errors, only `remainingCredits` stated, the balance as text.
    Field,
}

/// Where an answer's content stands. Both forms are in the service's description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Envelope {
    /// `results` beside `requestId`, `remainingCredits` and the rest.
    #[default]
    Results,
    /// A `data` object and a `meta` object.
    DataMeta,
}

/// How answers are shaped, for all of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerStyle {
    pub(super) seed: u64,
    pub(super) dialect: Dialect,
    pub(super) envelope: Envelope,
    pub(super) statement: Statement,
}
