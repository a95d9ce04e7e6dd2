//! A request that is sent alone, so that the balances before and after it show what it costs.

use crate::{
    model::{Credits, RequestId, budget::BalanceReading},
    pipeline::send::moment::Moment,
};
use std::time::Duration;

/// A request that is sent alone.
#[derive(Debug)]
pub(super) struct Lone {
    pub(super) since: Moment,
    pub(super) before: BalanceReading,
    /// Its reply, if the reply itself does not show what it cost.
    pub(super) replied: Option<Replied>,
}

/// The reply to a lone request.
#[derive(Debug)]
pub(super) struct Replied {
    pub(super) request: RequestId,
    pub(super) check: String,
    /// The credits that were held for it.
    pub(super) price: Credits,
    /// The credits that are booked for it.
    pub(super) booked: Credits,
    /// The charge that its reply states.
    pub(super) stated: Option<Credits>,
    /// The message of a reply that refuses it and states no charge.
    pub(super) refused: Option<String>,
    /// It was accepted as a job, which is charged later.
    pub(super) is_job: bool,
    pub(super) took: Duration,
    /// How far the balance fell by what the reply states, if that is more than is booked.
    pub(super) stated_fall: Option<Credits>,
    /// Charges from before may have shown only now.
    pub(super) is_late: bool,
    /// The balance was read, and does not show its charge yet.
    pub(super) was_read: bool,
    /// How far the balance was then below what is explained, and the reading that showed it.
    pub(super) beyond: Option<(Credits, BalanceReading)>,
}

impl Replied {
    /// Whether the balance should show a charge for it: it is an answer, and its reply does not state the charge.
    pub(super) fn must_show(&self) -> bool {
        let is_answer = self.refused.is_none() && !self.is_job;
        is_answer && self.price > Credits::ZERO && !self.is_stated_in_full()
    }

    /// What it cost, if the balance fell by this much beyond its price.
    pub(super) fn costs(&self, beyond: Credits) -> Finding {
        // What a job costs is held, and not booked yet.
        let own = if self.is_job { self.price } else { self.booked };
        Finding::Costs { check: self.check.clone(), cost: own + beyond, price: self.price }
    }

    pub(super) fn is_stated_in_full(&self) -> bool {
        is_stated_in_full(self.stated, self.price)
    }
}

/// Whether a reply states a charge that is not below the price.
pub fn is_stated_in_full(stated: Option<Credits>, price: Credits) -> bool {
    stated.is_some_and(|stated| stated > Credits::ZERO && stated >= price)
}

/// What a lone request showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The check costs this, which is more than its price.
    Costs { check: String, cost: Credits, price: Credits },
    /// A refusal that states no charge was charged this much.
    ChargedRefusal { request: RequestId, check: String, message: String, charge: Credits, price: Credits },
    /// The balance does not show that it was charged.
    NotShown { check: String },
    /// The same, which is expected of an answer that the service repeats for a lost ledger.
    Repeated { check: String },
    /// It states no charge, and the balance fell by less than was booked.
    Cheaper { check: String, fell: Credits, booked: Credits },
}
