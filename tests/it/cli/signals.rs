//! Signals of the terminal and the scheduler: an interrupt drains, a second one ends at once, SIGTERM drains. Nothing
//! is lost or paid twice.

use super::Workspace;
use crate::support::{
    program::{Said, UnderWay, wait_until},
    service::lifted,
    tables::manifest,
};
use rescreen::simulator::Settings;
use std::time::{Duration, Instant};

fn slow(latency_ms: u64) -> Workspace {
    Workspace::with(40, Settings { latency: Duration::from_millis(latency_ms), ..lifted() })
}

fn begun(workspace: &Workspace) -> UnderWay {
    let under_way = UnderWay::start(&mut workspace.production("run", &["--yes", "--in-flight", "4"]));
    workspace.service.wait_for_charges(5);
    under_way
}

fn finished_by_another_run(workspace: &Workspace) {
    workspace.run(&[]).exits(0);
    let stats = workspace.service.simulator.stats();
    assert_eq!((stats.charges, stats.double_charges), (40, 0));
    assert!(manifest(&workspace.path().join("out/2026-11")).complete);
}

#[test]
fn an_interrupt_drains_publishes_and_ends_with_130() {
    let workspace = slow(100);
    let under_way = begun(&workspace);
    under_way.signal("INT");
    let said: Said =
        under_way.wait().exits(130).without_data().says("stopped: interrupted").says("continue with: rescreen run");
    let charges = workspace.service.simulator.stats().charges;
    assert!((4..40).contains(&charges), "{charges}");
    assert!(said.stderr.contains(&format!("{charges} of 40 requests sent, ")), "{}", said.stderr);
    let manifest = manifest(&workspace.path().join("out/2026-11"));
    assert_eq!((manifest.totals[0].results, manifest.complete), (charges, false), "{}", said.stderr);
    finished_by_another_run(&workspace);
}

#[test]
fn sigterm_ends_the_run_with_143() {
    let workspace = slow(100);
    let under_way = begun(&workspace);
    under_way.signal("TERM");
    under_way.wait().exits(143).says("stopped: terminated");
    finished_by_another_run(&workspace);
}

#[test]
fn a_second_interrupt_ends_at_once_and_the_next_run_settles_requests_under_way() {
    let workspace = slow(1_500);
    let under_way = UnderWay::start(&mut workspace.production("run", &["--yes", "--in-flight", "4"]));
    let stats = || workspace.service.simulator.stats();
    // The first request is sent alone, to see what it costs.
    wait_until("four requests are under way", || stats().by_route.get("POST /aml-screening") == Some(&5));
    under_way.signal("INT");
    std::thread::sleep(Duration::from_millis(150));
    let second = Instant::now();
    under_way.signal("INT");
    under_way.wait().exits(130);
    assert!(second.elapsed() < Duration::from_millis(1_000), "{:?}", second.elapsed());
    // The service finished the work it had begun, although the client had left.
    workspace.service.wait_for_charges(5);
    let said = workspace.run(&["--for", "1ms", "--in-flight", "64"]);
    assert!([8, 9].contains(&said.code), "{}", said.stderr);
    assert_eq!((stats().charges, stats().double_charges), (5, 0));
}

#[test]
fn an_interrupt_takes_effect_while_the_gate_is_closed() {
    let faults = "rate429@2:600".parse().unwrap();
    let workspace = Workspace::with(5, Settings { faults, ..lifted() });
    for _ in 0..2 {
        let under_way = UnderWay::start(&mut workspace.production("run", &["--yes", "--in-flight", "1"]));
        wait_until("a 429", || workspace.service.simulator.stats().by_status.contains_key(&429));
        under_way.wait_until_it_handles_interrupts();
        std::thread::sleep(Duration::from_millis(300));
        let signalled = Instant::now();
        under_way.signal("INT");
        under_way.wait().exits(130);
        assert!(signalled.elapsed() < Duration::from_millis(1_500), "{:?}", signalled.elapsed());
    }
    assert_eq!(workspace.service.simulator.stats().requests, 2, "the second run waited as well");
}
