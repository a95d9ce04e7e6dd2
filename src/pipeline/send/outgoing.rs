//! What settling needs to know of an attempt, whether its request was sent or not.

use super::{context::RunContext, moment::Moment};
use crate::{
    ledger::{ArmOrder, Settlement},
    model::{Clock, Credits, Receipt, RequestId, budget::Account, state::Outcome},
};
use serde_json::{Map, Value};

pub(super) struct Outgoing {
    pub(super) request: RequestId,
    pub(super) check: String,
    /// The number of the attempt; 0 if the request is not armed.
    pub(super) attempt: u32,
    pub(super) requested_at_us: i64,
    /// When it, or its upload, was written.
    pub(super) sent_at: Moment,
    /// The account after the request was armed, and before it is written.
    pub(super) before: Account,
    /// The price of the check in the price table.
    pub(super) table: Credits,
    /// The credits that a job of the check holds.
    pub(super) job_hold: Credits,
    /// The price that is held for the request: that of the table, or a higher one that was seen or that a job holds.
    pub(super) price: Credits,
    /// What the check costs, if that is less.
    pub(super) lower: Option<Credits>,
    /// Its document was uploaded just now.
    pub(super) uploaded: bool,
    /// The members of the body. An answer echoes some of them.
    pub(super) body: Map<String, Value>,
}

impl Outgoing {
    /// An attempt that is not armed yet.
    pub(super) fn new(order: &ArmOrder, context: &RunContext, price: Credits, lower: Option<Credits>) -> Outgoing {
        Outgoing {
            request: order.request,
            check: order.check.clone(),
            attempt: 0,
            requested_at_us: order.now_us,
            sent_at: context.moment(),
            before: context.ledger.sums().account,
            table: order.price,
            job_hold: order.job_hold,
            price,
            lower,
            uploaded: false,
            body: Map::new(),
        }
    }

    /// Records that the request is armed. `account` was read after that.
    pub(super) fn armed(&mut self, receipt: &Receipt, account: Account) {
        (self.attempt, self.price, self.before) = (receipt.attempt(), receipt.held(), account);
    }

    /// A settlement of the attempt, without the fields of a reply.
    pub(super) fn settlement(&self, outcome: Outcome, clock: &Clock) -> Settlement {
        Settlement {
            request: self.request,
            check: self.check.clone(),
            attempt: self.attempt,
            outcome,
            table: self.table,
            lower: self.lower,
            http_status: None,
            latency_ms: 0,
            now_us: clock.now_us(),
            answer: None,
            job: None,
            job_charged: Credits::ZERO,
            charge_unreadable: false,
            job_hold: self.job_hold,
            unreadable: None,
            is_of_another: false,
            failure: None,
            remaining: None,
            before: self.before,
            pause_until_us: None,
            check_pause: None,
            not_before_us: None,
            server_offset_us: None,
        }
    }
}
