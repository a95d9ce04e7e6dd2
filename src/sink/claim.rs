//! Which ledger an output folder belongs to. A folder belongs to one ledger, whose id is in a small file there, and the
//! results of another ledger are never replaced. This module decides whether a run may write to a folder.

use super::{
    SinkError,
    folder::{CLAIM_NAME, PUBLISHED, used},
    manifest::{Dataset, DatasetKind},
    new_file::{NewFile, create_folder, digest},
};
use crate::files::{self, Links};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

/// The claim is two short lines.
const CLAIM_BYTES_MAX: u64 = 512;

/// Claims an output folder for a ledger, or finds that it already belongs to it. `id` is the ledger's id, and
/// `campaign` the name of its campaign. `holds_ledger` means that the ledger is in this folder: then a lost claim is
/// written again.
///
/// # Errors
/// The folder belongs to another ledger, contains files with the same names that no ledger claimed, or cannot be
/// written.
pub fn claim(folder: &Path, id: &str, campaign: &str, holds_ledger: bool) -> Result<(), SinkError> {
    refuse_links(folder)?;
    refuse_inside_another(folder)?;
    let path = folder.join(CLAIM_NAME);
    let mut file = match (claimed_by(folder)?, used(folder)) {
        (Some(owner), _) if owner.id == id => return Ok(()),
        // The earlier ledger in this folder published nothing.
        (Some(_), None) if holds_ledger => NewFile::create(&path)?,
        (Some(owner), _) => {
            return Err(SinkError::OtherLedger { path: folder.to_owned(), campaign: owner.campaign });
        }
        (None, Some(name)) if !holds_ledger => return Err(SinkError::NotOurs { path: folder.join(name) }),
        (None, _) => {
            create_folder(folder)?;
            NewFile::create_new(&path)?
        }
    };
    let text = format!("{id}\n{campaign}\n");
    file.write_all(text.as_bytes()).map_err(|fault| SinkError::Storage {
        path: path.clone(),
        step: "writing",
        fault,
    })?;
    match file.publish() {
        // Another run claimed it first.
        Err(SinkError::NotOurs { .. }) => claim(folder, id, campaign, holds_ledger),
        published => published.map(drop),
    }
}

/// The ledger that owns a folder.
pub struct Owner {
    id: String,
    /// The name of its campaign.
    pub campaign: String,
}

/// The ledger that a folder belongs to, if there is one.
///
/// # Errors
/// The claim cannot be read.
pub fn claimed_by(folder: &Path) -> Result<Option<Owner>, SinkError> {
    let path = folder.join(CLAIM_NAME);
    let found = files::found(&path, Links::Refused, CLAIM_BYTES_MAX)
        .and_then(|bytes| bytes.map(files::text).transpose())
        .map_err(|fault| SinkError::Storage { path, step: "reading", fault })?;
    let Some(text) = found else { return Ok(None) };
    let mut lines = text.lines();
    let id = lines.next().unwrap_or_default().to_owned();
    Ok(Some(Owner { id, campaign: lines.next().unwrap_or_default().to_owned() }))
}

/// Refuses a dataset folder that is a symbolic link: another program may have made it, and it may lead anywhere.
pub(super) fn refuse_links(folder: &Path) -> Result<(), SinkError> {
    let folders = PUBLISHED.map(|name| folder.join(name));
    let of = |name: &str| fs::read_dir(folder.join(name)).into_iter().flatten().flatten().map(|entry| entry.path());
    let checks = of("results").chain(of("answers"));
    let is_link = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    match folders.into_iter().chain(checks).find(is_link) {
        Some(path) => Err(SinkError::Link { path }),
        None => Ok(()),
    }
}

/// Refuses a folder inside a dataset, such as `results`, of another output folder: patterns such as `results/**` would
/// find its files, and it would be moved with that dataset.
///
/// # Errors
/// It lies in such a folder.
pub fn refuse_inside_another(folder: &Path) -> Result<(), SinkError> {
    let Ok(whole) = fs::canonicalize(folder) else { return Ok(()) };
    for (inside, outer) in whole.ancestors().zip(whole.ancestors().skip(1)) {
        let is_dataset = inside.file_name().is_some_and(|name| PUBLISHED.iter().any(|published| name == *published));
        if is_dataset && let Some(owner) = claimed_by(outer)? {
            return Err(SinkError::OtherLedger { path: outer.to_owned(), campaign: owner.campaign });
        }
    }
    Ok(())
}

/// Compares the parts of results and answers with the digests of what was written, because others can change them.
///
/// # Errors
/// A part is missing, is not the one that was written, or cannot be read.
pub fn verify(folder: &Path, datasets: &[Dataset]) -> Result<(), SinkError> {
    let results = datasets.iter().filter(|one| matches!(one.kind, DatasetKind::Results | DatasetKind::Answers));
    for part in results.flat_map(|dataset| &dataset.parts) {
        let path = folder.join(&part.path);
        match digest(&path) {
            Ok(found) if found == part.sha256 => {}
            Ok(_) => return Err(SinkError::Changed { path }),
            Err(fault) => return Err(SinkError::Storage { path, step: "reading", fault }),
        }
    }
    Ok(())
}
