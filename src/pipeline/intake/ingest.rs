//! Ingest: what intake finds goes into the ledger, at read speed, to the end of the input. Runs in a thread of its own beside
//! the sending. It decides how far reading is ahead of the commits: far enough that one commit takes many splits.

use super::{Intake, IntakeProgress, IntakeStep, MappedSplit, notes::Notes};
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

/// Rows and requests handed to the writer whose commit was not waited for, at most, in bytes: some 16 splits of ordinary
/// rows. More rows in a commit write fewer pages of the ledger, and more of them would only be memory.
const AHEAD_BYTES_MAX: usize = 6 << 20;

/// Splits that were handed to the writer, each with its rows and its weight.
#[derive(Default)]
struct Ahead {
    splits: VecDeque<(u64, usize, Committing<()>)>,
    bytes: usize,
}

/// Takes every split into the ledger.
pub struct Ingest {
    pub ledger: Arc<Ledger>,
    /// Ledger numbers by input name and by check.
    pub sources: Vec<(String, i64)>,
    pub check_uses: Vec<i64>,
    /// The catalogue's name of each check.
    pub checks: Vec<String>,
    /// Only the first rows are read: no source is complete by that.
    pub limited: bool,
    pub progress: watch::Sender<IntakeProgress>,
    pub notes: watch::Sender<Notes>,
    pub stop: Arc<AtomicBool>,
}

impl Ingest {
    /// Runs to the end of the input, or to the next split after a stop. Blocks: call it from a thread of its own.
    pub fn run(self, mut intake: Intake) -> Result<(), Error> {
        let mut ahead = Ahead::default();
        let result = self.ingest_all(&mut intake, &mut ahead);
        let result = result.and(self.wait_until(&mut ahead, 0));
        self.end(&result);
        result
    }

    /// The same in the caller's place, giving way after each split.
    pub async fn run_inline(self, mut intake: Intake) -> Result<(), Error> {
        let result = async {
            while !self.stop.load(Ordering::Relaxed)
                && let Some(step) = intake.step()?
            {
                let mut ahead = Ahead::default();
                self.ingest(step, intake.clock.now_us(), &mut ahead)?;
                self.wait_until(&mut ahead, 0)?;
                tokio::task::yield_now().await;
            }
            Ok(())
        }
        .await;
        self.end(&result);
        result
    }

    fn end(&self, result: &Result<(), Error>) {
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
            IntakeStep::Split { name, parts } => {
                self.notes.send_modify(|notes| notes.add_split(&name, &parts));
                let (rows, split) = (parts.rows.len() as u64, self.split(self.number(&name)?, parts));
                let (committing, bytes) = self.ledger.ingest_later(split, now_us)?;
                ahead.bytes += bytes;
                ahead.splits.push_back((rows, bytes, committing));
                self.wait_until(ahead, AHEAD_BYTES_MAX)?;
            }
            IntakeStep::End { name } => self.ledger.source_complete(self.number(&name)?, !self.limited)?,
        }
        Ok(())
    }

    /// Waits for commits until what is ahead of them weighs at most so much.
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
        found.ok_or_else(|| Error::Internal("a source without a number".to_owned()))
    }

    fn split(&self, source: i64, parts: MappedSplit) -> IngestedSplit {
        let asks = parts.asks.into_iter().map(|(row_index, check, mapped)| IngestedAsk {
            row_index,
            check_use: check.map(|at| self.check_uses[at]),
            fate: fate(check.map_or("", |at| &self.checks[at]), mapped),
        });
        IngestedSplit { source, asks: asks.collect(), rows: parts.rows, end: parts.end }
    }
}

/// What the ledger records of a mapped ask; `sold` is the catalogue's name of its check.
pub fn fate(check: &str, mapped: Mapped) -> Fate {
    match mapped {
        Mapped::Failed(failure) => Fate::Failure(failure),
        Mapped::Skipped(reason) => Fate::Skipped(reason),
        Mapped::Ask(ask) => Fate::Request {
            key: ask.key,
            check: check.to_owned(),
            fields: serde_json::Value::Object(ask.fields).to_string(),
            body: ask.body,
            expected: (!ask.expected.is_empty()).then(|| serde_json::Value::Object(ask.expected).to_string()),
        },
    }
}
