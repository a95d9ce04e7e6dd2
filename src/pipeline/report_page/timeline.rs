//! Time in the charts: how long a bucket is, and what is in each. The length is chosen by the time that the campaign
//! took, so that a chart has at most [`BUCKETS_MAX`] columns, whatever the number of rows.

use crate::ledger::AttemptSpan;

/// The most columns of a chart over time.
pub const BUCKETS_MAX: i64 = 48;

pub const SECOND_US: i64 = 1_000_000;
pub const MINUTE_US: i64 = 60 * SECOND_US;
pub const HOUR_US: i64 = 60 * MINUTE_US;
const DAY_US: i64 = 24 * HOUR_US;

/// The lengths of a bucket, in microseconds.
const LENGTHS_US: [i64; 22] = [
    SECOND_US,
    2 * SECOND_US,
    5 * SECOND_US,
    10 * SECOND_US,
    15 * SECOND_US,
    30 * SECOND_US,
    MINUTE_US,
    2 * MINUTE_US,
    5 * MINUTE_US,
    10 * MINUTE_US,
    15 * MINUTE_US,
    30 * MINUTE_US,
    HOUR_US,
    2 * HOUR_US,
    3 * HOUR_US,
    6 * HOUR_US,
    12 * HOUR_US,
    DAY_US,
    2 * DAY_US,
    7 * DAY_US,
    30 * DAY_US,
    365 * DAY_US,
];

/// A campaign that took less time is counted by the second.
const BY_SECOND_BELOW_US: i64 = 3 * MINUTE_US;

/// The buckets of a chart over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeline {
    /// Where the first bucket begins, in microseconds since 1970: a multiple of the length.
    pub begins_us: i64,
    pub length_us: i64,
    pub count: usize,
}

impl Timeline {
    /// The buckets for attempts that began in this time.
    pub fn of(span: AttemptSpan) -> Timeline {
        let (first, last) = (span.first_us.min(span.last_us), span.first_us.max(span.last_us));
        let unit = unit_us(first, last);
        let fits = |length: &i64| *length >= unit && buckets(first, last, *length) <= BUCKETS_MAX;
        let longest = LENGTHS_US[LENGTHS_US.len() - 1];
        let length_us = LENGTHS_US.iter().copied().find(fits).unwrap_or(longest);
        // Times that are farther apart come from a wrong clock. The later ones count in the last bucket.
        let count = buckets(first, last, length_us).clamp(1, BUCKETS_MAX);
        let begins_us = first.div_euclid(length_us).saturating_mul(length_us);
        Timeline { begins_us, length_us, count: usize::try_from(count).unwrap_or(1) }
    }

    /// The interval in which attempts are counted to find the busiest one: a minute, or a second in a short campaign.
    pub fn interval_us(&self) -> i64 {
        if self.length_us < MINUTE_US { SECOND_US } else { MINUTE_US }
    }

    /// The bucket of a time. A time outside counts in the nearest one.
    pub fn bucket(&self, at_us: i64) -> usize {
        let bucket = at_us.saturating_sub(self.begins_us).div_euclid(self.length_us);
        usize::try_from(bucket.max(0)).unwrap_or(usize::MAX).min(self.count - 1)
    }

    /// Where a bucket begins, in microseconds since 1970.
    pub fn begin_us(&self, bucket: usize) -> i64 {
        let buckets = i64::try_from(bucket).unwrap_or(i64::MAX);
        self.begins_us.saturating_add(self.length_us.saturating_mul(buckets))
    }
}

/// How many buckets of this length contain both times.
fn buckets(first_us: i64, last_us: i64, length_us: i64) -> i64 {
    last_us.div_euclid(length_us).saturating_sub(first_us.div_euclid(length_us)).saturating_add(1)
}

fn unit_us(first_us: i64, last_us: i64) -> i64 {
    if last_us.saturating_sub(first_us) < BY_SECOND_BELOW_US { SECOND_US } else { MINUTE_US }
}

/// What the attempts in one bucket were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    pub attempts: u64,
    /// The most attempts in one interval of the bucket.
    pub busiest: u64,
}

/// Attempts over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throughput {
    pub timeline: Timeline,
    pub buckets: Vec<Sent>,
}

impl Throughput {
    pub fn new(timeline: Timeline) -> Throughput {
        Throughput { timeline, buckets: vec![Sent::default(); timeline.count] }
    }

    /// Adds the attempts of an interval. `interval` counts intervals from 1970.
    pub fn add(&mut self, interval: i64, attempts: u64) {
        let at_us = interval.saturating_mul(self.timeline.interval_us());
        let sent = &mut self.buckets[self.timeline.bucket(at_us)];
        sent.attempts = sent.attempts.saturating_add(attempts);
        sent.busiest = sent.busiest.max(attempts);
    }

    /// The most attempts in one interval.
    pub fn busiest(&self) -> u64 {
        self.buckets.iter().map(|sent| sent.busiest).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A whole day in November 2026.
    const DAY: i64 = 20_760 * DAY_US;

    fn of(first_us: i64, last_us: i64) -> Timeline {
        Timeline::of(AttemptSpan { first_us, last_us })
    }

    #[test]
    fn the_length_of_a_bucket_follows_the_time_of_the_campaign() {
        let lengths = [
            (0, SECOND_US),
            (40 * SECOND_US, SECOND_US),
            (100 * SECOND_US, 5 * SECOND_US),
            (20 * MINUTE_US, MINUTE_US),
            (22 * HOUR_US, 30 * MINUTE_US),
            (11 * DAY_US, 6 * HOUR_US),
            (300 * DAY_US, 7 * DAY_US),
        ];
        for (took, length) in lengths {
            let timeline = of(DAY + 7 * SECOND_US, DAY + 7 * SECOND_US + took);
            assert_eq!(timeline.length_us, length, "{took}");
            assert!(timeline.count as i64 <= BUCKETS_MAX && timeline.begins_us % length == 0);
            assert_eq!(timeline.bucket(DAY + 7 * SECOND_US), 0);
            assert_eq!(timeline.bucket(DAY + 7 * SECOND_US + took), timeline.count - 1);
        }
    }

    #[test]
    fn a_wrong_clock_neither_panics_nor_makes_more_columns() {
        for (first, last) in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (0, i64::MAX), (-5, -1)] {
            let timeline = of(first, last);
            assert!((1..=BUCKETS_MAX as usize).contains(&timeline.count), "{timeline:?}");
            for at in [i64::MIN, -1, 0, i64::MAX] {
                assert!(timeline.bucket(at) < timeline.count);
            }
            assert!(timeline.begin_us(timeline.count) >= timeline.begins_us);
        }
    }

    #[test]
    fn each_attempt_is_in_one_bucket_and_the_busiest_minute_is_kept() {
        let mut sent = Throughput::new(of(DAY, DAY + 2 * HOUR_US));
        assert_eq!(sent.timeline.length_us, 5 * MINUTE_US);
        let minute = DAY / MINUTE_US;
        for (after, attempts) in [(0, 40), (1, 60), (5, 10), (120, 7)] {
            sent.add(minute + after, attempts);
        }
        assert_eq!(sent.buckets[0], Sent { attempts: 100, busiest: 60 });
        assert_eq!(sent.buckets[1], Sent { attempts: 10, busiest: 10 });
        assert_eq!(sent.buckets.iter().map(|sent| sent.attempts).sum::<u64>(), 117);
        assert_eq!((sent.buckets.last().unwrap().attempts, sent.busiest()), (7, 60));
    }
}
