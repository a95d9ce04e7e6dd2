//! A folder with lists, in which a user calls the program.

use super::program::{Said, rescreen};
use std::{fmt::Write, fs, path::Path};
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

/// The customers of [`Folder::with_customers`].
pub const CUSTOMERS: usize = 90;

/// Whether a customer is the same person as the first.
pub fn is_the_first(customer: usize) -> bool {
    customer.is_multiple_of(9)
}

/// The name of a customer. A few have none.
pub fn customer_name(customer: usize) -> String {
    match customer {
        same if is_the_first(same) => "P00000 Vexford".to_owned(),
        other if other % 31 == 3 => String::new(),
        other => format!("P{other:05} Vexford"),
    }
}

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

    /// A campaign with the checks of [`AML_AND_VIN`] and `more` settings, and its book: every fifth customer has a vehicle, and
    /// the last line cannot be read.
    pub fn with_customers(campaign: &str, more: &str) -> Folder {
        let folder = Folder::with("rescreen.toml", format!("campaign = \"{campaign}\"\n{AML_AND_VIN}\n{more}"));
        let mut text = "no,name,vehicle,vin\n".to_owned();
        for number in 0..CUSTOMERS {
            let (name, vehicle) = (customer_name(number), if number % 5 == 0 { "yes" } else { "no" });
            writeln!(text, "C-{number:03},{name},{vehicle},AAVZZZ6SZEU{number:06}").unwrap();
        }
        text.push_str("C-090,torn,cells,too,many,here\n");
        folder.write("book.csv", text);
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
