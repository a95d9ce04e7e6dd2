//! The output folder: only its owner can read it, and a README in it says what must not be deleted. This module decides
//! which leftovers of earlier runs are removed: temporary files, and snapshot files that the manifest no longer names.
//! Result parts and files of others are never touched.

use super::{
    OutputFormat, OutputMode, SinkError,
    empty_part::EMPTY_PART_NUMBER,
    images::{IMAGES, digest_in},
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

/// The file with the id of the ledger that a folder belongs to.
pub(super) const CLAIM_NAME: &str = "ledger.id";
const README_NAME: &str = "README.txt";

/// Larger than the README of any release.
const README_BYTES_MAX: u64 = 64 << 10;

/// The first words of every README that rescreen writes. A file with other words is not ours.
const README_BEGINS: &str = "This folder was written by rescreen.";

const README: &str = "\
ledger.sqlite      The ledger: what was asked, sent, answered and charged. Do not delete, edit or move it. Without it
                   there is no record of what was paid for, and running the campaign again may cost credits again.
ledger.sqlite-wal  The newest part of the ledger, until it is moved into ledger.sqlite. It exists during a run and after
                   one that was killed. ledger.sqlite is incomplete without it: back up and move both together.
ledger.sqlite-shm  Belongs to ledger.sqlite-wal. SQLite creates it again.
ledger.id          Identifies the ledger that this folder belongs to, so that another campaign does not write to it.
ledger.lock        Lets only one run at a time use the ledger, and counts its commits. Do not remove it: a run stops if
                   it is removed.
manifest.json      The valid files, their columns and digests, and the totals. \"complete\": true means that every row
                   of the input is answered or accounted for. It is written with the first results.
results/           The answers, one folder for each check. They are final: rows are only added, so results/**/* can be
                   read at any time. Only `rescreen purge` removes rows.
answers/           The whole answers, if [output] answer = \"dataset\".
failures/          Rows that could not be read, mapped or sent, or were refused, and why.
failures.csv       The same rows with their original columns, to correct or send back. Copy it before you edit it: each
                   publication replaces it.
pending/           Rows that are not settled yet, or whose answer no rule recognises.
report.html        The page that `rescreen report` writes. It has no personal data.
images/            Images of the answers, named by their digest, if [output] images = \"files\".
skipped/           Rows that were not checked, because of `when`.
before-*/          The outputs that were here before --new-ledger started a new ledger.

failures/, pending/ and skipped/ are snapshots. Each publication writes new part-* files there and removes the older ones,
so do not keep your own part-* files in these folders. pending/ and skipped/ have no rows while a run is under way: then
manifest.json says \"under_way\": true, and counts their rows. Read the snapshots through manifest.json, which names the current
files.

To resume, or to publish again, run the same command again: what was paid for is not paid for twice. Without the input
or the campaign file, `rescreen collect` on this folder settles what is in doubt and publishes what was answered.
";

/// The README of a folder with answers of a mode.
fn readme(mode: OutputMode) -> String {
    let invented = mode.invented_by().map(|inventor| {
        format!(
            "THE ANSWERS IN IT ARE INVENTED, NOT REAL VERIFICATIONS: they come from {inventor}. No verdict says anything \
             about\na person or a company.\n\n"
        )
    });
    format!(
        "{README_BEGINS} It contains personal data: restrict access to the people who need it.\n\n{}{README}",
        invented.unwrap_or_default()
    )
}

/// rescreen never writes larger numbers.
const SNAPSHOT_NUMBER_MAX: u64 = 1_000_000_000_000;

/// The datasets that are replaced as a whole.
const SNAPSHOTS: [DatasetKind; 3] = [DatasetKind::Failures, DatasetKind::Pending, DatasetKind::Skipped];

/// Whether a file name is a temporary name of rescreen.
fn is_temporary(name: &str) -> bool {
    let ours = [MANIFEST_NAME, README_NAME, CLAIM_NAME];
    if name.starts_with(FAILURES_CSV_TEMPORARY) && name.ends_with(".tmp") {
        return true;
    }
    file_of_temporary(name)
        .is_some_and(|file| ours.contains(&file) || snapshot_number(file).is_some() || digest_in(file).is_some())
}

/// The number in a part's file name.
pub(super) fn snapshot_number(name: &str) -> Option<u64> {
    let (number, extension) = name.strip_prefix("part-")?.split_once('.')?;
    let is_number = number.len() >= 6 && number.bytes().all(|digit| digit.is_ascii_digit());
    (is_number && extension.parse::<OutputFormat>().is_ok()).then(|| number.parse().ok())?
}

/// One more than the highest number of an existing snapshot part: nothing is replaced, and readers of the old parts are
/// not disturbed.
pub fn next_snapshot(folder: &Path) -> u64 {
    let entries = SNAPSHOTS.iter().filter_map(|kind| fs::read_dir(folder.join(kind.as_str())).ok()).flatten().flatten();
    let numbers = entries.filter_map(|entry| snapshot_number(&entry.file_name().to_string_lossy()));
    numbers.filter(|number| *number <= SNAPSHOT_NUMBER_MAX).max().unwrap_or(0) + 1
}

/// Writes the README of an output folder, or updates an older one. A file with that name that is not ours is left
/// unchanged.
pub fn write_readme(folder: &Path, mode: OutputMode) -> Result<(), SinkError> {
    let readme = readme(mode);
    let path = folder.join(README_NAME);
    let mut file = match files::read(&path, Links::Refused, README_BYTES_MAX) {
        Ok(found) if found == readme.as_bytes() || !found.starts_with(README_BEGINS.as_bytes()) => return Ok(()),
        Ok(_) => NewFile::create(&path)?,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
            create_folder(folder)?;
            NewFile::create(&path)?
        }
        // Larger than any README of ours, not a regular file, or unreadable: not ours.
        Err(_) => return Ok(()),
    };
    file.write_all(readme.as_bytes()).map_err(|fault| SinkError::Storage { path, step: "writing", fault })?;
    file.publish().map(|_| ())
}

/// The names of what a campaign publishes in its folder.
pub(super) const PUBLISHED: [&str; 7] =
    ["manifest.json", "results", "failures", "pending", "skipped", "answers", FAILURES_CSV];

/// The failed rows as CSV, to be corrected.
pub const FAILURES_CSV: &str = "failures.csv";
/// How the names of its temporary files begin.
pub const FAILURES_CSV_TEMPORARY: &str = ".rescreen-failures-";

/// The first published name under which a folder has files.
pub fn used(folder: &Path) -> Option<&'static str> {
    PUBLISHED.into_iter().find(|name| has_files(&folder.join(name)))
}

/// Whether a folder has a manifest or a result file.
pub fn is_published(folder: &Path) -> bool {
    folder.join(PUBLISHED[0]).exists() || has_files(&folder.join(PUBLISHED[1]))
}

/// Whether this path is a file, or a folder with a file anywhere below it.
fn has_files(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else { return path.is_file() };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => has_files(&entry.path()),
        Ok(_) => !is_temporary(&entry.file_name().to_string_lossy()),
        Err(_) => true,
    })
}

/// Whether a folder has result parts other than these, given by their paths in the folder.
pub fn has_other_results(folder: &Path, known: &HashSet<String>) -> bool {
    let checks = fs::read_dir(folder.join(PUBLISHED[1])).into_iter().flatten().flatten();
    let mut parts = checks.flat_map(|check| {
        let parts = fs::read_dir(check.path()).into_iter().flatten().flatten();
        parts.map(move |part| (check.file_name(), part.file_name()))
    });
    parts.any(|(check, part)| {
        let (check, part) = (check.to_string_lossy(), part.to_string_lossy());
        snapshot_number(&part).is_some_and(|number| number != EMPTY_PART_NUMBER)
            && !known.contains(&format!("{}/{check}/{part}", PUBLISHED[1]))
    })
}

/// Moves the published files of a folder into a subfolder, where no pattern like `results/**` finds them. The manifest
/// is moved first: without it no file is valid. With `claim`, the folder belongs to no ledger afterwards.
pub fn set_aside(folder: &Path, aside: &Path, claim: bool) -> Result<(), SinkError> {
    let images = folder.join(IMAGES);
    let has_images = fs::read_dir(&images)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.file_name().to_str().is_some_and(|name| digest_in(name).is_some()));
    let names = PUBLISHED.into_iter().chain(claim.then_some(CLAIM_NAME)).chain(has_images.then_some(IMAGES));
    for name in names {
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

/// Removes published files, given by their paths in the folder. One that is gone already is fine.
///
/// # Errors
/// One cannot be removed.
pub fn remove_published(folder: &Path, paths: &[String]) -> Result<(), SinkError> {
    for path in paths.iter().map(|path| folder.join(path)) {
        match fault_point::pass(Point::Remove).and_then(|()| fs::remove_file(&path)) {
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => {
                return Err(SinkError::Storage { path, step: "removing", fault });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Removes stale temporary files, and snapshot files that the manifest no longer names. Only the process that holds the
/// ledger may call it, after it has written the manifest. Returns the number of removed files. Temporary files of results
/// are left by a process that died, so they are only looked for if `is_thorough`.
pub fn sweep(folder: &Path, manifest: &Manifest, is_thorough: bool) -> Result<u64, SinkError> {
    let named: HashSet<&str> =
        manifest.datasets.iter().flat_map(|dataset| &dataset.parts).map(|part| part.path.as_str()).collect();
    let has_failures_csv = manifest.files.iter().any(|file| file.path == FAILURES_CSV);
    let mut removed =
        remove(folder, "", false, &|name, _| is_temporary(name) || (name == FAILURES_CSV && !has_failures_csv))?;
    if is_thorough {
        removed += remove(folder, "results/", true, &|name, _| is_temporary(name))?;
        removed += remove(folder, "answers/", true, &|name, _| is_temporary(name))?;
        removed += remove(folder, &format!("{IMAGES}/"), false, &|name, _| is_temporary(name))?;
    }
    for kind in SNAPSHOTS {
        removed += remove(folder, &format!("{}/", kind.as_str()), false, &|name, path| {
            is_temporary(name) || (snapshot_number(name).is_some() && !named.contains(path))
        })?;
    }
    Ok(removed)
}

/// Removes the files below `under` (relative, ending in `/`) for which `is_stale` is true. Links are not followed.
fn remove(folder: &Path, under: &str, deep: bool, is_stale: &dyn Fn(&str, &str) -> bool) -> Result<u64, SinkError> {
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
            removed += remove(folder, &format!("{under}{name}/"), deep, is_stale)?;
        } else if file_type.is_file() && is_stale(&name, &format!("{under}{name}")) {
            fault_point::pass(Point::Remove)
                .and_then(|()| fs::remove_file(entry.path()))
                .map_err(failed("removing a stale file"))?;
            removed += 1;
        }
    }
    Ok(removed)
}
