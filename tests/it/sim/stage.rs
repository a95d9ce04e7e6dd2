//! The stage: one campaign lives, crashes and goes on as its script says, until the service is well and it must finish.

use super::{
    audit::Audit,
    script::{Crash, Life, PLENTY, Script},
    wire::{Message, Wire},
};
use rescreen::{
    Error,
    catalogue::Catalogue,
    ledger::Seat,
    model::{Clock, ExitCode},
    pipeline::{Campaign, Orders, Prepared, Progress, RunReport, Signal, campaign_file::parse},
    simulator::{Faults, Settings, Simulator},
};
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};

/// A life that takes longer hangs.
const LIFE_MAX: Duration = Duration::from_secs(3 * 3_600);
/// Lives after the service is well, at most.
const LAST_LIVES_MAX: usize = 10;

/// What a campaign came to.
pub struct Played {
    pub violations: Vec<String>,
    /// SHA-256 over the wire log and the ledger.
    pub trace: String,
    pub log: Vec<String>,
}

/// Plays the campaign of a seed in a runtime of its own, under paused time.
pub fn play(seed: u64) -> Played {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    // The stage is set inside: outside the runtime it is another time.
    let played = async { Stage::new(Script::of(seed)).play().await };
    runtime.expect("a runtime without threads always starts").block_on(played)
}

struct Stage {
    script: Script,
    folder: TempDir,
    simulator: Simulator,
    wire: Wire,
    clock: Clock,
    log: Vec<String>,
}

enum End {
    Crashed,
    Hangs,
    Ended(Result<Box<RunReport>, Error>),
}

impl Stage {
    fn new(script: Script) -> Stage {
        let origin = "2026-11-02T06:00:00Z".parse().expect("a moment");
        let clock = Clock::driven(origin);
        let [aml, said] = script.prices;
        let simulator = Simulator::new(Settings {
            api_key: None,
            credits: script.balance,
            per_minute: script.per_minute as u32,
            per_minute_max: script.per_minute_max as u32,
            latency: script.latency,
            seed: script.seed,
            faults: Faults::none(),
            clock,
            catalogue: Catalogue::built_in(),
            prices: [("aml-screening".to_owned(), aml), ("said-verification".to_owned(), said)].into(),
            dialect: script.dialect(),
            envelope: script.envelope(),
        });
        let folder = folder();
        fs::write(folder.path().join("book.csv"), &script.book).expect("the folder takes a book");
        let wire = Wire::new(simulator.clone(), script.seed);
        Stage { script, folder, simulator, wire, clock, log: Vec::new() }
    }

    async fn play(mut self) -> Played {
        let mut audit = Audit::new(self.folder.path(), &self.script, self.simulator.clone());
        let lives = std::mem::take(&mut self.script.lives);
        let mut number = 0;
        let mut apart = Vec::new();
        for life in &lives {
            apart.push(life.clock_apart);
            self.simulator.set_faults(life.faults.parse().expect("the script names faults that are"));
            if let Some(balance) = life.balance {
                self.simulator.set_balance(balance);
            }
            self.one(number, life, &mut audit, &apart).await;
            number += 1;
        }
        self.simulator.set_faults(Faults::none());
        self.simulator.set_balance(PLENTY);
        let last = Life {
            faults: String::new(),
            unreachable: 0,
            crash: Crash::Never,
            at_most: None,
            interrupts: Vec::new(),
            retry: false,
            balance: None,
            max_credits: PLENTY,
            appended: String::new(),
            clock_apart: 0,
            rest: Duration::from_secs(20 * 60),
        };
        let mut finished = false;
        for _ in 0..LAST_LIVES_MAX {
            apart.push(0);
            finished = self.one(number, &last, &mut audit, &apart).await;
            number += 1;
            if finished {
                break;
            }
        }
        match finished {
            true => audit.at_the_end(),
            false => audit.fault(format!("it did not finish in {LAST_LIVES_MAX} lives with a service that is well")),
        }
        let messages = self.wire.log();
        let trace = audit.trace(&messages);
        self.log.extend(messages.iter().map(Message::to_string));
        Played { violations: audit.faults, trace, log: self.log }
    }

    /// One life and what it left; whether the campaign is finished.
    async fn one(&mut self, number: usize, life: &Life, audit: &mut Audit, apart: &[i64]) -> bool {
        if !life.appended.is_empty() {
            let book = File::options().append(true).open(self.folder.path().join("book.csv"));
            book.and_then(|mut book| book.write_all(life.appended.as_bytes())).expect("the book can be appended to");
        }
        let end = self.live(number, life).await;
        let (finished, words) = match end {
            End::Crashed => (false, "crashed".to_owned()),
            End::Hangs => {
                audit.fault(format!("life {number} hangs: it did not end in {} s", LIFE_MAX.as_secs()));
                (false, "hangs".to_owned())
            }
            End::Ended(Ok(report)) => {
                let code = report.exit_code;
                if code == ExitCode::Internal {
                    audit.fault(format!("life {number} ended with {code:?}"));
                }
                let finished = matches!(code, ExitCode::Complete | ExitCode::Failures);
                (finished, format!("{code:?} {:?}", report.stops))
            }
            End::Ended(Err(error)) => {
                audit.fault(format!("life {number}: {error}"));
                (false, error.to_string())
            }
        };
        self.log.push(format!("life {number}: {life:?} -> {words}"));
        if !self.lock_is_free().await {
            audit.fault(format!("life {number} is over and the ledger is still locked"));
        }
        audit.after_life(number, life, &self.wire.log(), apart);
        tokio::time::sleep(life.rest).await;
        finished
    }

    async fn live(&self, number: usize, life: &Life) -> End {
        let file = parse(&self.script.campaign(life.max_credits)).expect("the script writes a campaign file");
        let file = rescreen::pipeline::campaign_file::CampaignFile { simulate: true, ..file };
        let mut campaign = Campaign::new(file, self.folder.path()).expect("the campaign is one");
        campaign.seat = Seat::Inline;
        campaign.clock = match self.clock {
            Clock::Driven { origin, started } => {
                let origin = origin.checked_add(jiff::SignedDuration::from_secs(life.clock_apart)).expect("a moment");
                Clock::Driven { origin, started }
            }
            Clock::System => Clock::System,
        };
        campaign.service.in_process = Some(self.wire.service());
        let strike = self.wire.begin(number, life.crash, life.unreachable);
        let crash = async {
            match life.crash {
                Crash::After(time) => tokio::time::sleep(time).await,
                _ => strike.notified().await,
            }
        };
        let orders = Orders { at_most: life.at_most, retry: life.retry.then_some(None), tap: None };
        let (tell, signals) = mpsc::channel(1);
        let interrupting = async {
            for after in &life.interrupts {
                tokio::time::sleep(*after).await;
                if tell.send(Signal::Interrupt).await.is_err() {
                    break;
                }
            }
            std::future::pending::<End>().await
        };
        let run = async {
            let prepared = Prepared::open(campaign).await?;
            prepared.go(orders, signals, watch::Sender::new(Progress::default())).await
        };
        tokio::select! {
            biased;
            () = crash => End::Crashed,
            end = interrupting => end,
            ended = tokio::time::timeout(LIFE_MAX, run) => match ended {
                Ok(ended) => End::Ended(ended.map(Box::new)),
                Err(_) => End::Hangs,
            }
        }
    }

    /// What a crash leaves behind lets go of the ledger when it is next looked at.
    async fn lock_is_free(&self) -> bool {
        let lock = self.folder.path().join("out/ledger.lock");
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
            match File::open(&lock) {
                Ok(file) if file.try_lock().is_err() => {}
                _ => return true,
            }
        }
        false
    }
}

/// A folder in memory where the machine has one: the simulation judges order, not disks.
fn folder() -> TempDir {
    let memory = PathBuf::from("/dev/shm");
    let found = if memory.is_dir() { tempfile::tempdir_in(Path::new(&memory)) } else { tempfile::tempdir() };
    found.or_else(|_| tempfile::tempdir()).expect("there is a folder for what is temporary")
}
