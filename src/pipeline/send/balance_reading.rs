//! Waits for a reading of the balance, beside signals and the deadline. Nothing else is done meanwhile.

use super::{
    account::{BalanceRead, read_balance},
    driver::{Driver, until},
    engine::Why,
};
use crate::{error::Error, model::Stop};
use std::{
    ops::ControlFlow::{self, Break, Continue},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::time::Instant;

/// How long the last reading of the balance may take after the time is up.
const LAST_READING: Duration = Duration::from_secs(10);

impl Driver {
    /// Reads the balance after a time, unless the run must end first. A closed gate may delay the reading for minutes.
    pub(super) async fn balance(
        &mut self,
        after: Duration,
        why: &Why,
    ) -> Result<ControlFlow<Stop, BalanceRead>, Error> {
        if !after.is_zero() {
            if after >= Duration::from_secs(1) {
                tracing::info!("the balance is read again in {} s", after.as_secs());
            }
            self.rests_until = Some(Instant::now() + after);
            self.report();
        }
        let is_refused = matches!(why, Why::Refused(refused) if refused.1.reply.kind.is_unauthorised());
        self.context.key_in_question.store(is_refused, Ordering::Relaxed);
        let context = Arc::clone(&self.context);
        let rest = self.rests_until;
        let mut reading = std::pin::pin!(async {
            if let Some(end) = rest {
                tokio::time::sleep_until(end).await;
            }
            read_balance(&context).await
        });
        // At the end, the last reading may take this long beyond the deadline.
        let last = Instant::now() + LAST_READING;
        let deadline = self.channels.deadline.map(|at| if self.engine.is_ending() { at.max(last) } else { at });
        let read = loop {
            let signals = &mut self.channels.signals;
            tokio::select! {
                biased;
                Some(signal) = signals.recv() => {
                    // A poll is free, so nothing is lost if its reply is not waited for.
                    self.following.abort().await;
                    self.context.throttle.hurry();
                    break Break(signal.stop());
                }
                () = until(deadline) => break Break(Stop::TimeIsUp),
                read = &mut reading => break read?,
                _ = self.tick.tick() => self.report(),
            }
        };
        self.rests_until = None;
        self.context.key_in_question.store(false, Ordering::Relaxed);
        if let (Continue(read), Why::Account | Why::JobRefused(_) | Why::Lone) = (&read, why) {
            tracing::info!("the balance is {}", read.balance);
        }
        Ok(read)
    }
}
