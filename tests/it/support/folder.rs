//! A folder with lists, in which a user calls the program.

use super::program::{Said, rescreen};
use std::{fs, path::Path};
use tempfile::TempDir;

/// A campaign in production, without a name: an AML screening of each row of `book.csv`, and a VIN check of those with a vehicle.
pub const AML_AND_VIN: &str = r#"
    mode = "production"
    [service]
    api_key = { env = "RESCREEN_API_KEY" }
    per_minute = 600_000
    per_minute_max = 900_000
    [input]
    paths = ["book.csv"]
    id = "no"
    [budget]
    max_credits = 100_000
    prices = { aml-screening = 1, vin-decode = 1 }
    [[check]]
    use = "aml-screening"
    name = "aml"
    fields.name = "name"
    fields.entity = { value = 0 }
    fields.country = { value = "za" }
    [[check]]
    use = "vin-decode"
    name = "vin"
    when = "vehicle == 'yes'"
    fields.vin = "vin"
"#;

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
