//! The promise: `rescreen init` writes a campaign file that `plan` reads, names why each column was chosen, leaves open
//! what it cannot know, and repeats no value of the list.

mod decisions;
mod hostile_headers;
mod layouts;
mod named_columns;
mod nothing_repeated;
mod real_lists;
mod sample_lists;

use crate::support::program::{Said, rescreen};
use std::{fs, path::Path};
use tempfile::TempDir;

/// A folder with lists.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn with(name: &str, bytes: impl AsRef<[u8]>) -> Folder {
        let folder = Folder::new();
        folder.write(name, bytes);
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), bytes).unwrap();
    }

    fn copy(&self, path: &Path, name: &str) {
        fs::copy(path, self.path().join(name)).unwrap();
    }

    fn say(&self, arguments: &[&str]) -> Said {
        Said::of(&mut rescreen(self.path(), arguments))
    }

    /// Runs `init` and returns the campaign file.
    #[track_caller]
    fn init(&self, arguments: &[&str]) -> String {
        self.say(&[&["init"], arguments].concat()).exits(0).without_data();
        fs::read_to_string(self.path().join("rescreen.toml")).unwrap()
    }
}

/// The lines of a campaign file that are settings.
fn settings(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect()
}

/// Whether a campaign file sets this.
#[track_caller]
fn sets(text: &str, line: &str) {
    assert!(settings(text).contains(&line), "expected `{line}` in:\n{text}");
}
