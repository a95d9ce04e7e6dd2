//! The throttle: the rate limiter that every HTTP request passes. It decides when a request may be sent: not before the
//! account's rate allows it, and not before a push-back is over. Processes that use one account share its rate through
//! `bucket_file`; `pipeline/send/bucket.rs` decides with whom.
//!
//! Here, a request is any HTTP request, including repeats and the balance query.
//!
//! `governor` decides the pace (see `pace`). Its waiting ignores tokio's paused clock, so this module waits with
//! tokio's sleep.

mod bucket_file;
mod pace;
mod record;
mod schedule;
#[cfg(test)]
mod shared_tests;
#[cfg(test)]
mod throttle_tests;

pub use bucket_file::BucketFile;
pub use schedule::Rate;

use crate::model::{Clock, Permit};
use bucket_file::Unchanged;
use pace::{Pace, Want};
use record::Record;
use schedule::Schedule;
use std::{
    sync::{Mutex as SyncMutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Mutex, time::Instant};

/// A permit older than this is renewed before the request is sent, because the schedule's reserve covers no more.
pub const PERMIT_AGE_MAX: Duration = Duration::from_millis(200);
/// An old permit is renewed within this many periods, or given back.
const PERIODS_FOR_RENEWAL: u32 = 4;
/// A slot that was taken ahead is used within this time. It is much shorter than the schedule's reserve.
const AHEAD: Duration = Duration::from_millis(20);
/// The most slots that are taken at once.
const AHEAD_MAX: u32 = 64;
/// The wait before the bucket's file is tried again if another process has it locked.
const BUSY_WAIT: Duration = Duration::from_millis(1);
/// If another process has the file locked for longer than this, the file is not used any more.
const BUSY_MAX: Duration = Duration::from_secs(2);
/// If the clock differs from the timer by more than this, the clock was changed or the machine slept.
const CLOCK_MOVED_MAX_NS: u64 = 1_000_000_000;

/// The initial state of the throttle, and who shares it.
#[derive(Debug)]
pub enum Bucket {
    /// The service has not been used yet.
    Full,
    /// Nothing is known about the last minute.
    Empty,
    /// The account's bucket, which all processes on this machine share, measured with this clock.
    Shared(BucketFile, Clock),
}

/// The rate limiter of one API key.
pub struct Throttle {
    meter: SyncMutex<Meter>,
    /// Admits requests in the order of their arrival.
    turn: Mutex<()>,
    pause: SyncMutex<Option<Pause>>,
    renewal_max: Duration,
}

impl Throttle {
    /// A rate limiter for this rate.
    pub fn new(rate: Rate, bucket: Bucket) -> Throttle {
        let schedule = Schedule::of(rate);
        let renewal_max = schedule.period.saturating_mul(PERIODS_FOR_RENEWAL).saturating_add(PERMIT_AGE_MAX);
        let meter = SyncMutex::new(Meter::new(schedule, bucket));
        Throttle { meter, turn: Mutex::new(()), pause: SyncMutex::new(None), renewal_max }
    }

    /// Waits for a slot in the schedule, and until no pause is active.
    pub async fn admit(&self) -> Permit {
        let _turn = self.turn.lock().await;
        loop {
            if let Some(until) = self.paused_until() {
                tokio::time::sleep_until(until).await;
                continue;
            }
            // The lock is not held while this waits.
            let admitted = self.meter().admit();
            match admitted {
                Ok(slot) => return Permit::issue(slot),
                Err(wait) => tokio::time::sleep(wait).await,
            }
        }
    }

    /// Renews a permit that has become too old, for example after a slow commit: requests that waited together must not
    /// be sent together, and they count when they are sent. `None` if that is not possible soon; then the permit is
    /// given back, and the request is not sent now.
    pub async fn renew(&self, permit: Permit) -> Option<Permit> {
        if permit.age() <= PERMIT_AGE_MAX {
            return Some(permit);
        }
        let until = Instant::now() + self.renewal_max;
        loop {
            let taken = self.meter().take(Want::Late(permit.slot()));
            match taken {
                Ok(slot) => return Some(Permit::issue(slot)),
                Err(wait) if Instant::now() + wait <= until => tokio::time::sleep(wait).await,
                Err(_) => {
                    // If it cannot be given back it stays counted, which is the safe side.
                    let _counted = self.meter().take(Want::Nothing(permit.slot()));
                    return None;
                }
            }
        }
    }

    fn meter(&self) -> MutexGuard<'_, Meter> {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pauses all requests until `until`, unless they are already paused for longer.
    pub fn pause_until(&self, until: Instant, reason: &str) {
        let mut pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        if pause.as_ref().is_none_or(|known| known.until < until) {
            *pause = Some(Pause { until, reason: reason.to_owned() });
        }
    }

    /// The end of the pause; `None` if there is none. It is checked again just before each write.
    pub fn paused_until(&self) -> Option<Instant> {
        self.pause().map(|pause| pause.until)
    }

    /// The pause; `None` if there is none.
    pub fn pause(&self) -> Option<Pause> {
        let pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        pause.clone().filter(|pause| pause.until > Instant::now())
    }
}

/// A time in which nothing is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    pub until: Instant,
    /// Why, to be shown.
    pub reason: String,
}

/// The pace and its record.
struct Meter {
    pace: Pace,
    kept: Kept,
    /// No request is admitted before this time. It saves reading the record.
    not_before: Instant,
    ahead: Ahead,
}

/// Slots that were taken in one update of the file, so that a fast run does not update it for each request.
#[derive(Default)]
struct Ahead {
    slots: Vec<u64>,
    /// When they were taken.
    at: Option<Instant>,
}

enum Kept {
    /// Measured in tokio's time since `started`.
    InMemory {
        record: Record,
        started: Instant,
    },
    InFile(SharedRecord),
}

struct SharedRecord {
    file: BucketFile,
    clock: Clock,
    /// The clock and the timer when they were last read.
    read: (u64, Instant),
    busy_since: Option<Instant>,
}

impl Meter {
    fn new(schedule: Schedule, bucket: Bucket) -> Meter {
        let started = Instant::now();
        let kept = match bucket {
            Bucket::Full => Kept::InMemory { record: Record::idle(0), started },
            Bucket::Empty => Kept::InMemory { record: Record::used_up(0, &schedule), started },
            Bucket::Shared(file, clock) => {
                Kept::InFile(SharedRecord { file, clock, read: (clock_ns(&clock), started), busy_since: None })
            }
        };
        Meter { pace: Pace::new(schedule), kept, not_before: started, ahead: Ahead::default() }
    }

    /// Admits a request, or returns how long to wait.
    fn admit(&mut self) -> Result<u64, Duration> {
        let now = Instant::now();
        if let Some(slot) = self.ahead.slots.pop_if(|_| self.ahead.at.is_some_and(|at| now - at <= AHEAD)) {
            return Ok(slot);
        }
        if let Some(wait) = self.not_before.checked_duration_since(now).filter(|wait| !wait.is_zero()) {
            return Err(wait);
        }
        let taken = self.take(Want::New);
        if let Err(wait) = taken {
            self.not_before = now.checked_add(wait).unwrap_or(now);
        }
        taken
    }

    fn take(&mut self, want: Want) -> Result<u64, Duration> {
        match &mut self.kept {
            Kept::InMemory { record, started } => self.pace.take(record, nanos(started.elapsed()), want),
            Kept::InFile(shared) => match shared.take(&mut self.pace, want, &mut self.ahead) {
                SharedTurn::Turn(taken) => taken,
                SharedTurn::Unusable(fault) => {
                    tracing::warn!("the rate limit is no longer shared with other runs on this machine: {fault}");
                    self.kept =
                        Kept::InMemory { record: Record::used_up(0, &self.pace.schedule), started: Instant::now() };
                    self.take(want)
                }
            },
        }
    }
}

/// The answer of a shared record to a request.
enum SharedTurn {
    /// Its slot, or how long to wait before asking again.
    Turn(Result<u64, Duration>),
    /// The file can no longer be used, and why.
    Unusable(String),
}

impl SharedRecord {
    fn take(&mut self, pace: &mut Pace, want: Want, ahead: &mut Ahead) -> SharedTurn {
        let unused = std::mem::take(&mut ahead.slots);
        let now_ns = clock_ns(&self.clock);
        let trusted = !self.clock_moved(now_ns);
        let updated = self.file.update(|found| {
            let found = found.filter(|record| trusted && record.is_believable(now_ns, &pace.schedule));
            let known = found.is_some();
            let mut record = found.unwrap_or_else(|| Record::used_up(now_ns, &pace.schedule));
            for slot in &unused {
                // What it counted is given back. The pace stays as it is, which is the safe side.
                record.uncount(*slot);
            }
            let taken = pace.take(&mut record, now_ns, want);
            let mut more = Vec::new();
            if want == Want::New && taken.is_ok() {
                let most = pace.schedule.within(AHEAD).min(AHEAD_MAX);
                more.extend((1..most).map_while(|_| pace.take(&mut record, now_ns, Want::New).ok()));
            }
            let is_changed = taken.is_ok() || !known || !unused.is_empty();
            (is_changed.then_some(record), (taken, more))
        });
        match updated {
            Ok((taken, more)) => {
                (ahead.slots, ahead.at) = (more, Some(Instant::now()));
                self.busy_since = None;
                self.read = (now_ns, Instant::now());
                SharedTurn::Turn(taken)
            }
            Err(Unchanged::Busy) if self.busy_since.get_or_insert_with(Instant::now).elapsed() < BUSY_MAX => {
                SharedTurn::Turn(Err(BUSY_WAIT))
            }
            Err(Unchanged::Busy) => {
                SharedTurn::Unusable(format!("{}: another process keeps the file locked", self.file.path().display()))
            }
            Err(Unchanged::Storage(error)) => SharedTurn::Unusable(format!("{}: {error}", self.file.path().display())),
        }
    }

    /// Whether the clock was changed or the machine slept since the clock was last read.
    fn clock_moved(&self, now_ns: u64) -> bool {
        let (then_ns, then) = self.read;
        then_ns.saturating_add(nanos(then.elapsed())).abs_diff(now_ns) > CLOCK_MOVED_MAX_NS
    }
}

fn clock_ns(clock: &Clock) -> u64 {
    u64::try_from(clock.now_us()).unwrap_or_default().saturating_mul(1_000)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
