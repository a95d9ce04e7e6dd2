//! Why a run stopped, and the exit code of each reason.

use super::{budget::BudgetRefusal, clock::local_time, credits::Credits, exit_code::ExitCode, witness::RequestId};
use std::fmt;

/// The stage of [`Stop::TooManyErrors`] for requests that the service refuses.
pub const STAGE_SEND: &str = "be accepted by the service";

/// Why no further request is sent. What is under way is drained, what is answered is published.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    Budget(BudgetRefusal),
    /// The service charged more than the price table says. Where no reply stated it, but the balance fell by it, there is no
    /// request to name.
    Price {
        check: String,
        stated: Credits,
        table: Credits,
        request: Option<RequestId>,
    },
    /// What stands where a charge or a balance was expected and is not an amount, or is absurd.
    AmountUnreadable {
        check: String,
        found: String,
    },
    /// 402 while the balance does not cover the price.
    NoCredits {
        balance: Credits,
        price: Credits,
    },
    Unauthorised {
        status: u16,
    },
    /// 401 or 403 for every request of a check, while the account can be read with the same API key.
    CheckRefused {
        check: String,
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
    /// What answers is not the service: a captive portal, a proxy page.
    NotTheService,
    /// Different requests in a row met 409: their keys were used before.
    Conflict {
        count: u64,
    },
    /// An answer says that it was made in another mode than the one that was sent.
    OtherMode {
        sent: String,
        echoed: String,
    },
    /// An earlier run stopped, and nothing has changed since.
    Kept {
        exit_code: ExitCode,
        message: String,
        at_us: i64,
    },
    BalanceUnreadable,
    /// `Retry-After` is further away than a run waits.
    PushedBack {
        until_us: i64,
    },
    ClockApart {
        seconds: i64,
    },
    /// Only the ledger says that the API key belongs to this service.
    UnknownService {
        url: String,
    },
    /// Requests in doubt were sent to a route that their check does not have now.
    OtherRoute {
        check: String,
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
    SameRefusals {
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

    /// The next run would repeat it at a cost, so it is kept in the ledger until what was wrong has changed.
    pub fn is_kept(&self) -> bool {
        match self {
            Stop::Price { .. }
            | Stop::AmountUnreadable { .. }
            | Stop::OtherMode { .. }
            | Stop::SameRefusals { .. }
            | Stop::Unrecognised { .. } => true,
            // Of rows that cannot be mapped nothing was sent, and each run counts them anew.
            Stop::TooManyErrors { stage, .. } => *stage == STAGE_SEND,
            _ => false,
        }
    }

    /// It only keeps the rest from being sent. Where nothing is left to send, it does not decide how the run ends.
    pub fn keeps_from_sending(&self) -> bool {
        matches!(
            self,
            Stop::Kept { .. } | Stop::SameRefusals { .. } | Stop::TooManyErrors { .. } | Stop::Conflict { .. }
        )
    }

    pub fn exit_code(&self) -> ExitCode {
        match self {
            Stop::Kept { exit_code, .. } => *exit_code,
            Stop::Budget(_) | Stop::Price { .. } | Stop::AmountUnreadable { .. } | Stop::NoCredits { .. } => {
                ExitCode::Budget
            }
            Stop::Unauthorised { .. } | Stop::CheckRefused { .. } => ExitCode::Refused,
            Stop::Misrouted { .. }
            | Stop::Unavailable { .. }
            | Stop::Untrusted { .. }
            | Stop::NotTheService
            | Stop::BalanceUnreadable
            | Stop::PushedBack { .. } => ExitCode::Service,
            Stop::ClockApart { .. } | Stop::OtherRoute { .. } | Stop::UnknownService { .. } => ExitCode::Doubt,
            Stop::OtherSide { .. } | Stop::OtherMode { .. } => ExitCode::Usage,
            Stop::TooManyErrors { .. }
            | Stop::SameRefusals { .. }
            | Stop::Conflict { .. }
            | Stop::Unrecognised { .. }
            | Stop::ExpectedRows { .. } => ExitCode::Guard,
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
            Stop::Budget(BudgetRefusal::Limit { limit, charged, held, price }) => write!(
                f,
                "the next request ({price} credits) would cross the limit of {limit}: {charged} are charged and {held} held; \
                 run again with a higher --max-credits"
            ),
            Stop::Budget(BudgetRefusal::Balance { spendable, price, keep }) => write!(
                f,
                "the next request ({price} credits) is more than the {spendable} that may be spent above the balance of \
                 {keep} to be kept; top up the account, or lower --keep-balance, and run again"
            ),
            Stop::Budget(BudgetRefusal::Unread) => f.write_str("the balance was never read"),
            Stop::Price { check, stated, table, request: Some(RequestId(request)) } => write!(
                f,
                "the service charged {stated} credits for `{check}`, the price table says {table}; run again with \
                 --price {check}={stated} if that is right. If it is not, book what is, with `rescreen resolve --charge N \
                 --request {request}`, and run again with --continue-anyway"
            ),
            Stop::Price { check, stated, table, request: None } => write!(
                f,
                "the service charged {stated} credits for `{check}`, the price table says {table}: no reply states it, but the \
                 balance fell by it around a request that went alone. Run again with --price {check}={stated} if that is \
                 right, or with --continue-anyway if another program spent it"
            ),
            Stop::AmountUnreadable { check, found } => write!(
                f,
                "a reply for `{check}` has `{found}` where credits are stated; expected a number of credits, at most {} times \
                 the price. Nothing was booked for it but the price. Check the charge with the service, and name the place of \
                 the amount with [service] charge_pointer or remaining_pointer: then no other place is read for it, and \"\" \
                 reads it nowhere and leaves the proof to the account's balance. Run again with --continue-anyway; \
                 `rescreen resolve --charge` corrects what was booked",
                Credits::ABSURD_TIMES
            ),
            Stop::NoCredits { balance, price } => write!(
                f,
                "the service says there are not enough credits (balance {balance}, table price {price}); top up the account, \
                 or mend the price, and run again"
            ),
            Stop::Unauthorised { status } => {
                write!(f, "the service refuses the API key (HTTP {status}); check it and run again")
            }
            Stop::CheckRefused { check, status } => write!(
                f,
                "the service refuses every request for `{check}` (HTTP {status}), and tells the balance with the same API \
                 key; ask the service whether this account may use `{check}`, and run again"
            ),
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
                "expected an answer of the service, found something else in several replies in a row: a captive portal, a proxy \
                 page, or another service; check [service] url and the network, then run again",
            ),
            Stop::Conflict { count } => write!(
                f,
                "{count} different requests in a row met HTTP 409: the service has their idempotency keys with another body, \
                 or is still working on them. If the ledger of this campaign was lost, or a default or declaration changed, \
                 restore them, or start a new campaign with --campaign NAME; otherwise run again in a few minutes"
            ),
            Stop::OtherMode { sent, echoed } => write!(
                f,
                "an answer says it was made in {echoed}, and {sent} was sent: its content is not believed (verdict `review`). \
                 Check that the API key and [service] url are those of {sent}, then run again"
            ),
            Stop::Kept { message, at_us, .. } => write!(
                f,
                "nothing was sent: the run of {} stopped, and nothing that caused it has changed since. It said: {message}. \
                 To run all the same, add --continue-anyway",
                local_time(*at_us)
            ),
            Stop::BalanceUnreadable => f.write_str(
                "the answer of GET /my_credits has no balance where one was expected; say where it is with [service] \
                 balance_pointer = \"/path/to/number\" and run again; an account without a balance in credits is not supported in \
                 production",
            ),
            Stop::PushedBack { until_us } => {
                write!(f, "the service is rate-limiting us until {}; run again after that, or with --lift-pause to send now", local_time(*until_us))
            }
            Stop::ClockApart { seconds } => write!(
                f,
                "this machine's clock and the service's are {seconds} seconds apart, and requests in doubt are judged by \
                 their age; set the clock and run again"
            ),
            Stop::UnknownService { url } => write!(
                f,
                "nothing was sent: only the ledger says that its requests belong to {url}, and no run of yours on this \
                 machine sent this API key there in the same way. If that is right, run again with --service {url}; a proxy, \
                 a CA file and declarations are read from the campaign file alone, with -c FILE"
            ),
            Stop::OtherRoute { check } => write!(
                f,
                "requests in doubt of `{check}` were sent to a route that `{check}` does not have now, and a key is only \
                 sent again to its own route; put the route of the declaration back and run again, or decide with \
                 `rescreen resolve --list --include-in-doubt`"
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
            Stop::SameRefusals { count, message } => write!(
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
    fn when_several_reasons_apply_the_documented_order_decides() {
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
