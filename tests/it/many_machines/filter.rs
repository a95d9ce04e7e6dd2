//! Tasks of an engine: a task that is killed and started again, and one that is started twice, pay for each row once.

use super::{Job, Machines};
use crate::support::{
    arrow::{customers, filtered, sum, texts},
    program::{UnderWay, wait_while_it_grows},
};
use std::{
    fs::File,
    process::{Command, Stdio},
};

impl Machines {
    fn task(&self, worker: &str) -> Command {
        self.command_of(worker, &["filter", "--arrow", "--yes", "--partition", "task-0"])
    }
}

#[test]
fn a_task_that_was_killed_and_one_that_runs_twice_pay_once() {
    let Some(machines) = Machines::new(&["--latency", "200ms"]) else { return };
    for worker in ["a", "b", "c"] {
        machines.prepare(worker, &Job::default());
    }
    let rows = customers("task", 60);
    let input = machines.folder.path().join("rows.arrow");
    std::fs::write(&input, &rows).unwrap();
    let killed = UnderWay::start(machines.task("a").stdin(Stdio::from(File::open(&input).unwrap())));
    wait_while_it_grows("requests", 20, || machines.service.stats().checks());
    killed.signal("KILL");
    killed.ends().exits(-9);
    machines.postgres.sql("UPDATE rescreen.partition SET seen_at = seen_at - interval '2 minutes'");
    // Its next attempt, and a speculative one beside it.
    let twice = std::thread::scope(|tasks| {
        let tasks = ["b", "c"].map(|worker| tasks.spawn(|| filtered(&mut machines.task(worker), &rows)));
        tasks.map(|task| task.join().unwrap())
    });
    for (said, rows) in twice {
        said.exits(0);
        let rows = rows.unwrap();
        assert_eq!(texts(&rows, "dataset"), [Some("results"); 60]);
        assert_eq!(sum(&rows, "credits"), 60, "whichever of them is taken, the credits are in it");
    }
    assert_eq!((machines.charged(), machines.told()), (60, (60, 0)));
}
