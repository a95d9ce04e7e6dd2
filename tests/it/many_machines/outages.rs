//! The book goes away and comes back while workers run.

use super::{Job, Machines};
use crate::support::program::{Said, wait_while_it_grows};

#[test]
fn workers_outlast_a_restart_of_the_book_and_pay_nothing_twice() {
    let Some(mut machines) = Machines::new(&["--latency", "20ms"]) else { return };
    let job = Job { rows: 300, ..Job::default() };
    let workers = ["a", "b"].map(|worker| machines.start(worker, &job));
    machines.wait_for_workers("2");
    for least in [60, 180] {
        wait_while_it_grows("requests", least, || machines.service.stats().checks());
        machines.postgres.stop_at_once();
        machines.postgres.start_again(&[]);
    }
    for worker in workers {
        worker.ends().exits(0);
    }
    assert_eq!((machines.charged(), machines.told()), (600, (600, 0)));
    assert_eq!(machines.service.stats().checks(), 600, "no request was sent twice");
}

#[test]
fn connections_that_are_cut_at_any_time_lose_nothing() {
    let Some(machines) = Machines::new(&["--latency", "20ms"]) else { return };
    let job = Job { rows: 200, max_credits: 350, ..Job::default() };
    let workers = ["a", "b"].map(|worker| machines.start(worker, &job));
    machines.wait_for_workers("2");
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'etl'";
    for least in (10..300).step_by(10) {
        wait_while_it_grows("requests", least, || machines.service.stats().checks());
        machines.postgres.sql(cut);
    }
    for worker in workers {
        let said = worker.ends();
        assert!([0, 4].contains(&said.code), "{}", said.stderr);
    }
    assert_eq!((machines.charged(), machines.told()), (350, (350, 0)));
}

#[test]
fn a_run_can_be_interrupted_while_the_book_is_away() {
    let Some(mut machines) = Machines::new(&["--latency", "20ms"]) else { return };
    let worker = machines.start("a", &Job { rows: 5_000, ..Job::default() });
    wait_while_it_grows("requests", 20, || machines.service.stats().checks());
    machines.postgres.stop_at_once();
    worker.wait_until_it_says("nothing is sent until it does");
    worker.signal("INT");
    let said = worker.ends().exits(130);
    assert!(said.stderr.contains("outputs: out/t"), "what was answered is published: {}", said.stderr);
    machines.postgres.start_again(&[]);
    let more = Said::of(&mut machines.command("a", &["run", "--yes", "--max-credits", "40"]));
    more.exits(4);
    assert_eq!(machines.told().0, machines.charged());
}
