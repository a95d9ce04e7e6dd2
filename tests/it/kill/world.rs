//! The world of a kill: a campaign of two checks whose budget is exact to the credit, a service that outlives the runs
//! and loses requests and replies on its own, and one output folder they share.

use super::{
    ledger::{ARMED, Ledger},
    life::{End, Life, Phase},
    shape::Shape,
};
use crate::support::{
    simulator_process::{Guarded, SimulatorProcess},
    tables,
};
use rescreen::{
    pipeline::{self, Campaign},
    sink::DatasetKind,
};
use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant, SystemTime},
};
use tempfile::TempDir;

const IN_FLIGHT: u32 = 8;
const LATENCY_MS: u32 = 80;
/// A run that sends nothing for this long has nothing to send.
const START_MAX: Duration = Duration::from_secs(10);
/// What the service does besides its work: it loses requests and replies, cuts bodies, pushes back, and fails in every
/// way that leaves a charge unknown or proves that there is none.
const FAULTS: &str = "drop_before:0.02,drop_after:0.02,truncate:0.02,error409:0.01,pending:0.02,rate429:0.002:1,\
                      error500:0.01,error502:0.01,error503:0.01,latency:0.02:400ms";

/// How replies state what they cost, in one campaign after the other.
const STATED: [&str; 4] = ["used", "meta", "remaining", "nothing"];

pub struct World {
    dir: TempDir,
    pub simulator: SimulatorProcess,
    pub shape: Shape,
    pub rows: u64,
    /// How many requests `rescreen plan` says a run sends, and what they cost.
    pub requests: u64,
    pub max_credits: u64,
}

impl World {
    /// A campaign of this shape. The seed decides what goes wrong with the service.
    pub fn new(shape: Shape, rows: u64, seed: u64) -> World {
        let dir = tempfile::tempdir().expect("there is room for temporary files");
        shape.write_input(dir.path(), rows);
        let [first, second] = shape.prices().map(|(check, price)| format!("{check}={price}"));
        let latency = format!("{LATENCY_MS}ms");
        let (credits, seed_text) = ((rows * 100).to_string(), seed.to_string());
        let simulator = SimulatorProcess::start(&[
            "--per-minute=6000000",
            "--per-minute-max=12000000",
            "--latency",
            &latency,
            "--credits",
            &credits,
            "--price",
            &first,
            "--price",
            &second,
            "--faults",
            &[FAULTS, shape.more_faults()].concat(),
            "--job-time=47h",
            "--seed",
            &seed_text,
            "--charge-stated",
            STATED[seed as usize % STATED.len()],
        ]);
        let mut world = World { dir, simulator, shape, rows, requests: 0, max_credits: u64::MAX >> 12 };
        world.write_campaign();
        let campaign = Campaign::load(&world.campaign_file()).unwrap();
        let plan = pipeline::plan(&campaign, 0).unwrap();
        // The budget is exact to the credit: with one charge or one hold too many, the campaign cannot complete.
        (world.requests, world.max_credits) = (plan.requests, plan.credits.expect("every price is known").0);
        world.write_campaign();
        world
    }

    /// Reply statuses that must occur in a whole campaign; 0 is a connection that was cut.
    pub fn faults_to_meet(&self) -> Vec<(&'static str, u16)> {
        let faults = [("lost", 0), ("pending", 202), ("409", 409), ("500", 500), ("502", 502), ("503", 503)];
        // A book of a few rows gets only a few of them.
        if self.requests < 500 { Vec::new() } else { faults.into() }
    }

    fn write_campaign(&self) {
        let [(first, first_price), (second, second_price)] = self.shape.prices();
        let (input, checks) = (self.shape.input(), self.shape.checks());
        let max_credits = self.max_credits;
        let text = format!(
            r#"campaign = "kill"
mode = "production"
[service]
url = "{}"
per_minute = 600000
per_minute_max = 1200000
in_flight = {IN_FLIGHT}
{input}
[budget]
max_credits = {max_credits}
prices = {{ {first} = {first_price}, {second} = {second_price} }}
{checks}
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

    /// How long all requests take without kills.
    pub fn sending_time(&self) -> Duration {
        Duration::from_millis(u64::from(LATENCY_MS)) * u32::try_from(self.requests).unwrap() / IN_FLIGHT
    }

    fn start(&self, flags: &[String]) -> Guarded {
        let messages = OpenOptions::new().create(true).append(true).open(self.dir.path().join("messages.txt")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rescreen"));
        command.arg("run").arg("-c").arg(self.campaign_file()).arg("--yes").args(flags);
        command.env("RESCREEN_API_KEY", "kill-harness-key").env("XDG_STATE_HOME", self.dir.path().join("state"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(messages);
        Guarded(command.spawn().expect("rescreen starts"))
    }

    /// Runs without a kill. Returns the exit code.
    pub fn run_to_the_end(&self) -> i32 {
        let status = self.start(&[]).0.wait().expect("a child is waited for");
        status.code().unwrap_or(-1)
    }

    /// One life of a run: started, left alone for its duration, killed.
    pub fn live(&self, life: Life) -> End {
        let before = self.traces();
        let drain = life.drains_after.map(|after| ["--for".to_owned(), format!("{}ms", after.as_millis())]);
        let sent_before = self.simulator.stats().requests;
        let mut child = self.start(&drain.map(Vec::from).unwrap_or_default());
        if life.from_first_message {
            let begun = Instant::now();
            while self.simulator.stats().requests == sent_before && begun.elapsed() < START_MAX {
                sleep(Duration::from_millis(20));
            }
        }
        sleep(life.lasts);
        // SIGKILL on Unix: no handler runs, nothing is flushed.
        child.0.kill().expect("a child that was not waited for can be killed");
        match child.0.wait().expect("a child is waited for").code() {
            Some(code) => End::Exited(code),
            None => End::Killed(self.phase(&before)),
        }
    }

    /// The output of the last runs, and the failures that they published.
    pub fn messages(&self) -> String {
        let messages = fs::read_to_string(self.dir.path().join("messages.txt")).unwrap_or_default();
        let lines: Vec<&str> = messages.lines().collect();
        let failures = tables::lines(&self.out(), DatasetKind::Failures).into_iter().take(10);
        let failures =
            failures.map(|line| format!("\n{}: {}", tables::text(&line, "code"), tables::text(&line, "message")));
        lines[lines.len().saturating_sub(40)..].join("\n") + &failures.collect::<String>()
    }

    /// Requests that were under way when the run was killed.
    pub fn in_doubt(&self) -> usize {
        Ledger::read(&self.ledger()).map(|ledger| ledger.in_state(ARMED)).unwrap_or_default()
    }

    fn traces(&self) -> Traces {
        let ledger = Ledger::read(&self.ledger()).unwrap_or_default();
        let written_at = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        let results = self.shape.prices().map(|(check, _)| format!("results/{check}"));
        let folders = results.iter().map(String::as_str).chain(["failures", "pending", "skipped", ""]);
        let files = folders.flat_map(|folder| fs::read_dir(self.out().join(folder)).into_iter().flatten());
        let output = |path: &PathBuf| {
            path.extension().is_some_and(|end| ["parquet", "json", "tmp"].iter().any(|one| end == *one))
        };
        let paths = files.flatten().map(|entry| entry.path()).filter(output);
        let mut outputs: Vec<_> = paths.map(|path| (written_at(&path), path)).collect();
        outputs.sort();
        Traces { attempts: ledger.attempts, rows: ledger.rows, outputs }
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

/// What a run leaves behind, which shows what it was doing.
struct Traces {
    attempts: u64,
    rows: u64,
    outputs: Vec<(Option<SystemTime>, PathBuf)>,
}
