//! The bucket of an account as a small file that all campaigns of one machine share. It decides who may read and write
//! it, one process at a time and for microseconds. What the file holds is data: anything that is not a record reads as
//! nothing known.

use super::record::{RECORD_BYTES, Record};
use crate::{files, model::key::fingerprint};
use std::{
    fs::{File, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// The file is opened again this often, so that a folder that was removed or replaced is noticed.
const OPENED_MAX: Duration = Duration::from_secs(1);

/// The bucket of one account, kept in a file.
#[derive(Debug)]
pub struct BucketFile {
    path: PathBuf,
    opened: Option<(File, Instant)>,
}

/// Why the file did not change.
#[derive(Debug)]
pub(super) enum Unchanged {
    /// Another process has it at this moment.
    Busy,
    Storage(io::Error),
}

impl BucketFile {
    /// The bucket of an account in this folder, which is created where it is missing. `account` names the account, and only
    /// a digest of it is the file's name.
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

    /// Reads the record, if there is one, and writes what is decided, if anything, while no other process can.
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
