//! Whether the next message of a run is about a job or sends a request.

/// After this many requests, one job is polled, so that jobs get a quarter of the rate.
const REQUESTS_PER_JOB: u32 = 3;

/// The turns of jobs and requests.
#[derive(Debug, Default)]
pub struct Turns {
    /// The number of requests sent since the last job was polled.
    requests: u32,
}

impl Turns {
    /// Whether the next message asks for a job. While only one of the two waits, it gets every turn.
    pub fn next_is_job(&mut self, job_waits: bool, request_waits: bool) -> bool {
        let is_job = job_waits && (!request_waits || self.requests >= REQUESTS_PER_JOB);
        self.requests = if is_job { 0 } else { self.requests.saturating_add(1) };
        is_job
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs_of(turns: &mut Turns, count: usize, job_waits: bool, request_waits: bool) -> usize {
        (0..count).filter(|_| turns.next_is_job(job_waits, request_waits)).count()
    }

    #[test]
    fn jobs_get_a_quarter_of_the_turns_while_requests_wait_and_all_of_them_otherwise() {
        let mut turns = Turns::default();
        assert_eq!(jobs_of(&mut turns, 100, true, true), 25);
        assert_eq!(jobs_of(&mut turns, 100, false, true), 0);
        assert_eq!(jobs_of(&mut turns, 100, true, false), 100);
        assert!(!turns.next_is_job(true, true), "three requests come first");
    }
}
