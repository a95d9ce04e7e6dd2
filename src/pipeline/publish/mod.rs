//! Publishing: settled asks → rows → parts → manifest. The ledger records the content of a part before the part is
//! written, and the manifest is written last. Publishing can be repeated at any time with the same result.

pub mod background;
pub mod hidden;
mod judging;
pub mod project;
pub mod row_rules;
mod secret_columns;

use super::campaign::{Campaign, out_folder::claim};
use crate::{
    catalogue::DeclaredCheck,
    error::Error,
    ledger::{AskFate, Ledger, LedgerError, LedgerPart, PartPlan, Reading},
    model::{
        Credits, Verdict,
        planted::{Bug, planted},
    },
    sink::{
        self, CheckTotals, Dataset, DatasetKind, ImageOutput, InputTotals, JsonlRows, MANIFEST_VERSION, Manifest,
        OutputFormat, OutputMode, Part, Schema, SnapshotWriter, SourceTotals, TableWriter,
    },
};
use project::Projector;
use row_rules::RowRules;
use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
};

/// The maximum number of rows in a result part.
pub const PART_ROWS_MAX: u64 = 50_000;

/// Publishes one ledger into one folder.
pub struct Publisher {
    ledger: Arc<Ledger>,
    out: PathBuf,
    format: OutputFormat,
    projector: Projector,
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
}

/// What a publication needs in addition to campaign and ledger.
#[derive(Default)]
pub struct PublishOptions {
    pub tap: Option<Tap>,
    /// The current rules of the checks in the ledger, by catalogue name.
    pub rules: BTreeMap<String, i64>,
    /// Answers that no rule recognises become results.
    pub accept_unrecognised: bool,
}

/// A second destination for result rows, as JSON lines.
pub type Tap = Box<dyn Write + Send>;

impl Publisher {
    pub fn new(campaign: &Campaign, ledger: Arc<Ledger>, options: PublishOptions) -> Result<Publisher, Error> {
        let PublishOptions { tap, rules, accept_unrecognised } = options;
        let projector = Projector::new(campaign, Reading::open(ledger.path())?.check_uses()?)?;
        Ok(Publisher {
            ledger,
            out: campaign.out.clone(),
            format: campaign.format,
            projector,
            mode: campaign.mode,
            rehearsal: campaign.service.simulate && !planted(Bug::RehearsalUnnamed),
            tap: Mutex::new(tap),
            rules,
            accept_unrecognised,
            images: campaign.images,
            declared: campaign.declared(),
            interrupted: AtomicBool::new(false),
        })
    }

    /// Writes new parts and replaces the snapshots and the manifest. Blocks: call it from a separate thread.
    pub fn publish(&self) -> Result<Manifest, Error> {
        // If the folder was moved away, it must not be created again without its ledger.
        self.ledger.check_files()?;
        let reading = Reading::open(self.ledger.path())?;
        claim(&self.out, self.projector.campaign(), &reading)?;
        let extension = self.format.extension().to_owned();
        let folders = self.projector.checks().map(|(id, check)| (id, check.name.clone())).collect();
        let of_check = |(id, check): (i64, &project::Projected)| Some((id, *self.rules.get(check.check())?));
        let rules = self.projector.checks().filter_map(of_check).collect();
        let accept_unrecognised = self.accept_unrecognised;
        let plan = PartPlan { rows_max: PART_ROWS_MAX, extension, folders, rules, accept_unrecognised };
        self.judge_waiting(&reading)?;
        // A part that is not full is the last one. While answers keep coming, there would always be another small part.
        let rows = |parts: Vec<LedgerPart>| parts.iter().map(|part| part.rows).sum::<u64>();
        while rows(self.ledger.cut_parts(plan.clone())?) == PART_ROWS_MAX {}
        let early = planted(Bug::ManifestBeforeParts).then(|| self.manifest(&Reading::open(self.ledger.path())?));
        for part in reading.parts()? {
            if part.written.is_none() || !self.out.join(&part.path).exists() {
                self.write_part(&reading, &part)?;
            }
        }
        let manifest = early.unwrap_or_else(|| self.manifest(&reading))?;
        manifest.write_atomically(&self.out)?;
        sink::sweep(&self.out, &manifest)?;
        // Last, because only `status` and the report need it.
        self.compare_parts(&Reading::open(self.ledger.path())?)?;
        self.ledger.checkpoint()?;
        Ok(manifest)
    }

    fn mode(&self, simulated: Option<bool>) -> OutputMode {
        OutputMode::of(self.mode, self.rehearsal || simulated == Some(true))
    }

    fn write_part(&self, reading: &Reading, part: &LedgerPart) -> Result<(), Error> {
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
        let mut verdicts: BTreeMap<Verdict, u64> = BTreeMap::new();
        let path = self.out.join(&part.path);
        let mut writer = TableWriter::create(&path, format_of(&path), &schema)?;
        let mut tap = self.tap.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tapped = tap.as_mut().map(|tap| JsonlRows::new(tap, &schema));
        reading.part_asks(part, |ask| -> Result<(), Error> {
            let mut images = Vec::new();
            let row = self.projector.result_row(check, rules, mode, &ask, &mut |image| images.push(image))?;
            self.write_images(&images)?;
            *verdicts.entry(row.verdict).or_default() += 1;
            let cells = row.into_cells();
            if tapped.as_mut().is_some_and(|rows| rows.write(&cells).is_err()) {
                // The reader of the tap is gone. The part still gets every row.
                tapped = None;
            }
            Ok(writer.write_row(cells)?)
        })?;
        let written = writer.finish()?;
        if written.rows != part.rows {
            let fault = format!("part {} has {} rows, but {} asks", part.id, part.rows, written.rows);
            return Err(LedgerError::Damaged(fault).into());
        }
        self.ledger.part_written(part.id, written.bytes, written.sha256, &verdicts)?;
        Ok(())
    }

    /// Writes the images of a row, before the row can be read.
    fn write_images(&self, images: &[hidden::Image]) -> Result<(), Error> {
        if self.images == ImageOutput::Files {
            for image in images {
                sink::write_image(&self.out, &image.sha256, image.extension, &image.bytes)?;
            }
        }
        Ok(())
    }

    /// Writes the snapshots and makes the manifest, both from one consistent state of the ledger.
    fn manifest(&self, reading: &Reading) -> Result<Manifest, Error> {
        reading.hold_still()?;
        let mode = self.mode(reading.sums()?.simulated);
        let number = sink::next_snapshot(&self.out);
        let mut datasets = self.results(reading)?;
        datasets.push(self.snapshot(DatasetKind::Failures, number, |each| {
            reading.failed_asks(|ask| each(self.projector.failure_row(mode, &ask)?))
        })?);
        datasets.push(self.snapshot(DatasetKind::Pending, number, |each| {
            reading.pending_asks(|ask| {
                let unrecognised = matches!(&ask.fate, AskFate::Request(request) if request.unrecognised);
                each(self.projector.pending_row(mode, &ask, unrecognised)?)
            })
        })?);
        datasets.push(self.snapshot(DatasetKind::Skipped, number, |each| {
            reading.skipped_asks(|ask| each(self.projector.skipped_row(mode, &ask)?))
        })?);
        let totals = self.totals(reading)?;
        let input = input(reading)?;
        let accounted = input.sources.iter().all(|source| source.complete)
            && !input.sources.is_empty()
            && totals.iter().all(|totals| totals.pending == 0 || planted(Bug::CompleteTooSoon));
        if accounted {
            sink::verify(&self.out, &datasets)?;
        }
        let (images, images_unlisted) = sink::image_files(&self.out);
        Ok(Manifest {
            manifest_version: MANIFEST_VERSION,
            program: concat!("rescreen ", env!("CARGO_PKG_VERSION")).to_owned(),
            campaign: self.projector.campaign().to_owned(),
            mode,
            complete: accounted,
            format: self.format,
            datasets,
            totals,
            input,
            declared: self.declared.clone(),
            images,
            images_unlisted,
        })
    }

    fn results(&self, reading: &Reading) -> Result<Vec<Dataset>, Error> {
        let mut datasets: BTreeMap<i64, Dataset> = BTreeMap::new();
        for (id, check) in self.projector.checks() {
            let schema = check.schema()?.column_types();
            let kind = DatasetKind::Results;
            datasets.insert(id, Dataset { kind, check: Some(check.name.clone()), schema, parts: Vec::new() });
        }
        for part in reading.parts()? {
            if let (Some(dataset), Some((bytes, sha256))) = (datasets.get_mut(&part.check_use), part.written) {
                dataset.parts.push(Part { path: part.path, rows: part.rows, bytes, sha256 });
            }
        }
        Ok(datasets.into_values().collect())
    }

    fn snapshot(
        &self,
        kind: DatasetKind,
        number: u64,
        fill: impl FnOnce(&mut dyn FnMut(Vec<sink::TableCell>) -> Result<(), Error>) -> Result<(), Error>,
    ) -> Result<Dataset, Error> {
        let schema: Schema = match kind {
            DatasetKind::Failures => sink::failures_schema(),
            DatasetKind::Pending => sink::pending_schema(),
            DatasetKind::Skipped | DatasetKind::Results => sink::skipped_schema(),
        };
        let mut writer = SnapshotWriter::create(&self.out, kind, number, self.format, &schema)?;
        fill(&mut |cells| Ok(writer.write_row(cells)?))?;
        let mut parts = writer.finish()?;
        if planted(Bug::SnapshotAppended) {
            let before = Manifest::read(&self.out)?.into_iter().flat_map(|manifest| manifest.datasets);
            parts.extend(before.filter(|dataset| dataset.kind == kind).flat_map(|dataset| dataset.parts));
        }
        Ok(Dataset { kind, check: None, schema: schema.column_types(), parts })
    }

    fn totals(&self, reading: &Reading) -> Result<Vec<CheckTotals>, Error> {
        let counts = reading.counts()?;
        let totals = self.projector.checks().map(|(id, check)| {
            let counts = counts.get(&Some(id)).cloned().unwrap_or_default();
            CheckTotals {
                check: check.name.clone(),
                asks: counts.results + counts.failures + counts.pending + counts.skipped,
                results: counts.results,
                failures: counts.failures,
                pending: counts.pending,
                skipped: counts.skipped,
                credits: counts.credits.0,
                by_verdict: counts.by_verdict,
            }
        });
        Ok(totals.collect())
    }
}

/// What was read of the inputs.
pub fn input(reading: &Reading) -> Result<InputTotals, Error> {
    let sums = reading.sums()?;
    let sources = reading.sources()?.into_iter().map(|source| {
        let end = source.ends.last();
        SourceTotals {
            name: source.name,
            rows: end.map_or(0, |end| end.next_row_number - 1),
            bytes: end.map_or(0, |end| end.end_offset),
            sha256: end.map(|end| crate::model::key::hex(&end.sha256)).unwrap_or_default(),
            complete: source.complete,
        }
    });
    Ok(InputTotals { rows: sums.rows, unreadable_rows: sums.unreadable, sources: sources.collect() })
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
