//! A folder with lists, in which a user calls the program.

use super::program::{Said, rescreen};
use std::{fs, path::Path};
use tempfile::TempDir;

/// A folder with lists.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn with(name: &str, bytes: impl AsRef<[u8]>) -> Folder {
        let folder = Folder::new();
        folder.write(name, bytes);
        folder
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), bytes).unwrap();
    }

    pub fn copy(&self, path: &Path, name: &str) {
        fs::copy(path, self.path().join(name)).unwrap();
    }

    pub fn say(&self, arguments: &[&str]) -> Said {
        Said::of(&mut rescreen(self.path(), arguments))
    }

    /// Runs `init` and returns the campaign file.
    #[track_caller]
    pub fn init(&self, arguments: &[&str]) -> String {
        self.say(&[&["init"], arguments].concat()).exits(0).without_data();
        fs::read_to_string(self.path().join("rescreen.toml")).unwrap()
    }
}
