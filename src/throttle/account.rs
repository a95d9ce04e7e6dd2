//! An account that several machines share: its record is in a book that all of them reach. The record is read, the meter
//! decides, and the new record is written only if the account has not changed since. No lock is held while a worker
//! decides, so a worker that is suspended then does not make others wait.

use super::{
    bucket::SharedAccount,
    meter::{Meter, Turn},
    pace::Want,
};
use crate::model::Stop;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// What the book answers to a request.
pub(super) enum Asked {
    Turn(Turn),
    /// Nothing may be sent for this long, and until this time by the clock of the book, in microseconds since 1970.
    Paused(Duration, i64),
}

/// Asks the book for a slot.
pub(super) async fn ask(account: Arc<dyn SharedAccount>, meter: Arc<Mutex<Meter>>, want: Want) -> Result<Asked, Stop> {
    loop {
        // Counted from before the book is asked: the slot is as old as its time, whatever the network takes.
        let asked = Instant::now();
        let seen = account.read().await?;
        if let Some(halt) = seen.halt {
            return Err(Stop::Halted(halt));
        }
        if let Some(pause) = seen.paused.filter(|_| !matches!(want, Want::Nothing(_))) {
            let until_us = seen.now_us.saturating_add(i64::try_from(pause.as_micros()).unwrap_or(i64::MAX));
            return Ok(Asked::Paused(pause, until_us));
        }
        let now_ns = u64::try_from(seen.now_us).unwrap_or_default().saturating_mul(1_000);
        let decision = locked(&meter).decide(seen.record.as_deref(), now_ns, want, asked);
        let is_settled = match &decision.record {
            None => true,
            // Written once: if the answer was lost, giving the slot back again would take one from another request.
            Some(record) => account.write(seen.version, record.encoded()).await? || matches!(want, Want::Nothing(_)),
        };
        if is_settled {
            return Ok(Asked::Turn(locked(&meter).decided(decision, asked)));
        }
    }
}

pub(super) fn locked(meter: &Mutex<Meter>) -> std::sync::MutexGuard<'_, Meter> {
    meter.lock().unwrap_or_else(PoisonError::into_inner)
}
