//! The output folder: the owner's alone, with a README that says what must not be deleted. It decides what is left over
//! from earlier runs and may go: temporary files, and snapshot files the manifest no longer names. Result parts and what
//! others put there are never touched.

use super::{
    SinkError,
    manifest::{DatasetKind, Manifest},
    new_file::{NewFile, is_temporary},
};
use crate::model::fault_point::{self, Point};
use std::{
    collections::HashSet,
    fs,
    io::{self, Write},
    path::Path,
};

const README_NAME: &str = "README.txt";

/// How every README of ours begins: another file of that name is not ours.
const README_BEGINS: &str = "This folder was written by rescreen.";

const README: &str = "\
This folder was written by rescreen. It holds personal data: let only those read it who must.

ledger.sqlite      The receipts: what was asked, sent, answered and charged. Do not delete, edit or move it. Without it
                   nothing shows what was paid for, and running the campaign again may cost credits again.
ledger.sqlite-wal  Receipts too: the newest ones, until they are moved into ledger.sqlite. It is there during a run and
                   after one that was killed. ledger.sqlite without it is incomplete: back up and move both together.
ledger.sqlite-shm  Belongs to ledger.sqlite-wal; SQLite makes it again.
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

failures/, pending/ and skipped/ are snapshots, replaced at each publication: read them through manifest.json, which
names the current files.

To resume, or to publish again, run the same command again: what was paid for is not paid for twice. Without the input
or the campaign file, `rescreen collect` on this folder settles what is in doubt and publishes what was answered.
";

/// The kinds that are replaced as a whole.
const SNAPSHOTS: [DatasetKind; 3] = [DatasetKind::Failures, DatasetKind::Pending, DatasetKind::Skipped];

/// Makes a folder and its parents, readable by the owner alone; one that exists is left as it is.
pub fn create_folder(folder: &Path) -> Result<(), SinkError> {
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|fault| SinkError::Storage {
        path: folder.to_owned(),
        step: "making the folder",
        fault,
    })
}

/// Writes the README of an output folder, or brings an older one up to date. A file of that name that is not ours is left
/// as it is.
pub fn write_readme(folder: &Path) -> Result<(), SinkError> {
    let path = folder.join(README_NAME);
    match fs::read(&path) {
        Ok(found) if found == README.as_bytes() || !found.starts_with(README_BEGINS.as_bytes()) => return Ok(()),
        _ => {}
    }
    create_folder(folder)?;
    let mut file = NewFile::create(&path)?;
    file.write_all(README.as_bytes()).map_err(|fault| SinkError::Storage { path, step: "writing", fault })?;
    file.publish().map(|_| ())
}

/// What a campaign publishes, by name in its folder.
const PUBLISHED: [&str; 5] = ["manifest.json", "results", "failures", "pending", "skipped"];

/// Whether something was published in a folder: a manifest, or a file of results.
pub fn is_published(folder: &Path) -> bool {
    folder.join(PUBLISHED[0]).exists() || has_files(&folder.join(PUBLISHED[1]))
}

fn has_files(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => has_files(&entry.path()),
        Ok(_) => !is_temporary(&entry.file_name().to_string_lossy()),
        Err(_) => true,
    })
}

/// Moves what was published in a folder into another one below it, where no pattern like `results/**` finds it. The
/// manifest goes first: without it nothing counts.
pub fn set_aside(folder: &Path, aside: &Path) -> Result<(), SinkError> {
    for name in PUBLISHED {
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
        removed += remove(folder, &format!("{}/", kind.as_str()), true, &|name, path| {
            let ours = name.starts_with("part-") && (name.ends_with(".parquet") || name.ends_with(".jsonl"));
            is_temporary(name) || (ours && !named.contains(path))
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
