//! Why a run stopped, and the exit code that says it. The codes are part of the interface: schedulers decide by them.

use super::{budget::Refusal, clock::local_time, credits::Credits};
use std::fmt;

/// The exit codes of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitCode {
    Complete = 0,
    Internal = 1,
    /// Usage, configuration, or a ledger or input that does not belong to this campaign.
    Usage = 2,
    /// Complete, some asks failed.
    Failures = 3,
    /// Paused: budget, balance or price.
    Budget = 4,
    /// Stopped by a guard.
    Guard = 6,
    /// Refused by the service (401, 403).
    Refused = 7,
    /// In doubt or quarantined: a decision or another run is needed.
    Doubt = 8,
    TimeIsUp = 9,
    /// Service unavailable or set up wrongly.
    Service = 10,
    Storage = 11,
    Interrupted = 130,
    Terminated = 143,
}

impl ExitCode {
    /// Where several apply, the first of these counts.
    fn rank(self) -> u8 {
        match self {
            ExitCode::Interrupted | ExitCode::Terminated => 0,
            ExitCode::Internal => 1,
            ExitCode::Usage => 2,
            ExitCode::Storage => 3,
            ExitCode::Refused => 4,
            ExitCode::Service => 5,
            ExitCode::Guard => 6,
            ExitCode::Budget => 7,
            ExitCode::Doubt => 8,
            ExitCode::TimeIsUp => 9,
            ExitCode::Failures => 10,
            ExitCode::Complete => 11,
        }
    }

    /// The code that counts where both apply.
    pub fn or(self, other: ExitCode) -> ExitCode {
        if other.rank() < self.rank() { other } else { self }
    }
}

/// Why no further request is sent. What is under way is drained, what is answered is published.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    Budget(Refusal),
    /// The service charged more than the price table says.
    Price {
        check: String,
        stated: Credits,
        table: Credits,
    },
    /// 402 while the balance does not cover the price.
    NoCredits {
        balance: Credits,
        price: Credits,
    },
    Unauthorised {
        status: u16,
    },
    /// 3xx, 404, 405 on a submit route.
    Misrouted {
        status: u16,
        path: String,
    },
    Unavailable {
        message: String,
    },
    /// The other end has no certificate that is to be trusted.
    Untrusted {
        host: String,
        fault: String,
    },
    /// Three 2xx in a row that are no answers: a captive portal, a proxy page.
    NotTheService,
    BalanceUnreadable,
    /// `Retry-After` is further away than a run waits.
    PushedBack {
        until_us: i64,
    },
    ClockApart {
        seconds: i64,
    },
    /// The simulator answered a campaign of the real service, or the other way round.
    OtherSide {
        simulated: bool,
    },
    TooManyErrors {
        failed: u64,
        of: u64,
        stage: &'static str,
    },
    Alike {
        count: u64,
        message: String,
    },
    Unrecognised {
        check: String,
        unrecognised: u64,
        of: u64,
    },
    ExpectedRows {
        found: u64,
        least: u64,
        most: u64,
    },
    /// The input cannot be read or mapped any further; the error says why.
    InputFailed,
    TimeIsUp,
    Interrupted,
    Terminated,
}

impl Stop {
    /// Somebody wants the process to end: reading on is left to the next run.
    pub fn is_urgent(&self) -> bool {
        matches!(self, Stop::TimeIsUp | Stop::Interrupted | Stop::Terminated)
    }

    pub fn exit_code(&self) -> ExitCode {
        match self {
            Stop::Budget(_) | Stop::Price { .. } | Stop::NoCredits { .. } => ExitCode::Budget,
            Stop::Unauthorised { .. } => ExitCode::Refused,
            Stop::Misrouted { .. }
            | Stop::Unavailable { .. }
            | Stop::Untrusted { .. }
            | Stop::NotTheService
            | Stop::BalanceUnreadable
            | Stop::PushedBack { .. } => ExitCode::Service,
            Stop::ClockApart { .. } => ExitCode::Doubt,
            Stop::OtherSide { .. } => ExitCode::Usage,
            Stop::TooManyErrors { .. } | Stop::Alike { .. } | Stop::Unrecognised { .. } | Stop::ExpectedRows { .. } => {
                ExitCode::Guard
            }
            Stop::InputFailed => ExitCode::Usage,
            Stop::TimeIsUp => ExitCode::TimeIsUp,
            Stop::Interrupted => ExitCode::Interrupted,
            Stop::Terminated => ExitCode::Terminated,
        }
    }
}

impl fmt::Display for Stop {
    /// What happened and what to do about it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Budget(Refusal::Limit { limit, charged, held, price }) => write!(
                f,
                "the next request ({price} credits) would cross the limit of {limit}: {charged} are charged and {held} held; \
                 run again with a higher --max-credits"
            ),
            Stop::Budget(Refusal::Balance { spendable, price, keep }) => write!(
                f,
                "the next request ({price} credits) is more than the {spendable} that may be spent above the balance of \
                 {keep} to be kept; top up the account, or lower --keep-balance, and run again"
            ),
            Stop::Budget(Refusal::Unread) => f.write_str("the balance was never read"),
            Stop::Price { check, stated, table } => write!(
                f,
                "the service charged {stated} credits for `{check}`, the price table says {table}; run again with \
                 --price {check}={stated} if that is right"
            ),
            Stop::NoCredits { balance, price } => write!(
                f,
                "the service says there are not enough credits (balance {balance}, table price {price}); top up the account, \
                 or mend the price, and run again"
            ),
            Stop::Unauthorised { status } => {
                write!(f, "the service refuses the API key (HTTP {status}); check it and run again")
            }
            Stop::Misrouted { status, path } => write!(
                f,
                "the service does not know the route {path} (HTTP {status}); check [service] url, or try the other \
                 spelling with routes = \"alternate\" (or \"guide\")"
            ),
            Stop::Unavailable { message } => {
                write!(f, "the service does not answer ({message}); what was paid for is safe, run again later")
            }
            Stop::Untrusted { host, fault } => write!(
                f,
                "the certificate of {host} is not to be trusted: {fault}; nothing was sent to it: check [service] url and \
                 this machine's clock, or name the PEM file of your own authority with [service] ca_file, and run again"
            ),
            Stop::NotTheService => f.write_str(
                "three replies in a row are no answers of the service (a captive portal or proxy page?); check [service] \
                 url and the network, then run again",
            ),
            Stop::BalanceUnreadable => f.write_str(
                "the answer of GET /my_credits has no balance where one was expected; say where it is with [service] \
                 balance_pointer = \"/path/to/number\" and run again",
            ),
            Stop::PushedBack { until_us } => write!(
                f,
                "the service asks to be left alone until {}; run again after that",
                local_time(*until_us)
            ),
            Stop::ClockApart { seconds } => write!(
                f,
                "this machine's clock and the service's are {seconds} seconds apart, and requests in doubt are judged by \
                 their age; set the clock and run again"
            ),
            Stop::OtherSide { simulated: true } => {
                f.write_str("the simulator answered a campaign of the real service; check [service] url")
            }
            Stop::OtherSide { simulated: false } => f.write_str(
                "the real service answered a campaign that was begun with the simulator; start a new campaign for it",
            ),
            Stop::TooManyErrors { failed, of, stage } => write!(
                f,
                "{failed} of {of} failed to {stage}, more than --max-errors allows; look at failures/, mend the mapping \
                 or the input, and run again"
            ),
            Stop::Alike { count, message } => write!(
                f,
                "{count} requests in a row were refused alike ({message}); look at failures/ and mend what they share; \
                 run --retry refused asks for them again (an explicit --max-errors lifts this guard)"
            ),
            Stop::Unrecognised { check, unrecognised, of } => write!(
                f,
                "{unrecognised} of {of} answers of `{check}` have none of the fields its rules read; look at the column \
                 `answer`, mend the declaration (`rescreen checks {check} --toml`); what is answered is not paid again"
            ),
            Stop::ExpectedRows { found, least, most } => {
                write!(f, "the input has {found} rows, --expect-rows says {least} to {most}")
            }
            Stop::InputFailed => f.write_str("the input cannot be read on"),
            Stop::TimeIsUp => f.write_str("the time given with --for is up; run again to go on"),
            Stop::Interrupted => f.write_str("interrupted; run again to go on"),
            Stop::Terminated => f.write_str("terminated; run again to go on"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_several_apply_the_documented_order_counts() {
        let order = [
            ExitCode::Storage,
            ExitCode::Refused,
            ExitCode::Service,
            ExitCode::Guard,
            ExitCode::Budget,
            ExitCode::Doubt,
            ExitCode::TimeIsUp,
            ExitCode::Failures,
        ];
        for pair in order.windows(2) {
            assert_eq!(pair[0].or(pair[1]), pair[0]);
            assert_eq!(pair[1].or(pair[0]), pair[0]);
        }
    }
}
