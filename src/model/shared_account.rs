//! What a charge book says about an account, and the names in it.

use super::{mode::Mode, stop::Halt};
use std::time::Duration;

/// The state of a book in which something was read. It is written only if the book still has this one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Version {
    pub number: i64,
    /// The timeline of the server. A promoted standby has another one, and may have lost the last commits.
    pub timeline: String,
}

/// What the book says about an account.
#[derive(Debug, Clone, Default)]
pub struct AccountState {
    /// It changes whenever the account does.
    pub version: Version,
    /// The record of its rate; `None` if nothing is known about the last minute.
    pub record: Option<Vec<u8>>,
    /// The time by the clock of the book, in microseconds since 1970.
    pub now_us: i64,
    /// How long nothing may be sent, because the service asked a worker to wait.
    pub paused: Option<Duration>,
    /// Why nothing may be sent until a person decides.
    pub halt: Option<Halt>,
}

/// A partition of a campaign, and the ledger that it is run with. A campaign that is not divided is one partition without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionName {
    pub campaign: String,
    pub mode: Mode,
    /// The name of the partition; empty if the campaign is not divided.
    pub partition: String,
    /// The fingerprint of the secret that the keys are made with. All partitions of a campaign have the same one.
    pub key_secret: Option<String>,
    /// The id of the ledger.
    pub ledger: String,
}
