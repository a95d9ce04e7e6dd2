//! Why a run ended as it did, in one kind and one message, for programs and for `rescreen status`. The report itself
//! lists every reason.

use super::{report::RunReport, wording::counted};
use crate::model::{Credits, ExitCode, Stop, StopKind, budget::BudgetRefusal, state::State};

/// The main reason of an exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndReason {
    pub kind: StopKind,
    /// What happened, and what to do about it.
    pub message: String,
}

impl RunReport {
    /// The main reason; `None` if the campaign is complete and no failure counts.
    pub fn reason(&self) -> Option<EndReason> {
        if self.exit_code == ExitCode::Complete {
            return None;
        }
        let stop = self.sent.stops.iter().find(|stop| stop.exit_code() == self.exit_code);
        if let Some(stop) = stop {
            return Some(EndReason { kind: stop.kind(), message: stop.to_string() });
        }
        let lines = || self.reasons().into_iter().filter(|line| !line.starts_with("stopped: "));
        let (kind, message) = match self.exit_code {
            ExitCode::Failures => (StopKind::Failures, Some(self.failures_in_words())),
            ExitCode::Jobs => (StopKind::Jobs, self.job_lines().into_iter().next()),
            ExitCode::TimeIsUp => (StopKind::RowLimit, self.limited()),
            ExitCode::Service => (StopKind::Unsent, Some(self.unsent_in_words())),
            ExitCode::Doubt if self.sums.in_state(State::Quarantined) > 0 => {
                (StopKind::Quarantine, lines().find(|line| line.contains("quarantine")))
            }
            ExitCode::Doubt if self.leaves_only_unrecognised() => {
                (StopKind::Unrecognised, self.rejudging().into_iter().next())
            }
            ExitCode::Doubt if self.leaves_rows() => (StopKind::Unsent, Some(self.unsent_in_words())),
            ExitCode::Doubt => (StopKind::Doubt, lines().next()),
            ExitCode::Interrupted => (StopKind::Interrupted, Some(Stop::Interrupted.to_string())),
            _ => (StopKind::Internal, None),
        };
        Some(EndReason { kind, message: message.unwrap_or_else(|| "run again to continue".to_owned()) })
    }

    /// The limit of credits that suffices, if the limit stopped the run.
    pub fn credits_needed(&self) -> Option<Credits> {
        self.sent.stops.iter().find_map(|stop| match stop {
            Stop::Budget(BudgetRefusal::Limit { limit, charged, held, price }) => {
                let sufficient = self.sufficient_limit.unwrap_or_default();
                Some(sufficient.max(*charged + *held + *price).max(*limit + Credits(1)))
            }
            _ => None,
        })
    }

    /// The failures that do not count, because the user accepts so many.
    pub fn accepted_in_words(&self) -> Option<String> {
        let failures = self.failures();
        (self.exit_code == ExitCode::Complete && failures > 0).then(|| {
            format!(
                "complete; {} failed, which accept_failures in [guards] or --accept-failures allows: see failures.csv",
                counted(failures, "ask", "asks")
            )
        })
    }

    fn failures_in_words(&self) -> String {
        format!("complete, but {} failed: see failures.csv", counted(self.failures(), "ask", "asks"))
    }

    fn unsent_in_words(&self) -> String {
        let unsent = self.sums.in_state(State::Planned);
        format!("{} not sent: run the campaign again to send them", counted(unsent, "request was", "requests were"))
    }
}
