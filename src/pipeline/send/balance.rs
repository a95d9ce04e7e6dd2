//! When the account is read, and what happens if the budget refuses a request.

use super::{RunChannels, SendLoop, account::read_balance, attempt::Attempted, context::Candidate, until};
use crate::{
    error::Error,
    ledger::KeptStop,
    model::{Credits, ExitCode, RequestId, Stop, budget::BudgetRefusal},
};
use std::{
    ops::ControlFlow::{self, Break, Continue},
    sync::Arc,
};

impl SendLoop {
    /// Whether the account must be read before anything else is sent.
    pub fn needs_reading(&self) -> bool {
        let before_next = self.schedule.next().is_some_and(|next| self.proofs.needs_reading_before(next));
        let first = self.proofs.is_watched() && !self.health.was_read();
        first || before_next || self.health.needs_reading() || self.proofs.needs_reading()
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
        if self.proofs.is_answered() {
            return self.prove().await;
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
            Break(Stop::BalanceUnreadable) if !self.proofs.is_watched() => Ok(None),
            Break(stop) => {
                self.stops.push(stop);
                Ok(None)
            }
        }
    }

    /// Reads the balance at the end of a run, if it can show charges that neither replies nor the price table explain.
    pub async fn read_at_the_end(&mut self) -> Result<(), Error> {
        let may_ask = |stop: &Stop| matches!(stop.exit_code(), ExitCode::Budget | ExitCode::Guard | ExitCode::Doubt);
        if self.proofs.has_unread() && self.stops.iter().all(may_ask) && !self.cut_short {
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
    pub fn check_charge(&mut self, one: &Candidate, attempted: &Attempted) {
        self.health.observe(attempted);
        self.spending.alone = false;
        if attempted.judgement.is_some() {
            self.spending.key_on_trial = None;
        }
        self.proofs.observe(one, attempted);
        self.proofs.fell(attempted.settled.unexplained_fall);
        let check = || one.check.clone();
        if let Some(stated) = attempted.settled.above_price() {
            let (table, request) = (attempted.settled.price, Some(one.request));
            self.stops.push(Stop::Price { check: check(), stated, table, request });
        }
        if let Some(found) = attempted.unreadable_amount.as_ref().filter(|_| self.proofs.is_watched()) {
            self.stops.push(Stop::AmountUnreadable { check: check(), found: found.clone() });
        }
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
        self.proofs.read(self.attempts_under_way.is_empty());
        Ok(read.map_continue(|reading| {
            self.proofs.fell(reading.unexplained_fall);
            self.proofs.saw_balance(reading.balance);
            reading.balance
        }))
    }
}
