//! SIGHUP, which a closed terminal or a lost connection sends, ends a run as SIGTERM does; under `nohup` it is ignored.

use crate::{
    cli::Workspace,
    support::{
        program::{Said, UnderWay, shell},
        service::lifted,
        tables::manifest,
    },
};
use rescreen::simulator::Settings;
use std::time::Duration;

fn slow(latency_ms: u64) -> Workspace {
    Workspace::with(40, Settings { latency: Duration::from_millis(latency_ms), ..lifted() })
}

#[test]
fn a_hangup_drains_publishes_and_ends_with_143() {
    // Requests must be in flight when the signal arrives. Sending it takes a while on a busy machine.
    let workspace = slow(1_000);
    let under_way = UnderWay::start(&mut workspace.production("run", &["--yes", "--in-flight", "4"]));
    workspace.service.wait_for_charges(5);
    under_way.signal("HUP");
    let said = under_way.wait().exits(143).says("stopped: terminated").says("continue with: rescreen run");
    assert!(said.stderr.contains("stopping: "), "{}", said.stderr);
    let charges = workspace.service.simulator.stats().charges;
    assert!((4..40).contains(&charges), "{charges}");
    assert_eq!(manifest(&workspace.path().join("out/2026-11")).totals[0].results, charges);
    workspace.run(&[]).exits(0);
    assert_eq!(workspace.service.simulator.stats().double_charges, 0);
}

#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let workspace = slow(100);
    let words = workspace.production("run", &["--yes", "--in-flight", "4"]);
    let words: Vec<String> = words.get_args().map(|word| format!("'{}'", word.to_string_lossy())).collect();
    let line = format!("trap '' HUP; exec rescreen {}", words.join(" "));
    let under_way = UnderWay::start(&mut shell(workspace.path(), &line));
    workspace.service.wait_for_charges(5);
    under_way.signal("HUP");
    let said: Said = under_way.wait().exits(0);
    assert!(!said.stderr.contains("stopp"), "{}", said.stderr);
}
