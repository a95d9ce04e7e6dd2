//! The library that makes the system's storage calls fail, built from its C source where a compiler is installed.

use crate::support::compiled;
use std::path::PathBuf;
use tempfile::TempDir;

/// The library, as long as this is held.
pub struct Preload {
    _folder: TempDir,
    pub library: PathBuf,
}

impl Preload {
    /// # Errors
    /// Why the library is not available here.
    pub fn built() -> Result<Preload, String> {
        let (folder, library) = compiled::library("faults/failing_storage.c")?;
        Ok(Preload { _folder: folder, library })
    }
}
