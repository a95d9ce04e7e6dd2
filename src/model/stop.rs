//! Why a run stopped, with the exit code and the message of each reason.

use super::{budget::BudgetRefusal, credits::Credits, exit_code::ExitCode, witness::RequestId};
use serde::{Deserialize, Serialize};

/// The stage of [`Stop::TooManyErrors`] for requests that the service refuses.
pub const STAGE_SEND: &str = "be accepted by the service";

/// Why no further request is sent. Requests under way are drained, and answers are published.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    Budget(BudgetRefusal),
    /// The service charged more than the price table says. `request` is `None` if no reply stated the charge and only
    /// the balance showed it.
    Price {
        check: String,
        stated: Credits,
        table: Credits,
        request: Option<RequestId>,
    },
    /// The balance fell by this much more than the campaign explains, and did not show the charge of a lone request.
    /// With `is_shared`, all ledgers of the account together do not explain it.
    BalanceFell {
        credits: Credits,
        is_shared: bool,
    },
    /// A field where a charge or a balance was expected holds something that is not an amount, or an absurd amount.
    AmountUnreadable {
        check: String,
        found: String,
    },
    /// The service replied 402, and the balance does not cover the price.
    NoCredits {
        balance: Credits,
        price: Credits,
    },
    Unauthorised {
        status: u16,
    },
    /// The service replies 401 or 403 to every request of a check, but the account can be read with the same API key.
    CheckRefused {
        check: String,
        status: u16,
    },
    /// The service replied 3xx, 404 or 405 on a submit route.
    Misrouted {
        status: u16,
        path: String,
        /// The check of the route; `None` for the balance.
        check: Option<String>,
        /// Where a redirect leads.
        location: Option<String>,
    },
    /// The service refuses the route that shows the state of a check's jobs.
    JobRoute {
        check: String,
        status: u16,
        /// The number of different jobs in a row.
        count: usize,
    },
    /// The service accepts requests of a check as jobs, and its replies name no job that can be followed.
    JobUnusable {
        check: String,
        fault: String,
    },
    Unavailable {
        message: String,
    },
    /// The server's certificate is not trusted.
    Untrusted {
        host: String,
        fault: String,
    },
    /// Something other than the service answers, such as a captive portal or a proxy page. `found` are its status and
    /// words.
    NotTheService {
        found: String,
    },
    /// Answers to requests in doubt could not be read, and none of these requests was answered: new ones were not sent.
    NewWait,
    /// Some requests had replies that are not the service's, while others were answered.
    Intercepted {
        requests: u64,
        found: String,
    },
    /// Different requests in a row were answered with 409: their keys were used before.
    Conflict {
        count: u64,
        /// Bodies of the campaign may name a webhook.
        has_webhook: bool,
    },
    /// An answer states another mode than the one that was sent.
    OtherMode {
        sent: String,
        echoed: String,
    },
    /// An earlier run stopped, and nothing has changed since.
    Kept {
        exit_code: ExitCode,
        message: String,
        at_us: i64,
        /// The flag that removes the cause, with its value, where one does.
        remedy: Option<(String, String)>,
    },
    /// A worker of the same account stopped all others, until a person lifts it.
    Halted(Halt),
    /// Other partitions of the campaign have sent requests that this one needs, too, and have no answer yet.
    Elsewhere {
        requests: u64,
    },
    /// The charge book cannot be used. If it is only away, the same may succeed later.
    Book {
        fault: String,
        is_away: bool,
    },
    BalanceUnreadable,
    /// `Retry-After` is longer than a run waits.
    PushedBack {
        until_us: i64,
    },
    /// The service limits the rate of one check, while it answers others.
    CheckPaused {
        check: String,
        /// Until when, if it says so, in microseconds since 1970.
        until_us: Option<i64>,
    },
    ClockDiffers {
        seconds: i64,
    },
    /// Only the ledger says that this service is the one to send the API key to.
    UnknownService {
        url: String,
    },
    /// Requests in doubt were sent to a route that their check no longer has.
    OtherRoute {
        check: String,
    },
    /// A body that was recorded is not one of the current declaration of its check.
    OtherBody {
        check: String,
        differs: String,
    },
    /// Files of requests in doubt are not what they were, so the requests cannot be repeated. `first` names one of them.
    FilesChanged {
        check: String,
        first: String,
    },
    /// The reply to an upload cannot be followed.
    UploadUnusable {
        check: String,
        fault: String,
    },
    /// A reply to an upload states a charge for the upload itself, which should be free. It is booked.
    UploadCharged {
        check: String,
        credits: Credits,
    },
    /// The simulator answered a campaign of the real service, or the reverse.
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
    /// The rest of the input cannot be read or mapped; the error says why.
    InputFailed,
    TimeIsUp,
    Interrupted,
    Terminated,
}

/// Why a worker stopped all workers that share its account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halt {
    /// The exit code of the worker that stopped.
    pub exit_code: u8,
    /// What happened, and what to do about it.
    pub message: String,
    /// Which worker it was: its machine and process.
    pub worker: String,
    /// When it happened, by the clock of that worker, in microseconds since 1970.
    pub at_us: i64,
}

impl Stop {
    /// The check that the stop is about; `None` if it is about the whole run.
    pub fn check(&self) -> Option<&str> {
        match self {
            Stop::Price { check, .. }
            | Stop::AmountUnreadable { check, .. }
            | Stop::CheckRefused { check, .. }
            | Stop::CheckPaused { check, .. }
            | Stop::JobRoute { check, .. }
            | Stop::JobUnusable { check, .. }
            | Stop::OtherRoute { check }
            | Stop::OtherBody { check, .. }
            | Stop::FilesChanged { check, .. }
            | Stop::UploadUnusable { check, .. }
            | Stop::Unrecognised { check, .. } => Some(check),
            Stop::Misrouted { check, .. } => check.as_deref(),
            _ => None,
        }
    }

    /// Whether the process should end soon: reading the rest of the input is left to the next run.
    pub fn is_urgent(&self) -> bool {
        matches!(self, Stop::TimeIsUp | Stop::Interrupted | Stop::Terminated)
    }

    /// Whether the stop is kept in the ledger until its cause has changed, because the next run would repeat it at a
    /// cost.
    pub fn is_kept(&self) -> bool {
        match self {
            Stop::Price { .. }
            | Stop::BalanceFell { .. }
            | Stop::AmountUnreadable { .. }
            | Stop::UploadCharged { .. }
            | Stop::OtherMode { .. }
            | Stop::JobUnusable { .. }
            | Stop::SameRefusals { .. }
            | Stop::Unrecognised { .. } => true,
            // For rows that cannot be mapped nothing was sent, and each run counts them again.
            Stop::TooManyErrors { stage, .. } => *stage == STAGE_SEND,
            _ => false,
        }
    }

    /// Whether the stop is about the account, so that all workers that share it must stop.
    pub fn is_of_account(&self) -> bool {
        matches!(
            self,
            Stop::Unauthorised { .. }
                | Stop::Price { .. }
                | Stop::BalanceFell { .. }
                | Stop::AmountUnreadable { .. }
                | Stop::UploadCharged { .. }
        )
    }

    /// Whether the stop only prevents further sending. If nothing is left to send, it does not decide how the run ends.
    pub fn prevents_sending(&self) -> bool {
        matches!(
            self,
            Stop::Kept { .. }
                | Stop::Halted(_)
                | Stop::SameRefusals { .. }
                | Stop::TooManyErrors { .. }
                | Stop::Conflict { .. }
                | Stop::NewWait
        )
    }

    /// The flag that removes the cause, with its value. `None` if no flag alone does.
    pub fn remedy(&self) -> Option<(String, String)> {
        match self {
            Stop::Price { check, stated, .. } => Some(("--price".to_owned(), format!("{check}={stated}"))),
            Stop::Kept { remedy, .. } => remedy.clone(),
            _ => None,
        }
    }

    pub fn exit_code(&self) -> ExitCode {
        match self {
            Stop::Kept { exit_code, .. } => *exit_code,
            Stop::Halted(halt) => ExitCode::from_number(halt.exit_code),
            Stop::Book { is_away: true, .. } => ExitCode::Storage,
            Stop::Book { is_away: false, .. } => ExitCode::Usage,
            Stop::Budget(_)
            | Stop::Price { .. }
            | Stop::BalanceFell { .. }
            | Stop::AmountUnreadable { .. }
            | Stop::UploadCharged { .. }
            | Stop::NoCredits { .. } => ExitCode::Budget,
            Stop::Unauthorised { .. } | Stop::CheckRefused { .. } => ExitCode::Refused,
            Stop::Misrouted { .. }
            | Stop::JobRoute { .. }
            | Stop::JobUnusable { .. }
            | Stop::Unavailable { .. }
            | Stop::Untrusted { .. }
            | Stop::NotTheService { .. }
            | Stop::Intercepted { .. }
            | Stop::NewWait
            | Stop::BalanceUnreadable
            | Stop::UploadUnusable { .. }
            | Stop::PushedBack { .. }
            | Stop::CheckPaused { .. } => ExitCode::Service,
            Stop::FilesChanged { .. }
            | Stop::ClockDiffers { .. }
            | Stop::OtherRoute { .. }
            | Stop::Elsewhere { .. }
            | Stop::UnknownService { .. } => ExitCode::Doubt,
            Stop::OtherSide { .. } | Stop::OtherMode { .. } | Stop::OtherBody { .. } => ExitCode::Usage,
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
