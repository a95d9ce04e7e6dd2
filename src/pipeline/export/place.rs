//! Where an export goes: a hidden folder beside its final name, which is renamed when everything in it is complete. An
//! export that fails or is interrupted leaves nothing behind, and one that was killed is removed by the next.

use crate::{
    error::Error,
    files::{self, Links, rename_new},
    sink::{self, SinkError},
};
use std::{
    fs::File,
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;

/// How the name of an unfinished export begins.
const UNFINISHED: &str = ".rescreen-export-";
/// A file in an unfinished export, which is locked while the export runs.
const IN_USE: &str = ".in-use";
/// An unfinished export without that file may be just beginning or ending. It is removed if it is older than this.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 3_600);

/// An export being written.
pub struct NewPlace {
    to: PathBuf,
    parent: PathBuf,
    temporary: TempDir,
    in_use: File,
}

impl NewPlace {
    /// Begins an export: a folder, or one file. Nothing may have its name, `to`. Folders above it are created.
    ///
    /// # Errors
    /// Something has the name, or the folder above it cannot be written.
    pub fn begin(to: &Path, is_file: bool) -> Result<NewPlace, Error> {
        if to == Path::new("-") {
            let message = "--to -: an export is not written to standard output; name a new file or folder";
            return Err(Error::Config(message.to_owned()));
        }
        let noun = |is_file: bool| if is_file { "file" } else { "folder" };
        if let Ok(found) = std::fs::symlink_metadata(to) {
            return Err(Error::Config(format!(
                "--to {}: expected a {} that does not exist, found a {}; name a new one",
                to.display(),
                noun(is_file),
                noun(!found.is_dir()),
            )));
        }
        let parent = files::folder_of(to);
        sink::create_folder(parent)?;
        // Hidden until it is complete, and removed if anything fails.
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED);
        // Only the owner may read it, as in the folder of the campaign.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        remove_left_behind(parent);
        let temporary = builder.tempdir_in(parent).map_err(failed(to, "creating"))?;
        let in_use = mark_in_use(temporary.path()).map_err(failed(to, "creating"))?;
        sink::refuse_inside_another(temporary.path()).map_err(|error| match error {
            SinkError::OtherLedger { path, .. } => Error::Config(format!(
                "--to {}: expected a place outside the published files of {}, where queries would find it; name another one",
                to.display(),
                path.display()
            )),
            other => other.into(),
        })?;
        Ok(NewPlace { to: to.to_owned(), parent: parent.to_owned(), temporary, in_use })
    }

    /// The folder to write to.
    pub fn folder(&self) -> &Path {
        self.temporary.path()
    }

    /// Gives one file of the folder the name of the export, and removes the folder.
    ///
    /// # Errors
    /// Something got the name meanwhile, or the folder above it cannot be written.
    pub fn end_with(self, file: &str) -> Result<(), Error> {
        rename_new(&self.folder().join(file), &self.to).map_err(failed(&self.to, "renaming"))?;
        Ok(files::sync_folder(&self.parent).map_err(failed(&self.to, "fsync of the folder"))?)
    }

    /// Gives the export its name.
    ///
    /// # Errors
    /// Something got the name meanwhile, or the folder above it cannot be written.
    pub fn end(self) -> Result<(), Error> {
        let NewPlace { to, parent, temporary, in_use } = self;
        std::fs::remove_file(temporary.path().join(IN_USE)).map_err(failed(&to, "removing a file of"))?;
        let temporary = temporary.keep();
        let renamed = rename_new(&temporary, &to);
        if renamed.is_err() {
            drop(std::fs::remove_dir_all(&temporary));
        }
        drop(in_use);
        renamed.map_err(failed(&to, "renaming"))?;
        Ok(files::sync_folder(&parent).map_err(failed(&to, "fsync of the folder"))?)
    }
}

fn failed(to: &Path, step: &'static str) -> impl FnOnce(std::io::Error) -> SinkError {
    let path = to.to_owned();
    move |fault| SinkError::Storage { path, step, fault }
}

/// Locks an unfinished export until the file is closed.
fn mark_in_use(folder: &Path) -> std::io::Result<File> {
    let file = File::create_new(folder.join(IN_USE))?;
    file.try_lock()?;
    Ok(file)
}

/// Removes unfinished exports of programs that were killed: they contain results. What cannot be removed stays.
fn remove_left_behind(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.filter_map(Result::ok) {
        let is_export = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        if is_export && entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_abandoned(&entry.path()) {
            match std::fs::remove_dir_all(entry.path()) {
                Ok(()) => tracing::info!("removed an unfinished export"),
                Err(error) => tracing::warn!("an unfinished export cannot be removed: {error}"),
            }
        }
    }
}

/// Whether no program writes an unfinished export any more.
fn is_abandoned(folder: &Path) -> bool {
    match files::open(&folder.join(IN_USE), Links::Refused) {
        Ok(file) => file.try_lock().is_ok(),
        Err(_) => {
            let changed = std::fs::symlink_metadata(folder).and_then(|found| found.modified());
            changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED_AFTER))
        }
    }
}
