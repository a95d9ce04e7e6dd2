//! What an earlier run recorded that may keep this run from sending: why it stopped, and until when the service asked
//! to wait.

use super::{
    context::RunContext,
    gate::{PAUSE_KEPT_MAX, PUSH_BACK_MAX, micros},
    queue::Supply,
};
use crate::{
    error::Error,
    ledger::Sums,
    model::{ExitCode, Stop, clock::APART_MAX_US},
};
use std::time::Duration;
use tokio::time::Instant;

/// The reason of a pause that an earlier run was asked for.
pub const EARLIER_PAUSE: &str = "the service asked an earlier run to wait";

/// The end of the recorded pause, in microseconds since 1970; `None` if no pause is in force. A pause that was recorded
/// by a clock ahead of this one is ignored.
pub fn paused_until(sums: &Sums, now_us: i64) -> Option<i64> {
    let until_us = sums.paused_until_us.filter(|until_us| *until_us > now_us)?;
    let ahead = sums.paused_at_us.is_some_and(|at| at.saturating_sub(now_us) > APART_MAX_US);
    (!ahead && !is_foreign(sums, now_us)).then_some(until_us)
}

/// Whether the pause ends later than any recorded pause can, so it must come from another clock.
fn is_foreign(sums: &Sums, now_us: i64) -> bool {
    let left_us = sums.paused_until_us.map_or(0, |until_us| until_us.saturating_sub(now_us));
    left_us > micros(PAUSE_KEPT_MAX)
}

/// The stop of an earlier run, if these settings are those that it ran with.
pub fn kept_stop(sums: &Sums, settings: &str) -> Option<Stop> {
    // The stop of a `collect` knows only the first half of the settings.
    let kept = sums.stop.as_ref().filter(|kept| settings.starts_with(&kept.settings))?;
    let exit_code = ExitCode::from_number(kept.exit_code);
    Some(Stop::Kept { exit_code, message: kept.message.clone(), at_us: kept.at_us, remedy: kept.remedy.clone() })
}

/// The stop for a pause in force that is longer than a run waits.
pub fn long_pause(sums: &Sums, now_us: i64) -> Option<Stop> {
    let until_us = paused_until(sums, now_us)?;
    (left(until_us, now_us) > PUSH_BACK_MAX).then_some(Stop::PushedBack { until_us })
}

/// The checks that an earlier run found limited alone, and how long their pauses last. One that ends later than any
/// recorded pause can is from another clock.
fn paused_checks(sums: &Sums, now_us: i64) -> impl Iterator<Item = (&String, i64, Duration)> {
    let pauses = sums.paused_checks.iter().map(move |(check, until_us)| (check, *until_us, left(*until_us, now_us)));
    pauses.filter(|(.., left)| !left.is_zero() && *left <= PAUSE_KEPT_MAX)
}

/// Resumes the pauses of checks, and leaves out those that are paused for long. Returns why.
pub fn resume_pauses(context: &RunContext, sums: &Sums, supply: &mut Supply) -> Vec<Stop> {
    let mut left_out = Vec::new();
    for (check, until_us, left) in paused_checks(sums, context.clock.now_us()) {
        if left <= PUSH_BACK_MAX {
            context.check_pauses.resume(check, left, context.moment());
        } else {
            supply.leave_out(check);
            left_out.push(Stop::CheckPaused { check: check.clone(), until_us: Some(until_us) });
        }
    }
    left_out
}

fn left(until_us: i64, now_us: i64) -> Duration {
    Duration::from_micros(u64::try_from(until_us.saturating_sub(now_us)).unwrap_or_default())
}

/// The user's decisions about an earlier stop.
#[derive(Debug, Clone, Copy, Default)]
pub struct EarlierStop {
    /// Send even if an earlier run stopped and nothing has changed since.
    pub continue_anyway: bool,
    /// Send even if the service asked an earlier run to wait.
    pub lift_pause: bool,
}

impl EarlierStop {
    /// Why this run must not send; `None` if it may. A short pause only closes the gate until it is over.
    pub async fn stop(self, context: &RunContext) -> Result<Option<Stop>, Error> {
        match self.kept_stop(context).await? {
            Some(stop) => Ok(Some(stop)),
            None => self.pause(context).await,
        }
    }

    /// The stop of an earlier run, if no setting has changed that could prevent it from happening again.
    async fn kept_stop(self, context: &RunContext) -> Result<Option<Stop>, Error> {
        let sums = context.ledger.sums();
        if sums.stop.is_none() {
            return Ok(None);
        }
        let kept = kept_stop(&sums, &context.settings).filter(|_| !self.continue_anyway);
        if kept.is_none() {
            context.ledger.keep_stop(None).await?;
        }
        Ok(kept)
    }

    /// The pause that the service asked an earlier run for, if it is not over. A pause that ends later than any
    /// recorded pause can is deleted. A pause that was recorded in the future is ignored but kept, because this run's
    /// clock may be wrong.
    pub async fn pause(self, context: &RunContext) -> Result<Option<Stop>, Error> {
        let (sums, now_us) = (context.ledger.sums(), context.clock.now_us());
        let is_paused = sums.paused_until_us.is_some() || !sums.paused_checks.is_empty();
        if !is_paused {
            return Ok(None);
        }
        if self.lift_pause || is_foreign(&sums, now_us) {
            context.ledger.lift_pause().await?;
            return Ok(None);
        }
        if let Some(stop) = long_pause(&sums, now_us) {
            return Ok(Some(stop));
        }
        if let Some(until_us) = paused_until(&sums, now_us) {
            let left = left(until_us, now_us);
            tracing::info!("waiting {} s: {EARLIER_PAUSE}", left.as_secs());
            context.throttle.pause_until(Instant::now() + left, EARLIER_PAUSE);
        }
        Ok(None)
    }
}
