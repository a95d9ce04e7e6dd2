//! SIGHUP, which a closed terminal or a lost connection sends, ends a run as SIGTERM does; under `nohup` it is ignored.

use crate::{
    cli::Workspace,
    support::{
        program::{Said, UnderWay, shell},
        tables::manifest,
    },
};

/// The checks that are answered before the signal comes, while four others are in flight.
const ANSWERED: u64 = 5;

#[test]
fn a_hangup_drains_publishes_and_ends_with_143() {
    let workspace = Workspace::that_answers_only(ANSWERED, 40);
    let under_way = workspace.under_way(4, ANSWERED + 4, &[]);
    under_way.signal("HUP");
    under_way.wait_until_it_says("stopping: ");
    workspace.service.answers_all();
    let said = under_way.ends().exits(143).says("stopped: terminated").says("continue with: rescreen run");
    assert!(said.stderr.contains("stopping: "), "{}", said.stderr);
    let charges = workspace.service.simulator.stats().charges;
    assert_eq!(charges, ANSWERED + 4, "nothing was sent after the signal");
    assert_eq!(manifest(&workspace.path().join("out/2026-11")).totals[0].results, charges);
    workspace.run(&[]).exits(0);
    assert_eq!(workspace.service.simulator.stats().double_charges, 0);
}

#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let workspace = Workspace::that_answers_only(ANSWERED, 40);
    let words = workspace.production("run", &["--yes", "--in-flight", "4"]);
    let words: Vec<String> = words.get_args().map(|word| format!("'{}'", word.to_string_lossy())).collect();
    let line = format!("trap '' HUP; exec rescreen {}", words.join(" "));
    let under_way = UnderWay::start(&mut shell(workspace.path(), &line));
    workspace.service.wait_for_work(ANSWERED + 4);
    under_way.signal("HUP");
    workspace.service.answers_all();
    let said: Said = under_way.ends().exits(0);
    assert!(!said.stderr.contains("stopp"), "{}", said.stderr);
}
