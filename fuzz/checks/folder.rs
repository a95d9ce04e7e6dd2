//! A folder for one case, in memory where the machine has such a place: what is checked is what is read, not the disk.

use std::path::Path;
use tempfile::TempDir;

pub fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let found = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    found.or_else(|_| tempfile::tempdir()).expect("there is a folder for what is temporary")
}
