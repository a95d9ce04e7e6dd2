//! What goes into a run and what comes out of it: signals and the deadline, its progress, and how it ended.

use super::latencies::Latencies;
use crate::{
    ledger::Sums,
    model::{Credits, Stop, conflicts::LastingConflicts},
    pipeline::intake::IntakeProgress,
};
use std::{collections::BTreeMap, sync::Arc};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

/// A signal from the terminal or a scheduler. The first one makes the run drain; a second one of either kind ends it at
/// once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// From the terminal.
    Interrupt,
    /// From a scheduler.
    Terminate,
    /// The terminal is gone. The same as a signal from a scheduler.
    Hangup,
}

impl Signal {
    /// The stop that the signal causes.
    pub fn stop(self) -> Stop {
        match self {
            Signal::Interrupt => Stop::Interrupted,
            Signal::Terminate | Signal::Hangup => Stop::Terminated,
        }
    }
}

/// The progress of a run, for display.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub sums: Arc<Sums>,
    /// The names of the campaign's checks by their id in the ledger.
    pub checks: Arc<BTreeMap<i64, String>>,
    pub in_flight: usize,
    /// The number of answers in this run.
    pub answered: u64,
    pub intake: IntakeProgress,
    /// Requests that were answered or failed per minute, lately; `None` until enough of them are known.
    pub rate: Option<f64>,
    /// The steady rate that holds for this run: that of the account, and none in a rehearsal at full speed.
    pub per_minute: u32,
    /// The most credits that the campaign may cost.
    pub limit: Option<Credits>,
    /// What the run waits for.
    pub wait: Option<Wait>,
    /// The run sends nothing more, and waits for replies.
    pub draining: Option<Draining>,
    /// How long the exchanges of this run took.
    pub latencies: Latencies,
    /// The number of publications of this run.
    pub publications: u64,
    /// Nothing more is sent or awaited: the rest of the input is read, and the results are published.
    pub is_publishing: bool,
}

/// A pause of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// When it ends, in microseconds since 1970.
    pub until_us: i64,
    /// Why nothing is sent until then.
    pub reason: String,
}

/// The end of a run, while replies are awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draining {
    /// The signal that ended the run, if one did.
    pub signal: Option<Signal>,
    /// When the last reply has come or timed out, in microseconds since 1970.
    pub until_us: i64,
}

/// The channels of a run.
pub struct RunChannels {
    pub signals: mpsc::Receiver<Signal>,
    pub progress: watch::Sender<Progress>,
    pub intake: watch::Receiver<IntakeProgress>,
    /// When to start draining.
    pub deadline: Option<Instant>,
}

/// What sending did in a run.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    /// Why the run stopped; empty if nothing was left to send.
    pub stops: Vec<Stop>,
    /// The number of answers in this run.
    pub answered: u64,
    /// Requests in doubt that were sent under another API key. They remain in doubt.
    pub withheld: u64,
    /// Jobs that were accepted under another API key. Only that key can ask for them.
    pub withheld_jobs: u64,
    /// How many polls of jobs were sent.
    pub polls: u64,
    /// Requests that got HTTP 409 until the end.
    pub lasting_conflicts: LastingConflicts,
    /// How much more the balance fell than the run's own requests explain.
    pub unexplained: Credits,
}

/// The end of the send loop.
pub struct SendEnd {
    pub sent: Sent,
    /// A second interrupt came: requests that were in flight are in doubt.
    pub cut_short: bool,
    /// Signals that may still arrive while the run ends.
    pub signals: mpsc::Receiver<Signal>,
}

impl SendEnd {
    /// The end of a run that sent nothing, with the reason if there is one.
    pub fn nothing(stop: Option<Stop>, signals: mpsc::Receiver<Signal>) -> SendEnd {
        let sent = Sent { stops: stop.into_iter().collect(), ..Sent::default() };
        SendEnd { sent, cut_short: false, signals }
    }

    /// Handles a signal that comes after the last request.
    pub fn record_signal(&mut self, signal: Signal) {
        self.cut_short |= record_signal(&mut self.sent.stops, signal);
    }
}

/// Records the stop of a signal. Returns whether the run must end at once.
pub fn record_signal(stops: &mut Vec<Stop>, signal: Signal) -> bool {
    let again = stops.contains(&Stop::Interrupted) || stops.contains(&Stop::Terminated);
    stops.push(signal.stop());
    again
}
