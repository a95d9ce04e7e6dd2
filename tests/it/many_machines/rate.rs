//! The rate of an account, kept by several workers together, by the service's clock.

use super::{Job, Machines};

/// Three workers that each would send 120 in the first seconds.
mod timed {
    use super::*;

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn workers_send_no_more_in_a_minute_than_the_account_may() {
        let Some(machines) = Machines::with_rate(120, &[]) else { return };
        let job = Job { rows: 110, per_minute: 120, ..Job::default() };
        let workers = ["a", "b", "c"].map(|worker| machines.start(worker, &job));
        for worker in workers {
            worker.wait().exits(0);
        }
        let stats = machines.service.stats();
        assert_eq!((stats.credits_charged, stats.by_status.get(&429)), (330, None));
        assert!(stats.max_in_any_minute <= 240, "{}", stats.max_in_any_minute);
    }
}
