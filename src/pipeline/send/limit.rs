//! The limits of a single check.

/// The limits of one check; `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limit {
    pub per_hour: Option<u32>,
    pub in_flight: Option<u32>,
}
