//! A record of the commands that runs of this user printed, as digests in small files in the state folder. The ledger
//! records the command that continues a campaign, and others may have changed the ledger. `rescreen status` shows it
//! only if a run on this machine printed the same command for the same ledger.

use super::campaign::Campaign;
use crate::{
    files::{self, Links, access, other_writers_in},
    ledger::Ledger,
    model::key::fingerprint,
};
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The size of a note, a digest.
const NOTE_BYTES_MAX: u64 = 64;

/// Records that a run printed this command for its ledger.
pub fn note(ledger: &Ledger, campaign: &Campaign, command: Option<&str>) {
    let (Some(command), Some(folder)) = (command, &campaign.service.state_folder) else { return };
    let noted = || -> Result<(), crate::error::Error> {
        let ledger_id = ledger.reading()?.ledger_id()?;
        let written = write(&note_of(folder, &ledger_id), &digest(&ledger_id, command));
        written.map_err(|error| crate::error::Error::Internal(error.to_string()))
    };
    if let Err(error) = noted() {
        tracing::info!(
            "the state folder cannot be written ({error}): `rescreen status` will not show the next command"
        );
    }
}

/// Whether a run on this machine printed this command for this ledger.
pub fn is_known(folder: Option<&Path>, ledger_id: &str, command: &str) -> bool {
    let known = |folder: &Path| {
        let path = note_of(folder, ledger_id);
        let file = files::open(&path, Links::Refused).ok()?;
        let access = access(&file.metadata().ok()?);
        let is_ours = access.other_owner.is_none() && !access.others_write && other_writers_in(folder).is_none();
        let text = files::read_open(file, NOTE_BYTES_MAX).ok()?;
        Some(is_ours && text == digest(ledger_id, command).as_bytes())
    };
    folder.and_then(known).unwrap_or(false)
}

/// The note of a ledger: the last command is the only one that is shown.
fn note_of(folder: &Path, ledger_id: &str) -> PathBuf {
    folder.join(format!("next-{}", fingerprint(b"rescreen ledger of a command", ledger_id)))
}

fn digest(ledger_id: &str, command: &str) -> String {
    fingerprint(b"rescreen next command", &format!("{ledger_id}\n{command}"))
}

/// All digests have one length, so the file is overwritten in place.
fn write(path: &Path, digest: &str) -> io::Result<()> {
    path.parent().map_or(Ok(()), files::private_folder)?;
    files::open_private(path)?.write_all(digest.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_printed_command_of_a_ledger_is_known() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("state");
        let is_known = |ledger: &str, command: &str| is_known(Some(&folder), ledger, command);
        assert!(!is_known("one", "rescreen run"), "no folder");
        for command in ["rescreen run --yes", "rescreen run"] {
            write(&note_of(&folder, "one"), &digest("one", command)).unwrap();
            assert!(is_known("one", command));
        }
        assert!(!is_known("one", "rescreen run --yes"), "an earlier command");
        assert!(!is_known("two", "rescreen run"), "another ledger");
        assert!(!super::is_known(None, "one", "rescreen run"));
    }

    #[cfg(unix)]
    #[test]
    fn a_note_that_others_can_change_is_not_believed() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let (folder, ledger) = (home.path().join("state"), "one");
        let path = note_of(&folder, ledger);
        write(&path, &digest(ledger, "rescreen run")).unwrap();
        assert!(is_known(Some(&folder), ledger, "rescreen run"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(!is_known(Some(&folder), ledger, "rescreen run"));
    }
}
