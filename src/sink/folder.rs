//! The output folder: the owner's alone, with a README that says what must not be deleted. It decides what is left over
//! from earlier runs and may go: temporary files, and snapshot files the manifest no longer names. Result parts and what
//! others put there are never touched.

use super::{
    OutputFormat, SinkError,
    manifest::{DatasetKind, MANIFEST_NAME, Manifest},
    new_file::{NewFile, create_folder, file_of_temporary},
};
use crate::{
    files::{self, Links},
    model::fault_point::{self, Point},
};
use std::{
    collections::HashSet,
    fs,
    io::{self, Write},
    path::Path,
};

/// The file that says to which ledger a folder belongs.
pub(super) const CLAIM_NAME: &str = "ledger.id";
const README_NAME: &str = "README.txt";

/// Larger than the README of any release.
const README_BYTES_MAX: u64 = 64 << 10;

/// How every README of ours begins: another file of that name is not ours.
const README_BEGINS: &str = "This folder was written by rescreen.";

const README: &str = "\
This folder was written by rescreen. It holds personal data: let only those read it who must.

ledger.sqlite      The receipts: what was asked, sent, answered and charged. Do not delete, edit or move it. Without it
                   nothing shows what was paid for, and running the campaign again may cost credits again.
ledger.sqlite-wal  Receipts too: the newest ones, until they are moved into ledger.sqlite. It is there during a run and
                   after one that was killed. ledger.sqlite without it is incomplete: back up and move both together.
ledger.sqlite-shm  Belongs to ledger.sqlite-wal; SQLite makes it again.
ledger.id          Says to which ledger this folder belongs, so that another campaign does not write into it.
ledger.lock        Lets one run at a time use the ledger, and notes how many commits it has. Do not remove it: a run that
                   is under way stops when it is gone.
manifest.json      The parts that count, their columns and digests, and the totals. \"complete\": true means that every
                   row of the input is answered or accounted for. It appears with the first results.
results/           The answers, one folder for each check. Final: rows are only ever added, so results/**/* can be read
                   as it is.
failures/          What could not be asked or was refused, and why.
pending/           What is not settled yet.
skipped/           What was not to be asked.
before-*/          What was here when a new ledger was begun with --new-ledger.

failures/, pending/ and skipped/ are snapshots. Each publication writes new part-* files there and removes the older ones,
so keep no such files of your own in these folders. Read the snapshots through manifest.json, which names the current
files.

To resume, or to publish again, run the same command again: what was paid for is not paid for twice. Without the input
or the campaign file, `rescreen collect` on this folder settles what is in doubt and publishes what was answered.
";

/// Larger numbers are not of our making.
const SNAPSHOT_NUMBER_MAX: u64 = 1_000_000_000_000;

/// The kinds that are replaced as a whole.
const SNAPSHOTS: [DatasetKind; 3] = [DatasetKind::Failures, DatasetKind::Pending, DatasetKind::Skipped];

/// Whether a file's name is a temporary one of ours.
fn is_temporary(name: &str) -> bool {
    let ours = [MANIFEST_NAME, README_NAME, CLAIM_NAME];
    file_of_temporary(name).is_some_and(|file| ours.contains(&file) || snapshot_number(file).is_some())
}

/// The number of a part by its file's name.
fn snapshot_number(name: &str) -> Option<u64> {
    let (number, extension) = name.strip_prefix("part-")?.split_once('.')?;
    let is_number = number.len() >= 6 && number.bytes().all(|digit| digit.is_ascii_digit());
    (is_number && extension.parse::<OutputFormat>().is_ok()).then(|| number.parse().ok())?
}

/// One more than the number of any part of a snapshot that is there: nothing is replaced, and readers of the old ones are
/// not disturbed.
pub fn next_snapshot(folder: &Path) -> u64 {
    let entries = SNAPSHOTS.iter().filter_map(|kind| fs::read_dir(folder.join(kind.as_str())).ok()).flatten().flatten();
    let numbers = entries.filter_map(|entry| snapshot_number(&entry.file_name().to_string_lossy()));
    numbers.filter(|number| *number <= SNAPSHOT_NUMBER_MAX).max().unwrap_or(0) + 1
}

/// Writes the README of an output folder, or brings an older one up to date. A file of that name that is not ours is left
/// as it is.
pub fn write_readme(folder: &Path) -> Result<(), SinkError> {
    let path = folder.join(README_NAME);
    let mut file = match files::read(&path, Links::Refused, README_BYTES_MAX) {
        Ok(found) if found == README.as_bytes() || !found.starts_with(README_BEGINS.as_bytes()) => return Ok(()),
        Ok(_) => NewFile::create(&path)?,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
            create_folder(folder)?;
            NewFile::create(&path)?
        }
        // Larger than any of ours, not a regular file, or not to be read: not ours.
        Err(_) => return Ok(()),
    };
    file.write_all(README.as_bytes()).map_err(|fault| SinkError::Storage { path, step: "writing", fault })?;
    file.publish().map(|_| ())
}

/// What a campaign publishes, by name in its folder.
pub(super) const PUBLISHED: [&str; 5] = ["manifest.json", "results", "failures", "pending", "skipped"];

/// What there is in a folder under the names that a campaign publishes.
pub fn used(folder: &Path) -> Option<&'static str> {
    PUBLISHED.into_iter().find(|name| has_files(&folder.join(name)))
}

/// Whether something was published in a folder: a manifest, or a file of results.
pub fn is_published(folder: &Path) -> bool {
    folder.join(PUBLISHED[0]).exists() || has_files(&folder.join(PUBLISHED[1]))
}

/// Whether there is a file at this path or, where it is a folder, anywhere below it.
fn has_files(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return path.is_file() };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => has_files(&entry.path()),
        Ok(_) => !is_temporary(&entry.file_name().to_string_lossy()),
        Err(_) => true,
    })
}

/// Whether a folder has result parts that are not among these, by their paths in the folder.
pub fn has_other_results(folder: &Path, known: &HashSet<String>) -> bool {
    let checks = fs::read_dir(folder.join(PUBLISHED[1])).into_iter().flatten().flatten();
    let mut parts = checks.flat_map(|check| {
        let parts = fs::read_dir(check.path()).into_iter().flatten().flatten();
        parts.map(move |part| (check.file_name(), part.file_name()))
    });
    parts.any(|(check, part)| {
        let (check, part) = (check.to_string_lossy(), part.to_string_lossy());
        snapshot_number(&part).is_some() && !known.contains(&format!("{}/{check}/{part}", PUBLISHED[1]))
    })
}

/// Moves what was published in a folder into another one below it, where no pattern like `results/**` finds it. The
/// manifest goes first: without it nothing counts. With `claim`, the folder belongs to no ledger afterwards.
pub fn set_aside(folder: &Path, aside: &Path, claim: bool) -> Result<(), SinkError> {
    for name in PUBLISHED.into_iter().chain(claim.then_some(CLAIM_NAME)) {
        let path = folder.join(name);
        match fs::rename(&path, aside.join(name)) {
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => {
                return Err(SinkError::Storage { path, step: "moving", fault });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Removes what no manifest names any more: stale temporary files, and snapshot files of earlier publications. To be
/// called by the one process that holds the ledger, after the manifest is written. Returns how many files went.
pub fn sweep(folder: &Path, manifest: &Manifest) -> Result<u64, SinkError> {
    let named: HashSet<&str> =
        manifest.datasets.iter().flat_map(|dataset| &dataset.parts).map(|part| part.path.as_str()).collect();
    let mut removed = remove(folder, "", false, &|name, _| is_temporary(name))?;
    removed += remove(folder, "results/", true, &|name, _| is_temporary(name))?;
    for kind in SNAPSHOTS {
        removed += remove(folder, &format!("{}/", kind.as_str()), false, &|name, path| {
            is_temporary(name) || (snapshot_number(name).is_some() && !named.contains(path))
        })?;
    }
    Ok(removed)
}

/// Removes the files below `under` (relative, ending in `/`) of which `goes` says so. Links are not followed.
fn remove(folder: &Path, under: &str, deep: bool, goes: &dyn Fn(&str, &str) -> bool) -> Result<u64, SinkError> {
    let here = folder.join(under);
    let failed = |step| {
        let path = here.clone();
        move |fault| SinkError::Storage { path, step, fault }
    };
    let entries = match fs::read_dir(&here) {
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries.map_err(failed("listing"))?,
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry.map_err(failed("listing"))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let file_type = entry.file_type().map_err(failed("listing"))?;
        if file_type.is_dir() && deep {
            removed += remove(folder, &format!("{under}{name}/"), deep, goes)?;
        } else if file_type.is_file() && goes(&name, &format!("{under}{name}")) {
            fault_point::pass(Point::Remove)
                .and_then(|()| fs::remove_file(entry.path()))
                .map_err(failed("removing a stale file"))?;
            removed += 1;
        }
    }
    Ok(removed)
}
