//! A temporary folder with a generated input and a campaign: production mode, one check, prices, ledger and Parquet.
//! All parts measure with it.

use super::{book, simulator_process::SimulatorProcess};
use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// A rate that is never reached.
pub const UNLIMITED: (u32, u32) = (60_000_000, 120_000_000);

pub struct Stage {
    dir: TempDir,
    pub rows: u64,
    of_columns: bool,
}

/// The settings of the stage's campaign.
pub struct Terms<'a> {
    pub url: &'a str,
    pub rate: (u32, u32),
    pub in_flight: usize,
}

impl Stage {
    /// An input whose name and country come from templates, as is usual.
    pub fn of_templates(rows: u64) -> Stage {
        let stage =
            Stage { dir: tempfile::tempdir().expect("there is space for temporary files"), rows, of_columns: false };
        let mut to = stage.new_book();
        book::write(&mut to, 1..rows + 1, |number| number).expect("there is space for the input");
        to.flush().expect("there is space for the input");
        stage
    }

    /// An input whose columns are sent unchanged.
    pub fn of_columns(rows: u64) -> Stage {
        let stage =
            Stage { dir: tempfile::tempdir().expect("there is space for temporary files"), rows, of_columns: true };
        let mut to = stage.new_book();
        writeln!(to, "customer_no,name,country,branch").expect("there is space for the input");
        for number in 1..=rows {
            let country = ["za", "na", "bw", "ke", "mz"][(number % 5) as usize];
            writeln!(to, "{number:08},Invented Person Q{number:x}q,{country},branch-{}", number % 40)
                .expect("there is space for the input");
        }
        to.flush().expect("there is space for the input");
        stage
    }

    fn new_book(&self) -> BufWriter<File> {
        BufWriter::with_capacity(1 << 20, File::create(self.book()).expect("a file in a new folder"))
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn book(&self) -> PathBuf {
        self.path().join("book.csv")
    }

    pub fn campaign_file(&self) -> PathBuf {
        self.path().join("campaign.toml")
    }

    pub fn ledger(&self) -> PathBuf {
        self.path().join("out/bench/ledger.sqlite")
    }

    /// Writes the campaign file, and removes the outputs of an earlier campaign.
    pub fn set(&self, terms: &Terms<'_>) {
        drop(fs::remove_dir_all(self.path().join("out")));
        let Terms { url, rate: (per_minute, per_minute_max), in_flight } = terms;
        let fields = if self.of_columns {
            "fields.entity = { value = 0 }"
        } else {
            "fields.name = \"{{ first_name }} {{ surname }}\"\nfields.country = \"{{ country | country }}\"\nfields.entity = { value = 0 }"
        };
        let text = format!(
            r#"campaign = "bench"
mode = "production"
[service]
url = "{url}"
per_minute = {per_minute}
per_minute_max = {per_minute_max}
in_flight = {in_flight}
[input]
paths = ["book.csv"]
id = "customer_no"
[budget]
max_credits = {}
prices = {{ aml-screening = 1 }}
[[check]]
use = "aml-screening"
{fields}
"#,
            self.rows
        );
        fs::write(self.campaign_file(), text).expect("a file in our own folder");
    }

    /// A command of the release program for this campaign.
    pub fn rescreen(&self, command: &str) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_rescreen"));
        program.arg(command).arg("-c").arg(self.campaign_file()).env("RESCREEN_API_KEY", "bench-key");
        program
    }
}

/// The service, in a separate process.
pub fn service(rate: (u32, u32), latency: &str) -> SimulatorProcess {
    let (per_minute, per_minute_max) = (rate.0.to_string(), rate.1.to_string());
    SimulatorProcess::start(&[
        "--per-minute",
        &per_minute,
        "--per-minute-max",
        &per_minute_max,
        "--credits=100000000",
        "--latency",
        latency,
    ])
}
