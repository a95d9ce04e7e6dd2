//! Taking: what intake finds goes into the ledger, at read speed, to the end of the input. Runs in a thread of its own beside
//! the sending.

use super::intake::{Intake, IntakeProgress, Step, TakenParts};
use crate::{
    error::Error,
    ledger::{Fate, Ledger, TakenAsk, TakenSplit},
    mapping::Mapped,
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::watch;

/// Takes every split into the ledger.
pub struct Taking {
    pub ledger: Arc<Ledger>,
    /// Ledger numbers by input name and by check.
    pub sources: Vec<(String, i64)>,
    pub check_uses: Vec<i64>,
    /// The catalogue's name of each check.
    pub sold: Vec<String>,
    /// Only the first rows are read: no source is complete by that.
    pub limited: bool,
    pub progress: watch::Sender<IntakeProgress>,
    pub stop: Arc<AtomicBool>,
}

impl Taking {
    /// Runs to the end of the input, or to the next split after a stop. Blocks: call it from a thread of its own.
    pub fn run(self, mut intake: Intake) -> Result<(), Error> {
        let result = self.take_all(&mut intake);
        self.end(&result);
        result
    }

    /// The same in the caller's place, giving way after each split.
    pub async fn run_inline(self, mut intake: Intake) -> Result<(), Error> {
        let result = async {
            while !self.stop.load(Ordering::Relaxed)
                && let Some(step) = intake.step()?
            {
                self.take(step, intake.clock.now_us())?;
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

    fn take_all(&self, intake: &mut Intake) -> Result<(), Error> {
        while !self.stop.load(Ordering::Relaxed)
            && let Some(step) = intake.step()?
        {
            self.take(step, intake.clock.now_us())?;
        }
        Ok(())
    }

    fn take(&self, step: Step, now_us: i64) -> Result<(), Error> {
        match step {
            Step::Begin { name, layout } => {
                let source = self.number(&name)?;
                self.ledger.source_complete(source, false)?;
                layout.map_or(Ok(()), |layout| self.ledger.source_layout(source, layout))?;
            }
            Step::Split { name, parts } => {
                let rows = parts.rows.len() as u64;
                self.ledger.take(self.split(self.number(&name)?, parts), now_us)?;
                self.progress.send_modify(|progress| progress.rows += rows);
            }
            Step::End { name } => self.ledger.source_complete(self.number(&name)?, !self.limited)?,
        }
        Ok(())
    }

    fn number(&self, name: &str) -> Result<i64, Error> {
        let found = self.sources.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
        found.ok_or_else(|| Error::Internal("a source without a number".to_owned()))
    }

    fn split(&self, source: i64, parts: TakenParts) -> TakenSplit {
        let asks = parts.asks.into_iter().map(|(place, check, mapped)| TakenAsk {
            place,
            check_use: check.map(|at| self.check_uses[at]),
            fate: fate(check.map_or("", |at| &self.sold[at]), mapped),
        });
        TakenSplit { source, asks: asks.collect(), rows: parts.rows, end: parts.end }
    }
}

/// What the ledger records of a mapped ask; `sold` is the catalogue's name of its check.
pub fn fate(sold: &str, mapped: Mapped) -> Fate {
    match mapped {
        Mapped::Failed(failure) => Fate::Failure(failure),
        Mapped::Skipped(reason) => Fate::Skipped(reason),
        Mapped::Ask(ask) => Fate::Request {
            key: ask.key,
            sold: sold.to_owned(),
            fields: serde_json::Value::Object(ask.fields).to_string(),
            body: ask.body,
        },
    }
}
