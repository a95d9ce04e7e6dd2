//! The counts of evidence: those that it states are compared with its manifest, and with what its lines add up to.

use super::{
    super::{
        bundle::ChainEnd,
        facts::{ASKS, DECISIONS, Facts, REQUESTS, RequestTotals},
    },
    lines::chained,
    package::Package,
    verified::Fault,
};
use crate::{
    ledger::{AskTrail, RequestTrail},
    model::RequestId,
    sink::{CheckTotals, DatasetKind, Manifest},
};
use std::collections::BTreeMap;

/// Compares the facts with the manifest, and the counts of the manifest with each other.
///
/// # Errors
/// What does not add up.
pub fn adds_up(facts: &Facts, manifest: &Manifest) -> Result<(), String> {
    let same = [
        (facts.campaign == manifest.campaign, "the campaign"),
        (facts.mode == manifest.mode, "the mode"),
        (facts.complete == manifest.complete, "whether it is complete"),
        (facts.input == manifest.input, "the rows of the input"),
        (facts.checks == manifest.totals, "the counts of the checks"),
    ];
    if let Some((_, what)) = same.iter().find(|(same, _)| !same) {
        return Err(format!("expected {what} as in the manifest, found another value"));
    }
    if manifest.complete { manifest.completes() } else { manifest.accounts() }
}

/// Counts the lines again.
pub fn recount(package: &mut Package, facts: &Facts, manifest: &Manifest) -> Result<(), Fault> {
    let parts = manifest.datasets.iter().filter(|one| one.kind == DatasetKind::Results).flat_map(|one| &one.parts);
    let mut asks = AskCount {
        checks: facts.checks.iter().map(|totals| (totals.check.clone(), CheckTotals::default())).collect(),
        unreadable: 0,
        purged_unreadable: 0,
        parts: parts.clone().map(|part| (part.path.clone(), 0)).collect(),
    };
    let end = read(package, ASKS, |line| asks.add(serde_json::from_str(line).map_err(|fault| fault.to_string())?))?;
    expect(ASKS, "end", &facts.asks_end, &end)?;
    for totals in &facts.checks {
        let found = asks.checks.remove(&totals.check).unwrap_or_default();
        let found = CheckTotals { check: totals.check.clone(), by_verdict: totals.by_verdict.clone(), ..found };
        expect(ASKS, &format!("counts of `{}`", totals.check), totals, &found)?;
    }
    expect(ASKS, "unreadable rows", &facts.input.unreadable_rows, &asks.unreadable)?;
    expect(ASKS, "purged unreadable rows", &facts.input.purged_unreadable_rows, &asks.purged_unreadable)?;
    for part in parts {
        let found = asks.parts.remove(&part.path).unwrap_or_default();
        expect(ASKS, &format!("rows of {}", part.path), &part.rows, &found)?;
    }

    let (mut requests, mut last) = (RequestTotals::default(), RequestId(0));
    let end = read(package, REQUESTS, |line| {
        let request: RequestTrail = serde_json::from_str(line).map_err(|fault| fault.to_string())?;
        if request.id <= last {
            return Err(format!("expected a request after {}, found {}", last.0, request.id.0));
        }
        last = request.id;
        *requests.states.entry(request.state).or_default() += 1;
        requests.sent = requests.sent.saturating_add(request.sent);
        requests.credits_charged = requests.credits_charged.saturating_add(request.charged.0);
        requests.credits_held = requests.credits_held.saturating_add(request.held.0);
        Ok(())
    })?;
    expect(REQUESTS, "end", &facts.requests_end, &end)?;
    expect(REQUESTS, "counts", &facts.requests, &requests)?;

    if let Some(stated) = &facts.decisions_end {
        expect(DECISIONS, "end", stated, &read(package, DECISIONS, |_| Ok(()))?)?;
    }
    Ok(())
}

/// What the lines of asks add up to, for the checks and parts that are stated.
struct AskCount {
    checks: BTreeMap<String, CheckTotals>,
    unreadable: u64,
    purged_unreadable: u64,
    /// The rows of each result part.
    parts: BTreeMap<String, u64>,
}

impl AskCount {
    fn add(&mut self, ask: AskTrail) -> Result<(), String> {
        let Some(check) = ask.check else {
            *if ask.purged { &mut self.purged_unreadable } else { &mut self.unreadable } += 1;
            return Ok(());
        };
        let totals = self.checks.get_mut(&check).ok_or("expected a check that is stated, found another one")?;
        totals.asks += 1;
        totals.credits = totals.credits.saturating_add(ask.credits.0);
        match ask.dataset.as_str() {
            "results" | "failures" | "skipped" if ask.purged => totals.purged += 1,
            "results" => totals.results += 1,
            "failures" => totals.failures += 1,
            "skipped" => totals.skipped += 1,
            "pending" => totals.pending += 1,
            _ => return Err("expected the name of a dataset, found another one".to_owned()),
        }
        if let Some(part) = ask.part {
            *self.parts.get_mut(&part).ok_or("expected a part that the manifest names, found another one")? += 1;
        }
        Ok(())
    }
}

fn read(package: &mut Package, name: &str, each: impl FnMut(&str) -> Result<(), String>) -> Result<ChainEnd, Fault> {
    package.read(name, |file| chained(file, each)).map_err(|fault| Fault { file: name.to_owned(), fault })
}

fn expect<T: PartialEq + std::fmt::Debug>(file: &str, what: &str, stated: &T, found: &T) -> Result<(), Fault> {
    if stated == found {
        return Ok(());
    }
    let fault = format!("it does not add up: {what}: expected {stated:?}, found {found:?}");
    Err(Fault { file: file.to_owned(), fault })
}
