//! Export: publishes all results of a campaign into a new folder, judged by the current declarations. It reads the ledger
//! and changes nothing in it. This module decides what an exported row is: the same ask in the same dataset as in the
//! campaign, except that answers in no part yet become results if the rules recognise them.

use super::{
    campaign::{Campaign, read_file, recorded::campaign_of},
    publish::{PART_ROWS_MAX, hidden::Image, input, project::Projector},
    status::ledger_in,
};
use crate::{
    catalogue::DeclaredCheck,
    error::Error,
    files::{self, Links, rename_new},
    ledger::{AskFate, AskView, Reading},
    model::{Stop, Verdict, state::State},
    sink::{
        self, CheckTotals, Dataset, DatasetKind, ImageOutput, MANIFEST_VERSION, Manifest, OutputFormat, OutputMode,
        Part, Schema, SnapshotWriter, TableCell, TableWriter,
    },
};
use std::{collections::BTreeMap, fs::File, path::Path, sync::LazyLock, time::Duration};

/// What to export, and where to.
pub struct ExportOrder<'a> {
    /// An output folder, or a ledger file.
    pub place: &'a Path,
    /// The new folder.
    pub to: &'a Path,
    /// A campaign file whose declarations judge the answers.
    pub config: Option<&'a Path>,
    /// The format, if it is not that of the campaign.
    pub format: Option<OutputFormat>,
}

/// How the name of an unfinished export begins.
const UNFINISHED: &str = ".rescreen-export-";
/// A file in an unfinished export, which is locked while the export runs.
const IN_USE: &str = ".in-use";
/// An unfinished export without that file may be just beginning or ending. It is removed if it is older than this.
const ABANDONED_AFTER: Duration = Duration::from_secs(24 * 3_600);

/// Locks an unfinished export until the file is closed.
fn mark_in_use(folder: &Path) -> std::io::Result<File> {
    let file = File::create_new(folder.join(IN_USE))?;
    file.try_lock()?;
    Ok(file)
}

/// Removes unfinished exports of programs that were killed: they contain results. What cannot be removed stays.
fn remove_left_behind(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.filter_map(Result::ok) {
        let is_export = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        if is_export && entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_abandoned(&entry.path()) {
            match std::fs::remove_dir_all(entry.path()) {
                Ok(()) => tracing::info!("removed an unfinished export"),
                Err(error) => tracing::warn!("an unfinished export cannot be removed: {error}"),
            }
        }
    }
}

/// Whether no program writes an unfinished export any more.
fn is_abandoned(folder: &Path) -> bool {
    match files::open(&folder.join(IN_USE), Links::Refused) {
        Ok(file) => file.try_lock().is_ok(),
        Err(_) => {
            let changed = std::fs::symlink_metadata(folder).and_then(|found| found.modified());
            changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED_AFTER))
        }
    }
}

/// Exports a campaign. Asks `interrupted` before each row whether to stop; then nothing is left behind.
///
/// # Errors
/// The folder exists, the ledger cannot be read, a declaration does not fit the campaign, writing fails, or it was
/// interrupted.
pub fn export(order: &ExportOrder<'_>, interrupted: &dyn Fn() -> Option<Stop>) -> Result<Manifest, Error> {
    let ledger = ledger_in(order.place);
    let reading = Reading::open(&ledger)?;
    let file = order.config.map(read_file).transpose()?;
    let base = order.config.and_then(Path::parent).unwrap_or(Path::new(""));
    let campaign = campaign_of(&reading, &ledger, order.to, file.as_ref().map(|file| (file, base)))?;
    if std::fs::symlink_metadata(order.to).is_ok() {
        return Err(Error::Config(format!(
            "--to {}: expected a folder that does not exist, found one; name a new folder",
            order.to.display()
        )));
    }
    let parent = order.to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sink::create_folder(parent)?;
    let failed = |step| {
        let path = order.to.to_owned();
        move |fault| Error::from(sink::SinkError::Storage { path, step, fault })
    };
    // Hidden until it is complete, and removed if anything fails.
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED);
    // Only the owner may read it, as in the folder of the campaign.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    remove_left_behind(parent);
    let temporary = builder.tempdir_in(parent).map_err(failed("creating"))?;
    let in_use = mark_in_use(temporary.path()).map_err(failed("creating"))?;
    sink::refuse_inside_another(temporary.path())?;
    let format = order.format.unwrap_or(campaign.format);
    let manifest = {
        let mut exporting = Exporting::new(&campaign, &reading, temporary.path(), format)?;
        exporting.every_row(&reading, interrupted)?;
        exporting.finish(&reading)?
    };
    manifest.write_atomically(temporary.path())?;
    std::fs::remove_file(temporary.path().join(IN_USE)).map_err(failed("removing a file of"))?;
    let temporary = temporary.keep();
    let renamed = rename_new(&temporary, order.to);
    if renamed.is_err() {
        drop(std::fs::remove_dir_all(&temporary));
    }
    drop(in_use);
    renamed.map_err(failed("renaming"))?;
    sink::sync_folder(parent).map_err(failed("fsync of the folder"))?;
    Ok(manifest)
}

/// An export in progress.
struct Exporting<'a> {
    out: &'a Path,
    format: OutputFormat,
    mode: OutputMode,
    projector: Projector,
    images: ImageOutput,
    declared: Vec<DeclaredCheck>,
    results: BTreeMap<i64, Results>,
    totals: BTreeMap<i64, CheckTotals>,
    snapshots: Snapshots<'a>,
}

struct Snapshots<'a> {
    failures: SnapshotWriter<'a>,
    pending: SnapshotWriter<'a>,
    skipped: SnapshotWriter<'a>,
}

/// The results of one check: finished parts, and the part being written.
struct Results {
    schema: Schema,
    parts: Vec<Part>,
    /// Its path, its rows and its writer.
    open: Option<(String, u64, TableWriter)>,
}

static SCHEMAS: LazyLock<[Schema; 3]> =
    LazyLock::new(|| [sink::failures_schema(), sink::pending_schema(), sink::skipped_schema()]);

impl<'a> Exporting<'a> {
    fn new(campaign: &'a Campaign, reading: &Reading, out: &'a Path, format: OutputFormat) -> Result<Self, Error> {
        reading.hold_still()?;
        let projector = Projector::new(campaign, reading.check_uses()?)?;
        let snapshot =
            |kind, at: usize| -> Result<_, Error> { Ok(SnapshotWriter::create(out, kind, 1, format, &SCHEMAS[at])?) };
        let (mut results, mut totals) = (BTreeMap::new(), BTreeMap::new());
        for (id, check) in projector.checks() {
            results.insert(id, Results { schema: check.schema()?, parts: Vec::new(), open: None });
            totals.insert(id, CheckTotals { check: check.name.clone(), ..CheckTotals::default() });
        }
        Ok(Exporting {
            mode: OutputMode::of(campaign.mode, campaign.service.simulate || reading.sums()?.simulated == Some(true)),
            snapshots: Snapshots {
                failures: snapshot(DatasetKind::Failures, 0)?,
                pending: snapshot(DatasetKind::Pending, 1)?,
                skipped: snapshot(DatasetKind::Skipped, 2)?,
            },
            images: campaign.images,
            out,
            format,
            projector,
            declared: campaign.declared(),
            results,
            totals,
        })
    }

    fn every_row(&mut self, reading: &Reading, interrupted: &dyn Fn() -> Option<Stop>) -> Result<(), Error> {
        reading.every_ask(|ask| match interrupted() {
            Some(stop) => Err(Error::Stopped(stop)),
            None => self.row(&ask),
        })?;
        for (id, counts) in reading.counts()? {
            if let Some(totals) = id.and_then(|id| self.totals.get_mut(&id)) {
                totals.credits = counts.credits.0;
            }
        }
        Ok(())
    }

    fn row(&mut self, ask: &AskView<'_>) -> Result<(), Error> {
        let mut totals = CheckTotals::default();
        let totals = ask.check_use.and_then(|id| self.totals.get_mut(&id)).unwrap_or(&mut totals);
        totals.asks += 1;
        match &ask.fate {
            AskFate::Skipped(_) => {
                totals.skipped += 1;
                Ok(self.snapshots.skipped.write_row(self.projector.skipped_row(self.mode, ask)?)?)
            }
            AskFate::Failure(_) => {
                totals.failures += 1;
                Ok(self.snapshots.failures.write_row(self.projector.failure_row(self.mode, ask)?)?)
            }
            AskFate::Request(request) if request.state == State::Failed => {
                totals.failures += 1;
                Ok(self.snapshots.failures.write_row(self.projector.failure_row(self.mode, ask)?)?)
            }
            AskFate::Request(request) if request.state != State::Answered => {
                totals.pending += 1;
                Ok(self.snapshots.pending.write_row(self.projector.pending_row(self.mode, ask, false)?)?)
            }
            AskFate::Request(request) => {
                let check = self.projector.check(ask.check_use)?;
                let mut images = Vec::new();
                let each: &mut dyn FnMut(Image) = &mut |image| images.push(image);
                let row = self.projector.result_row(check, &check.current, self.mode, ask, each)?;
                if row.verdict == Verdict::Unrecognised && !request.published {
                    totals.pending += 1;
                    return Ok(self.snapshots.pending.write_row(self.projector.pending_row(self.mode, ask, true)?)?);
                }
                totals.results += 1;
                *totals.by_verdict.entry(row.verdict.as_str().to_owned()).or_default() += 1;
                if self.images == ImageOutput::Files {
                    for image in &images {
                        sink::write_image(self.out, &image.sha256, image.extension, &image.bytes)?;
                    }
                }
                let cells = row.into_cells();
                let id = ask.check_use.unwrap_or_default();
                let Some(results) = self.results.get_mut(&id) else { return Ok(()) };
                results.write(self.out, &check.name, self.format, cells)
            }
        }
    }

    fn finish(self, reading: &Reading) -> Result<Manifest, Error> {
        let Exporting { mut results, totals, snapshots, projector, .. } = self;
        let mut datasets = Vec::new();
        for (id, check) in projector.checks() {
            let Some(results) = results.remove(&id) else { continue };
            let (kind, schema) = (DatasetKind::Results, results.schema.column_types());
            datasets.push(Dataset { kind, check: Some(check.name.clone()), schema, parts: results.finish()? });
        }
        let [failures, pending, skipped] = &*SCHEMAS;
        for (kind, schema, parts) in [
            (DatasetKind::Failures, failures, snapshots.failures.finish()?),
            (DatasetKind::Pending, pending, snapshots.pending.finish()?),
            (DatasetKind::Skipped, skipped, snapshots.skipped.finish()?),
        ] {
            datasets.push(Dataset { kind, check: None, schema: schema.column_types(), parts });
        }
        let (totals, input): (Vec<CheckTotals>, _) = (totals.into_values().collect(), input(reading)?);
        let is_read = !input.sources.is_empty() && input.sources.iter().all(|source| source.complete);
        let (images, images_unlisted) = sink::image_files(self.out);
        Ok(Manifest {
            manifest_version: MANIFEST_VERSION,
            program: concat!("rescreen ", env!("CARGO_PKG_VERSION")).to_owned(),
            campaign: projector.campaign().to_owned(),
            mode: self.mode,
            complete: is_read && totals.iter().all(|totals| totals.pending == 0),
            format: self.format,
            datasets,
            totals,
            input,
            declared: self.declared,
            images,
            images_unlisted,
        })
    }
}

impl Results {
    fn write(&mut self, out: &Path, check: &str, format: OutputFormat, row: Vec<TableCell>) -> Result<(), Error> {
        if self.open.as_ref().is_some_and(|(_, rows, _)| *rows == PART_ROWS_MAX) {
            self.end_part()?;
        }
        let (_, rows, writer) = match &mut self.open {
            Some(open) => open,
            open => {
                let path = format!("results/{check}/part-{:06}.{}", self.parts.len() + 1, format.extension());
                let writer = TableWriter::create(&out.join(&path), format, &self.schema)?;
                open.insert((path, 0, writer))
            }
        };
        *rows += 1;
        Ok(writer.write_row(row)?)
    }

    fn end_part(&mut self) -> Result<(), Error> {
        if let Some((path, _, writer)) = self.open.take() {
            self.parts.push(Part::of(path, writer.finish()?));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Part>, Error> {
        self.end_part()?;
        Ok(self.parts)
    }
}
