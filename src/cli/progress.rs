//! Progress: lines below the messages on a terminal; otherwise one line per minute with the time. What a run that stops
//! still waits for is said at once in both cases.

pub use super::progress_lines::humanize;

use super::{
    colour,
    output::{Message, OutputArgs, is_json, message, message_with},
    progress_lines::{dated_line, draining_line, facts, lines, log_line, now},
    screen,
};
use rescreen::pipeline::Progress;
use std::{
    io::{self, IsTerminal},
    time::Duration,
};
use tokio::{sync::watch, task::JoinHandle, time::Instant};

const LINE_EVERY: Duration = Duration::from_secs(60);
const DRAW_EVERY: Duration = Duration::from_millis(250);

/// Shows progress until it is dropped.
pub struct ProgressGuard(Option<JoinHandle<()>>);

impl Drop for ProgressGuard {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
        screen::draw(&[]);
    }
}

/// Shows `progress` below the messages if standard error is a terminal, else as lines.
pub fn show(output: &OutputArgs, progress: watch::Receiver<Progress>) -> ProgressGuard {
    if output.quiet {
        return ProgressGuard(None);
    }
    // Such a terminal cannot move its cursor.
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    ProgressGuard(Some(if io::stderr().is_terminal() && !is_dumb && !is_json() {
        tokio::spawn(draw(progress))
    } else {
        tokio::spawn(log(progress))
    }))
}

async fn draw(mut progress: watch::Receiver<Progress>) {
    let mut next = Instant::now() + DRAW_EVERY;
    loop {
        let is_draining = progress.borrow().draining.is_some();
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            // A signal is answered at once.
            changed = progress.changed() => {
                if changed.is_err() {
                    // Nothing more is sent. The results are published.
                    tokio::time::sleep_until(next).await;
                } else if is_draining || progress.borrow().draining.is_none() {
                    continue;
                }
            }
        }
        next = Instant::now() + DRAW_EVERY;
        let now_shown = progress.borrow().clone();
        screen::draw(&lines(&now_shown, &now(), screen::size(), colour::on_stderr()));
    }
}

async fn log(mut progress: watch::Receiver<Progress>) {
    let (mut next, mut was_draining) = (Instant::now() + LINE_EVERY, false);
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(next) => {
                next += LINE_EVERY;
                let (shown, now) = (progress.borrow().clone(), now());
                let line = if is_json() { log_line(&shown, &now) } else { dated_line(&shown, &now) };
                message_with(Message::Progress, &line, facts(&shown, &now));
            }
            changed = progress.changed(), if !was_draining => {
                if changed.is_err() {
                    return;
                }
                let stopping = draining_line(&progress.borrow(), &now());
                was_draining = stopping.is_some();
                if let Some(line) = stopping {
                    message(Message::Stopped, &line);
                }
            }
        }
    }
}
