//! The identity of a file, whatever its name. It tells whether a file that is open is still the one at its path.

use std::{fs::Metadata, io, path::Path};

/// The identity of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId(u64, u64);

impl FileId {
    /// The identity of the file at a path.
    ///
    /// # Errors
    /// There is no such file, or it cannot be examined.
    pub fn at(path: &Path) -> io::Result<FileId> {
        std::fs::metadata(path).map(|metadata| FileId::of(&metadata))
    }

    /// The identity of an open file.
    #[cfg(unix)]
    pub fn of(metadata: &Metadata) -> FileId {
        use std::os::unix::fs::MetadataExt;
        FileId(metadata.dev(), metadata.ino())
    }

    /// On other systems, an open file cannot be removed or replaced.
    #[cfg(not(unix))]
    pub fn of(_metadata: &Metadata) -> FileId {
        FileId(0, 0)
    }
}
