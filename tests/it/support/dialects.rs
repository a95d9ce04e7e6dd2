//! One campaign in both dialects, both envelopes and both spellings of the routes: the verdicts are the same, every
//! column is filled by some answer, and nothing is charged twice.

use super::{
    ran::{Counts, Ran},
    tables::{number, text},
    world::World,
};
use rescreen::{
    catalogue::{Catalogue, Spelling},
    model::ExitCode,
    simulator::{Dialect, Envelope},
};
use std::collections::{BTreeMap, BTreeSet};

/// The price that the worlds set.
pub const PRICE: u64 = 3;

/// How often each verdict and finding occurs. `world` makes the campaign, which sends `subjects` requests of this check
/// and ends with these counts.
pub async fn findings(
    check: &str,
    subjects: usize,
    counts: impl Fn() -> Counts,
    world: impl Fn() -> World,
) -> BTreeMap<String, usize> {
    let declaration = Catalogue::built_in().get(check).unwrap().clone();
    let columns: BTreeSet<String> = declaration.answer.columns.into_iter().map(|column| column.name).collect();
    let (mut found, mut filled) = (BTreeSet::new(), BTreeSet::new());
    for (dialect, envelope, spelling) in [
        (Dialect::Described, Envelope::Results, Spelling::Guide),
        (Dialect::Described, Envelope::DataMeta, Spelling::Alternate),
        (Dialect::Field, Envelope::Results, Spelling::Alternate),
        (Dialect::Field, Envelope::DataMeta, Spelling::Guide),
    ] {
        let mut world = world().campaign(|file| file.service.routes = spelling).service(|settings| {
            settings.dialect = dialect;
            settings.envelope = envelope;
            settings.prices = [(check.to_owned(), PRICE)].into();
        });
        let ran = world.run().await.exits(ExitCode::Complete).charged(PRICE * subjects as u64);
        let ran = ran.counts(counts()).adds_up(true);
        let path = declaration.routes.path(spelling);
        assert_eq!(ran.posts(), subjects as u64, "{dialect:?} {envelope:?}");
        assert_eq!(ran.stats.by_route[&format!("POST {path}")], subjects as u64, "{dialect:?} {envelope:?}");
        let is_filled = |name: &&String| ran.results().iter().any(|line| !line[name.as_str()].is_null());
        filled.extend(columns.iter().filter(is_filled).cloned());
        found.insert(verdicts(&ran));
    }
    assert_eq!(found.len(), 1, "one set of verdicts");
    assert_eq!(columns.difference(&filled).collect::<Vec<_>>(), Vec::<&String>::new(), "columns that no answer filled");
    let mut counts = BTreeMap::new();
    for (_, finding) in found.into_iter().flatten() {
        *counts.entry(finding).or_default() += 1;
    }
    counts
}

fn verdicts(ran: &Ran) -> BTreeSet<(i64, String)> {
    let of = |line| (number(line, "row_number"), format!("{} {}", text(line, "verdict"), text(line, "finding")));
    ran.results().iter().map(of).collect()
}

/// Each of these verdicts with its finding occurs, and every answer of the simulator is understood.
#[track_caller]
pub fn assert_has(counts: &BTreeMap<String, usize>, wanted: &[&str]) {
    for finding in wanted {
        assert!(counts.contains_key(*finding), "{finding} in {counts:?}");
    }
    let unclear = counts.keys().any(|finding| finding.contains("unrecognised") || finding.contains("unclear"));
    assert!(!unclear, "{counts:?}");
}
