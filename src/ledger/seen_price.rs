//! Prices seen above the price table, and when they count.

use crate::model::{Credits, RequestId};
use serde::{Deserialize, Serialize};

/// After this many consecutive equal falls of the balance, each around a lone request, the price is held.
const FALLS_MIN: u32 = 2;

/// A price above the price table that was seen for a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenPrice {
    /// The price that was seen.
    pub price: Credits,
    /// The price in the price table at that time; `None` if it is not known. If the user changes the table, the new
    /// table price counts.
    pub table: Option<Credits>,
    /// How it was seen.
    pub by: SeenBy,
}

/// How a price was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeenBy {
    /// A reply to this request stated it.
    Reply(RequestId),
    /// The balance fell by this price for this many consecutive requests that were sent alone.
    Balance(u32),
}

impl SeenPrice {
    /// Whether this price is held from now on.
    pub(super) fn is_held(&self) -> bool {
        !matches!(self.by, SeenBy::Balance(falls) if falls < FALLS_MIN)
    }
}
