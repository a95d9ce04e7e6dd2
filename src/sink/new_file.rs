//! A file that appears complete or not at all. It is written under a temporary name in the same folder, is on disk
//! before it is renamed, and is removed if it is abandoned. The order is: flush, fsync, rename, fsync of the folder.

use super::SinkError;
use crate::{
    files::{self, Links},
    model::{
        fault_point::{self, Point, unless_failing},
        key::hex,
    },
};
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// Small where storage is made to fail, so that even a small file is written in several steps.
fn buffer_bytes() -> usize {
    unless_failing(64 << 10, 4 << 10)
}

/// A file being written.
pub struct NewFile {
    path: PathBuf,
    temporary: PathBuf,
    writer: BufWriter<Disk>,
    hasher: Sha256,
    bytes: u64,
    published: bool,
    /// Whether an existing file with its name is replaced.
    replaces: bool,
}

/// A published file: its size in bytes and its SHA-256 in hexadecimal.
pub struct Published {
    pub bytes: u64,
    pub sha256: String,
}

/// The temporary name of a file: hidden, so that no pattern like `*.parquet` finds it.
fn temporary_name(name: &str) -> String {
    format!(".{name}.tmp")
}

/// The file name behind a temporary name; `None` for other names.
pub(super) fn file_of_temporary(name: &str) -> Option<&str> {
    name.strip_prefix('.')?.strip_suffix(".tmp")
}

impl NewFile {
    /// Begins a file in an existing folder, readable only by its owner. It replaces an existing file.
    pub(super) fn create(path: &Path) -> Result<NewFile, SinkError> {
        NewFile::begin(path, true)
    }

    /// Begins a file that replaces nothing. If another file has its name when it is published, that is
    /// [`SinkError::NotOurs`], unless the content is the same.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create_new(path: &Path) -> Result<NewFile, SinkError> {
        NewFile::begin(path, false)
    }

    fn begin(path: &Path, replaces: bool) -> Result<NewFile, SinkError> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("output");
        let temporary = path.with_file_name(temporary_name(name));
        let failed = |step| {
            let path = temporary.clone();
            move |fault| SinkError::Storage { path, step, fault }
        };
        if replaces {
            // A pipe, a device or a link with this name is not ours and is not replaced.
            files::check(path, Links::Refused).map_err(|fault| SinkError::Storage {
                path: path.to_owned(),
                step: "replacing",
                fault,
            })?;
        }
        match fs::remove_file(&temporary) {
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => {
                return Err(failed("removing a stale file")(fault));
            }
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&temporary).map_err(failed("creating"))?;
        Ok(NewFile {
            path: path.to_owned(),
            temporary,
            writer: BufWriter::with_capacity(buffer_bytes(), Disk(file)),
            hasher: Sha256::new(),
            bytes: 0,
            published: false,
            replaces,
        })
    }

    /// Syncs the file to disk and gives it its name.
    ///
    /// # Errors
    /// It cannot be written, or another file has its name.
    pub fn publish(mut self) -> Result<Published, SinkError> {
        let failed = |step| {
            let path = self.path.clone();
            move |fault| SinkError::Storage { path, step, fault }
        };
        self.writer.flush().map_err(failed("writing"))?;
        let Disk(file) = self.writer.get_ref();
        fault_point::pass(Point::Sync).and_then(|()| file.sync_all()).map_err(failed("fsync"))?;
        let sha256 = hex(&self.hasher.clone().finalize());
        fault_point::pass(Point::Rename).map_err(failed("renaming"))?;
        match self.rename() {
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists && !self.replaces => {
                // A run that was killed right after this rename left the same file.
                if digest(&self.path).map_err(failed("reading"))? != sha256 {
                    return Err(SinkError::NotOurs { path: self.path.clone() });
                }
            }
            renamed => {
                renamed.map_err(failed("renaming"))?;
                self.published = true;
            }
        }
        files::sync_folder(self.path.parent().unwrap_or(Path::new("."))).map_err(failed("fsync of the folder"))?;
        Ok(Published { bytes: self.bytes, sha256 })
    }

    fn rename(&self) -> io::Result<()> {
        if self.replaces || self.temporary == self.path {
            fs::rename(&self.temporary, &self.path)
        } else {
            files::rename_new(&self.temporary, &self.path)
        }
    }
}

/// The SHA-256 of a file, in hexadecimal.
pub(super) fn digest(path: &Path) -> io::Result<String> {
    files::sha256_of(files::open(path, Links::Refused)?)
}

/// The file below the buffer. Its writes go to the disk.
struct Disk(File);

impl Write for Disk {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        fault_point::pass(Point::Write)?;
        self.0.write(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Write for NewFile {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let count = self.writer.write(part)?;
        self.hasher.update(&part[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.published {
            // If it cannot be removed here, the next start removes it.
            let _ = fault_point::pass(Point::Remove).and_then(|()| fs::remove_file(&self.temporary));
        }
    }
}

/// Creates a folder and its parents, readable only by the owner. An existing folder is left unchanged.
pub fn create_folder(folder: &Path) -> Result<(), SinkError> {
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    files::private_folder(folder).map_err(|fault| SinkError::Storage {
        path: folder.to_owned(),
        step: "creating the folder",
        fault,
    })
}
