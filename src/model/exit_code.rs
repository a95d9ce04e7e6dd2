//! The exit codes of the program. They are part of its interface: schedulers act on them. [`Stop::exit_code`] gives that
//! of a run that stops, `Error::exit_code` that of an error.
//!
//! [`Stop::exit_code`]: super::Stop::exit_code

/// An exit code of the program.
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
    /// Only jobs at the service are open: nothing is left to send, and the results come later.
    Jobs = 5,
    /// Stopped by a guard.
    Guard = 6,
    /// Refused by the service (401, 403).
    Refused = 7,
    /// In doubt or quarantined: a decision or another run is needed.
    Doubt = 8,
    TimeIsUp = 9,
    /// Service unavailable or misconfigured.
    Service = 10,
    Storage = 11,
    Interrupted = 130,
    Terminated = 143,
}

impl ExitCode {
    const ALL: [ExitCode; 14] = [
        ExitCode::Complete,
        ExitCode::Internal,
        ExitCode::Usage,
        ExitCode::Failures,
        ExitCode::Budget,
        ExitCode::Jobs,
        ExitCode::Guard,
        ExitCode::Refused,
        ExitCode::Doubt,
        ExitCode::TimeIsUp,
        ExitCode::Service,
        ExitCode::Storage,
        ExitCode::Interrupted,
        ExitCode::Terminated,
    ];

    /// The exit code of a number; an unknown one is an internal error.
    pub fn from_number(number: u8) -> ExitCode {
        ExitCode::ALL.into_iter().find(|code| *code as u8 == number).unwrap_or(ExitCode::Internal)
    }

    /// The precedence when several codes apply: the lowest rank wins.
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
            ExitCode::Jobs => 10,
            ExitCode::Failures => 11,
            ExitCode::Complete => 12,
        }
    }

    /// The code with the higher precedence of the two.
    pub fn or(self, other: ExitCode) -> ExitCode {
        if other.rank() < self.rank() { other } else { self }
    }
}
