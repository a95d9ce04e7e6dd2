//! The stage: one campaign lives, crashes and resumes as its script says, until the service works and it must finish.

use super::{
    audit::Audit,
    clocks::Clocks,
    edits::edited,
    files,
    life::{Crash, Edit, Life},
    oddities::{Oddity, is_played},
    onlooker::Onlooker,
    progress::{REFUSED_MIN, asks_a_person, held_up, miscounted, refused_requests, stalled, unread_again},
    script::Script,
    wire::{Message, Wire},
};
use crate::fuzzed::checks::folder::folder;
use rescreen::{
    Error,
    catalogue::Catalogue,
    ledger::{CommitMode, LedgerError},
    model::{ExitCode, Stop},
    pipeline::{
        Campaign, Prepared, Progress, RetryOrder, RunOptions, RunReport, Signal,
        campaign::{file::CampaignFile, parse},
    },
    simulator::Simulator,
};
use std::{
    fs::{self, File},
    future::poll_fn,
    io::Write,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};
use tempfile::TempDir;
use tokio::sync::{Notify, mpsc, watch};

/// A life that takes longer is hanging. With nine in ten pushed back for 45 s, some hours are not hanging.
const LIFE_MAX: Duration = Duration::from_secs(24 * 3_600);
/// The result of a campaign.
pub struct Played {
    pub violations: Vec<String>,
    /// SHA-256 over the wire log and the ledger.
    pub trace: String,
    pub log: Vec<String>,
}

/// Plays the campaign of a seed.
pub fn play(seed: u64) -> Played {
    play_script(Script::of(seed))
}

/// Plays a campaign in its own runtime, in paused time.
pub fn play_script(script: Script) -> Played {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    // The stage is created inside: outside the runtime the time is different.
    let played = async { Stage::new(script).play().await };
    runtime.expect("a runtime without threads always starts").block_on(played)
}

pub struct Stage {
    pub script: Script,
    pub folder: TempDir,
    pub simulator: Simulator,
    onlooker: Onlooker,
    pub wire: Wire,
    pub clocks: Clocks,
    pub audit: Audit,
    number: usize,
    died: Vec<bool>,
    /// The settings after a run that stopped for a decision of a person.
    asked: Option<String>,
    /// The last run ended because the service refuses a check.
    refused: bool,
    /// The last run ended because none of many requests was answered.
    pub(super) unanswered: bool,
    /// The last run left requests in doubt because the clocks disagree about the age of their keys.
    pub(super) apart: bool,
    /// The last run ended with a decision for a person, or because the service asked for a pause.
    pub named: bool,
    pub log: Vec<String>,
}

enum End {
    Crashed,
    Hangs,
    Ended(Result<Box<RunReport>, Error>),
}

impl Stage {
    fn new(script: Script) -> Stage {
        let clocks = Clocks::new();
        let simulator = Simulator::new(script.service(clocks.service()));
        let folder = folder();
        for book in &script.books {
            fs::write(folder.path().join(book.name), &book.text).expect("the folder is writable");
        }
        if let Some(documents) = script.documents() {
            files::put_all(folder.path(), documents);
        }
        let outside = script.documents().map(files::outside_digest);
        let file_facts = (outside, script.has_even_clocks());
        let onlooker = Onlooker::new(&folder.path().join("out"), simulator.clone(), clocks, file_facts);
        let checks = script.pair.map(|check| check.name);
        let wire = Wire::new(simulator.clone(), onlooker.clone(), clocks, checks, script.seed);
        let audit = Audit::new(folder.path(), &script, simulator.clone());
        let (died, log) = (Vec::new(), Vec::new());
        Stage {
            script,
            folder,
            simulator,
            onlooker,
            wire,
            clocks,
            audit,
            number: 0,
            died,
            asked: None,
            refused: false,
            unanswered: false,
            apart: false,
            named: false,
            log,
        }
    }

    async fn play(mut self) -> Played {
        let lives = self.script.lives.clone();
        for life in &lives {
            self.simulator.set_faults(life.faults.parse().expect("the script names faults that are"));
            if let Some(balance) = life.balance {
                self.simulator.set_balance(balance);
            }
            self.one(life).await;
        }
        let finished = self.heal(&lives).await;
        let messages = self.wire.log();
        if finished {
            self.audit.at_the_end(&messages, &self.died);
        } else if !self.refused {
            // If `refused`, only rows that are always refused are left of a check, so a person decides about it.
            self.audit.fault("it did not finish with a service that is well".to_owned());
        }
        if std::env::var_os("RESCREEN_SIM_KEEP").is_some() {
            self.folder.disable_cleanup(true);
            self.log.push(format!("kept in {}", self.folder.path().display()));
        }
        let trace = self.audit.trace(&messages);
        self.log.extend(messages.iter().map(Message::to_string));
        Played { violations: self.audit.faults, trace, log: self.log }
    }

    /// One life and its checks. Returns whether the campaign is finished.
    pub async fn one(&mut self, life: &Life) -> bool {
        let number = self.number;
        self.number += 1;
        self.clocks.set_apart(life.clock_apart);
        for (check, price) in self.script.pair.into_iter().zip(life.prices) {
            self.simulator.set_price(check.name, price);
        }
        if !life.appended.is_empty() {
            let book = self.folder.path().join(self.script.books.last().expect("there is a book").name);
            let book = File::options().append(true).open(book);
            book.and_then(|mut book| book.write_all(life.appended.as_bytes())).expect("the book can be appended to");
        }
        for (person, change) in &life.file_moves {
            let documents = self.script.documents().expect("only files are moved");
            files::change(self.folder.path(), documents, *person, *change);
        }
        let undo = edited(self.folder.path(), life.edit);
        let refused = undo.is_some();
        let sent_before = self.wire.sent();
        let before = self.audit.life_begins();
        let same = self.same_again(life);
        let end = self.live(number, life, if refused { life.edit } else { Edit::None }).await;
        if let Some(undo) = undo {
            undo();
        } else if life.retry {
            // Retrying failures lifts a stop, however the life ends.
            self.asked = None;
        } else if self.asked.as_ref().is_some_and(|asked| *asked != self.settings(life)) {
            self.asked = None;
        }
        // Interrupted twice, it ends with requests under way.
        self.died.push(matches!(end, End::Crashed | End::Hangs) || life.interrupts.len() > 1);
        let (finished, words) = match end {
            End::Crashed => (false, "crashed".to_owned()),
            End::Hangs => {
                self.audit.fault(format!("life {number} hangs: it did not end in {} s", LIFE_MAX.as_secs()));
                (false, "hangs".to_owned())
            }
            End::Ended(Ok(report)) => {
                let code = report.exit_code;
                if code == ExitCode::Internal || refused {
                    self.audit.fault(format!("life {number} ended with {code:?} after {:?}", life.edit));
                }
                self.unanswered = report.sent.stops.iter().any(|stop| matches!(stop, Stop::Unavailable { .. }));
                self.apart = report.sent.stops.iter().any(|stop| matches!(stop, Stop::ClockDiffers { .. }));
                let refuses = |stop: &Stop| match stop {
                    Stop::CheckRefused { .. } => true,
                    Stop::NoCredits { balance, price } => balance >= price,
                    _ => false,
                };
                self.refused = !report.sent.stops.is_empty() && report.sent.stops.iter().all(refuses);
                if self.script.charges_are_known()
                    && report.sent.stops.iter().any(|stop| matches!(stop, Stop::Price { .. }))
                {
                    self.audit.fault(format!(
                        "life {number}: I2: it stopped for a price that was never charged: {:?}",
                        report.sent.stops
                    ));
                }
                let after = self.audit.standing();
                if let Some(fault) = stalled(&before, &after, &report).filter(|_| is_played(Oddity::Progress)) {
                    self.audit.fault(format!("life {number}: {fault}"));
                }
                let log = self.wire.log();
                let (earlier, lately) = log.split_at(sent_before);
                // A check that refused five different requests is left out, and a person decides what to do about it.
                let alike = refused_requests(lately) >= REFUSED_MIN;
                let names = |stop: &Stop| {
                    asks_a_person(stop)
                        || alike && refuses(stop)
                        || matches!(
                            stop,
                            Stop::Conflict { .. }
                                | Stop::PushedBack { .. }
                                | Stop::CheckPaused { .. }
                                | Stop::JobUnusable { .. }
                        )
                        // Only rows that the service always redirects are left of a check, so nothing shows that it works.
                        || matches!(stop, Stop::Misrouted { check: Some(_), .. })
                };
                self.named = report.sent.stops.iter().any(names);
                let refused = self.wire.refused();
                let held_up = held_up(&before, earlier, &refused, lately);
                let seen = [miscounted(&report, number, lately, &refused), held_up, unread_again(&before, lately)];
                for fault in seen.into_iter().flatten().filter(|_| is_played(Oddity::Progress)) {
                    self.audit.fault(format!("life {number}: {fault}"));
                }
                let sent = lately.iter().filter(|one| one.submit).count();
                if same && sent > 0 {
                    self.audit.fault(format!("life {number} sent {sent} requests after a stop that asks a person"));
                }
                if !same {
                    let asks = report.sent.stops.iter().any(asks_a_person);
                    self.asked = asks.then(|| self.settings(life));
                }
                let finished = matches!(code, ExitCode::Complete | ExitCode::Failures) || report.waits_for_jobs();
                (finished, format!("{code:?} {:?}", report.sent.stops))
            }
            End::Ended(Err(error)) => {
                if !refused || error.exit_code() != ExitCode::Usage {
                    self.audit.fault(format!("life {number}: {error}"));
                }
                (false, error.to_string())
            }
        };
        self.log.push(format!("life {number}: {life:?} -> {words}"));
        if !self.lock_is_free().await {
            self.audit.fault(format!("life {number} is over and the ledger is still locked"));
        }
        for fault in self.onlooker.end() {
            self.audit.fault(format!("in life {number}: {fault}"));
        }
        let log = self.wire.log();
        if refused && log.len() > sent_before {
            self.audit.fault(format!("life {number} sent {} messages after {:?}", log.len() - sent_before, life.edit));
        }
        self.audit.after_life(number, life, &log, &self.died, self.onlooker.held_most());
        tokio::time::sleep(life.rest).await;
        finished
    }

    /// The previous run stopped for a decision, and nothing has changed since.
    fn same_again(&self, life: &Life) -> bool {
        let decided = life.guards_off || life.retry;
        let played = self.script.production && is_played(Oddity::Remembered) && !decided;
        played && self.asked.as_ref().is_some_and(|before| *before == self.settings(life))
    }

    /// What a person may change after a stop: the campaign file with its declarations, and the API key.
    fn settings(&self, life: &Life) -> String {
        format!("{} {} {}", life.api_key, life.blind, self.script.campaign(life, Edit::None))
    }

    async fn live(&self, number: usize, life: &Life, edit: Edit) -> End {
        let campaign = || self.campaign(life, edit).expect("the script writes a campaign");
        let strike = Arc::new(Notify::new());
        self.wire.begin(number, life, &strike);
        let limit = life.max_credits + self.script.overshoot(self.onlooker.held_most());
        self.onlooker.begin(self.script.production.then_some(limit), life, &strike);
        let crash = async {
            match life.crash {
                Crash::After(time) => tokio::time::sleep(time).await,
                _ => strike.notified().await,
            }
        };
        // With `guards_off` a person has read why the last run stopped, lets the next one continue, and takes answers that
        // no rule recognises as they are.
        let orders = RunOptions {
            at_most: life.at_most,
            retry: life.retry.then(RetryOrder::default),
            continue_anyway: life.guards_off,
            accept_unrecognised: life.guards_off,
            ..RunOptions::default()
        };
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
        let turning = async {
            self.clocks.apply_in_time(&life.clock_moves).await;
            std::future::pending::<End>().await
        };
        let rivalling = async {
            match life.rival {
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
            match Prepared::open(campaign()).await {
                Err(Error::Ledger(LedgerError::InUse { .. })) => {}
                Err(_) if self.onlooker.is_dead() => {}
                Err(error) => panic!("I10: a second run is refused for another reason: {error}"),
                Ok(_) => panic!("I10: a second run has the ledger too"),
            }
            std::future::pending::<End>().await
        };
        let run = async {
            let prepared = Prepared::open(campaign()).await?;
            prepared.go(orders, signals, watch::Sender::new(Progress::default())).await
        };
        let mut run = pin!(tokio::time::timeout(LIFE_MAX, run));
        let mut polls = 0;
        let counted = poll_fn(|context| {
            polls += 1;
            match life.crash {
                Crash::AtAwait(nth) if polls >= nth => Poll::Ready(End::Crashed),
                _ => run.as_mut().poll(context).map(|ended| match ended {
                    Ok(ended) => End::Ended(ended.map(Box::new)),
                    Err(_) => End::Hangs,
                }),
            }
        });
        let end = tokio::select! {
            biased;
            () = crash => End::Crashed,
            end = interrupting => end,
            end = turning => end,
            end = counted => end,
            end = rivalling => end,
        };
        if self.onlooker.is_dead() { End::Crashed } else { end }
    }

    fn campaign(&self, life: &Life, edit: Edit) -> Result<Campaign, Error> {
        let file = parse(&self.script.campaign(life, edit)).expect("the script writes a campaign file");
        let mut file = CampaignFile { simulate: true, ..file };
        if life.blind {
            for check in &self.script.pair {
                let mut declaration = Catalogue::built_in().get(check.name).expect("a check of the catalogue").clone();
                declaration.verdict.recognised = "payload.nowhere is defined".to_owned();
                file.declarations.push(declaration);
            }
        }
        let mut campaign = Campaign::new(file, self.folder.path())?;
        campaign.commit_mode = CommitMode::Inline;
        campaign.clock = self.clocks.ours();
        campaign.source_options.split_rows = self.script.split_rows;
        campaign.service.in_process = Some(self.wire.service(life.api_key));
        Ok(campaign)
    }

    /// Waits until a crashed life has released the ledger, which it does when its tasks are next polled.
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
