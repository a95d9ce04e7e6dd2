//! The settings of the simulated service.

use super::{
    answer_style::{AnswerStyle, Dialect, Envelope},
    checks::Checks,
    clock::Clock,
    expected::ExpectedValues,
    fault::Faults,
    job_fault::JobFaults,
    seen_routes::ServedRoutes,
    statement::{ChargeStated, CreditsFormat, Statement},
};
use jiff::civil::Date;
use std::{collections::BTreeMap, time::Duration};

/// The settings of the simulated service. They contain an API key, so there is no `Debug`.
#[derive(Clone)]
pub struct Settings {
    /// The only accepted API key. `None` accepts any key that is not empty; each has its own rate and idempotency keys.
    pub api_key: Option<String>,
    /// The balance at the start. All API keys draw on it.
    pub credits: u64,
    /// Steady rate, in requests per minute.
    pub per_minute: u32,
    /// The most requests in any minute.
    pub per_minute_max: u32,
    /// How long a check takes.
    pub latency: Duration,
    /// Decides answers and faults: the same seed gives the same service.
    pub seed: u64,
    /// The day of the list that answers are made with: AML answers name it, and each day answers some subjects
    /// differently. `None` means the day of the request, with the same answers every day.
    pub dataset: Option<Date>,
    /// How long each job takes; after 48 hours it fails. `None` draws the times from the seed: most take minutes, some
    /// hours, and a few never end.
    pub job_time: Option<Duration>,
    /// What the times of jobs and the times between deliveries are divided by. Everything else keeps real time.
    pub time_scale: u32,
    /// How many of a hundred requests that may be answered at once are not.
    pub fallback_of_hundred: u64,
    /// How many of a hundred jobs fail. The description states no share.
    pub failed_jobs_of_hundred: u64,
    /// How long a key is kept, instead of what the description says about its check.
    pub key_life: Option<Duration>,
    /// How long the same sandbox payload is refused.
    pub cooldown: Duration,
    /// The header forms of the API key that are accepted.
    pub auth: AuthAccepted,
    pub faults: Faults,
    /// What goes wrong with jobs and their deliveries.
    pub job_faults: JobFaults,
    pub clock: Clock,
    pub checks: Checks,
    /// Prices by check name. The default is the declaration's price, or 1.
    pub prices: BTreeMap<String, u64>,
    pub dialect: Dialect,
    pub envelope: Envelope,
    pub quirks: Quirks,
    /// Which paths are served.
    pub routes: ServedRoutes,
    /// Where replies state credits. `None` means as usual for the dialect and the envelope.
    pub charge_stated: Option<ChargeStated>,
    pub credits_format: CreditsFormat,
    /// What the rows of a rehearsal expect of their answers.
    pub expected: Option<ExpectedValues>,
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
            dataset: None,
            job_time: None,
            time_scale: 1,
            fallback_of_hundred: 10,
            failed_jobs_of_hundred: 5,
            key_life: None,
            cooldown: Duration::from_secs(2),
            auth: AuthAccepted::default(),
            faults: Faults::none(),
            job_faults: JobFaults::none(),
            clock: Clock::system(),
            checks: Checks::built_in(),
            prices: BTreeMap::new(),
            dialect: Dialect::default(),
            envelope: Envelope::default(),
            quirks: Quirks::default(),
            routes: ServedRoutes::default(),
            charge_stated: None,
            credits_format: CreditsFormat::default(),
            expected: None,
            date_ahead_s: 0,
        }
    }
}

impl Settings {
    /// The format of the answers.
    pub(super) fn style(&self) -> AnswerStyle {
        let Settings { seed, dataset, dialect, envelope, charge_stated, credits_format: format, .. } = *self;
        let stated = charge_stated.unwrap_or(match (dialect, envelope) {
            (Dialect::Described, Envelope::DataMeta) => ChargeStated::Meta,
            (Dialect::Described, Envelope::Results) | (Dialect::Field, _) => ChargeStated::Remaining,
        });
        AnswerStyle { seed, dataset, dialect, envelope, statement: Statement { stated, format } }
    }
}

/// Behaviour that the description does not specify. The default is what it suggests. A client must handle the others
/// too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quirks {
    /// A 402 is kept under its idempotency key and returned again.
    pub keeps_402: bool,
    pub keeps_429: bool,
    /// 500, 502 and 503 are kept.
    pub keeps_5xx: bool,
    /// A repeat of a request in progress gets 409, not 202.
    pub conflict_in_flight: bool,
    /// `GET /my_credits` does not count towards the rate.
    pub free_balance: bool,
    /// A request that cannot be answered at once becomes a job without a webhook too.
    pub job_without_webhook: bool,
}

/// Which header forms of the API key are accepted. The description states two, and not which one applies where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuthAccepted {
    #[default]
    Both,
    XApiKey,
    Bearer,
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
