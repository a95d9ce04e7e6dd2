//! The world of a kill: a campaign of two checks whose budget is exact to the credit, a service that outlives the runs
//! and loses requests and replies on its own, and one output folder they share.

use super::{
    ledger::{ARMED, Ledger, SUBMITTED},
    life::{End, Life, Phase},
    shape::Shape,
};
use crate::support::{
    compiled,
    listener_process::ListenerProcess,
    simulator_process::{Guarded, SimulatorProcess},
    tables,
};
use rescreen::{
    pipeline::{self, Campaign, PlanOptions},
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
/// A `collect` that asks nothing for this long waits for jobs to end.
const FIRST_QUESTION_MAX: Duration = Duration::from_secs(2);
/// Longer than a `collect` lives.
const COLLECT_FOR: &str = "10m";
/// All jobs end within this, and the questions about them that got no reply are repeated.
const COLLECT_MAX: Duration = Duration::from_secs(6 * 60);
/// The clock of each `collect` at the end is ahead of the last one by this many seconds, so that it asks for every job.
const AHEAD_S: u32 = 180;
/// What the service does besides its work: it loses requests and replies, cuts bodies, pushes back, and fails in every
/// way that leaves a charge unknown or proves that there is none.
const FAULTS: &str = "drop_before:0.02,drop_after:0.02,truncate:0.02,error409:0.01,pending:0.02,rate429:0.002:1,\
                      error500:0.01,error502:0.01,error503:0.01,latency:0.02:400ms";

/// The time of the service's jobs is divided by this. Of 400 jobs, about 300 end within 0.6 seconds, 30 after 4 to 20
/// seconds, and two fail after 58 seconds.
const TIME_SCALE: &str = "3000";
/// Deliveries are repeated, late, or come before the reply that names the job. None is lost: such a job would be asked for
/// only two minutes later.
const JOB_FAULTS: &str = "twice:0.1,late:0.1:30m,early:0.05";

/// How replies state what they cost, in one campaign after the other.
const STATED: [&str; 4] = ["used", "meta", "remaining", "nothing"];

pub struct World {
    dir: TempDir,
    pub simulator: SimulatorProcess,
    /// The receiver of deliveries, for a campaign with jobs.
    listener: Option<ListenerProcess>,
    /// The library that moves the clock of a process, and its folder.
    moves_clock: Option<(TempDir, PathBuf)>,
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
            "--time-scale",
            TIME_SCALE,
            "--job-faults",
            JOB_FAULTS,
            "--seed",
            &seed_text,
            "--charge-stated",
            STATED[seed as usize % STATED.len()],
        ]);
        let listener = shape.has_jobs().then(|| ListenerProcess::start(&dir.path().join("state")));
        let moves_clock = shape.has_jobs().then(|| compiled::library("hostile/shifted_clock.c").ok()).flatten();
        let (requests, max_credits) = (0, u64::MAX >> 12);
        let mut world = World { dir, simulator, listener, moves_clock, shape, rows, requests, max_credits };
        world.write_campaign();
        let campaign = Campaign::load(&world.campaign_file()).unwrap();
        let plan = pipeline::plan(&campaign, &PlanOptions::default()).unwrap();
        // The budget is exact to the credit: with one charge or one hold too many, the campaign cannot complete.
        (world.requests, world.max_credits) =
            (plan.tree.requests(), plan.money.this_run().expect("every price is known").0);
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
        let webhook = self.listener.as_ref().map(|listener| format!("[webhook]\nurl = \"{}\"", listener.url));
        let webhook = webhook.unwrap_or_default();
        let text = format!(
            r#"campaign = "kill"
mode = "production"
[service]
url = "{}"
per_minute = 600000
per_minute_max = 1200000
in_flight = {IN_FLIGHT}
{webhook}
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

    fn start(&self, collects: bool, flags: &[String]) -> Guarded {
        self.start_ahead(collects, flags, 0)
    }

    /// The same with a clock that is ahead by this many seconds, where a compiler can build the library that moves it.
    fn start_ahead(&self, collects: bool, flags: &[String], seconds: u32) -> Guarded {
        let messages = OpenOptions::new().create(true).append(true).open(self.dir.path().join("messages.txt")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rescreen"));
        match collects {
            true => command.arg("collect").arg(self.out()),
            false => command.arg("run").arg("-c").arg(self.campaign_file()).arg("--yes"),
        };
        command.args(flags);
        if let Some((_, library)) = self.moves_clock.as_ref().filter(|_| seconds > 0) {
            command.env("LD_PRELOAD", library).env("SHIFTED_CLOCK_S", seconds.to_string());
        }
        command.env("RESCREEN_API_KEY", "kill-harness-key").env("XDG_STATE_HOME", self.dir.path().join("state"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(messages);
        Guarded(command.spawn().expect("rescreen starts"))
    }

    /// Runs without a kill. Returns the exit code.
    pub fn run_to_the_end(&self) -> i32 {
        self.exits(self.start(false, &[]))
    }

    /// Collects until every job has ended. Returns the exit code.
    pub fn collect_to_the_end(&self) -> i32 {
        let (begun, mut seconds) = (Instant::now(), 0);
        loop {
            seconds += AHEAD_S;
            let code = self.exits(self.start_ahead(true, &[], seconds));
            if ![5, 8, 10].contains(&code) || begun.elapsed() > COLLECT_MAX {
                return code;
            }
            sleep(Duration::from_secs(1));
        }
    }

    fn exits(&self, mut child: Guarded) -> i32 {
        let status = child.0.wait().expect("a child is waited for");
        status.code().unwrap_or(-1)
    }

    /// One life of a run or of a `collect`: started, left alone for its duration, killed.
    pub fn live(&self, life: Life) -> End {
        let before = self.traces();
        let drain = life.drains_after.map(|after| format!("{}ms", after.as_millis()));
        let drain = drain.or_else(|| life.collects.then(|| COLLECT_FOR.to_owned()));
        let sent_before = self.simulator.stats().requests;
        let flags = drain.map(|drain| vec!["--for".to_owned(), drain]).unwrap_or_default();
        let mut child = self.start(life.collects, &flags);
        if life.from_first_message {
            let (begun, most) = (Instant::now(), if life.collects { FIRST_QUESTION_MAX } else { START_MAX });
            let mut is_running = || child.0.try_wait().expect("a child can be asked for").is_none();
            while self.simulator.stats().requests == sent_before && begun.elapsed() < most && is_running() {
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

    /// Jobs whose end the ledger does not know.
    pub fn open_jobs(&self) -> usize {
        Ledger::read(&self.ledger()).map(|ledger| ledger.in_state(SUBMITTED)).unwrap_or_default()
    }

    /// Jobs whose end the ledger knows.
    pub fn jobs_ended(&self) -> u64 {
        Ledger::read(&self.ledger()).map(|ledger| ledger.jobs_ended).unwrap_or_default()
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
        let jobs = (ledger.asked, ledger.jobs_ended);
        Traces { attempts: ledger.attempts, jobs, rows: ledger.rows, outputs }
    }

    fn phase(&self, before: &Traces) -> Phase {
        let after = self.traces();
        match () {
            () if after.outputs != before.outputs => Phase::Publishing,
            () if after.rows != before.rows && after.rows < self.rows => Phase::Intake,
            () if after.attempts != before.attempts => Phase::Sending,
            () if after.jobs != before.jobs => Phase::Jobs,
            () => Phase::Start,
        }
    }
}

/// What a run leaves behind, which shows what it was doing.
struct Traces {
    attempts: u64,
    /// How often a reply left a job open, and how many jobs have ended.
    jobs: (u64, u64),
    rows: u64,
    outputs: Vec<(Option<SystemTime>, PathBuf)>,
}
