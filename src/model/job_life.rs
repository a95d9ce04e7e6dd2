//! The life of a job at the service: when it is asked for next, and when it counts as lost. A pure function of what the
//! ledger records and of what the service says. Asking is free, so the only cost of asking is its share of the rate.

use super::state::JobEnd;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// The shortest time between two questions about one job.
pub const ASK_MIN: Duration = MINUTE.saturating_mul(2);
/// The longest time between two questions about one job.
pub const ASK_MAX: Duration = HOUR.saturating_mul(4);
/// A job without a result at this age never gets one. The service's description, Limits: it waits for a result for up to
/// 48 hours. The rest is for a service that is late.
pub const LOST_AFTER: Duration = HOUR.saturating_mul(72);
/// How often the service may say that it does not know a job, each time at least [`MISS_EVERY`] after the last.
pub const MISSES_MAX: u32 = 3;
/// How far apart replies must be that say that a job is not known.
pub const MISS_EVERY: Duration = HOUR;

/// What a reply about a job says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobSign {
    /// It has no result yet.
    Open,
    Ended(JobEnd),
    /// The service does not know it.
    NotFound,
    /// A complete reply that says nothing reliable about the job.
    Unclear,
    /// The service refused the question.
    Refused,
    /// There was no reply, or it is about the service and not about the job.
    Unheard,
}

/// What is known of a job when a reply comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobStanding {
    /// The time since the service accepted it, by the clock that says less.
    pub age: Duration,
    /// The number of replies in a row that said that it is not known.
    pub misses: u32,
    /// The time since the last of them that was counted.
    pub since_miss: Option<Duration>,
    /// The service has told the state of a job of this check before, so the route of its jobs is right.
    pub is_route_known: bool,
    /// The reply has a result, although it does not say that the job has ended.
    pub has_result: bool,
}

/// What follows from a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobStep {
    End(JobEnd),
    /// Ask again after this time.
    Ask {
        after: Duration,
        misses: u32,
        is_miss: bool,
    },
}

/// Decides what a reply means for a job.
pub fn next(standing: &JobStanding, sign: JobSign) -> JobStep {
    let after = (standing.age / 2).clamp(ASK_MIN, ASK_MAX);
    let JobStanding { misses, .. } = *standing;
    let is_old = standing.age >= LOST_AFTER;
    match sign {
        JobSign::Ended(end) => JobStep::End(end),
        // Nothing was said about the job. Where only one job is refused, the others come first.
        JobSign::Refused => JobStep::Ask { after, misses, is_miss: false },
        JobSign::Unheard => JobStep::Ask { after: ASK_MIN, misses, is_miss: false },
        JobSign::Open | JobSign::Unclear if is_old && standing.has_result => {
            JobStep::End(JobEnd::Completed { stated: None })
        }
        JobSign::Open | JobSign::Unclear | JobSign::NotFound if is_old => JobStep::End(JobEnd::Lost),
        JobSign::Open => JobStep::Ask { after, misses: 0, is_miss: false },
        JobSign::Unclear => JobStep::Ask { after, misses, is_miss: false },
        // A wrong route says the same about every job.
        JobSign::NotFound if !standing.is_route_known => {
            JobStep::Ask { after: after.max(MISS_EVERY), misses, is_miss: false }
        }
        JobSign::NotFound => {
            let is_miss = standing.since_miss.is_none_or(|since| since >= MISS_EVERY);
            let misses = misses.saturating_add(u32::from(is_miss));
            match misses {
                MISSES_MAX.. => JobStep::End(JobEnd::Lost),
                _ => JobStep::Ask { after: MISS_EVERY, misses, is_miss },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Credits;

    const DAY: Duration = HOUR.saturating_mul(24);

    fn young(age: Duration) -> JobStanding {
        JobStanding { age, misses: 0, since_miss: None, is_route_known: true, has_result: false }
    }

    fn asks_after(step: JobStep) -> Duration {
        match step {
            JobStep::Ask { after, .. } => after,
            JobStep::End(end) => panic!("{end:?}"),
        }
    }

    #[test]
    fn a_job_is_asked_for_after_half_its_age_within_limits() {
        for (age, after) in
            [(Duration::ZERO, ASK_MIN), (MINUTE * 3, ASK_MIN), (MINUTE * 10, MINUTE * 5), (DAY, ASK_MAX)]
        {
            assert_eq!(asks_after(next(&young(age), JobSign::Open)), after, "{age:?}");
            assert_eq!(asks_after(next(&young(age), JobSign::Unclear)), after, "{age:?}");
            assert_eq!(asks_after(next(&young(age), JobSign::Refused)), after, "{age:?}");
            assert_eq!(asks_after(next(&young(age), JobSign::Unheard)), ASK_MIN, "{age:?}");
        }
    }

    #[test]
    fn a_job_without_a_result_after_72_hours_is_lost_if_the_service_was_heard() {
        let old = young(LOST_AFTER);
        for sign in [JobSign::Open, JobSign::Unclear, JobSign::NotFound] {
            assert_eq!(next(&old, sign), JobStep::End(JobEnd::Lost), "{sign:?}");
            assert_ne!(next(&young(LOST_AFTER - MINUTE), sign), JobStep::End(JobEnd::Lost), "{sign:?}");
        }
        assert_eq!(asks_after(next(&old, JobSign::Unheard)), ASK_MIN);
        assert_eq!(asks_after(next(&old, JobSign::Refused)), ASK_MAX);
        let late = JobEnd::Completed { stated: Some(Credits(7)) };
        assert_eq!(next(&old, JobSign::Ended(late)), JobStep::End(late), "a late result is a result");
    }

    #[test]
    fn a_job_that_is_unknown_three_times_an_hour_apart_is_lost() {
        let mut standing = young(MINUTE);
        for since in [None, Some(HOUR - MINUTE), Some(HOUR)] {
            standing.since_miss = since;
            let JobStep::Ask { after, misses, is_miss } = next(&standing, JobSign::NotFound) else {
                panic!("{since:?}")
            };
            assert_eq!((after, is_miss), (HOUR, since != Some(HOUR - MINUTE)), "{since:?}");
            standing.misses = misses;
        }
        assert_eq!(standing.misses, 2);
        assert_eq!(asks_after(next(&standing, JobSign::Open)), ASK_MIN, "the service knows it again");
        assert_eq!(next(&standing, JobSign::NotFound), JobStep::End(JobEnd::Lost));
    }

    #[test]
    fn a_route_that_never_knew_a_job_loses_none_before_its_time() {
        let standing = JobStanding { misses: 2, is_route_known: false, ..young(HOUR) };
        let step = next(&standing, JobSign::NotFound);
        assert_eq!(step, JobStep::Ask { after: HOUR, misses: 2, is_miss: false });
    }
}
