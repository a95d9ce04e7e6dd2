//! The world of a kill: three input files, a campaign file whose budget fits to the credit, a simulator that outlives the
//! runs, and one output folder they share.

use super::life::{End, Life, Phase};
use crate::support::{
    book,
    simulator_process::{Guarded, SimulatorProcess},
};
use rescreen::{
    ledger::{Reading, Sums},
    model::{RequestId, state::State},
    pipeline::{self, Campaign},
};
use std::{
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, SystemTime},
};
use tempfile::TempDir;

const IN_FLIGHT: u32 = 4;
const LATENCY_MS: u32 = 50;
/// Not 1: charges and credits are to be told apart.
pub const PRICE: u64 = 3;

pub struct World {
    dir: TempDir,
    pub simulator: SimulatorProcess,
    pub rows: u64,
    /// What `rescreen plan` says a run sends.
    pub requests: u64,
}

impl World {
    /// A book of `rows` people, every tenth of them a person of another row, in three files.
    pub fn new(rows: u64) -> World {
        let dir = tempfile::tempdir().expect("there is room for temporary files");
        let persons = rows - rows / 10;
        let cuts = [1, 1 + rows / 3, 1 + 2 * rows / 3, 1 + rows];
        for (at, cut) in cuts.windows(2).enumerate() {
            let mut file = File::create(dir.path().join(format!("book-{at}.csv"))).unwrap();
            // Every tenth row is a person of some other row, near or far.
            let person =
                |number: u64| if number.is_multiple_of(10) { 1 + number * 7 % persons } else { number - number / 10 };
            book::write(&mut file, cut[0]..cut[1], person).unwrap();
        }
        let price = format!("aml-screening={PRICE}");
        let latency = format!("{LATENCY_MS}ms");
        let credits = (rows * PRICE * 10).to_string();
        let simulator = SimulatorProcess::start(&[
            "--per-minute=6000000",
            "--per-minute-max=12000000",
            "--latency",
            &latency,
            "--credits",
            &credits,
            "--price",
            &price,
        ]);
        let mut world = World { dir, simulator, rows, requests: 0 };
        world.write_campaign(u64::MAX >> 1);
        let campaign = Campaign::load(&world.campaign_file()).unwrap();
        world.requests = pipeline::plan(&campaign, 0).unwrap().requests;
        // The budget fits to the credit: one charge or one hold too many, and the campaign cannot complete.
        world.write_campaign(world.requests * PRICE);
        world
    }

    fn write_campaign(&self, max_credits: u64) {
        let text = format!(
            r#"campaign = "kill"
mode = "production"
[service]
url = "{}"
per_minute = 600000
per_minute_max = 1200000
in_flight = {IN_FLIGHT}
[input]
paths = ["book-0.csv", "book-1.csv", "book-2.csv"]
id = "customer_no"
[budget]
max_credits = {max_credits}
prices = {{ aml-screening = {PRICE} }}
[[check]]
use = "aml-screening"
fields.name = "{{{{ first_name }}}} {{{{ surname }}}}"
fields.country = "{{{{ country | country }}}}"
fields.entity = {{ value = 0 }}
"#,
            self.simulator.url()
        );
        fs::write(self.campaign_file(), text).unwrap();
    }

    fn campaign_file(&self) -> PathBuf {
        self.dir.path().join("campaign.toml")
    }

    pub fn out(&self) -> PathBuf {
        self.dir.path().join("out/kill")
    }

    pub fn ledger(&self) -> PathBuf {
        self.out().join("ledger.sqlite")
    }

    /// What all requests take without kills.
    pub fn sending_time(&self) -> Duration {
        Duration::from_millis(u64::from(LATENCY_MS)) * u32::try_from(self.requests).unwrap() / IN_FLIGHT
    }

    fn start(&self, flags: &[String]) -> Guarded {
        let talk = OpenOptions::new().create(true).append(true).open(self.dir.path().join("talk.txt")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rescreen"));
        command.arg("run").arg("-c").arg(self.campaign_file()).arg("--yes").args(flags);
        command.env("RESCREEN_API_KEY", "kill-harness-key");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(talk);
        Guarded(command.spawn().expect("rescreen starts"))
    }

    /// Runs without a kill; gives the exit code.
    pub fn run_to_the_end(&self) -> i32 {
        let status = self.start(&[]).0.wait().expect("a child is waited for");
        status.code().unwrap_or(-1)
    }

    /// One life of a run: started, left alone for as long as it has, killed.
    pub fn live(&self, life: Life) -> End {
        let before = self.traces();
        let drain = life.drains_after.map(|after| ["--for".to_owned(), format!("{}ms", after.as_millis())]);
        let mut child = self.start(&drain.map(Vec::from).unwrap_or_default());
        sleep(life.lasts);
        // SIGKILL on Unix: no handler runs, nothing is flushed.
        child.0.kill().expect("a child that was not waited for can be killed");
        match child.0.wait().expect("a child is waited for").code() {
            Some(code) => End::Exited(code),
            None => End::Killed(self.phase(&before)),
        }
    }

    /// What the last runs said.
    pub fn talk(&self) -> String {
        let talk = fs::read_to_string(self.dir.path().join("talk.txt")).unwrap_or_default();
        let lines: Vec<&str> = talk.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// The ledger beside its writer; `None` where none was made yet.
    pub fn reading(&self) -> Option<Reading> {
        Reading::open(&self.ledger()).ok()
    }

    pub fn sums(&self) -> Sums {
        self.reading().map(|reading| reading.sums().unwrap()).unwrap_or_default()
    }

    /// Requests that were under way when the run was killed.
    pub fn in_doubt(&self) -> usize {
        let count = |reading: Reading| reading.in_state(State::Armed, RequestId(0), 1_000).unwrap().len();
        self.reading().map(count).unwrap_or_default()
    }

    fn traces(&self) -> Traces {
        let sums = self.sums();
        let written_at = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        let folders = ["results/aml-screening", "failures", "pending", "skipped", ""];
        let files = folders.iter().flat_map(|folder| fs::read_dir(self.out().join(folder)).into_iter().flatten());
        let output = |path: &PathBuf| {
            path.extension().is_some_and(|end| ["parquet", "json", "tmp"].iter().any(|one| end == *one))
        };
        let paths = files.flatten().map(|entry| entry.path()).filter(output);
        let mut outputs: Vec<_> = paths.map(|path| (written_at(&path), path)).collect();
        outputs.sort();
        Traces { attempts: sums.attempts, rows: sums.rows, outputs }
    }

    fn phase(&self, before: &Traces) -> Phase {
        let after = self.traces();
        match () {
            () if after.outputs != before.outputs => Phase::Publishing,
            () if after.rows != before.rows && after.rows < self.rows => Phase::Intake,
            () if after.attempts != before.attempts => Phase::Sending,
            () => Phase::Start,
        }
    }
}

/// What a run leaves behind, to tell what it was at.
struct Traces {
    attempts: u64,
    rows: u64,
    outputs: Vec<(Option<SystemTime>, PathBuf)>,
}
