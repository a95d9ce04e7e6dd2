//! Signals of the terminal and the scheduler: an interrupt drains, a second one ends at once, SIGTERM drains. Nothing
//! is lost or paid twice.

use super::Workspace;
use crate::support::{
    program::{Said, UnderWay, wait_until},
    service::lifted,
    tables::manifest,
};
use rescreen::{ledger::Reading, simulator::Settings};

/// The checks that are answered, and those whose replies are held back, when the signal comes.
const ANSWERED: u64 = 5;
const IN_FLIGHT: u64 = 4;
const ARRIVED: u64 = ANSWERED + IN_FLIGHT;

fn held() -> Workspace {
    Workspace::that_answers_only(ANSWERED, 40)
}

fn begun(workspace: &Workspace) -> UnderWay {
    workspace.under_way(IN_FLIGHT, ARRIVED, &[])
}

fn finished_by_another_run(workspace: &Workspace) {
    workspace.run(&[]).exits(0);
    let stats = workspace.service.simulator.stats();
    assert_eq!((stats.charges, stats.double_charges), (40, 0));
    assert!(manifest(&workspace.path().join("out/2026-11")).complete);
}

/// The service answers once the run has said that it stops.
fn ends_after(workspace: &Workspace, under_way: UnderWay, signal: &str) -> Said {
    under_way.signal(signal);
    under_way.wait_until_it_says("stopping: 4 requests in flight");
    workspace.service.answers_all();
    under_way.ends()
}

#[test]
fn an_interrupt_drains_publishes_and_ends_with_130() {
    let workspace = held();
    let said = ends_after(&workspace, begun(&workspace), "INT");
    let said = said.exits(130).without_data().says("stopped: interrupted").says("continue with: rescreen run");
    let charges = workspace.service.simulator.stats().charges;
    assert_eq!(charges, ARRIVED, "nothing was sent after the signal");
    assert!(said.stderr.contains(&format!("{charges} of 40 requests sent, ")), "{}", said.stderr);
    let manifest = manifest(&workspace.path().join("out/2026-11"));
    assert_eq!((manifest.totals[0].results, manifest.complete), (charges, false), "{}", said.stderr);
    finished_by_another_run(&workspace);
}

#[test]
fn sigterm_ends_the_run_with_143() {
    let workspace = held();
    ends_after(&workspace, begun(&workspace), "TERM").exits(143).says("stopped: terminated");
    finished_by_another_run(&workspace);
}

/// The replies to four requests under way never come.
fn interrupted_twice(workspace: &Workspace) -> UnderWay {
    let under_way = begun(workspace);
    under_way.signal("INT");
    under_way.wait_until_it_says("stopping: 4 requests in flight");
    under_way.signal("INT");
    under_way
}

#[test]
fn a_second_interrupt_ends_at_once_and_the_next_run_settles_requests_under_way() {
    let workspace = held();
    interrupted_twice(&workspace).ends().exits(130);
    // The service finished the work it had begun, although the client had left.
    let stats = || workspace.service.simulator.stats();
    assert_eq!(stats().charges, ARRIVED);
    workspace.service.answers_all();
    let said = workspace.run(&["--for", "1ms", "--in-flight", "64"]);
    assert!([8, 9].contains(&said.code), "{}", said.stderr);
    assert_eq!((stats().charges, stats().double_charges), (ARRIVED, 0));
}

/// A run that waits until the service allows requests again, which takes ten minutes; it is the nth here.
fn at_a_closed_gate(workspace: &Workspace, nth: i64) -> UnderWay {
    let under_way = UnderWay::start(&mut workspace.production("run", &["--yes", "--in-flight", "1"]));
    let ledger = workspace.path().join("out/2026-11/ledger.sqlite");
    let is_paused = || {
        let sums = Reading::open(&ledger).ok().and_then(|reading| reading.sums().ok());
        sums.is_some_and(|sums| sums.paused_until_us.is_some())
    };
    wait_until("a pause in the ledger", is_paused);
    let runs = || {
        let conn = rusqlite::Connection::open(&ledger).unwrap();
        conn.query_row("SELECT count(*) FROM run", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    wait_until("the run in the ledger", || runs() == nth);
    under_way.wait_until_it_handles_interrupts();
    under_way
}

fn with_a_closed_gate() -> Workspace {
    let faults = "rate429@2:600".parse().unwrap();
    Workspace::with(5, Settings { faults, ..lifted() })
}

#[test]
fn an_interrupt_takes_effect_while_the_gate_is_closed() {
    let workspace = with_a_closed_gate();
    for nth in [1, 2] {
        let under_way = at_a_closed_gate(&workspace, nth);
        under_way.signal("INT");
        under_way.ends().exits(130);
    }
    assert_eq!(workspace.service.simulator.stats().requests, 2, "the second run waited as well");
}

/// How soon a run ends.
mod timed {
    use super::*;
    use std::{
        thread::sleep,
        time::{Duration, Instant},
    };

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn a_second_interrupt_ends_the_run_within_a_second() {
        let workspace = held();
        let under_way = interrupted_twice(&workspace);
        let second = Instant::now();
        under_way.ends().exits(130);
        assert!(second.elapsed() < Duration::from_millis(1_000), "{:?}", second.elapsed());
    }

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn an_interrupt_takes_effect_at_once_while_the_gate_is_closed() {
        let workspace = with_a_closed_gate();
        for nth in [1, 2] {
            let under_way = at_a_closed_gate(&workspace, nth);
            sleep(Duration::from_millis(300));
            let signalled = Instant::now();
            under_way.signal("INT");
            under_way.ends().exits(130);
            assert!(signalled.elapsed() < Duration::from_millis(1_500), "{:?}", signalled.elapsed());
        }
        assert_eq!(workspace.service.simulator.stats().requests, 2, "the second run waited as well");
    }
}
