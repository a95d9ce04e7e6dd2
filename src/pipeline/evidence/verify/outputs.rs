//! Published files, compared with their manifest, and with the ledger if it is beside them.

use super::verified::{About, Fault, Subject, Verified};
use crate::{
    error::Error,
    files::{self, Links},
    ledger::{Reading, is_in_use},
    pipeline::{campaign::place::ledger_in, wording::counted},
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
    let mut notes = Vec::new();
    let recorded = by_ledger(path).unwrap_or_else(|fault| {
        notes.push(format!("the ledger beside the files was not compared: {fault}"));
        None
    });
    let recorded = recorded.unwrap_or_default();
    for file in in_results(path).into_iter().filter(|file| !named.contains(file) && !recorded.contains_key(file)) {
        add(&file, format!("it was added: {MANIFEST_NAME} does not name it"));
    }
    if !recorded.is_empty() {
        let stated = |kind| manifest.datasets.iter().filter(move |one| one.kind == kind).flat_map(|one| &one.parts);
        let stated = [DatasetKind::Results, DatasetKind::Answers].into_iter().flat_map(stated);
        // The empty part of a check is not in the ledger.
        for part in stated.filter(|part| part.rows > 0) {
            if recorded.get(&part.path) != Some(&Some((part.bytes, part.sha256.clone()))) {
                add(&part.path, format!("{MANIFEST_NAME} does not describe it as the ledger does"));
            }
        }
        let unnamed = recorded.keys().filter(|path| !named.contains(*path)).count();
        if unnamed > 0 {
            notes.push(format!(
                "the ledger has {} that {MANIFEST_NAME} does not name, as after a run that was killed; `rescreen collect` publishes",
                counted(unnamed as u64, "file", "files")
            ));
        }
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
    Ok(Verified { subject, files, faults, notes, seal: None, about: Some(about) })
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

/// The files in the folders whose files a query reads by a pattern. Others are read through the manifest, and hidden ones not at all.
fn in_results(folder: &Path) -> Vec<String> {
    let of_kind = |kind: DatasetKind| {
        let files = files::files_in(&folder.join(kind.as_str())).unwrap_or_default();
        files.into_iter().map(move |file| format!("{}/{file}", kind.as_str()))
    };
    let is_hidden = |file: &String| file.split('/').any(|part| part.starts_with('.'));
    [DatasetKind::Results, DatasetKind::Answers].into_iter().flat_map(of_kind).filter(|file| !is_hidden(file)).collect()
}

/// Files by their paths: size in bytes and SHA-256 of each, once it is complete.
type Recorded = BTreeMap<String, Option<(u64, String)>>;

/// The result parts as the ledger records them; `None` without a ledger.
fn by_ledger(folder: &Path) -> Result<Option<Recorded>, Error> {
    let Some(reading) = Reading::find(&ledger_in(folder))? else { return Ok(None) };
    let mut recorded = BTreeMap::new();
    for part in reading.parts()? {
        if part.answers.is_some() {
            recorded.insert(part.answers_path(), part.answers);
        }
        recorded.insert(part.path, part.written);
    }
    Ok(Some(recorded))
}
