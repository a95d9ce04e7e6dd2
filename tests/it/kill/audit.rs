//! What must hold after each kill, and what must hold at the end: ledger, outputs and the simulator's charge book are three
//! witnesses, and they must say the same.

use super::world::{PRICE, World};
use crate::support::onlooker::{ids, result_files};
use rescreen::sink::{DatasetKind, Manifest};
use std::collections::HashSet;

/// At every moment: what the service charged is charged or held in the ledger, and every result file that can be seen is
/// whole and repeats nothing.
pub fn audit_published(world: &World) -> Vec<String> {
    let mut faults = Vec::new();
    let account = world.sums().account;
    let charged = world.simulator.stats().credits_charged;
    let set_aside = account.charged.0 + account.held.0;
    if charged > set_aside {
        faults.push(format!("the service charged {charged} credits, the ledger has {set_aside} charged or held"));
    }
    // By pattern, as a warehouse would read them.
    let mut seen = HashSet::new();
    for part in result_files(&world.out()) {
        match ids(&part) {
            Ok(found) => faults.extend(repeated(&mut seen, found)),
            Err(fault) => faults.push(format!("{}: {fault}", part.display())),
        }
    }
    faults
}

/// At the end: everything is answered, paid once, and accounted for.
pub fn audit_whole(world: &World) -> Vec<String> {
    let mut faults = audit_published(world);
    let mut expect = |what: &str, expected: u64, found: u64| {
        if expected != found {
            faults.push(format!("{what}: expected {expected}, found {found}"));
        }
    };
    let stats = world.simulator.stats();
    let sums = world.sums();
    expect("double charges", 0, stats.double_charges);
    expect("charges", world.requests, stats.charges);
    expect("idempotency keys the service saw", world.requests, stats.distinct_keys);
    expect("credits the service charged", world.requests * PRICE, stats.credits_charged);
    expect("credits charged in the ledger", stats.credits_charged, sums.account.charged.0);
    expect("credits held at the end", 0, sums.account.held.0);
    expect("refusals for one key with two contents", 0, stats.conflicts);
    expect("rows in the ledger", world.rows, sums.rows);
    expect("requests in the ledger", world.requests, sums.requests());
    let Some(manifest) = Manifest::read(&world.out()).ok().flatten() else {
        return vec!["there is no manifest at the end".to_owned()];
    };
    expect("complete", 1, u64::from(manifest.complete));
    let of = |count: fn(&rescreen::sink::CheckTotals) -> u64| manifest.totals.iter().map(count).sum::<u64>();
    let accounted = of(|totals| totals.results + totals.failures + totals.skipped) + manifest.input.unreadable_rows;
    expect("results + failures + skipped in the manifest", world.rows, accounted);
    let kinds = [DatasetKind::Results, DatasetKind::Failures, DatasetKind::Skipped];
    let rows_in_parts = kinds.into_iter().map(|kind| rows_in_parts(world, &manifest, kind)).sum();
    expect("rows in the files the manifest names", world.rows, rows_in_parts);
    expect("rows in the files still pending", 0, self::rows_in_parts(world, &manifest, DatasetKind::Pending));
    let by_pattern: usize =
        result_files(&world.out()).iter().map(|part| ids(part).map_or(0, |found| found.len())).sum();
    expect("result rows found by pattern", of(|totals| totals.results), by_pattern as u64);
    if sums.attempts < stats.charges {
        faults.push(format!("{} attempts in the ledger for {} charges", sums.attempts, stats.charges));
    }
    let splits: usize =
        world.reading().map_or(0, |reading| reading.sources().unwrap().iter().map(|source| source.ends.len()).sum());
    if splits < 3 {
        faults.push(format!("the book came in {splits} splits; a kill between splits needs at least 3"));
    }
    faults
}

fn rows_in_parts(world: &World, manifest: &Manifest, kind: DatasetKind) -> u64 {
    let parts = manifest.datasets.iter().filter(|dataset| dataset.kind == kind).flat_map(|dataset| &dataset.parts);
    parts.map(|part| ids(&world.out().join(&part.path)).map_or(0, |found| found.len() as u64)).sum()
}

fn repeated(seen: &mut HashSet<String>, ids: Vec<String>) -> Vec<String> {
    let again = ids.into_iter().filter(|id| !seen.insert(id.clone()));
    again.map(|id| format!("the result {id} is there twice")).collect()
}
