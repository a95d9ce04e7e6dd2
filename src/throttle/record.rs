//! What an account has used of its rate: the theoretical arrival time of its next request, and the number of requests
//! sent in each twentieth of a second of the last minute. This module defines the stored format, and when a stored
//! record is not believed.

use super::schedule::{SLOT_NS, SLOTS, Schedule};
use std::time::Duration;

/// If a record is further ahead of the clock than this, it was written with another clock.
const AHEAD_MAX_NS: u64 = 60_000_000_000;

const MAGIC: [u8; 16] = *b"rescreen rate 1\n";
const HEAD_BYTES: usize = MAGIC.len() + 16;
const SUM_BYTES: usize = 8;
/// The length of a written record.
pub(super) const RECORD_BYTES: usize = HEAD_BYTES + 4 * SLOTS + SUM_BYTES;

/// The usage of one account. Times are nanoseconds of the clock that the throttle reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// When the next request would be sent at the steady rate.
    pub(super) arrival_ns: u64,
    /// The newest slot, counted from the clock's zero.
    newest: u64,
    /// The count of slot `n` is at `n` modulo [`SLOTS`].
    slots: Box<[u32; SLOTS]>,
    total: u64,
}

impl Record {
    /// A record of an account that was idle for long.
    pub(super) fn idle(now_ns: u64) -> Record {
        Record { arrival_ns: 0, newest: now_ns / SLOT_NS, slots: Box::new([0; SLOTS]), total: 0 }
    }

    /// A record for an unknown past: the account counts as in steady use until now.
    pub(super) fn used_up(now_ns: u64, schedule: &Schedule) -> Record {
        Record { arrival_ns: schedule.used_up_at(now_ns), ..Record::idle(now_ns) }
    }

    /// Whether this clock and this schedule can have produced the record.
    pub(super) fn is_believable(&self, now_ns: u64, schedule: &Schedule) -> bool {
        let latest_ns = now_ns.saturating_add(AHEAD_MAX_NS);
        self.newest <= latest_ns / SLOT_NS && self.arrival_ns <= schedule.used_up_at(latest_ns)
    }

    /// Forgets the slots that are older than the window.
    pub(super) fn pass_to(&mut self, now_ns: u64) {
        let now = now_ns / SLOT_NS;
        let passed = now.saturating_sub(self.newest);
        if passed >= SLOTS as u64 {
            self.slots.fill(0);
            self.total = 0;
        } else {
            for slot in self.newest + 1..=now {
                self.total -= u64::from(std::mem::take(&mut self.slots[place(slot)]));
            }
        }
        self.newest = self.newest.max(now);
    }

    /// Counts a request that is sent now, and returns its slot.
    pub(super) fn count(&mut self) -> u64 {
        let count = &mut self.slots[place(self.newest)];
        if let Some(more) = count.checked_add(1) {
            *count = more;
            self.total += 1;
        }
        self.newest
    }

    /// Whether a request that was counted in this slot still counts.
    pub(super) fn counts(&self, slot: u64) -> bool {
        slot <= self.newest && self.newest - slot < SLOTS as u64 && self.slots[place(slot)] > 0
    }

    /// Removes a request that was counted in this slot and was not sent.
    pub(super) fn uncount(&mut self, slot: u64) {
        if self.counts(slot) {
            self.slots[place(slot)] -= 1;
            self.total -= 1;
        }
    }

    /// How long until the window contains fewer than `most`; `None` if it does already.
    pub(super) fn full_for(&self, now_ns: u64, most: u64) -> Option<Duration> {
        let mut surplus = (self.total + 1).saturating_sub(most.max(1));
        if surplus == 0 {
            return None;
        }
        // A slot leaves the window once `SLOTS` newer ones have begun.
        for leaving in self.newest + 1..=self.newest + SLOTS as u64 {
            surplus = surplus.saturating_sub(u64::from(self.slots[place(leaving)]));
            if surplus == 0 {
                return Some(Duration::from_nanos((leaving * SLOT_NS).saturating_sub(now_ns)));
            }
        }
        None
    }

    /// The record as bytes.
    pub(super) fn encoded(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(RECORD_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&self.arrival_ns.to_le_bytes());
        bytes.extend_from_slice(&self.newest.to_le_bytes());
        for count in self.slots.iter() {
            bytes.extend_from_slice(&count.to_le_bytes());
        }
        bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
        bytes
    }

    /// Decodes a record; `None` if the bytes are invalid.
    pub(super) fn decoded(bytes: &[u8]) -> Option<Record> {
        if bytes.len() != RECORD_BYTES || !bytes.starts_with(&MAGIC) {
            return None;
        }
        let (body, sum) = bytes.split_last_chunk::<SUM_BYTES>()?;
        if u64::from_le_bytes(*sum) != checksum(body) {
            return None;
        }
        let (arrival_ns, rest) = body[MAGIC.len()..].split_first_chunk()?;
        let (newest, counts) = rest.split_first_chunk()?;
        let mut slots = Box::new([0; SLOTS]);
        for (slot, count) in slots.iter_mut().zip(counts.as_chunks().0) {
            *slot = u32::from_le_bytes(*count);
        }
        let total = slots.iter().map(|count| u64::from(*count)).sum();
        Some(Record { arrival_ns: u64::from_le_bytes(*arrival_ns), newest: u64::from_le_bytes(*newest), slots, total })
    }
}

fn place(slot: u64) -> usize {
    (slot % SLOTS as u64) as usize
}

/// FNV-1a over words of eight bytes. It detects damage, not tampering.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let rest = rest.iter().map(|byte| u64::from(*byte));
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    words
        .chain(rest)
        .fold(0xcbf2_9ce4_8422_2325, |sum: u64, word| (sum ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Rate;

    const SECOND_NS: u64 = 1_000_000_000;
    const NOW_NS: u64 = 1_800_000_000 * SECOND_NS;

    fn used() -> Record {
        let mut record = Record::idle(NOW_NS);
        for step in 0..100 {
            record.pass_to(NOW_NS + step * SECOND_NS / 3);
            record.count();
        }
        record.arrival_ns = NOW_NS + 7;
        record
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        assert_eq!(Record::decoded(&used().encoded()), Some(used()));
    }

    #[test]
    fn damaged_truncated_and_foreign_bytes_are_not_a_record() {
        let whole = used().encoded();
        for length in [0, 1, 16, RECORD_BYTES - 1] {
            assert_eq!(Record::decoded(&whole[..length]), None, "{length} bytes");
        }
        for place in [0, 15, 16, 24, 32, 2_000, RECORD_BYTES - 1] {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x40;
            assert_eq!(Record::decoded(&damaged), None, "byte {place}");
        }
        assert_eq!(Record::decoded(&[whole.as_slice(), b"x"].concat()), None);
        assert_eq!(Record::decoded(&vec![0; RECORD_BYTES]), None);
    }

    #[test]
    fn a_message_counts_for_a_minute_and_at_most_a_quarter_of_a_second_more() {
        let mut record = Record::idle(NOW_NS);
        record.count();
        let wait = record.full_for(NOW_NS, 1).unwrap();
        assert!((60.2..=60.25).contains(&wait.as_secs_f64()), "{wait:?}");
        record.pass_to(NOW_NS + 60 * SECOND_NS);
        assert_eq!(record.total, 1);
        record.pass_to(NOW_NS + wait.as_nanos() as u64);
        assert_eq!((record.total, record.full_for(NOW_NS, 1)), (0, None));
    }

    #[test]
    fn only_the_message_itself_can_be_taken_back_and_only_while_it_counts() {
        let mut record = Record::idle(NOW_NS);
        let slot = record.count();
        record.pass_to(NOW_NS + 10 * SECOND_NS);
        let later = record.count();
        record.uncount(slot);
        record.uncount(slot);
        assert_eq!((record.total, record.counts(slot), record.counts(later)), (1, false, true));
        record.pass_to(NOW_NS + 75 * SECOND_NS);
        record.uncount(later);
        record.uncount(u64::MAX);
        assert_eq!(record.total, 0);
    }

    #[test]
    fn a_record_more_than_a_minute_ahead_of_the_clock_is_not_believed() {
        let schedule = Schedule::of(Rate::default());
        let believed = |now_ns| Record::used_up(NOW_NS, &schedule).is_believable(now_ns, &schedule);
        assert!(believed(NOW_NS) && believed(NOW_NS + 90_000 * SECOND_NS) && believed(NOW_NS - 59 * SECOND_NS));
        assert!(!believed(NOW_NS - 61 * SECOND_NS) && !believed(0));
        let far = Record { arrival_ns: u64::MAX, ..Record::idle(NOW_NS) };
        assert!(!far.is_believable(NOW_NS, &schedule));
    }

    #[test]
    fn a_clock_that_was_set_back_a_little_forgets_nothing() {
        let mut record = used();
        record.pass_to(NOW_NS - 30 * SECOND_NS);
        assert_eq!(record.total, 100);
        assert!(record.full_for(NOW_NS - 30 * SECOND_NS, 100).unwrap() > Duration::from_secs(60));
    }
}
