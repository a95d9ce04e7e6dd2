//! The stage: one campaign lives, crashes and goes on as its script says, until the service is well and it must finish.

use super::{
    audit::Audit,
    hands::Hands,
    life::{API_KEYS, Crash, Edit, Life},
    onlooker::Onlooker,
    script::{PLENTY, Script},
    wire::{Message, Wire},
};
use crate::fuzzed::checks::folder::folder;
use rescreen::{
    Error,
    catalogue::Catalogue,
    ledger::{Decision, LedgerError, Reading, Seat},
    model::ExitCode,
    pipeline::{
        self, Campaign, Orders, Prepared, Progress, Resolution, RunReport, Signal,
        campaign_file::{CampaignFile, parse},
    },
    simulator::{Faults, Settings, Simulator},
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

/// A life that takes longer hangs. With nine in ten pushed back for 45 s, some hours are no hanging.
const LIFE_MAX: Duration = Duration::from_secs(24 * 3_600);
/// Lives after the service is well, at most, and the time between them: at first runs follow soon, then beyond the life of
/// any key.
const LAST_RESTS: [u64; 20] = [1, 1, 1, 1, 1, 1, 13, 13, 13, 13, 13, 13, 13, 1, 1, 1, 13, 13, 1, 1];

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
    onlooker: Onlooker,
    wire: Wire,
    hands: Hands,
    audit: Audit,
    number: usize,
    died: Vec<bool>,
    log: Vec<String>,
}

enum End {
    Crashed,
    Hangs,
    Ended(Result<Box<RunReport>, Error>),
}

impl Stage {
    fn new(script: Script) -> Stage {
        let hands = Hands::new();
        let simulator = Simulator::new(Settings {
            api_key: None,
            credits: script.balance,
            per_minute: script.per_minute as u32,
            per_minute_max: script.per_minute_max as u32,
            latency: script.latency,
            seed: script.seed,
            faults: Faults::none(),
            clock: hands.service(),
            catalogue: Catalogue::built_in(),
            prices: [].into(),
            dialect: script.dialect(),
            envelope: script.envelope(),
            unstated: script.unstated,
        });
        let folder = folder();
        for book in &script.books {
            fs::write(folder.path().join(book.name), &book.text).expect("the folder takes a book");
        }
        let onlooker = Onlooker::new(&folder.path().join("out"), simulator.clone());
        let wire = Wire::new(simulator.clone(), onlooker.clone(), hands, script.seed);
        let audit = Audit::new(folder.path(), &script, simulator.clone());
        Stage { script, folder, simulator, onlooker, wire, hands, audit, number: 0, died: Vec::new(), log: Vec::new() }
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
        self.simulator.set_faults(Faults::none());
        self.simulator.set_balance(PLENTY);
        let prices = lives.last().map_or([1, 1], |life| life.prices);
        let keys: Vec<&str> =
            API_KEYS.into_iter().filter(|key| lives.iter().any(|life| life.api_key == *key)).collect();
        let mut finished = false;
        for (at, hours) in LAST_RESTS.into_iter().enumerate() {
            let rest = Duration::from_secs(hours * 3_600);
            finished = self.one(&Life::quiet(keys[at % keys.len()], prices, rest)).await;
            if finished {
                break;
            }
            self.decide().await;
        }
        match finished {
            true => self.audit.at_the_end(),
            false => self.audit.fault("it did not finish with a service that is well".to_owned()),
        }
        if std::env::var_os("RESCREEN_SIM_KEEP").is_some() {
            self.folder.disable_cleanup(true);
            self.log.push(format!("kept in {}", self.folder.path().display()));
        }
        let messages = self.wire.log();
        let trace = self.audit.trace(&messages);
        self.log.extend(messages.iter().map(Message::to_string));
        Played { violations: self.audit.faults, trace, log: self.log }
    }

    /// One life and what it left; whether the campaign is finished.
    async fn one(&mut self, life: &Life) -> bool {
        let number = self.number;
        self.number += 1;
        self.hands.set_apart(life.clock_apart);
        for (check, price) in self.script.pair.into_iter().zip(life.prices) {
            self.simulator.set_price(check.name, price);
        }
        if !life.appended.is_empty() {
            let book = self.folder.path().join(self.script.books.last().expect("there is a book").name);
            let book = File::options().append(true).open(book);
            book.and_then(|mut book| book.write_all(life.appended.as_bytes())).expect("the book can be appended to");
        }
        let undo = self.edit(life.edit);
        let refused = undo.is_some();
        let sent_before = self.wire.log().len();
        let end = self.live(number, life, if refused { life.edit } else { Edit::None }).await;
        if let Some(undo) = undo {
            undo();
        }
        // Interrupted twice, it ends with what is under way.
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
                let finished = matches!(code, ExitCode::Complete | ExitCode::Failures);
                (finished, format!("{code:?} {:?}", report.stops))
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
        self.audit.after_life(number, life, &log, &self.died);
        tokio::time::sleep(life.rest).await;
        finished
    }

    async fn live(&self, number: usize, life: &Life, edit: Edit) -> End {
        let campaign = || self.campaign(life, edit).expect("the script writes a campaign");
        let strike = Arc::new(Notify::new());
        self.wire.begin(number, life, &strike);
        let limited = self.script.production && self.script.table_is_an_upper_bound();
        self.onlooker.begin(limited.then_some(life.max_credits), life.crash, &strike);
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
        let turning = async {
            self.hands.turn(&life.hands).await;
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
        let file = CampaignFile { simulate: true, ..file };
        let mut campaign = Campaign::new(file, self.folder.path())?;
        campaign.seat = Seat::Inline;
        campaign.clock = self.hands.ours();
        campaign.source_options.split_rows = self.script.split_rows;
        campaign.service.in_process = Some(self.wire.service(life.api_key));
        Ok(campaign)
    }

    /// Does to the files what somebody did, where a life has read them before; gives how it is undone.
    fn edit(&self, edit: Edit) -> Option<Box<dyn FnOnce()>> {
        let reading = Reading::find(&self.folder.path().join("out/ledger.sqlite")).ok().flatten()?;
        // Before the first row was taken nothing is fixed.
        let source = reading.sources().ok()?.into_iter().find(|source| !source.ends.is_empty())?;
        if matches!(edit, Edit::Format | Edit::Mode | Edit::Checks) {
            return Some(Box::new(|| {}));
        }
        let read = source.ends.last()?.end_offset as usize;
        let path = self.folder.path().join(&source.name);
        let bytes = fs::read(&path).expect("a book that was read");
        let mut edited = bytes.clone();
        match edit {
            Edit::InputChanged => edited[read / 2] ^= 1,
            Edit::InputCut => edited.truncate(read / 2),
            Edit::None | Edit::Format | Edit::Mode | Edit::Checks => return None,
        }
        fs::write(&path, edited).expect("the folder takes a book");
        Some(Box::new(move || fs::write(&path, bytes).expect("the folder takes a book")))
    }

    /// A person decides about what is quarantined.
    async fn decide(&mut self) {
        let out = self.folder.path().join("out");
        let waiting = pipeline::quarantined(&out).map_or(0, |waiting| waiting.len());
        if waiting == 0 {
            return;
        }
        let decision = if self.script.written_off { Decision::WriteOff } else { Decision::SendAgain };
        let (clock, seat) = (self.hands.ours(), Seat::Inline);
        let resolution =
            Resolution { decision, reason: "the desk was asked", decided_by: "somebody", secret: None, clock, seat };
        match pipeline::decide(&out, &[], &resolution).await {
            Ok(_) => self.log.push(format!("{waiting} quarantined: {decision:?}")),
            Err(error) => self.audit.fault(format!("the decision was refused: {error}")),
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
