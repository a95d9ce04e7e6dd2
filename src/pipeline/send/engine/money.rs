//! When the balance is read, what it and the charges of replies mean, and what happens if the budget refuses a request.

use super::{Engine, Why};
use crate::{
    model::{
        Credits, ExitCode, Failure, FailureCode, RequestId, Stage, Stop,
        budget::BudgetRefusal,
        state::{Event, State},
    },
    pipeline::send::{account::BalanceRead, attempt_end::Attempt, context::Candidate, prices::Finding},
};
use std::{
    ops::ControlFlow::{self, Break, Continue},
    time::Duration,
};

impl Engine {
    /// Whether the account must be read before anything else is sent.
    pub(super) fn needs_reading(&self) -> bool {
        let before_next = self.schedule.next().is_some_and(|next| self.prices.needs_reading_before(next));
        let first = self.prices.is_watched() && !self.health.was_read();
        first || before_next || self.health.needs_reading() || self.prices.needs_reading()
    }

    /// Schedules the next request that waits for a trial, if the trial is over or cannot end.
    pub(super) fn resume_trials(&mut self) {
        let idle = self.flights.is_empty() && self.schedule.is_empty();
        if (self.spending.key_on_trial.is_none() || idle)
            && let Some(next) = self.spending.next_trial()
        {
            self.schedule.put_last(next);
        }
    }

    /// Decides whether the balance is read, while no request is in flight.
    pub(super) fn look_after_account(&mut self) {
        let refused = self.spending.blocked.take();
        if let Some((refusal, request)) = refused
            && self.spending.alone
        {
            return self.spend_no_more(refusal, request);
        }
        self.spending.alone |= refused.is_some();
        if let Some(wait) = self.prices.next_reading() {
            return self.read_balance(wait, Why::Lone);
        }
        let short = matches!(refused, Some((BudgetRefusal::Balance { .. } | BudgetRefusal::Unread, _)));
        let wanted = self.schedule.next().is_some() && self.needs_reading() || self.health.needs_reading();
        if short || wanted {
            self.read_balance(Duration::ZERO, Why::Account);
        }
    }

    /// Reads the balance at the end of a run, if it can show charges that neither replies nor the price table explain.
    pub(super) fn read_at_the_end(&mut self) {
        let may_ask = |stop: &Stop| {
            let is_ours = !matches!(stop, Stop::Halted(_));
            is_ours && matches!(stop.exit_code(), ExitCode::Budget | ExitCode::Guard | ExitCode::Doubt)
        };
        if self.prices.has_unread() && self.stops.iter().all(may_ask) && !self.cut_short {
            self.read_balance(Duration::ZERO, Why::Account);
        }
    }

    /// The balance was read, or the run must stop. In sandbox it is enough that the service replies.
    pub(super) fn balance(&mut self, why: Why, read: ControlFlow<Stop, BalanceRead>, alone: bool) {
        let (balance, fall) = match &read {
            Continue(read) => (Some(read.balance), read.unexplained_fall),
            Break(_) => (None, Credits::ZERO),
        };
        self.prices.read(balance, fall, alone, self.now.at);
        // What a shared account does not explain concerns other workers, even if nothing is left to send here.
        if self.terms.is_shared || self.is_ending && self.now.sums.in_state(State::Planned) > 0 {
            self.stops.extend(self.prices.denied());
        }
        let is_time_up = matches!(read, Break(Stop::TimeIsUp));
        let read = read.map_continue(|read| read.balance);
        if let Why::Refused(refused) = why {
            let (candidate, attempted) = *refused;
            return self.account_answered(candidate, attempted, read);
        }
        self.health.read();
        match read {
            Continue(_) => {}
            Break(Stop::BalanceUnreadable) if !self.prices.is_watched() => {}
            Break(Stop::TimeIsUp) => self.time_is_up(),
            Break(stop) => self.stops.push(stop),
        }
        match why {
            Why::JobRefused(Some(stop)) if self.stops.is_empty() && !is_time_up => self.stops.push(*stop),
            Why::Lone => self.read_after_lone(balance.is_some()),
            Why::Account | Why::JobRefused(_) | Why::Refused(_) => {}
        }
    }

    /// Decides what a lone request cost by the balance after it.
    fn read_after_lone(&mut self, is_read: bool) {
        let Some(reading) = self.now.sums.account.reading.filter(|_| is_read) else { return self.prices.not_sent() };
        let has_jobs = self.now.sums.in_state(State::Submitted) > 0;
        let finding = self.prices.read_after(reading, has_jobs);
        self.found(finding);
    }

    /// Stops sending new requests. Requests in doubt already hold their price and are settled before the run ends. If
    /// their price rose and the budget cannot hold the difference, they are left for a run with a larger budget.
    fn spend_no_more(&mut self, refusal: BudgetRefusal, refused: RequestId) {
        self.spending.spent = Some(refusal);
        self.spending.alone = false;
        self.spending.behind_trial.clear();
        self.schedule.retain(|one| one.in_doubt && one.request != refused);
        // Another request is next now.
        self.hold_back();
    }

    /// Handles a request that the budget refused before it was sent.
    pub(super) fn over_budget(&mut self, candidate: Candidate, refusal: BudgetRefusal) {
        self.spending.refused(refusal, candidate.request);
        self.take_back(candidate);
    }

    /// Checks what an attempt shows about charges.
    pub(super) fn check_charge(&mut self, candidate: &Candidate, attempted: &Attempt) {
        self.health.observe(attempted);
        self.spending.alone = false;
        if attempted.judgement.is_some() {
            self.spending.key_on_trial = None;
        }
        let finding = self.prices.observe(candidate, attempted, self.now.at);
        self.prices.fell(attempted.settled.unexplained_fall, self.now.at);
        let (settled, unreadable) = (&attempted.settled, attempted.reply.unreadable_amount.as_ref());
        self.stop_for_charge((&candidate.check, candidate.request), settled.above_price(), settled.price, unreadable);
        self.found(finding);
    }

    /// Stops for a charge above the price, and for an amount that cannot be read.
    pub(super) fn stop_for_charge(
        &mut self,
        (check, request): (&str, RequestId),
        above: Option<Credits>,
        table: Credits,
        unreadable: Option<&String>,
    ) {
        if let Some(stated) = above {
            self.stops.push(Stop::Price { check: check.to_owned(), stated, table, request: Some(request) });
        }
        if let Some(found) = unreadable.filter(|_| self.prices.is_watched()) {
            self.stops.push(Stop::AmountUnreadable { check: check.to_owned(), found: found.clone() });
        }
    }

    /// Acts on what a lone request showed.
    fn found(&mut self, finding: Option<Finding>) {
        match finding {
            None => {}
            // It may be another client's spending, so it is not held for other requests.
            Some(Finding::Costs { check, cost, price }) => self.costs(check, cost, price),
            Some(Finding::ChargedRefusal { request, check, message, charge, price }) => {
                let message =
                    format!("the service refused the request, and the balance shows that it charged for it: {message}");
                let failure = Failure { stage: Stage::Send, code: FailureCode::Refused, message };
                self.record(request, Event::FoundCharged, Some(failure));
                self.prices.explained(charge.min(price));
                if charge > price {
                    self.costs(check, charge, price);
                }
            }
            Some(Finding::NotShown { check }) => tracing::warn!(
                "no balance shows the cost of an answer of `{check}`; its price is recorded as the charge"
            ),
            Some(Finding::Repeated { check }) => {
                tracing::info!("the service repeated an answer of `{check}` at no charge, which the lost ledger had");
            }
            Some(Finding::Cheaper { check, fell, booked }) => tracing::warn!(
                "the balance fell by {fell} for an answer of `{check}`, and {booked} were booked for it, as the price \
                 table says; if {fell} is right, run again with --price {check}={fell}"
            ),
        }
    }

    fn costs(&mut self, check: String, cost: Credits, price: Credits) {
        self.stops.push(Stop::Price { check, stated: cost, table: price, request: None });
    }
}
