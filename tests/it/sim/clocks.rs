//! The clocks of a campaign: the service's, and this machine's, which a script sets. While the machine sleeps, both
//! clocks advance and no timer does.

use super::life::ClockMove;
use rescreen::model::Clock;
use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};
use tokio::time::Instant;

#[derive(Clone, Copy)]
pub struct Clocks {
    begun: Instant,
    /// Seconds slept.
    slept: &'static AtomicI64,
    /// Seconds slept, plus the seconds by which this machine's clock was set.
    ours: &'static AtomicI64,
}

impl Clocks {
    pub fn new() -> Clocks {
        // Leaked, two numbers per campaign, because clocks are copied freely.
        let seconds = || &*Box::leak(Box::new(AtomicI64::new(0)));
        Clocks { begun: Instant::now(), slept: seconds(), ours: seconds() }
    }

    pub fn service(&self) -> Clock {
        self.clock(self.slept)
    }

    pub fn ours(&self) -> Clock {
        self.clock(self.ours)
    }

    pub fn apart_s(&self) -> i64 {
        self.ours.load(Ordering::Relaxed) - self.slept.load(Ordering::Relaxed)
    }

    /// Sets this machine's clock to be this many seconds ahead of the service's.
    pub fn set_apart(&self, seconds: i64) {
        self.ours.store(self.slept.load(Ordering::Relaxed) + seconds, Ordering::Relaxed);
    }

    /// Moves the clocks while a life runs.
    pub async fn apply_in_time(&self, moves: &[(Duration, ClockMove)]) {
        for (after, clock_move) in moves {
            tokio::time::sleep(*after).await;
            self.move_by(*clock_move);
        }
    }

    pub fn move_by(&self, clock_move: ClockMove) {
        match clock_move {
            ClockMove::Set(seconds) => drop(self.ours.fetch_add(seconds, Ordering::Relaxed)),
            ClockMove::Sleep(seconds) => {
                self.slept.fetch_add(seconds, Ordering::Relaxed);
                self.ours.fetch_add(seconds, Ordering::Relaxed);
            }
        }
    }

    fn clock(&self, set: &'static AtomicI64) -> Clock {
        let origin = "2026-11-02T06:00:00Z".parse().expect("a moment");
        Clock::Driven { origin, started: self.begun, set }
    }
}
