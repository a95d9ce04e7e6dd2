//! Published files, compared with their manifest, and with the ledger if it is beside them.

use super::verified::{About, Fault, Subject, Verified};
use crate::{
    error::Error,
    files::{self, Links},
    ledger::{Reading, is_in_use},
    pipeline::campaign::place::ledger_in,
    sink::{DatasetKind, MANIFEST_NAME, Part, PublishedFolder, SinkError},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Verifies a published folder. `evidence` is the manifest that it must have.
///
/// # Errors
/// It has no manifest that can be read, or a run is writing it.
pub fn outputs(path: &Path, evidence: Option<&[u8]>) -> Result<Verified, Error> {
    if is_in_use(&ledger_in(path)) {
        let message = format!("{}: a run is under way; verify its files after it has ended", path.display());
        return Err(Error::Config(message));
    }
    let folder = PublishedFolder::open(path)?;
    let manifest = folder.manifest();
    let mut faults = Vec::new();
    let mut add = |file: &str, fault: String| faults.push(Fault { file: file.to_owned(), fault });
    if let Some(wanted) = evidence {
        let found = files::read(&path.join(MANIFEST_NAME), Links::Refused, wanted.len() as u64);
        if !found.is_ok_and(|found| found == wanted) {
            add(MANIFEST_NAME, "it is not the one in the evidence".to_owned());
        }
    }
    if let Err(fault) = if manifest.complete { manifest.completes() } else { manifest.accounts() } {
        add(MANIFEST_NAME, format!("it does not add up: {fault}"));
    }
    let mut named = BTreeSet::new();
    for part in manifest.all_files() {
        if let Err(fault) = unchanged(&folder, &part) {
            add(&part.path, fault);
        }
        named.insert(part.path);
    }
    for file in in_datasets(path).into_iter().filter(|file| !named.contains(file)) {
        add(&file, format!("it was added: {MANIFEST_NAME} does not name it"));
    }
    match by_ledger(path) {
        Ok(None) => {}
        Ok(Some(recorded)) => {
            let stated = |kind| manifest.datasets.iter().filter(move |one| one.kind == kind).flat_map(|one| &one.parts);
            let stated = [DatasetKind::Results, DatasetKind::Answers].into_iter().flat_map(stated);
            // The empty part of a check is not in the ledger.
            for part in stated.filter(|part| part.rows > 0) {
                if recorded.get(&part.path) != Some(&(part.bytes, part.sha256.clone())) {
                    add(&part.path, format!("{MANIFEST_NAME} does not describe it as the ledger does"));
                }
            }
            for path in recorded.keys().filter(|path| !named.contains(*path)) {
                add(path, format!("the ledger has it, and {MANIFEST_NAME} does not name it"));
            }
        }
        Err(fault) => add("ledger.sqlite", fault.to_string()),
    }
    let about = About {
        campaign: manifest.campaign.clone(),
        mode: manifest.mode,
        complete: manifest.complete,
        rows: manifest.input.rows,
        credits: manifest.totals.iter().map(|totals| totals.credits).sum(),
        made: None,
    };
    let (subject, files) = (Subject::Outputs, named.len() as u64);
    Ok(Verified { subject, files, faults, seal: None, about: Some(about) })
}

fn unchanged(folder: &PublishedFolder, part: &Part) -> Result<(), String> {
    let file = folder.part(part).map_err(|error| match error {
        SinkError::Part { fault, .. } => fault,
        other => other.to_string(),
    })?;
    match files::sha256_of(file) {
        Ok(found) if found == part.sha256 => Ok(()),
        Ok(_) => Err(format!("it was changed: its SHA-256 is not the one in {MANIFEST_NAME}")),
        Err(fault) => Err(fault.to_string()),
    }
}

/// The files in the folders of the datasets, which a query would read. Hidden files are not read.
fn in_datasets(folder: &Path) -> Vec<String> {
    const KINDS: [DatasetKind; 5] =
        [DatasetKind::Results, DatasetKind::Failures, DatasetKind::Pending, DatasetKind::Skipped, DatasetKind::Answers];
    let of_kind = |kind: DatasetKind| {
        let files = files::files_in(&folder.join(kind.as_str())).unwrap_or_default();
        files.into_iter().map(move |file| format!("{}/{file}", kind.as_str()))
    };
    let is_hidden = |file: &String| file.split('/').any(|part| part.starts_with('.'));
    KINDS.into_iter().flat_map(of_kind).filter(|file| !is_hidden(file)).collect()
}

/// Files by their paths: size in bytes and SHA-256 of each.
type Recorded = BTreeMap<String, (u64, String)>;

/// The result parts as the ledger records them; `None` without a ledger.
fn by_ledger(folder: &Path) -> Result<Option<Recorded>, Error> {
    let Some(reading) = Reading::find(&ledger_in(folder))? else { return Ok(None) };
    let mut recorded = BTreeMap::new();
    for part in reading.parts()? {
        recorded.extend(part.answers.clone().map(|answers| (part.answers_path(), answers)));
        recorded.extend(part.written.map(|written| (part.path, written)));
    }
    Ok(Some(recorded))
}
