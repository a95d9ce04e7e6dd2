//! The clocks of a campaign: the service's, and this machine's, which somebody sets. When the machine sleeps, both go on
//! and no timer does.

use super::life::Hand;
use rescreen::model::Clock;
use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};
use tokio::time::Instant;

#[derive(Clone, Copy)]
pub struct Hands {
    begun: Instant,
    /// Seconds slept.
    slept: &'static AtomicI64,
    /// Seconds slept, and those by which this machine's clock is apart.
    ours: &'static AtomicI64,
}

impl Hands {
    pub fn new() -> Hands {
        // Two numbers a campaign stay behind: a clock is copied wherever it goes.
        let hand = || &*Box::leak(Box::new(AtomicI64::new(0)));
        Hands { begun: Instant::now(), slept: hand(), ours: hand() }
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

    /// This machine's clock is so many seconds ahead of the service's from here on.
    pub fn set_apart(&self, seconds: i64) {
        self.ours.store(self.slept.load(Ordering::Relaxed) + seconds, Ordering::Relaxed);
    }

    /// What happens to the clocks while a life goes on.
    pub async fn turn(&self, turns: &[(Duration, Hand)]) {
        for (after, hand) in turns {
            tokio::time::sleep(*after).await;
            self.move_by(*hand);
        }
    }

    pub fn move_by(&self, hand: Hand) {
        match hand {
            Hand::Set(seconds) => drop(self.ours.fetch_add(seconds, Ordering::Relaxed)),
            Hand::Sleep(seconds) => {
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
