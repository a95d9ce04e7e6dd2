//! How long answers took: a histogram and percentiles. The times come sorted and counted from the ledger, so that the
//! percentiles are exact and memory does not grow with the number of answers.

/// The shares that are shown, in percent. The maximum is shown beside them.
pub const PERCENTS: [u64; 4] = [50, 90, 95, 99];

/// The most intervals of a histogram, beside the last one.
const BINS_MAX: u64 = 24;

/// The times of one check, counted. Add them in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerTimes {
    /// Each time in milliseconds, with its number of answers.
    times: Vec<(u64, u64)>,
}

impl AnswerTimes {
    pub fn add(&mut self, latency_ms: u64, answers: u64) {
        match self.times.last_mut() {
            Some((last, count)) if *last == latency_ms => *count = count.saturating_add(answers),
            _ => self.times.push((latency_ms, answers)),
        }
    }

    /// The times of several checks together.
    pub fn together<'a>(all: impl Iterator<Item = &'a AnswerTimes>) -> AnswerTimes {
        let mut sorted: Vec<(u64, u64)> = all.flat_map(|one| one.times.iter().copied()).collect();
        sorted.sort_unstable();
        let mut together = AnswerTimes::default();
        sorted.into_iter().for_each(|(latency_ms, answers)| together.add(latency_ms, answers));
        together
    }

    pub fn count(&self) -> u64 {
        self.times.iter().map(|(_, answers)| answers).fold(0, |sum, answers| sum.saturating_add(*answers))
    }

    /// The time within which this share of the answers came, in milliseconds; `None` if there are none.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        let wanted = u128::from(self.count()) * u128::from(percent);
        let mut so_far = 0_u128;
        let reached = self.times.iter().find(|(_, answers)| {
            so_far += u128::from(*answers);
            so_far * 100 >= wanted
        });
        reached.map(|(latency_ms, _)| *latency_ms)
    }

    /// The longest time, in milliseconds.
    pub fn longest(&self) -> Option<u64> {
        self.times.last().map(|(latency_ms, _)| *latency_ms)
    }

    /// The number of answers in intervals of equal length. The last interval has all that took longer than the slowest
    /// but one in a hundred.
    pub fn histogram(&self) -> Histogram {
        let slow = self.percentile(99).unwrap_or(0);
        let width_ms = width(slow);
        let bins = slow / width_ms + 1;
        let mut counts = vec![0_u64; usize::try_from(bins).unwrap_or(1)];
        let mut longer = 0_u64;
        for (latency_ms, answers) in &self.times {
            let bin = usize::try_from(latency_ms / width_ms).ok().and_then(|bin| counts.get_mut(bin));
            let count = bin.unwrap_or(&mut longer);
            *count = count.saturating_add(*answers);
        }
        Histogram { width_ms, counts, longer }
    }
}

/// A histogram of times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// The length of an interval, in milliseconds.
    pub width_ms: u64,
    /// The number of answers in each interval, from 0.
    pub counts: Vec<u64>,
    /// The number of answers after the last interval.
    pub longer: u64,
}

/// The shortest round length of which [`BINS_MAX`] reach this far.
fn width(reach_ms: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        let fits = |width: &u64| reach_ms / width < BINS_MAX;
        if let Some(width) = [1, 2, 5].into_iter().map(|n| power.saturating_mul(n)).find(fits) {
            return width;
        }
        power = power.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[u64]) -> AnswerTimes {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        let mut found = AnswerTimes::default();
        sorted.into_iter().for_each(|latency_ms| found.add(latency_ms, 1));
        found
    }

    #[test]
    fn a_percentile_is_the_time_within_which_that_share_of_the_answers_came() {
        let hundred = of(&(1..=100).collect::<Vec<_>>());
        assert_eq!(PERCENTS.map(|percent| hundred.percentile(percent)), [Some(50), Some(90), Some(95), Some(99)]);
        assert_eq!((hundred.longest(), hundred.count()), (Some(100), 100));
        let three = of(&[7, 7, 900]);
        assert_eq!(PERCENTS.map(|percent| three.percentile(percent)), [Some(7), Some(900), Some(900), Some(900)]);
        let none = AnswerTimes::default();
        assert_eq!((none.percentile(50), none.longest(), none.count()), (None, None, 0));
    }

    #[test]
    fn the_histogram_counts_each_answer_once_and_checks_add_up() {
        let mut times: Vec<u64> = (0..198).map(|at| 100 + at % 90).collect();
        times.extend([120_000, u64::MAX]);
        let (slow, fast) = (of(&times), of(&[3]));
        let together = AnswerTimes::together([&slow, &fast].into_iter());
        let histogram = together.histogram();
        assert_eq!((histogram.width_ms, histogram.counts.len(), histogram.longer), (10, 19, 2));
        assert_eq!((histogram.counts[0], histogram.counts[1], histogram.counts[10]), (1, 0, 30));
        assert_eq!(histogram.counts.iter().sum::<u64>() + histogram.longer, together.count());
        assert_eq!(AnswerTimes::default().histogram(), Histogram { width_ms: 1, counts: vec![0], longer: 0 });
        assert_eq!(of(&[u64::MAX]).histogram().longer, 0, "the width reaches as far as the times");
    }
}
