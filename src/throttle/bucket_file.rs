//! The token bucket of an account, in a small file that all campaigns on one machine share. Only one process at a time
//! can read and write it, for microseconds. If the file is not a valid record, nothing is known about the last minute.

use super::record::{RECORD_BYTES, Record};
use crate::{files, model::key::fingerprint};
use std::{
    fs::{File, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// The file is reopened at this interval, so that a removed or replaced folder is noticed.
const OPENED_MAX: Duration = Duration::from_secs(1);

/// The token bucket of one account, kept in a file.
#[derive(Debug)]
pub struct BucketFile {
    path: PathBuf,
    opened: Option<(File, Instant)>,
}

/// Why the file was not updated.
#[derive(Debug)]
pub(super) enum Unchanged {
    /// Another process has it locked.
    Busy,
    Storage(io::Error),
}

impl BucketFile {
    /// Opens the bucket of an account in this folder, which is created if it is missing. `account` identifies the
    /// account. The file name contains only a digest of it.
    ///
    /// # Errors
    /// The folder or the file cannot be read or written.
    pub fn open(folder: &Path, account: &str) -> io::Result<BucketFile> {
        files::private_folder(folder)?;
        if let Some(other_writers) = files::other_writers_in(folder) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, other_writers));
        }
        let path = folder.join(format!("rate-{}", fingerprint(b"rescreen rate", account)));
        let mut file = BucketFile { path, opened: None };
        file.opened()?;
        Ok(file)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Locks the file, reads the record if there is one, and writes the record that `decide` returns, if any.
    pub(super) fn update<T>(
        &mut self,
        decide: impl FnOnce(Option<Record>) -> (Option<Record>, T),
    ) -> Result<T, Unchanged> {
        let file = self.opened().map_err(Unchanged::Storage)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Unchanged::Busy),
            Err(TryLockError::Error(error)) => return Err(Unchanged::Storage(error)),
        }
        let updated = update_locked(file, decide);
        file.unlock().map_err(Unchanged::Storage)?;
        updated.map_err(Unchanged::Storage)
    }

    fn opened(&mut self) -> io::Result<&mut File> {
        let recent = self.opened.take().filter(|(_, at)| at.elapsed() < OPENED_MAX);
        let (file, at) = match recent {
            Some(opened) => opened,
            None => (files::open_private(&self.path)?, Instant::now()),
        };
        Ok(&mut self.opened.insert((file, at)).0)
    }
}

fn update_locked<T>(file: &mut File, decide: impl FnOnce(Option<Record>) -> (Option<Record>, T)) -> io::Result<T> {
    let mut bytes = Vec::with_capacity(RECORD_BYTES + 1);
    file.seek(SeekFrom::Start(0))?;
    file.take(RECORD_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    let (record, decided) = decide(Record::decoded(&bytes));
    if let Some(record) = record {
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&record.encoded())?;
        if bytes.len() > RECORD_BYTES {
            file.set_len(RECORD_BYTES as u64)?;
        }
    }
    Ok(decided)
}
