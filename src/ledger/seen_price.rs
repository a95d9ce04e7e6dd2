//! A price above the price table that a check was seen to cost, and when it counts.

use crate::model::{Credits, RequestId};
use serde::{Deserialize, Serialize};

/// Falls of the balance in a row, each around a lone request and all alike, after which the price is held.
const FALLS_MIN: u32 = 2;

/// A price above the table that a check was seen to cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenPrice {
    /// What it was seen to cost.
    pub price: Credits,
    /// What the price table said then; `None` where that is not known. Another price in the table is a person's word.
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
    /// The balance fell by this price, for this many requests in a row that were sent alone.
    Balance(u32),
}

impl SeenPrice {
    /// Whether it is held from now on.
    pub(super) fn is_held(&self) -> bool {
        !matches!(self.by, SeenBy::Balance(falls) if falls < FALLS_MIN)
    }
}
