//! A temporary folder for one case, in memory if the machine supports it, because the checks do not need the disk.

use std::path::Path;
use tempfile::TempDir;

pub fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let found = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    found.or_else(|_| tempfile::tempdir()).expect("there is a folder for temporary files")
}
