//! Which service is played.

use super::{
    answer_style::{AnswerStyle, Dialect, Envelope},
    fault::Faults,
    statement::{ChargeStated, CreditsFormat, Statement},
};
use crate::{catalogue::Catalogue, model::Clock};
use std::{collections::BTreeMap, time::Duration};

/// Which service is played. It holds an API key and so has no `Debug`.
#[derive(Clone)]
pub struct Settings {
    /// The one API key that is accepted; `None` accepts any that is not empty, each with a rate and idempotency keys of its own.
    pub api_key: Option<String>,
    /// The balance at the start. All API keys draw on it.
    pub credits: u64,
    /// Messages a minute that are sustained.
    pub per_minute: u32,
    /// Messages in any one minute, at most.
    pub per_minute_max: u32,
    /// How long a check takes.
    pub latency: Duration,
    /// Decides answers and faults: equal seeds, equal service.
    pub seed: u64,
    pub faults: Faults,
    pub clock: Clock,
    pub catalogue: Catalogue,
    /// Credits by check name; where none is given the declaration's price, else 1.
    pub prices: BTreeMap<String, u64>,
    pub dialect: Dialect,
    pub envelope: Envelope,
    pub quirks: Quirks,
    /// Where replies state credits; where it is `None`, as the dialect does in this envelope.
    pub charge_stated: Option<ChargeStated>,
    pub credits_format: CreditsFormat,
    /// How far the service's `Date` is ahead of its clock, in seconds.
    pub date_ahead_s: i64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            api_key: None,
            credits: 1_000_000,
            per_minute: 60,
            per_minute_max: 120,
            latency: Duration::ZERO,
            seed: 1,
            faults: Faults::none(),
            clock: Clock::System,
            catalogue: Catalogue::built_in(),
            prices: BTreeMap::new(),
            dialect: Dialect::default(),
            envelope: Envelope::default(),
            quirks: Quirks::default(),
            charge_stated: None,
            credits_format: CreditsFormat::default(),
            date_ahead_s: 0,
        }
    }
}

impl Settings {
    /// How the service speaks.
    pub(super) fn style(&self) -> AnswerStyle {
        let Settings { seed, dialect, envelope, charge_stated, credits_format: format, .. } = *self;
        let stated = charge_stated.unwrap_or(match (dialect, envelope) {
            (Dialect::Described, Envelope::DataMeta) => ChargeStated::Meta,
            (Dialect::Described, Envelope::Results) | (Dialect::Field, _) => ChargeStated::Remaining,
        });
        AnswerStyle { seed, dialect, envelope, statement: Statement { stated, format } }
    }
}

/// What the description does not state. The default is the reading it suggests; a client must bear the others too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quirks {
    /// A 402 is kept under its idempotency key and given again for it.
    pub keeps_402: bool,
    pub keeps_429: bool,
    /// 500, 502 and 503 are kept.
    pub keeps_5xx: bool,
    /// A repeat of what is still worked on gets 409, not 202.
    pub conflict_in_flight: bool,
    /// `GET /my_credits` does not count to the rate.
    pub free_balance: bool,
}

impl Quirks {
    pub(super) fn keeps(self, status: u16) -> bool {
        match status {
            402 => self.keeps_402,
            429 => self.keeps_429,
            500.. => self.keeps_5xx,
            _ => false,
        }
    }
}
