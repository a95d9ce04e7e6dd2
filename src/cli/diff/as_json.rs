//! The JSON of `rescreen diff`: counts. The rows are in the file of `--to`, because they name subjects.

use super::screen::Shown;
use crate::cli::json::time;
use rescreen::pipeline::compare::{Change, CheckComparison, CheckInRound, ComparedRound};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The fields. `written` is the file of `--to` with the number of its rows.
pub fn fields(shown: &Shown<'_>, written: Option<(&Path, u64)>) -> Value {
    let comparison = shown.comparison;
    let [old, new] = shown.folders;
    json!({
        "old": round(&comparison.old, old),
        "new": round(&comparison.new, new),
        "changed": comparison.changed(),
        "counts": counts(|change| comparison.count(change)),
        "checks": comparison.checks.iter().map(check).collect::<Vec<_>>(),
        "file": written.map(|(path, rows)| json!({ "path": path.display().to_string(), "rows": rows })),
    })
}

fn round(round: &ComparedRound, folder: &Path) -> Value {
    json!({
        "folder": folder.display().to_string(),
        "campaign": round.campaign,
        "mode": round.mode,
        "complete": round.complete,
        "unreadable_rows": round.unreadable,
        "purged_asks": round.purged,
    })
}

/// Every kind with its count, including kinds with a count of 0.
fn counts(count: impl Fn(Change) -> u64) -> Value {
    Change::ALL
        .into_iter()
        .map(|change| (change.as_str().to_owned(), count(change).into()))
        .collect::<Map<_, _>>()
        .into()
}

fn check(check: &CheckComparison) -> Value {
    json!({
        "check": check.check,
        "counts": counts(|change| check.count(change)),
        "old": in_round(&check.old),
        "new": in_round(&check.new),
        "repeated_subjects": check.repeated_subjects,
        "answers": check.answers.as_str(),
    })
}

fn in_round(round: &CheckInRound) -> Value {
    json!({
        "asks": round.asks,
        "without_subject": round.without_subject,
        "dataset_versions": round.versions,
        "last_completed_at": time(round.last_us),
    })
}
