//! What must hold after each kill, and at the end. Ledger, outputs and the simulator's charge book are three witnesses
//! and must agree.

use super::{
    ledger::{ANSWERED, FAILED, Ledger, SUBMITTED},
    world::World,
};
use crate::support::onlooker::{ids, result_files};
use rescreen::sink::{DatasetKind, Manifest};
use std::collections::{BTreeMap, HashSet};

/// At every moment: what the service charged under a key is charged or held in the ledger for that key, the sums are
/// those of the rows, every message is recorded as an attempt, and every visible result file is complete and has no
/// duplicates.
pub fn audit_published(world: &World) -> Vec<String> {
    let mut faults = Vec::new();
    // The book is read first: the service may finish what the killed run sent, and the ledger has that already.
    let book: BTreeMap<String, u64> = world.simulator.page("book");
    let stats = world.simulator.stats();
    let ledger = Ledger::read(&world.ledger()).unwrap_or_default();
    for (key, credits) in &book {
        let found = ledger.requests.get(&key.replace('-', ""));
        let set_aside = found.map_or(0, |request| request.charged + request.held);
        if *credits > set_aside {
            faults.push(format!("the service charged {credits} under {key}, the ledger has {found:?}"));
        }
    }
    let (charged, held) = (ledger.sum("/account/charged"), ledger.sum("/account/held"));
    if (charged, held) != (ledger.charged(), ledger.held()) {
        let rows = (ledger.charged(), ledger.held());
        faults.push(format!("the sums say {charged} charged and {held} held, the requests {rows:?}"));
    }
    for (key, request) in ledger.requests.iter().filter(|(_, request)| [ANSWERED, FAILED].contains(&request.state)) {
        if request.held > 0 {
            faults.push(format!("the request {key} is settled and keeps a hold: {request:?}"));
        }
    }
    if charged + held > world.max_credits {
        faults.push(format!("{charged} charged and {held} held are above the limit of {}", world.max_credits));
    }
    let sent: u64 = stats.checks();
    if sent > ledger.attempts {
        faults.push(format!("{sent} messages arrived, the ledger has {} attempts", ledger.attempts));
    }
    // By file pattern, as a warehouse would read them.
    let mut seen = HashSet::new();
    for part in result_files(&world.out()) {
        match ids(&part) {
            Ok(found) => faults.extend(repeated(&mut seen, found)),
            Err(fault) => faults.push(format!("{}: {fault}", part.display())),
        }
    }
    faults
}

/// At the end: everything is answered and paid once, except jobs that the service ended without a result and a charge.
/// Every job was submitted once.
pub fn audit_whole(world: &World) -> Vec<String> {
    let mut faults = audit_published(world);
    let mut expect = |what: &str, expected: u64, found: u64| {
        if expected != found {
            faults.push(format!("{what}: expected {expected}, found {found}"));
        }
    };
    let book: BTreeMap<String, u64> = world.simulator.page("book");
    let stats = world.simulator.stats();
    let ledger = Ledger::read(&world.ledger()).unwrap_or_default();
    let jobs = world.shape.jobs(world.rows);
    let job_check = world.shape.job_check();
    // Only the service knows how many of its jobs it has ended without a result.
    let answered = if world.shape.has_jobs() { stats.charges } else { world.requests };
    let failed = world.requests.saturating_sub(answered);
    expect("double charges", 0, stats.double_charges);
    expect("charges", answered, stats.charges);
    expect("idempotency keys the service charged", answered, book.len() as u64);
    expect(
        "credits the service charged",
        world.max_credits.saturating_sub(failed * world.shape.prices()[1].1),
        stats.credits_charged,
    );
    expect("credits charged in the ledger", stats.credits_charged, ledger.charged());
    expect("credits held at the end", 0, ledger.held());
    expect("jobs at the service", jobs, stats.jobs);
    expect("idempotency keys at the service", world.requests, stats.distinct_keys);
    expect("refusals for one key with two contents", 0, stats.conflicts);
    expect("rows in the ledger", world.rows, ledger.rows);
    expect("requests in the ledger", world.requests, ledger.requests.len() as u64);
    expect("requests answered in the ledger", answered, ledger.in_state(ANSWERED) as u64);
    expect("requests failed in the ledger", failed, ledger.in_state(FAILED) as u64);
    let others = ledger.requests.values().filter(|request| request.state == FAILED && request.check != job_check);
    expect("requests failed that were no jobs", 0, others.count() as u64);
    expect("jobs in the ledger, each with its own id", jobs, ledger.jobs as u64);
    expect("jobs in the ledger that have ended", jobs, ledger.jobs_ended);
    expect("requests still submitted", 0, ledger.in_state(SUBMITTED) as u64);
    let charged_in = |key: &String| ledger.requests.get(&key.replace('-', "")).map(|request| request.charged);
    let differ = book.iter().filter(|(key, credits)| charged_in(key) != Some(**credits)).count();
    expect("keys that the two books charge differently", 0, differ as u64);
    let Some(manifest) = Manifest::read(&world.out()).ok().flatten() else {
        return vec!["there is no manifest at the end".to_owned()];
    };
    expect("complete", 1, u64::from(manifest.complete));
    let of = |count: fn(&rescreen::sink::CheckTotals) -> u64| manifest.totals.iter().map(count).sum::<u64>();
    let accounted = of(|totals| totals.results + totals.failures + totals.skipped) + manifest.input.unreadable_rows;
    let asks = world.rows * world.shape.prices().len() as u64;
    expect("results + failures + skipped in the manifest", asks, accounted);
    let kinds = [DatasetKind::Results, DatasetKind::Failures, DatasetKind::Skipped];
    let rows_in_parts = kinds.into_iter().map(|kind| rows_in_parts(world, &manifest, kind)).sum();
    expect("rows in the files the manifest names", asks, rows_in_parts);
    expect("rows in the failures", failed, self::rows_in_parts(world, &manifest, DatasetKind::Failures));
    for totals in manifest.totals.iter().filter(|totals| totals.check == job_check) {
        expect("results of jobs, each from one charge", jobs - failed, totals.results);
        expect("credits of the results of jobs", (jobs - failed) * world.shape.prices()[1].1, totals.credits);
    }
    expect("rows in the files still pending", 0, self::rows_in_parts(world, &manifest, DatasetKind::Pending));
    let by_pattern: usize =
        result_files(&world.out()).iter().map(|part| ids(part).map_or(0, |found| found.len())).sum();
    expect("result rows found by pattern", of(|totals| totals.results), by_pattern as u64);
    if ledger.attempts < stats.charges {
        faults.push(format!("{} attempts in the ledger for {} charges", ledger.attempts, stats.charges));
    }
    if ledger.splits < 3 {
        faults.push(format!("the book came in {} splits; a kill between splits needs at least 3", ledger.splits));
    }
    let uploaded: u64 =
        stats.by_route.iter().filter(|(route, _)| route.starts_with("upload")).map(|(_, count)| count).sum();
    if uploaded < world.shape.uploads(world.rows) {
        faults.push(format!("{uploaded} documents were uploaded, {:?}", stats.by_route));
    }
    for (fault, status) in world.faults_to_meet() {
        if stats.by_status.get(&status).is_none_or(|count| *count == 0) {
            faults.push(format!("no reply was {fault}: the harness shows nothing of it"));
        }
    }
    faults
}

fn rows_in_parts(world: &World, manifest: &Manifest, kind: DatasetKind) -> u64 {
    let parts = manifest.datasets.iter().filter(|dataset| dataset.kind == kind).flat_map(|dataset| &dataset.parts);
    parts.map(|part| ids(&world.out().join(&part.path)).map_or(0, |found| found.len() as u64)).sum()
}

fn repeated(seen: &mut HashSet<String>, ids: Vec<String>) -> Vec<String> {
    let again = ids.into_iter().filter(|id| !seen.insert(id.clone()));
    again.map(|id| format!("the result {id} is a duplicate")).collect()
}
