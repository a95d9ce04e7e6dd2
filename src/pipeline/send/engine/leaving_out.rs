//! Which requests are not read or not sent in this run, and why the run says so at its end.

use super::{Engine, POSTPONED_MAX};
use crate::{
    model::{Stop, state::State},
    pipeline::{send::context::Candidate, wording::counted},
};

/// Once this many requests of a check at its own limit are postponed, no more of them are read.
const HELD_FROM: usize = 128;
/// They are read again when fewer than this are postponed.
const HELD_MIN: usize = 64;

impl Engine {
    /// How many requests are wanted, if any.
    pub fn wants(&self) -> Option<usize> {
        let is_open = self.stops.is_empty() && !self.spending.is_spent();
        // Held checks take no room from the others: no more of their requests are read.
        let held: usize = self.supply.held().iter().map(|check| self.schedule.postponed_of(check)).sum();
        let postponed = self.schedule.postponed_count().saturating_sub(held);
        let has_room = self.schedule.new.len() < self.terms.in_flight && postponed < POSTPONED_MAX;
        (is_open && has_room).then_some(self.terms.in_flight)
    }

    /// How many new requests wait for their turn, and how many that were sent before. The latter are not read by check, so
    /// none are wanted while too many requests are postponed.
    pub fn waiting(&self) -> (usize, usize) {
        let is_full = self.schedule.postponed_count() >= POSTPONED_MAX;
        (self.schedule.new.len(), if is_full { usize::MAX } else { self.schedule.sent_before.len() })
    }

    /// Reads no more requests of a check at its own limit while enough of them wait, so that it takes no room from the
    /// others.
    pub(super) fn hold_limited(&mut self) {
        let schedule = &self.schedule;
        self.supply.release(|check| schedule.postponed_of(check) < HELD_MIN);
        if schedule.postponed_count() < HELD_FROM {
            return;
        }
        for check in self.limits.waiting(self.now.at) {
            if self.schedule.postponed_of(&check) >= HELD_FROM {
                self.supply.hold(&check);
            }
        }
    }

    /// Leaves the requests of a check that the service limits for a later run, before they take all the room for waiting
    /// requests.
    pub(super) fn leave_out_limited(&mut self) {
        if self.schedule.postponed_count() >= POSTPONED_MAX
            && let Some(check) = self.check_pauses.waiting()
            && self.schedule.postponed_of(&check) >= POSTPONED_MAX / 2
        {
            self.leave_out(&check, Stop::CheckPaused { check: check.clone(), until_us: None });
        }
    }

    /// Sends no more requests of a check in this run; `stop` says why. The other checks continue, and the run reports the
    /// stop at its end.
    pub(super) fn leave_out(&mut self, check: &str, stop: Stop) {
        self.supply.leave_out(check);
        self.check_pauses.forget(check);
        self.left_out.push(stop);
        self.schedule.retain(|candidate| candidate.check != check);
        self.aside.retain(|(candidate, _)| candidate.check != check);
        self.spending.leave_out(check);
    }

    /// Called when nothing else is left to send. Requests that were set aside are sent again if their check was
    /// ever answered. Otherwise nothing shows that the request itself is the cause, and the run stops.
    pub(super) fn retry_set_aside(&mut self) {
        for (candidate, stop) in std::mem::take(&mut self.aside) {
            let uploads = self.guards.is_uploading(&candidate.check);
            if let Stop::UploadUnusable { fault, .. } = &stop
                && uploads
            {
                self.upload_failed(&candidate, fault);
            } else if matches!(stop, Stop::UploadUnusable { .. }) {
                self.stops.push(stop);
            } else if self.now.sums.was_answered(&candidate.check) {
                self.put_first(Candidate { was_set_aside: true, ..candidate });
            } else {
                self.stops.push(stop);
            }
        }
        self.hold_back();
    }

    /// Adds to the stops, at the end of the run, why some requests were not sent or have no answer.
    pub(super) fn gather_stops(&mut self) {
        self.stops.extend(self.spending.spent());
        self.stops.append(&mut self.left_out);
        self.stops.append(&mut self.withholds);
        if self.stops.is_empty() {
            self.stops.extend(self.guards.intercepted());
        }
        if self.supply.doubts_first && self.now.sums.in_state(State::Planned) > 0 {
            self.stops.push(Stop::NewWait);
        }
        if self.stops.is_empty() && self.left_unsent > 0 {
            let requests = counted(self.left_unsent, "request was", "requests were");
            let message = format!("{requests} refused repeatedly, without a charge");
            self.stops.push(Stop::Unavailable { message });
        }
        if self.left_elsewhere > 0 {
            self.stops.push(Stop::Elsewhere { requests: self.left_elsewhere });
        }
        self.stops.extend(self.polls.nothing().filter(|_| self.stops.is_empty()));
    }
}
