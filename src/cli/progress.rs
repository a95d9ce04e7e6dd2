//! Progress: a bar with rate, time left and credits on a terminal; otherwise one line per minute.

use super::output::{OutputArgs, is_terminal};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rescreen::{
    model::state::State,
    pipeline::{Progress, wording::grouped},
};
use std::time::Duration;
use tokio::{sync::watch, task::JoinHandle, time::Instant};

const LINE_EVERY: Duration = Duration::from_secs(60);
const DRAW_EVERY: Duration = Duration::from_millis(500);

/// Shows progress until it is dropped.
pub struct ProgressGuard {
    task: Option<JoinHandle<()>>,
    bar: ProgressBar,
}

impl Drop for ProgressGuard {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
        self.bar.finish_and_clear();
    }
}

/// Shows `progress` as a bar if standard error is a terminal, else as lines.
pub fn show(output: &OutputArgs, progress: watch::Receiver<Progress>, per_minute: u32) -> ProgressGuard {
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::hidden());
    if output.quiet {
        return ProgressGuard { task: None, bar };
    }
    let start = Instant::now();
    if is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
        // The template is a constant, and a test checks that it is valid.
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {msg}") {
            bar.set_style(style);
        }
        let drawn = bar.clone();
        let task = tokio::spawn(async move {
            loop {
                tokio::time::sleep(DRAW_EVERY).await;
                let now = progress.borrow().clone();
                drawn.set_length(now.sums.requests());
                drawn.set_position(now.sums.requests() - now.sums.open());
                drawn.set_message(line(&now, start.elapsed(), per_minute));
            }
        });
        return ProgressGuard { task: Some(task), bar };
    }
    let output = output.clone();
    let task = tokio::spawn(async move {
        loop {
            tokio::time::sleep(LINE_EVERY).await;
            let now = progress.borrow().clone();
            output.say(&line(&now, start.elapsed(), per_minute));
        }
    });
    ProgressGuard { task: Some(task), bar }
}

/// `1,234 of 14,719 requests · 58/min · 3 h 51 min left · 1,234 credits`
fn line(progress: &Progress, elapsed: Duration, per_minute: u32) -> String {
    let sums = &progress.sums;
    let minutes = elapsed.as_secs_f64() / 60.0;
    let rate = if minutes > 0.0 { progress.answered as f64 / minutes } else { 0.0 };
    // The first replies and bursts say little about the rate to expect, which never exceeds the limit for long.
    let limit = f64::from(per_minute);
    let expected = if progress.answered < 10 { limit } else { rate.min(limit) };
    // A job is not sent again, and no rate says when it ends.
    let open = sums.open().saturating_sub(sums.in_state(State::Submitted));
    let left = Duration::from_secs_f64(open as f64 * 60.0 / expected.max(0.001));
    let taking = if progress.intake.done { "" } else { " so far" };
    let mut line = format!(
        "{} of {}{taking} requests · {}/min · {} left · {} credits",
        grouped(sums.requests() - sums.open()),
        grouped(sums.requests()),
        grouped(rate.round() as u64),
        humanize(left),
        grouped(sums.account.charged.0),
    );
    let jobs = sums.in_state(State::Submitted);
    if jobs > 0 {
        line.push_str(&format!(" · {} at the service as a job", grouped(jobs)));
    }
    let failed = sums.unmapped + sums.unreadable;
    if failed > 0 {
        line.push_str(&format!(" · {} rejected", grouped(failed)));
    }
    line
}

/// A duration in its two largest units.
pub fn humanize(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_in_two_units() {
        let said: Vec<String> =
            [5, 65, 3_700, 980_000].into_iter().map(|seconds| humanize(Duration::from_secs(seconds))).collect();
        assert_eq!(said, ["5 s", "1 min 5 s", "1 h 1 min", "11 d 8 h"]);
    }

    #[test]
    fn the_progress_bar_template_is_valid() {
        assert!(ProgressStyle::with_template("{bar:24} {msg}").is_ok());
    }
}
