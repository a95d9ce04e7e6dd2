//! How long jobs take. The service's description: bank processing "may take under 30 minutes, some over three hours", and
//! a job without a result within 48 hours fails.

use super::{digest::Digest, rng::Rng};
use std::time::Duration;

/// How long the final result of a job is waited for.
pub(super) const RESULT_WAIT: Duration = Duration::from_secs(48 * 3_600);

/// The shares of durations: how many of a thousand jobs, and the least and the most minutes. The description states no
/// shares. The rest of the jobs never has a result.
const SHARES: [(u64, u64, u64); 3] = [(750, 1, 30), (170, 30, 3 * 60), (75, 3 * 60, 16 * 60)];

/// How long the job of a subject takes. The same subject always takes the same time.
pub(super) fn job_time(seed: u64, subject: Digest) -> Duration {
    // A separate generator, so that the times do not change what else the seed decides.
    let mut rng = Rng::of(seed.rotate_left(43) ^ 0x71e5, subject);
    let mut place = rng.below(1_000);
    for (share, least, most) in SHARES {
        if place < share {
            return Duration::from_secs(60 * least + rng.below(60 * (most - least)));
        }
        place -= share;
    }
    Duration::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(seed: u64) -> Vec<Duration> {
        (0..20_000u128).map(|subject| job_time(seed, (subject << 40).to_be_bytes())).collect()
    }

    #[test]
    fn most_jobs_take_minutes_some_take_hours_and_one_in_200_never_ends() {
        let times = times(7);
        let among = |least: u64, most: u64| {
            times.iter().filter(|time| (least * 60..most * 60).contains(&time.as_secs())).count()
        };
        assert!((14_700..15_300).contains(&among(1, 30)), "{}", among(1, 30));
        assert!((3_200..3_600).contains(&among(30, 180)), "{}", among(30, 180));
        assert!((1_350..1_650).contains(&among(180, 16 * 60)), "{}", among(180, 16 * 60));
        let endless = times.iter().filter(|time| **time > RESULT_WAIT).count();
        assert!((60..140).contains(&endless), "{endless}");
    }

    #[test]
    fn a_subject_takes_the_same_time_under_the_same_seed() {
        assert_eq!(times(1), times(1));
        assert_ne!(times(1), times(2));
    }
}
