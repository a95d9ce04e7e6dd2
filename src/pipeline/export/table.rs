//! The datasets of an export, in their order.

use crate::sink::{self, DatasetKind, Schema};

/// A dataset, in the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// The results of the check with this number.
    Results(i64),
    Failures,
    Pending,
    Skipped,
}

impl Table {
    /// The datasets that all checks share, with their columns.
    pub fn of_all_checks() -> [(Table, Schema); 3] {
        [
            (Table::Failures, sink::failures_schema()),
            (Table::Pending, sink::pending_schema()),
            (Table::Skipped, sink::skipped_schema()),
        ]
    }

    pub fn kind(self) -> DatasetKind {
        match self {
            Table::Results(_) => DatasetKind::Results,
            Table::Failures => DatasetKind::Failures,
            Table::Pending => DatasetKind::Pending,
            Table::Skipped => DatasetKind::Skipped,
        }
    }
}
