//! When the account is read, and what happens if the budget refuses a request.

use super::{
    RunChannels, SendLoop, account::read_balance, attempt::Attempted, context::Candidate, prices::Finding, until,
};
use crate::{
    error::Error,
    ledger::KeptStop,
    model::{Credits, ExitCode, Failure, FailureCode, RequestId, Stage, Stop, budget::BudgetRefusal, state::Event},
};
use std::{
    ops::ControlFlow::{self, Break, Continue},
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;

impl SendLoop {
    /// Whether the account must be read before anything else is sent.
    pub fn needs_reading(&self) -> bool {
        let before_next = self.schedule.next().is_some_and(|next| self.prices.needs_reading_before(next));
        let first = self.prices.is_watched() && !self.health.was_read();
        first || before_next || self.health.needs_reading() || self.prices.needs_reading()
    }

    /// Schedules the next request that waits for a trial, if the trial is over or cannot end.
    pub fn resume_trials(&mut self) {
        let idle = self.attempts_under_way.is_empty() && self.schedule.is_empty();
        if (self.spending.key_on_trial.is_none() || idle)
            && let Some(next) = self.spending.next_trial()
        {
            self.schedule.put_last(next);
        }
    }

    /// Reads the balance if it is needed, while no request is in flight. Returns whether anything was done.
    pub async fn settle_account(&mut self) -> Result<bool, Error> {
        let refused = self.spending.blocked.take();
        if let Some((refusal, request)) = refused
            && self.spending.alone
        {
            self.spend_no_more(refusal, request);
            return Ok(true);
        }
        self.spending.alone |= refused.is_some();
        if let Some(wait) = self.prices.next_reading() {
            self.read_after_lone(wait).await?;
            return Ok(true);
        }
        let short = matches!(refused, Some((BudgetRefusal::Balance { .. } | BudgetRefusal::Unread, _)));
        let wanted = self.schedule.next().is_some() && self.needs_reading() || self.health.needs_reading();
        if !(short || wanted) {
            return Ok(refused.is_some());
        }
        self.read_account().await?;
        Ok(true)
    }

    /// Reads the balance, and stops the run if that fails. In sandbox it is enough that the service replies.
    pub async fn read_account(&mut self) -> Result<Option<Credits>, Error> {
        self.health.read();
        match self.balance().await? {
            Continue(balance) => {
                tracing::info!("the balance is {balance}");
                Ok(Some(balance))
            }
            Break(Stop::BalanceUnreadable) if !self.prices.is_watched() => Ok(None),
            Break(stop) => {
                self.stops.push(stop);
                Ok(None)
            }
        }
    }

    /// Reads the balance at the end of a run, if it can show charges that neither replies nor the price table explain.
    pub async fn read_at_the_end(&mut self) -> Result<(), Error> {
        let may_ask = |stop: &Stop| matches!(stop.exit_code(), ExitCode::Budget | ExitCode::Guard | ExitCode::Doubt);
        if self.prices.has_unread() && self.stops.iter().all(may_ask) && !self.cut_short {
            self.read_account().await?;
        }
        Ok(())
    }

    /// Records a stop that would cost credits if the next run repeated it. Done at once, because the process may be
    /// killed while it drains.
    pub async fn keep_stop(&mut self) -> Result<(), Error> {
        let is_unread = self.stops.iter().any(|stop| matches!(stop, Stop::NotTheService { .. }));
        // Where others were answered, these replies are about their own rows.
        let is_first = self.answered == 0 && !self.context.ledger.sums().new_wait;
        if is_unread && is_first && self.watch.may_have_paid() {
            self.context.ledger.new_wait(true).await?;
        }
        let Some(stop) = self.spending.keep(self.stops.iter().chain(&self.left_out)) else { return Ok(()) };
        let kept = KeptStop {
            exit_code: stop.exit_code() as u8,
            message: stop.to_string(),
            settings: self.context.settings.clone(),
            at_us: self.context.clock.now_us(),
            remedy: stop.remedy(),
        };
        self.context.ledger.keep_stop(Some(kept)).await?;
        Ok(())
    }

    /// Stops sending new requests. Requests in doubt already hold their price and are settled before the run ends. If
    /// their price rose and the budget cannot hold the difference, they are left for a run with a larger budget.
    fn spend_no_more(&mut self, refusal: BudgetRefusal, refused: RequestId) {
        self.spending.spent = Some(refusal);
        self.spending.alone = false;
        self.spending.behind_trial.clear();
        self.schedule.retain(|one| one.in_doubt && one.request != refused);
    }

    /// Handles a request that the budget refused before it was sent.
    pub fn refused(&mut self, one: Candidate, refusal: BudgetRefusal) {
        self.spending.refused(refusal, one.request);
        self.take_back(one);
    }

    /// Checks what an attempt shows about charges.
    pub async fn check_charge(&mut self, one: &Candidate, attempted: &Attempted) -> Result<(), Error> {
        self.health.observe(attempted);
        self.spending.alone = false;
        if attempted.judgement.is_some() {
            self.spending.key_on_trial = None;
        }
        let finding = self.prices.observe(one, attempted);
        self.prices.fell(attempted.settled.unexplained_fall);
        let check = || one.check.clone();
        if let Some(stated) = attempted.settled.above_price() {
            let (table, request) = (attempted.settled.price, Some(one.request));
            self.stops.push(Stop::Price { check: check(), stated, table, request });
        }
        if let Some(found) = attempted.unreadable_amount.as_ref().filter(|_| self.prices.is_watched()) {
            self.stops.push(Stop::AmountUnreadable { check: check(), found: found.clone() });
        }
        self.found(finding).await
    }

    /// Reads the account after a lone request, while no request is in flight.
    async fn read_after_lone(&mut self, wait: Duration) -> Result<(), Error> {
        let balance = if self.rest(wait).await { self.read_account().await? } else { None };
        if balance.is_none() {
            self.prices.not_sent();
        }
        let finding = self.context.ledger.sums().account.reading.and_then(|reading| self.prices.read_after(reading));
        self.found(finding).await
    }

    /// Acts on what a lone request showed.
    async fn found(&mut self, finding: Option<Finding>) -> Result<(), Error> {
        match finding {
            None => {}
            // It may be another client's spending, so it is not held for other requests.
            Some(Finding::Costs { check, cost, price }) => self.costs(check, cost, price),
            Some(Finding::ChargedRefusal { request, check, message, charge, price }) => {
                let message =
                    format!("the service refused the request, and the balance shows that it charged for it: {message}");
                let failure = Failure { stage: Stage::Send, code: FailureCode::Refused, message };
                self.context.ledger.event(request, Event::FoundCharged, Some(failure)).await?;
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
        Ok(())
    }

    fn costs(&mut self, check: String, cost: Credits, price: Credits) {
        self.stops.push(Stop::Price { check, stated: cost, table: price, request: None });
    }

    /// Waits, unless the run must end first. Returns whether the full time has passed.
    async fn rest(&mut self, time: Duration) -> bool {
        if time.is_zero() {
            return true;
        }
        let end = Instant::now() + time;
        self.rests_until = Some(end);
        self.report();
        let is_whole = tokio::select! {
            biased;
            Some(signal) = self.channels.signals.recv() => {
                self.stops.push(signal.stop());
                false
            }
            () = until(self.channels.deadline) => {
                self.stops.push(Stop::TimeIsUp);
                false
            }
            () = until(Some(end)) => true,
        };
        self.rests_until = None;
        is_whole
    }

    /// Reads the balance, unless the run must end first. A closed gate may delay the reading for minutes.
    pub async fn balance(&mut self) -> Result<ControlFlow<Stop, Credits>, Error> {
        let context = Arc::clone(&self.context);
        let mut reading = std::pin::pin!(read_balance(&context));
        let read = loop {
            let RunChannels { signals, deadline, .. } = &mut self.channels;
            tokio::select! {
                biased;
                Some(signal) = signals.recv() => return Ok(Break(signal.stop())),
                () = until(*deadline) => return Ok(Break(Stop::TimeIsUp)),
                read = &mut reading => break read?,
                _ = self.tick.tick() => self.report(),
            }
        };
        let (balance, fall) = match &read {
            Continue(read) => (Some(read.balance), read.unexplained_fall),
            Break(_) => (None, Credits::ZERO),
        };
        self.prices.read(balance, fall, self.attempts_under_way.is_empty());
        Ok(read.map_continue(|read| read.balance))
    }
}
