//! Ingest: writes what intake finds to the ledger, at read speed, to the end of the input. It runs on a separate thread
//! while requests are sent. This module decides how far reading may be ahead of the commits: far enough that one commit
//! contains many splits.

use super::{
    Intake, IntakeProgress, IntakeStep, MappedSplit,
    body_receiver::BodyReceiver,
    notes::Notes,
    values::{SplitValues, ValueTally},
};
use crate::{
    error::Error,
    ledger::{Committing, Fate, IngestedAsk, IngestedSplit, Ledger},
    mapping::Mapped,
};
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::watch;

/// The maximum size of rows and requests that wait for their commit, in bytes: about 16 splits of ordinary rows. Larger
/// commits write fewer pages of the ledger, but beyond this size the gain is small and only memory use grows.
const AHEAD_BYTES_MAX: usize = 6 << 20;

/// Counts the ids of the rows that a run reads. Only a remark depends on it, so a fault of its temporary file ends the
/// count and not the run.
struct IdCount {
    id: Option<String>,
    tally: Option<ValueTally>,
}

impl IdCount {
    fn new(intake: &Intake) -> IdCount {
        let id = intake.id().map(str::to_owned);
        IdCount { tally: id.is_some().then(ValueTally::default), id }
    }

    fn add(&mut self, split: SplitValues) {
        if self.tally.as_mut().is_some_and(|tally| tally.add(split).is_err()) {
            self.tally = None;
        }
    }

    /// What is wrong with the ids, if something is.
    fn end(self) -> Option<String> {
        self.tally?.end().ok()?.of_id(&self.id?)
    }
}

/// Splits that were given to the writer, each with its row count and size.
struct Ahead {
    splits: VecDeque<(u64, usize, Committing<()>)>,
    bytes: usize,
    ids: IdCount,
}

impl Ahead {
    fn new(intake: &Intake) -> Ahead {
        Ahead { splits: VecDeque::new(), bytes: 0, ids: IdCount::new(intake) }
    }
}

/// Writes every split to the ledger.
pub struct Ingest {
    pub ledger: Arc<Ledger>,
    /// The ledger ids of the inputs, by name.
    pub sources: Vec<(String, i64)>,
    /// The ledger ids of the checks.
    pub check_uses: Vec<i64>,
    /// The catalogue's name of each check.
    pub checks: Vec<String>,
    /// Only the first rows are read, so no source becomes complete.
    pub limited: bool,
    pub progress: watch::Sender<IntakeProgress>,
    pub notes: watch::Sender<Notes>,
    pub stop: Arc<AtomicBool>,
    pub receiver: BodyReceiver,
}

impl Ingest {
    /// Runs to the end of the input, or to the next split after a stop. Blocks: call it from a separate thread.
    pub fn run(self, mut intake: Intake) -> Result<(), Error> {
        let mut ahead = Ahead::new(&intake);
        let result = self.ingest_all(&mut intake, &mut ahead);
        let result = result.and(self.wait_until(&mut ahead, 0));
        self.end(ahead.ids, &result);
        result
    }

    /// Like [`Ingest::run`], but on the caller's task, with a yield after each split.
    pub async fn run_inline(self, mut intake: Intake) -> Result<(), Error> {
        let mut ahead = Ahead::new(&intake);
        let result = async {
            while !self.stop.load(Ordering::Relaxed)
                && let Some(step) = intake.step()?
            {
                self.ingest(step, intake.clock.now_us(), &mut ahead)?;
                self.wait_until(&mut ahead, 0)?;
                tokio::task::yield_now().await;
            }
            Ok(())
        }
        .await;
        self.end(ahead.ids, &result);
        result
    }

    fn end(&self, ids: IdCount, result: &Result<(), Error>) {
        if let Some(doubt) = ids.end() {
            self.notes.send_modify(|notes| notes.add_line(doubt));
        }
        self.progress.send_modify(|progress| {
            progress.done = true;
            progress.failed = result.is_err();
        });
    }

    fn ingest_all(&self, intake: &mut Intake, ahead: &mut Ahead) -> Result<(), Error> {
        while !self.stop.load(Ordering::Relaxed)
            && let Some(step) = intake.step()?
        {
            self.ingest(step, intake.clock.now_us(), ahead)?;
        }
        Ok(())
    }

    fn ingest(&self, step: IntakeStep, now_us: i64, ahead: &mut Ahead) -> Result<(), Error> {
        match step {
            IntakeStep::Begin { name, layout } => {
                let source = self.number(&name)?;
                self.ledger.source_complete(source, false)?;
                layout.map_or(Ok(()), |layout| self.ledger.source_layout(source, layout))?;
            }
            IntakeStep::Split { name, mut parts } => {
                ahead.ids.add(std::mem::take(&mut parts.ids));
                self.notes.send_modify(|notes| notes.add_split(&name, &parts));
                let (rows, split) = (parts.rows.len() as u64, self.split(self.number(&name)?, parts));
                let (committing, bytes) = self.ledger.ingest_later(split, now_us)?;
                ahead.bytes += bytes;
                ahead.splits.push_back((rows, bytes, committing));
                self.wait_until(ahead, AHEAD_BYTES_MAX)?;
            }
            IntakeStep::End { name, shapes } => {
                self.notes.send_modify(|notes| notes.add_shapes(&name, &shapes));
                self.ledger.source_complete(self.number(&name)?, !self.limited)?;
            }
        }
        Ok(())
    }

    /// Waits for commits until at most `bytes_max` bytes wait for theirs.
    fn wait_until(&self, ahead: &mut Ahead, bytes_max: usize) -> Result<(), Error> {
        while ahead.bytes > bytes_max
            && let Some((rows, bytes, committing)) = ahead.splits.pop_front()
        {
            ahead.bytes -= bytes;
            self.ledger.await_commit(committing)?;
            self.progress.send_modify(|progress| progress.rows += rows);
        }
        Ok(())
    }

    fn number(&self, name: &str) -> Result<i64, Error> {
        let found = self.sources.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
        found.ok_or_else(|| Error::Internal("a source without an id".to_owned()))
    }

    fn split(&self, source: i64, parts: MappedSplit) -> IngestedSplit {
        let asks = parts.asks.into_iter().map(|(row_index, check, mapped)| IngestedAsk {
            row_index,
            check_use: check.map(|at| self.check_uses[at]),
            fate: fate(check.map_or("", |at| &self.checks[at]), mapped, &self.receiver),
        });
        IngestedSplit { source, asks: asks.collect(), rows: parts.rows, end: parts.end }
    }
}

/// What the ledger records for a mapped ask; `check` is the catalogue name of its check.
pub fn fate(check: &str, mapped: Mapped, receiver: &BodyReceiver) -> Fate {
    match mapped {
        Mapped::Failed(failure) => Fate::Failure(failure),
        Mapped::Skipped(reason) => Fate::Skipped(reason),
        Mapped::Ask(ask) => Fate::Request {
            key: ask.key,
            check: check.to_owned(),
            fields: serde_json::Value::Object(ask.fields).to_string(),
            body: receiver.named_in(check, ask.body),
            expected: (!ask.expected.is_empty()).then(|| serde_json::Value::Object(ask.expected).to_string()),
            files: ask.files.into_vec(),
        },
    }
}
