//! The datasets of an export, in their order.

use crate::sink::DatasetKind;

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
    pub fn kind(self) -> DatasetKind {
        match self {
            Table::Results(_) => DatasetKind::Results,
            Table::Failures => DatasetKind::Failures,
            Table::Pending => DatasetKind::Pending,
            Table::Skipped => DatasetKind::Skipped,
        }
    }
}
