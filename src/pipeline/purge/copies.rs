//! Copies of personal data that a purge does not reach: those in and beside the output folder by their names, and those that only
//! the settings of the campaign suggest.

use crate::{
    error::Error,
    files::{files_in, folder_of},
    ledger::Reading,
    pipeline::campaign::{
        place::{decisions_file, ledger_in},
        recorded::{book_account_in, decisions_in},
    },
    sink::Manifest,
};
use std::{collections::BTreeSet, fs, path::Path};

/// What rescreen writes into an output folder beside the files that the manifest names, without personal data, or purged itself.
const OWN: [&str; 5] = ["README.txt", "ledger.id", "ledger.lock", "manifest.json", "report.html"];
/// The datasets of the output folder. In other folders, a file is not listed by its own name.
const DATASETS: [&str; 6] = ["results", "answers", "failures", "pending", "skipped", "images"];
/// The most files of the output folder that are listed.
const LISTED_MAX: usize = 20;

/// Where copies may be, each in a few words.
///
/// # Errors
/// The ledger cannot be read.
pub fn copies(reading: &Reading, out: &Path) -> Result<Vec<String>, Error> {
    let mut copies: Vec<String> =
        reading.sources()?.into_iter().map(|source| format!("input: {}", source.name)).collect();
    copies.extend(others_in(out));
    // The path `.` does not say the name of the folder.
    let real = out.canonicalize();
    let real = real.as_deref().unwrap_or(out);
    let beside = if real.file_name() == out.file_name() { folder_of(out) } else { folder_of(real) };
    let evidence = format!("{}.evidence", real.file_name().unwrap_or_default().to_string_lossy());
    let campaign = reading.identity()?.campaign;
    for entry in fs::read_dir(beside).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with(&evidence) {
            copies.push(format!("evidence: {}", path.display()));
        }
        let is_own = path.canonicalize().is_ok_and(|path| path == real);
        let reuses = |other: Reading| other.reuses_answers_of(&campaign).unwrap_or(false);
        if !is_own && Reading::find(&ledger_in(&path)).ok().flatten().is_some_and(reuses) {
            copies.push(format!("a later round with answers of this one: {}", path.display()));
        }
    }
    let decisions = decisions_file(decisions_in(reading)?.as_deref(), reading.path());
    if decisions.exists() {
        copies.push(format!("decisions about matches, with their subjects: {}", decisions.display()));
    }
    if let Some(account) = book_account_in(reading)? {
        copies.push(format!("the charge book, account `{account}`, with the answers of its partitions"));
    }
    if !reading.receivers()?.is_empty() {
        copies.push("the inbox of `rescreen listen`".to_owned());
    }
    copies.sort();
    copies.push("other rounds of the same subjects, exports, warehouses and backups".to_owned());
    copies.push("what the service keeps itself".to_owned());
    Ok(copies)
}

/// Files in the output folder that the manifest does not name, such as those of a person, or earlier outputs that were set aside.
fn others_in(out: &Path) -> Vec<String> {
    let Ok(Some(manifest)) = Manifest::read(out) else { return Vec::new() };
    let named: BTreeSet<String> = manifest.all_files().map(|part| part.path).collect();
    let is_own = |path: &str| OWN.contains(&path) || path.starts_with("ledger.sqlite") || named.contains(path);
    let others = files_in(out).unwrap_or_default().into_iter().filter(|path| !is_own(path));
    let shown = others.map(|path| match path.split_once('/') {
        Some((folder, _)) if !DATASETS.contains(&folder) => format!("{folder}/"),
        _ => path,
    });
    let shown: BTreeSet<String> = shown.collect();
    let more = shown.len().saturating_sub(LISTED_MAX);
    let listed = shown.into_iter().take(LISTED_MAX).map(|path| format!("in the folder, not of this campaign: {path}"));
    listed.chain((more > 0).then(|| format!("in the folder: {more} more files"))).collect()
}
