//! Publishing: settled asks → rows → parts → manifest. The ledger records the content of a part before the part is
//! written, and the manifest is written last. Publishing can be repeated at any time with the same result.

pub mod acceptance;
pub mod background;
#[cfg(test)]
mod cost_tests;
pub mod hidden;
mod judging;
pub mod manifest;
pub mod project;
pub mod row_rules;
pub mod secret_columns;

use super::campaign::{Campaign, out_folder::claim};
use crate::{
    catalogue::DeclaredCheck,
    error::Error,
    ledger::{AskFate, Ledger, LedgerError, LedgerPart, PartFiles, PartPlan, Reading, Sums},
    model::{Credits, Verdict},
    sink::{self, Dataset, DatasetKind, ImageOutput, JsonlRows, Manifest, OutputFormat, OutputMode, Part, TableWriter},
};
use acceptance::DecisionsInUse;
use project::Projector;
use row_rules::{Judging, RowRules};
use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// The maximum number of rows in a result part.
pub const PART_ROWS_MAX: u64 = 50_000;

/// Publishes one ledger into one folder.
pub struct Publisher {
    /// Used for all publications, because opening a reader takes longer than most of them. It is dropped before the
    /// ledger, which closes after its last reader.
    reading: Mutex<Reading>,
    ledger: Arc<Ledger>,
    out: PathBuf,
    format: OutputFormat,
    projector: Projector,
    decisions: DecisionsInUse,
    mode: crate::model::Mode,
    /// The campaign is a rehearsal. Its outputs say so even before the simulator has answered.
    rehearsal: bool,
    tap: Mutex<Option<Tap>>,
    /// The current rules of the checks, by catalogue name.
    rules: BTreeMap<String, i64>,
    accept_unrecognised: bool,
    images: ImageOutput,
    declared: Vec<DeclaredCheck>,
    /// A person asked the run to end, so nothing is judged any more.
    interrupted: AtomicBool,
    /// This process has published.
    has_begun: AtomicBool,
    /// The last snapshot of the failures.
    failures: Mutex<Option<Failures>>,
    /// The empty snapshots that stand for pending and skipped rows while a run is under way.
    counted_only: Mutex<BTreeMap<DatasetKind, Dataset>>,
    /// The empty parts of the checks, once they were written.
    empty_parts: Mutex<BTreeMap<(DatasetKind, i64), Part>>,
    /// The images in the output folder by path, once they were listed.
    image_files: Mutex<Option<BTreeMap<String, sink::ImageFile>>>,
}

/// The failures as they were last written.
#[derive(Clone)]
struct Failures {
    dataset: Dataset,
    /// The same rows as CSV, if there are any.
    csv: Option<Part>,
    /// How many there were.
    count: u64,
}

/// When a publication happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A run is under way. A publication costs work in proportion to what is new: pending and skipped rows are only
    /// counted.
    UnderWay,
    /// Nothing is sent any more. Every dataset is written.
    Stopped,
}

/// What a publication needs in addition to campaign and ledger.
#[derive(Default)]
pub struct PublishOptions {
    pub tap: Option<Tap>,
    /// The current rules of the checks in the ledger, by catalogue name.
    pub rules: BTreeMap<String, i64>,
    /// Answers that no rule recognises become results.
    pub accept_unrecognised: bool,
    /// Nothing is published that was not published before, so today's decisions do not count.
    pub only_again: bool,
}

/// A second destination for result rows, as JSON lines.
pub type Tap = Box<dyn Write + Send>;

impl Publisher {
    pub fn new(campaign: &Campaign, ledger: Arc<Ledger>, options: PublishOptions) -> Result<Publisher, Error> {
        let PublishOptions { tap, rules, accept_unrecognised, only_again } = options;
        let reading = ledger.reading()?;
        let projector = Projector::new(campaign, reading.check_uses()?)?;
        let decisions = DecisionsInUse::of(campaign);
        if !only_again {
            decisions.check(&reading)?;
        }
        Ok(Publisher {
            reading: Mutex::new(reading),
            ledger,
            out: campaign.out.clone(),
            format: campaign.format,
            projector,
            decisions,
            mode: campaign.mode,
            rehearsal: campaign.service.simulate,
            tap: Mutex::new(tap),
            rules,
            accept_unrecognised,
            images: campaign.images,
            declared: campaign.declared(),
            interrupted: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
            failures: Mutex::new(None),
            counted_only: Mutex::default(),
            empty_parts: Mutex::default(),
            image_files: Mutex::new(None),
        })
    }

    /// Writes new parts and replaces the snapshots and the manifest. Blocks: call it from a separate thread.
    pub fn publish(&self, stage: Stage) -> Result<Manifest, Error> {
        // If the folder was moved away, it must not be created again without its ledger.
        self.ledger.check_files()?;
        let reading = self.reading();
        let published = self.publish_from(&reading, stage);
        // A publication that failed may have left its transaction open, which would keep the log from being emptied.
        reading.move_on()?;
        published
    }

    /// Marks the manifest of an earlier run as one that is under way, and not complete. Without a manifest of this campaign
    /// there is nothing to mark.
    ///
    /// # Errors
    /// A storage error.
    pub fn mark_under_way(&self) -> Result<(), Error> {
        let is_final = |manifest: &Manifest| !manifest.under_way && manifest.campaign == self.projector.campaign();
        // The next publication replaces one that cannot be read.
        let Some(manifest) = Manifest::read(&self.out).ok().flatten().filter(is_final) else { return Ok(()) };
        Ok(Manifest { under_way: true, complete: false, ..manifest }.write_atomically(&self.out)?)
    }

    /// The reader of the publications. Each query shows the state at its own time.
    pub fn reading(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sums of the ledger.
    pub fn sums(&self) -> Arc<Sums> {
        self.ledger.sums()
    }

    fn publish_from(&self, reading: &Reading, stage: Stage) -> Result<Manifest, Error> {
        // What an earlier run or another program may have left is looked for only twice in a run.
        let is_thorough = stage == Stage::Stopped || !self.has_begun.load(Ordering::Relaxed);
        claim(&self.out, self.projector.campaign(), reading)?;
        let extension = self.format.extension().to_owned();
        let folders = self.projector.checks().map(|(id, check)| (id, check.name.clone())).collect();
        let of_check = |(id, check): (i64, &project::Projected)| Some((id, *self.rules.get(check.check())?));
        let rules = self.projector.checks().filter_map(of_check).collect();
        let accept_unrecognised = self.accept_unrecognised;
        let plan = PartPlan { rows_max: PART_ROWS_MAX, extension, folders, rules, accept_unrecognised };
        self.judge_waiting(reading)?;
        let mut new: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        loop {
            let cut = self.ledger.cut_parts(plan.clone())?;
            let rows: u64 = cut.iter().map(|(part, _)| part.rows).sum();
            new.extend(cut.into_iter().map(|(part, asks)| (part.id, asks)));
            // A part that is not full is the last one. While answers keep coming, there would always be another small part.
            if rows < PART_ROWS_MAX {
                break;
            }
        }
        let mut parts = reading.parts()?;
        for part in &mut parts {
            let is_gone = |part: &LedgerPart| {
                let answers = part.answers.is_some().then(|| part.answers_path());
                [Some(part.path.clone()), answers].into_iter().flatten().any(|path| !self.out.join(path).exists())
            };
            let check = self.projector.check(Some(part.check_use))?;
            let is_incomplete = part.answers.is_none() && check.has_answers_dataset();
            if part.written.is_none() || is_incomplete || is_thorough && is_gone(part) {
                let asks = new.get(&part.id).map(Vec::as_slice);
                let files = self.write_part(reading, part, asks)?;
                (part.written, part.answers) = (Some(files.results), files.answers);
            }
        }
        let manifest = self.manifest(reading, stage, &parts)?;
        manifest.write_atomically(&self.out)?;
        sink::sweep(&self.out, &manifest, is_thorough)?;
        // Last, because only `status` and the report need it.
        reading.move_on()?;
        if is_thorough {
            self.compare_parts(reading)?;
        }
        self.ledger.checkpoint()?;
        self.has_begun.store(true, Ordering::Relaxed);
        Ok(manifest)
    }

    fn mode(&self, simulated: Option<bool>) -> OutputMode {
        OutputMode::of(self.mode, self.rehearsal || simulated == Some(true))
    }

    /// Writes the files of a part. `asks` are its asks, if they are at hand.
    fn write_part(&self, reading: &Reading, part: &LedgerPart, asks: Option<&[i64]>) -> Result<PartFiles, Error> {
        let check = self.projector.check(Some(part.check_use))?;
        let mode = self.mode(reading.sums()?.simulated);
        let schema = check.schema()?;
        let current = self.rules.get(check.check()).copied();
        let other;
        let rules = if part.rules.is_some() && part.rules == current {
            &check.current
        } else {
            other = self.projector.rules_of(check, part.rules, reading)?;
            &other
        };
        if part.written.is_none() {
            self.accept(reading, (part, asks), rules)?;
        }
        let (mut verdicts, mut answers) = (BTreeMap::<Verdict, u64>::new(), BTreeMap::<Verdict, u64>::new());
        let path = self.out.join(&part.path);
        let mut writer = TableWriter::create(&path, format_of(&path), &schema)?;
        let answers_path = self.out.join(part.answers_path());
        let answers_schema = check.has_answers_dataset().then(sink::answers_schema);
        let answers_writer = answers_schema.map(|schema| TableWriter::create(&answers_path, format_of(&path), &schema));
        let mut answers_writer = answers_writer.transpose()?;
        let mut tap = self.tap.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tapped = tap.as_mut().map(|tap| JsonlRows::new(tap, &schema));
        reading.part_asks(part, asks, |ask| -> Result<(), Error> {
            if let AskFate::Request(request) = &ask.fate
                && let Some(answer) = &request.answer
            {
                *answers.entry(answer.verdict).or_default() += 1;
            }
            let mut images = Vec::new();
            let row = self
                .projector
                .result_row(check, (rules, Judging::Recorded), mode, &ask, &mut |image| images.push(image))?;
            self.write_images(&images)?;
            *verdicts.entry(row.verdict).or_default() += 1;
            if let Some(writer) = &mut answers_writer {
                writer.write_row(row.answer_cells())?;
            }
            let cells = row.into_cells(check.form());
            if tapped.as_mut().is_some_and(|rows| rows.write(&cells).is_err()) {
                // The reader of the tap is gone. The part still gets every row.
                tapped = None;
            }
            Ok(writer.write_row(cells)?)
        })?;
        // The answers first: a reader of the results finds them.
        let written_answers = answers_writer.map(TableWriter::finish).transpose()?;
        let written = writer.finish()?;
        if written.rows != part.rows {
            let fault = format!("part {} has {} rows, but {} asks", part.id, part.rows, written.rows);
            return Err(LedgerError::Damaged(fault).into());
        }
        let files = PartFiles {
            results: (written.bytes, written.sha256),
            answers: written_answers.map(|written| (written.bytes, written.sha256)),
        };
        self.ledger.part_written(part.id, files.clone(), verdicts, answers)?;
        Ok(files)
    }
}

/// The format of a part, by its extension. A part is always written again in its original format.
fn format_of(path: &Path) -> OutputFormat {
    if path.extension().is_some_and(|extension| extension == OutputFormat::Jsonl.extension()) {
        OutputFormat::Jsonl
    } else {
        OutputFormat::Parquet
    }
}

/// The credits of all checks in a manifest.
pub fn credits(manifest: &Manifest) -> Credits {
    Credits(manifest.totals.iter().map(|totals| totals.credits).sum())
}

/// The number of results by verdict, over all checks.
pub fn by_verdict(manifest: &Manifest) -> BTreeMap<Verdict, u64> {
    let mut sums = BTreeMap::new();
    for (word, count) in manifest.totals.iter().flat_map(|totals| &totals.by_verdict) {
        if let Some(verdict) = Verdict::from_word(word) {
            *sums.entry(verdict).or_default() += count;
        }
    }
    sums
}
