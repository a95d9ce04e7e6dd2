//! Why a command did not end as complete, as one of a closed list. Schedulers act on it, so a kind is never renamed or
//! reused; the exit code says less, and the message is for people.

use super::{Stop, budget::BudgetRefusal};

/// The kind of a stop or of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopKind {
    /// The command line or a setting is wrong.
    Usage,
    /// The campaign file is wrong.
    CampaignFile,
    /// The input cannot be read, or is not the one of the campaign.
    Input,
    /// The ledger is in use, belongs to something else or does not exist.
    Ledger,
    /// The limit of credits is reached.
    Limit,
    /// The account's balance is too low, or could not be read.
    Balance,
    /// A price differs from the price table.
    Price,
    /// A guard against errors or answers that are not recognised.
    Guard,
    /// The service refuses the API key.
    Key,
    /// The time given with `--for` is up.
    Time,
    /// The service cannot be used or is misconfigured.
    Service,
    /// The service asked to wait.
    RateLimit,
    /// This machine's clock and the service's clock are apart.
    Clock,
    /// The service answered in another mode, or is the other side of a rehearsal.
    Mode,
    /// Requests may have been charged and have no answer yet.
    Doubt,
    /// A person has to decide on requests that may have been charged.
    Quarantine,
    /// Answers that no rule recognises are left.
    Unrecognised,
    /// Only jobs at the service are open.
    Jobs,
    /// `--limit` left rows unread.
    RowLimit,
    /// Rows are left that only a run sends.
    Unsent,
    /// The campaign is complete, and some asks failed.
    Failures,
    /// An earlier run stopped, and nothing has changed since.
    EarlierStop,
    /// The disk or the ledger failed.
    Storage,
    Interrupted,
    Terminated,
    /// The last run did not record its end: it was killed, or the machine stopped.
    Killed,
    Internal,
}

impl StopKind {
    pub const ALL: [StopKind; 27] = [
        StopKind::Usage,
        StopKind::CampaignFile,
        StopKind::Input,
        StopKind::Ledger,
        StopKind::Limit,
        StopKind::Balance,
        StopKind::Price,
        StopKind::Guard,
        StopKind::Key,
        StopKind::Time,
        StopKind::Service,
        StopKind::RateLimit,
        StopKind::Clock,
        StopKind::Mode,
        StopKind::Doubt,
        StopKind::Quarantine,
        StopKind::Unrecognised,
        StopKind::Jobs,
        StopKind::RowLimit,
        StopKind::Unsent,
        StopKind::Failures,
        StopKind::EarlierStop,
        StopKind::Storage,
        StopKind::Interrupted,
        StopKind::Terminated,
        StopKind::Killed,
        StopKind::Internal,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            StopKind::Usage => "usage",
            StopKind::CampaignFile => "campaign_file",
            StopKind::Input => "input",
            StopKind::Ledger => "ledger",
            StopKind::Limit => "limit",
            StopKind::Balance => "balance",
            StopKind::Price => "price",
            StopKind::Guard => "guard",
            StopKind::Key => "key",
            StopKind::Time => "time",
            StopKind::Service => "service",
            StopKind::RateLimit => "rate_limit",
            StopKind::Clock => "clock",
            StopKind::Mode => "mode",
            StopKind::Doubt => "doubt",
            StopKind::Quarantine => "quarantine",
            StopKind::Unrecognised => "unrecognised",
            StopKind::Jobs => "jobs",
            StopKind::RowLimit => "row_limit",
            StopKind::Unsent => "unsent",
            StopKind::Failures => "failures",
            StopKind::EarlierStop => "earlier_stop",
            StopKind::Storage => "storage",
            StopKind::Interrupted => "interrupted",
            StopKind::Terminated => "terminated",
            StopKind::Killed => "killed",
            StopKind::Internal => "internal",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<StopKind> {
        StopKind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl Stop {
    pub fn kind(&self) -> StopKind {
        match self {
            Stop::Budget(BudgetRefusal::Limit { .. }) => StopKind::Limit,
            Stop::Budget(BudgetRefusal::Balance { .. } | BudgetRefusal::Unread) | Stop::NoCredits { .. } => {
                StopKind::Balance
            }
            Stop::Price { .. }
            | Stop::BalanceFell { .. }
            | Stop::AmountUnreadable { .. }
            | Stop::UploadCharged { .. } => StopKind::Price,
            Stop::Unauthorised { .. } | Stop::CheckRefused { .. } => StopKind::Key,
            Stop::Misrouted { .. }
            | Stop::JobRoute { .. }
            | Stop::JobUnusable { .. }
            | Stop::Unavailable { .. }
            | Stop::Untrusted { .. }
            | Stop::NotTheService { .. }
            | Stop::Intercepted { .. }
            | Stop::NewWait
            | Stop::BalanceUnreadable
            | Stop::UploadUnusable { .. } => StopKind::Service,
            Stop::PushedBack { .. } | Stop::CheckPaused { .. } => StopKind::RateLimit,
            Stop::ClockDiffers { .. } => StopKind::Clock,
            Stop::OtherRoute { .. }
            | Stop::FilesChanged { .. }
            | Stop::UnknownService { .. }
            | Stop::Elsewhere { .. } => StopKind::Doubt,
            Stop::OtherMode { .. } | Stop::OtherSide { .. } => StopKind::Mode,
            Stop::TooManyErrors { .. }
            | Stop::SameRefusals { .. }
            | Stop::Conflict { .. }
            | Stop::Unrecognised { .. }
            | Stop::ExpectedRows { .. } => StopKind::Guard,
            Stop::InputFailed | Stop::OtherBody { .. } => StopKind::Input,
            Stop::TimeIsUp => StopKind::Time,
            Stop::Interrupted => StopKind::Interrupted,
            Stop::Terminated => StopKind::Terminated,
            Stop::Kept { .. } | Stop::Halted(_) => StopKind::EarlierStop,
            Stop::Book { is_away: true, .. } => StopKind::Storage,
            Stop::Book { is_away: false, .. } => StopKind::Usage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_listed_once_and_found_by_its_name() {
        for (at, kind) in StopKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, at, "the list has the order of the definition");
            assert_eq!(StopKind::from_name(kind.as_str()), Some(kind));
        }
        assert_eq!(StopKind::from_name("limits"), None);
    }
}
