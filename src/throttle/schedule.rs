//! Turns the service's two limits into a schedule: the time between requests, how many may be sent at once, and how
//! many in a minute. It also decides by how much the burst is reduced for late arrivals.

use crate::model::Rate;
use std::{num::NonZeroU32, time::Duration};

/// Requests are counted in slots of this length.
pub(super) const SLOT_NS: u64 = 50_000_000;
/// 60.25 seconds: a minute plus a reserve, because requests arrive less evenly than they are sent.
pub(super) const SLOTS: usize = 1_205;

const MINUTE: Duration = Duration::from_secs(60);
/// A minute plus the reserve.
const WINDOW: Duration = Duration::from_nanos(SLOT_NS * SLOTS as u64);
/// `governor` counts in nanoseconds, so a bucket that takes longer than a year to fill is limited to a year.
const FILLING_MAX: Duration = Duration::from_secs(365 * 24 * 3_600);

/// A rate as a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schedule {
    /// One request per period, in the long run.
    pub(super) period: Duration,
    /// The most requests sent at once, after a pause or a late timer.
    pub(super) burst: NonZeroU32,
    /// The most requests sent at once that were admitted earlier but were sent late.
    pub(super) late_burst: NonZeroU32,
    /// The most requests in [`WINDOW`].
    pub(super) most: u64,
    /// The part of the burst above the difference of the two limits. It may be used only if the count of the last
    /// minute is low enough.
    borrowed: u32,
}

impl Schedule {
    /// The schedule for a rate. The bucket is the difference of the two limits, minus a reserve of a quarter second's
    /// requests and at least two, because requests arrive less evenly than they are sent. If fewer than two seconds'
    /// requests remain, a late timer may still catch up by two seconds' requests, and the count of the last minute
    /// enforces the limit.
    pub(super) fn of(rate: Rate) -> Schedule {
        let most = rate.per_minute_max.max(1);
        let per_minute = rate.per_minute.clamp(1, most);
        let reserve = (per_minute / 240).max(2);
        let room = most.saturating_sub(per_minute).saturating_sub(reserve);
        let period = (MINUTE / per_minute).max(WINDOW / most);
        let countable = u32::try_from(FILLING_MAX.as_nanos() / period.as_nanos().max(1)).unwrap_or(u32::MAX);
        let catch_up = per_minute.div_ceil(30);
        let burst = NonZeroU32::new(room.max(catch_up).min(countable)).unwrap_or(NonZeroU32::MIN);
        let late_burst = NonZeroU32::new(catch_up.min(burst.get())).unwrap_or(NonZeroU32::MIN);
        Schedule { period, burst, late_burst, most: u64::from(most), borrowed: burst.get().saturating_sub(room) }
    }

    /// The number of requests in this time at the steady rate.
    pub(super) fn within(&self, time: Duration) -> u32 {
        u32::try_from(time.as_nanos() / self.period.as_nanos().max(1)).unwrap_or(u32::MAX)
    }

    /// How long the whole burst takes at the steady rate, in nanoseconds.
    pub(super) fn burst_ns(&self) -> u64 {
        self.cells_ns(self.burst.get())
    }

    /// The theoretical arrival time of the next request if nothing is known about the last minute: the burst counts as
    /// used, and the schedule waits for the requests that an earlier process may have sent to catch up.
    pub(super) fn used_up_at(&self, now_ns: u64) -> u64 {
        now_ns.saturating_add(self.burst_ns()).saturating_add(self.cells_ns(self.borrowed))
    }

    /// The latest theoretical arrival time that late requests can have now.
    pub(super) fn late_by(&self, now_ns: u64) -> u64 {
        now_ns.saturating_add(self.cells_ns(self.late_burst.get()))
    }

    fn cells_ns(&self, cells: u32) -> u64 {
        u64::try_from(self.period.as_nanos().saturating_mul(u128::from(cells))).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(per_minute: u32, per_minute_max: u32) -> (u32, u32, u64) {
        let schedule = Schedule::of(Rate { per_minute, per_minute_max });
        (schedule.burst.get(), schedule.borrowed, schedule.most)
    }

    #[test]
    fn the_bucket_is_the_difference_of_the_limits_less_the_reserve() {
        assert_eq!(schedule(60, 120), (58, 0, 120));
        assert_eq!(schedule(600, 720), (118, 0, 720));
        assert_eq!(schedule(6_000, 7_200), (1_175, 0, 7_200));
    }

    #[test]
    fn without_room_for_a_bucket_two_seconds_can_be_caught_up() {
        assert_eq!(schedule(60, 60), (2, 2, 60));
        assert_eq!(schedule(60, 63), (2, 1, 63));
        assert_eq!(schedule(6_000, 6_000), (200, 200, 6_000));
        assert_eq!(schedule(1, 1), (1, 1, 1));
    }

    #[test]
    fn the_period_keeps_per_minute_max_over_the_window() {
        let period = |per_minute, per_minute_max| Schedule::of(Rate { per_minute, per_minute_max }).period;
        assert_eq!(period(60, 120), Duration::from_secs(1));
        assert_eq!(period(60, 61), Duration::from_secs(1));
        assert_eq!(period(60, 60), WINDOW / 60);
        assert_eq!(period(120, 60), WINDOW / 60, "the smaller limit counts");
    }

    #[test]
    fn limits_of_any_size_give_a_schedule() {
        for (per_minute, per_minute_max) in [(0, 0), (1, u32::MAX), (u32::MAX, u32::MAX)] {
            let schedule = Schedule::of(Rate { per_minute, per_minute_max });
            assert!(schedule.burst_ns() <= u64::try_from(FILLING_MAX.as_nanos()).unwrap(), "{schedule:?}");
        }
    }
}
