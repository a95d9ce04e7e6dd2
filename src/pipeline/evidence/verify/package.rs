//! Evidence as it is found: a folder, or an archive of one. Nothing in it is trusted: files are only read, and never unpacked.

use super::super::{archive, checksums::CHECKSUMS, facts::FACTS};
use crate::{
    error::Error,
    files::{self, Links},
    sink::MANIFEST_NAME,
};
use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};
use zip::ZipArchive;

/// The most bytes of a file that is read as a whole. A list of 100,000 files takes a tenth of this.
const WHOLE_BYTES_MAX: u64 = 256 << 20;

/// How an archive begins.
const BEGINS: [u8; 4] = *b"PK\x03\x04";

/// Evidence.
pub struct Package {
    path: PathBuf,
    /// The archive, or why it cannot be read; `None` for a folder.
    archive: Option<Result<Box<ZipArchive<File>>, String>>,
}

impl Package {
    /// Opens evidence; `None` if the path is a folder without any.
    ///
    /// # Errors
    /// The path does not exist, or is a file but not an archive.
    pub fn open(path: &Path) -> Result<Option<Package>, Error> {
        let found = std::fs::metadata(path);
        let found = found.map_err(|fault| Error::Config(format!("{}: {fault}", path.display())))?;
        if found.is_dir() {
            let is_evidence = [CHECKSUMS, FACTS].iter().any(|name| path.join(name).is_file());
            return Ok(is_evidence.then(|| Package { path: path.to_owned(), archive: None }));
        }
        let mut file = files::open(path, Links::Followed)
            .map_err(|fault| Error::Config(format!("{}: {fault}", path.display())))?;
        let mut begins = [0; BEGINS.len()];
        let begins = file.read_exact(&mut begins).is_ok_and(|()| begins == BEGINS);
        if !begins && !archive::is_named(path) {
            return Err(neither(path));
        }
        let archive = ZipArchive::new(file).map_err(|fault| fault.to_string());
        Ok(Some(Package { path: path.to_owned(), archive: Some(archive.map(Box::new)) }))
    }

    /// The name of the folder or archive.
    pub fn name(&self) -> String {
        self.path
            .file_name()
            .map_or_else(|| self.path.display().to_string(), |name| name.to_string_lossy().into_owned())
    }

    /// Whether an archive is as it was written, also where no file of it is.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn whole(&mut self) -> Result<(), String> {
        match &mut self.archive {
            None => Ok(()),
            Some(Ok(archive)) => archive::check(&self.path, archive),
            Some(Err(fault)) => Err(format!("expected an archive of evidence: {fault}")),
        }
    }

    /// Whether files can be read from it.
    pub fn is_readable(&self) -> bool {
        !matches!(self.archive, Some(Err(_)))
    }

    /// The paths of its files, with `/`.
    ///
    /// # Errors
    /// They cannot be listed.
    pub fn names(&self) -> Result<Vec<String>, String> {
        match &self.archive {
            None => files::files_in(&self.path).map_err(|fault| fault.to_string()),
            Some(Ok(archive)) => {
                let names =
                    archive.file_names().map(|name| name.map(Cow::into_owned).map_err(|fault| fault.to_string()));
                names.collect()
            }
            Some(Err(fault)) => Err(fault.clone()),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or `read` failed.
    pub fn read<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut dyn Read) -> Result<T, ReadFault>,
    ) -> Result<T, String> {
        let read = match &mut self.archive {
            None => read(&mut files::open(&self.path.join(name), Links::Refused).map_err(|fault| fault.to_string())?),
            Some(Ok(archive)) => read(&mut archive.by_name(name).map_err(|fault| fault.to_string())?),
            Some(Err(fault)) => Err(ReadFault(fault.clone())),
        };
        read.map_err(|ReadFault(fault)| fault)
    }

    /// The whole content of a file.
    ///
    /// # Errors
    /// It is missing, cannot be read, or is too large.
    pub fn content(&mut self, name: &str) -> Result<Vec<u8>, String> {
        self.read(name, |file| {
            let mut bytes = Vec::new();
            file.take(WHOLE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
            match bytes.len() as u64 > WHOLE_BYTES_MAX {
                true => Err(ReadFault(format!("expected at most {WHOLE_BYTES_MAX} bytes, found more"))),
                false => Ok(bytes),
            }
        })
    }
}

/// The error of a path where neither evidence nor published files are.
pub fn neither(path: &Path) -> Error {
    Error::Config(format!(
        "{}: expected evidence ({CHECKSUMS}, or a .zip file), or published files ({MANIFEST_NAME}), found neither",
        path.display()
    ))
}

/// Why a file could not be read, or what is wrong with its content.
pub struct ReadFault(pub String);

impl From<io::Error> for ReadFault {
    fn from(fault: io::Error) -> ReadFault {
        ReadFault(fault.to_string())
    }
}
