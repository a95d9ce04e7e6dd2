//! The meter of one process: the pace, and the record that it applies to. The record is in memory, in a file that the
//! processes of this machine share, or in the book of an [account](super::account) that several machines share.

use super::{
    bucket::Bucket,
    bucket_file::{BucketFile, Unchanged},
    pace::{Pace, Want},
    record::Record,
    schedule::Schedule,
};
use crate::model::Clock;
use std::time::Duration;
use tokio::time::Instant;

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

/// The pace and its record.
pub(super) struct Meter {
    pace: Pace,
    kept: Kept,
    /// No request is admitted before this time. It saves reading the record.
    not_before: Instant,
    ahead: Ahead,
}

/// Slots that were taken in one update of a shared record, so that a fast run does not update it for each request.
#[derive(Default)]
struct Ahead {
    slots: Vec<u64>,
    /// When they were taken.
    at: Option<Instant>,
}

enum Kept {
    /// Measured in tokio's time since `started`.
    Memory {
        record: Record,
        started: Instant,
    },
    File(RecordFile),
    /// The clock of the book and the timer when they were last read.
    Book(Option<(u64, Instant)>),
}

struct RecordFile {
    file: BucketFile,
    clock: Clock,
    /// The clock and the timer when they were last read.
    read: (u64, Instant),
    busy_since: Option<Instant>,
}

/// What a request gets: its slot and the time at which it was asked for, or how long to wait before asking again.
pub(super) type Turn = Result<(u64, Instant), Duration>;

/// What becomes of a shared record.
pub(super) struct Decision {
    /// The record to write, if it changes.
    pub(super) record: Option<Record>,
    taken: Result<u64, Duration>,
    /// Slots that were taken ahead.
    more: Vec<u64>,
}

impl Decision {
    /// `unused` are slots that were taken ahead and are not used any more.
    fn new(pace: &mut Pace, found: Option<Record>, now_ns: u64, want: Want, unused: &[u64]) -> Decision {
        let found = found.filter(|record| record.is_believable(now_ns, &pace.schedule));
        let known = found.is_some();
        let mut record = found.unwrap_or_else(|| Record::used_up(now_ns, &pace.schedule));
        for slot in unused {
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
        Decision { record: is_changed.then_some(record), taken, more }
    }
}

impl Meter {
    pub(super) fn new(schedule: Schedule, bucket: Bucket) -> Meter {
        let started = Instant::now();
        let kept = match bucket {
            Bucket::Full => Kept::Memory { record: Record::idle(0), started },
            Bucket::Empty => Kept::Memory { record: Record::used_up(0, &schedule), started },
            Bucket::Shared(file, clock) => {
                Kept::File(RecordFile { file, clock, read: (clock_ns(&clock), started), busy_since: None })
            }
            Bucket::Book(_) => Kept::Book(None),
        };
        Meter { pace: Pace::new(schedule), kept, not_before: started, ahead: Ahead::default() }
    }

    /// Admits a request without asking the book. `None` if only the book can say.
    pub(super) fn admit(&mut self) -> Option<Turn> {
        let now = Instant::now();
        if let Some(at) = self.ahead.at.filter(|at| now - *at <= AHEAD)
            && let Some(slot) = self.ahead.slots.pop()
        {
            return Some(Ok((slot, if self.is_of_book() { at } else { now })));
        }
        if let Some(wait) = self.not_before.checked_duration_since(now).filter(|wait| !wait.is_zero()) {
            return Some(Err(wait));
        }
        let taken = self.take(Want::New)?;
        self.waits(taken, now);
        Some(taken.map(|slot| (slot, Instant::now())))
    }

    /// Whether a slot is as old as the question for it.
    fn is_of_book(&self) -> bool {
        matches!(self.kept, Kept::Book(_))
    }

    /// Changes a record that this process can reach itself. `None` if it is in the book.
    pub(super) fn take(&mut self, want: Want) -> Option<Result<u64, Duration>> {
        let taken = match &mut self.kept {
            Kept::Book(_) => return None,
            Kept::Memory { record, started } => self.pace.take(record, nanos(started.elapsed()), want),
            Kept::File(file) => match file.take(&mut self.pace, want, &mut self.ahead) {
                FileTurn::Turn(taken) => taken,
                FileTurn::Unusable(fault) => {
                    tracing::warn!("the rate limit is no longer shared with other runs on this machine: {fault}");
                    self.kept =
                        Kept::Memory { record: Record::used_up(0, &self.pace.schedule), started: Instant::now() };
                    return self.take(want);
                }
            },
        };
        Some(taken)
    }

    /// Decides about the record of the book, as it was at this time of its clock.
    pub(super) fn decide(&mut self, record: Option<&[u8]>, now_ns: u64, want: Want, asked: Instant) -> Decision {
        let mut trusted = true;
        if let Kept::Book(read) = &mut self.kept {
            // The clock was read some time after the question was asked.
            trusted = !read.is_some_and(|read| clock_moved(read, now_ns, asked.elapsed()));
            *read = Some((now_ns, Instant::now()));
        }
        let found = record.and_then(Record::decoded).filter(|_| trusted);
        // If the decision is not written they stay counted, which is the safe side.
        let unused = std::mem::take(&mut self.ahead.slots);
        Decision::new(&mut self.pace, found, now_ns, want, &unused)
    }

    /// A decision about the record of the book is made. The account was asked at this time.
    pub(super) fn decided(&mut self, decision: Decision, asked: Instant) -> Turn {
        if !decision.more.is_empty() {
            self.ahead = Ahead { slots: decision.more, at: Some(asked) };
        }
        self.waits(decision.taken, asked);
        decision.taken.map(|slot| (slot, asked))
    }

    fn waits(&mut self, taken: Result<u64, Duration>, now: Instant) {
        if let Err(wait) = taken {
            self.not_before = now.checked_add(wait).unwrap_or(now);
        }
    }
}

/// The answer of a file to a request.
enum FileTurn {
    /// Its slot, or how long to wait before asking again.
    Turn(Result<u64, Duration>),
    /// The file can no longer be used, and why.
    Unusable(String),
}

impl RecordFile {
    fn take(&mut self, pace: &mut Pace, want: Want, ahead: &mut Ahead) -> FileTurn {
        let unused = std::mem::take(&mut ahead.slots);
        let now_ns = clock_ns(&self.clock);
        let trusted = !clock_moved(self.read, now_ns, Duration::ZERO);
        let updated = self.file.update(|found| {
            let mut decision = Decision::new(pace, found.filter(|_| trusted), now_ns, want, &unused);
            (decision.record.take(), decision)
        });
        match updated {
            Ok(decision) => {
                (ahead.slots, ahead.at) = (decision.more, Some(Instant::now()));
                self.busy_since = None;
                self.read = (now_ns, Instant::now());
                FileTurn::Turn(decision.taken)
            }
            Err(Unchanged::Busy) if self.busy_since.get_or_insert_with(Instant::now).elapsed() < BUSY_MAX => {
                FileTurn::Turn(Err(BUSY_WAIT))
            }
            Err(Unchanged::Busy) => {
                FileTurn::Unusable(format!("{}: another process keeps the file locked", self.file.path().display()))
            }
            Err(Unchanged::Storage(error)) => FileTurn::Unusable(format!("{}: {error}", self.file.path().display())),
        }
    }
}

/// Whether the clock was changed or the machine slept since the clock was last read.
fn clock_moved((then_ns, then): (u64, Instant), now_ns: u64, within: Duration) -> bool {
    let moved_ns = then_ns.saturating_add(nanos(then.elapsed())).abs_diff(now_ns);
    moved_ns > CLOCK_MOVED_MAX_NS.saturating_add(nanos(within))
}

fn clock_ns(clock: &Clock) -> u64 {
    u64::try_from(clock.now_us()).unwrap_or_default().saturating_mul(1_000)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
