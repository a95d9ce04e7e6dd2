//! What the doctor examines on this machine: that the state folder and the output folder can be written and have space,
//! and that the ledger is sound.

use super::finding::{Finding, Standing};
use crate::{
    files,
    ledger::{LedgerError, Reading},
    model::ExitCode,
};
use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

/// Less free space than this is worth a note. A campaign of 100,000 rows needs about a tenth of it.
const SPACE_LOW_BYTES: u64 = 1 << 30;
/// The size of the file that is written to try a folder.
const TRIAL_BYTES: usize = 64 * 1024;

/// The folder of the rate bucket, which all runs on this machine share.
pub(super) fn state_folder(folder: Option<&Path>) -> Finding {
    let Some(folder) = folder else {
        let detail = "neither XDG_STATE_HOME nor HOME names a folder: runs on this machine do not share the rate";
        return Finding::new("state folder", Standing::Note, detail);
    };
    let tried = files::private_folder(folder).and_then(|()| try_to_write(folder));
    match tried {
        Ok(()) => Finding::new("state folder", Standing::Good, folder.display().to_string()),
        Err(error) => {
            let detail = format!("{}: {error}; runs on this machine do not share the rate", folder.display());
            Finding::new("state folder", Standing::Note, detail)
        }
    }
}

/// The disk of the output folder, which need not exist yet.
pub(super) fn disk(out: &Path) -> Finding {
    let Some(folder) = nearest(out) else {
        let detail = format!("{}: no folder above it exists", out.display());
        return Finding::new("disk", Standing::Bad(ExitCode::Storage), detail);
    };
    if let Err(error) = try_to_write(&folder) {
        let detail = format!("{} cannot be written: {error}", folder.display());
        return Finding::new("disk", Standing::Bad(ExitCode::Storage), detail);
    }
    match free_bytes(&folder) {
        Some(free) if free < SPACE_LOW_BYTES => {
            let detail = format!("{} has only {} MiB left", folder.display(), free >> 20);
            Finding::new("disk", Standing::Note, detail)
        }
        Some(free) => Finding::new("disk", Standing::Good, format!("{}: {} GiB left", folder.display(), free >> 30)),
        None => Finding::new("disk", Standing::Good, format!("{} can be written", folder.display())),
    }
}

/// The ledger of the campaign, if there is one.
pub(super) fn ledger(path: &Path) -> Finding {
    let bad = |error: LedgerError| Finding::new("ledger", Standing::Bad(ExitCode::Storage), error.to_string());
    let reading = match Reading::find(path) {
        Ok(None) => {
            let detail = format!("{} does not exist yet", path.display());
            return Finding::new("ledger", Standing::Good, detail);
        }
        Ok(Some(reading)) => reading,
        Err(error) => return bad(error),
    };
    match reading.examine() {
        Ok(requests) => {
            let detail = format!("{}: sound, {requests} requests", path.display());
            Finding::new("ledger", Standing::Good, detail)
        }
        Err(error) => bad(error),
    }
}

/// The folder itself, or the nearest one above it that exists.
fn nearest(folder: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(folder).ok()?;
    absolute.ancestors().find(|folder| folder.is_dir()).map(Path::to_owned)
}

/// Writes, syncs and removes a small file.
fn try_to_write(folder: &Path) -> io::Result<()> {
    let path = folder.join(format!(".rescreen-doctor-{}", std::process::id()));
    let written = files::open_private(&path).and_then(|mut file| {
        file.write_all(&[0; TRIAL_BYTES])?;
        file.sync_all()
    });
    drop(fs::remove_file(&path));
    written
}

#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    let space = rustix::fs::statvfs(folder).ok()?;
    Some(space.f_bavail.saturating_mul(space.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_folder: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_does_not_exist_yet_is_tried_above() {
        let folder = tempfile::tempdir().unwrap();
        let finding = disk(&folder.path().join("out/2026-11"));
        assert_ne!(finding.standing, Standing::Bad(ExitCode::Storage), "{finding:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    }

    #[test]
    fn a_file_in_place_of_the_ledger_is_bad_and_a_missing_one_is_good() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        assert_eq!(ledger(&path).standing, Standing::Good);
        fs::write(&path, "not a database, but long enough to be read as one").unwrap();
        assert_eq!(ledger(&path).standing, Standing::Bad(ExitCode::Storage));
    }

    #[test]
    fn a_state_folder_that_cannot_be_written_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(state_folder(Some(&file.join("below"))).standing, Standing::Note);
        assert_eq!(state_folder(Some(&folder.path().join("state"))).standing, Standing::Good);
        assert_eq!(state_folder(None).standing, Standing::Note);
    }
}
