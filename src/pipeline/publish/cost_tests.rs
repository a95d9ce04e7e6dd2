//! What a publication costs, in steps of SQLite's virtual machine: each row that is read takes some, wherever it comes
//! from. While a run is under way, the cost must not depend on how many rows are pending or skipped.

use super::*;
use crate::{
    ledger::{CommitMode, Identity, for_tests},
    model::Mode,
};

const CAMPAIGN: &str = r#"
campaign = "large"
[service]
url = "http://127.0.0.1:9"
[input]
paths = ["book.csv"]
[[check]]
use = "aml-screening"
fields.name = "name"
fields.country = { value = "za" }
fields.entity = { value = 0 }
"#;

/// The steps of a publication of `new` answers beside `pending` other rows, of which some are skipped: under way, under
/// way again with nothing new, and after the run.
async fn steps(pending: u64, new: u64) -> [u64; 3] {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rescreen.toml"), CAMPAIGN).unwrap();
    std::fs::write(folder.path().join("book.csv"), "name\nA\n").unwrap();
    let mut campaign = Campaign::load(&folder.path().join("rescreen.toml")).unwrap();
    campaign.commit_mode = CommitMode::Inline;
    campaign.out = folder.path().join("out");
    campaign.ledger = campaign.out.join("ledger.sqlite");
    std::fs::create_dir_all(&campaign.out).unwrap();
    let identity = Identity {
        campaign: campaign.name.clone(),
        mode: Mode::Sandbox,
        origin: campaign.origin(),
        moved_from: None,
        key_secret: None,
    };
    let ledger = Arc::new(Ledger::open(&campaign.ledger, &identity, CommitMode::Inline, 0).unwrap());
    let layout = super::super::campaign::result_layout::ResultLayout::new(&campaign, &campaign.uses[0]).unwrap();
    ledger.fill_for_tests(pending, &layout.agreed(None, true).unwrap());
    let rules = super::super::campaign::rules::use_rules(&campaign, &ledger).await.unwrap();
    let options = PublishOptions { rules, ..PublishOptions::default() };
    let publisher = Publisher::new(&campaign, Arc::clone(&ledger), options).unwrap();
    // The first publication of a process looks at everything that an earlier one left.
    publisher.publish(Stage::UnderWay).unwrap();
    publisher.reading().count_steps();
    let cost = |stage: Stage| {
        let before = for_tests::steps();
        let manifest = publisher.publish(stage).unwrap();
        manifest.accounts().unwrap();
        (for_tests::steps() - before, manifest)
    };
    ledger.answer_for_tests(new);
    let (with_news, manifest) = cost(Stage::UnderWay);
    assert!(manifest.under_way && !manifest.complete);
    assert_eq!(manifest.totals[0].results, new, "{:?}", manifest.totals);
    let (without_news, _) = cost(Stage::UnderWay);
    let (stopped, last) = cost(Stage::Stopped);
    assert!(!last.under_way);
    assert_eq!(last.totals, manifest.totals, "the sums count what the rows say");
    let rows = |manifest: &Manifest, kind| -> u64 {
        let datasets = manifest.datasets.iter().filter(|dataset| dataset.kind == kind);
        datasets.flat_map(|dataset| &dataset.parts).map(|part| part.rows).sum()
    };
    for kind in [sink::DatasetKind::Pending, sink::DatasetKind::Skipped] {
        assert_eq!(rows(&manifest, kind), 0, "{kind:?}: only counted");
        assert!(rows(&last, kind) >= pending / 3, "{kind:?}: written when the run stops");
    }
    [with_news, without_news, stopped]
}

#[tokio::test]
async fn a_publication_under_way_costs_the_same_beside_many_pending_rows() {
    let few = steps(3_000, 300).await;
    // With RESCREEN_PENDING_ROWS=1000000 for the figures in the documents.
    let many_rows = std::env::var("RESCREEN_PENDING_ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(60_000);
    let many = steps(many_rows, 300).await;
    println!("3,000 rows: {few:?}; {many_rows} rows: {many:?}");
    assert!(many[0] < few[0] + few[0] / 10, "{few:?} {many:?}");
    assert!(many[1] < few[1] + few[1] / 10 && many[1] < many[0], "{few:?} {many:?}");
    // The same publication as it was before, and as it still is when a run stops.
    assert!(many[2] > 10 * few[2], "{few:?} {many:?}");
}
