//! How a run stops: by a signal, when the time is up, for a reason that is kept for the next run, and for one that concerns
//! all workers that share the account.

use super::{Command, Engine};
use crate::{
    ledger::KeptStop,
    model::Stop,
    pipeline::send::channels::{Signal, record_signal},
};

impl Engine {
    /// Stops sending, for a reason that several attempts may find at once.
    pub(super) fn close(&mut self, stop: Stop) {
        if !self.stops.contains(&stop) {
            self.stops.push(stop);
        }
    }

    /// Stops sending. If nothing but jobs is left, the run ends without a stop.
    pub(super) fn time_is_up(&mut self) {
        self.time_is_over = self.is_sent();
        if !(self.time_is_over || self.is_ending) {
            self.stops.push(Stop::TimeIsUp);
        }
    }

    pub(super) fn signalled(&mut self, signal: Signal) {
        if record_signal(&mut self.stops, signal) {
            self.commands.push(Command::AbortAttempts);
            self.flights.all_ended();
            self.limits.all_ended();
            self.schedule.all_ended();
            self.cut_short = true;
        }
    }

    /// Records a stop that would cost credits if the next run repeated it. Done at once, because the process may be
    /// killed while it drains.
    pub(super) fn keep_stop(&mut self) {
        let is_unread = self.stops.iter().any(|stop| matches!(stop, Stop::NotTheService { .. }));
        // Where others were answered, these replies are about their own rows.
        let is_first = self.answered == 0 && !self.now.sums.new_wait;
        if is_unread && is_first && self.guards.may_have_paid() {
            self.commands.push(Command::NewWait);
        }
        let Some(stop) = self.spending.keep(self.stops.iter().chain(&self.left_out)) else { return };
        self.commands.push(Command::KeepStop(KeptStop {
            exit_code: stop.exit_code() as u8,
            message: stop.to_string(),
            settings: self.terms.settings.clone(),
            at_us: self.now.us,
            remedy: stop.remedy(),
        }));
    }

    /// Tells the workers that share the account, once, that something is wrong with it.
    pub(super) fn halt_all(&mut self) {
        if !self.terms.is_shared || self.has_halted_all {
            return;
        }
        if let Some(stop) = self.stops.iter().chain(&self.left_out).find(|stop| stop.is_of_account()) {
            self.has_halted_all = true;
            self.commands.push(Command::HaltAll(stop.clone()));
        }
    }
}
