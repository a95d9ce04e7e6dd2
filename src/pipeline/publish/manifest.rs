//! The manifest of a publication, and the snapshots beside it. While a run is under way, its counts come from the sums of
//! the ledger, and pending and skipped rows are not written, so that a publication costs work in proportion to what is
//! new. Once nothing is sent any more, every row is read.

use super::{super::campaign::mappings, Failures, Publisher, Stage, hidden, project::Projected};
use crate::{
    error::Error,
    ledger::{AskFate, LedgerPart, Reading, Sums},
    pipeline::{failure_file::FailureFile, intake::layout_of},
    sink::{
        self, CheckTotals, Dataset, DatasetKind, ImageOutput, InputTotals, LedgerMark, MANIFEST_VERSION, Manifest,
        OutputMode, Part, Schema, SnapshotWriter, SourceTotals,
    },
};
use std::{collections::BTreeMap, sync::PoisonError};

/// While a run is under way, a snapshot of at most this many failures is written as soon as one is new.
const FAILURES_AT_ONCE: u64 = 1_000;

impl Publisher {
    /// Writes the images of a row, before the row can be read.
    pub(super) fn write_images(&self, images: &[hidden::Image]) -> Result<(), Error> {
        if self.images == ImageOutput::Files {
            let mut known = self.image_files.lock().unwrap_or_else(PoisonError::into_inner);
            for image in images {
                let file = sink::write_image(&self.out, &image.sha256, image.extension, &image.bytes)?;
                if let Some(known) = known.as_mut() {
                    known.insert(file.path.clone(), file);
                }
            }
        }
        Ok(())
    }

    /// The images in the output folder, and the number of those that are not listed. While a run is under way, they are
    /// those of its first publication and those that it has written since.
    fn listed_images(&self, stage: Stage) -> (Vec<sink::ImageFile>, u64) {
        let mut known = self.image_files.lock().unwrap_or_else(PoisonError::into_inner);
        if stage == Stage::Stopped {
            *known = None;
        }
        let known = known.get_or_insert_with(|| sink::image_files(&self.out));
        sink::listed(known)
    }

    /// Writes the snapshots and makes the manifest, both from one consistent state of the ledger.
    pub(super) fn manifest(&self, reading: &Reading, stage: Stage, parts: &[LedgerPart]) -> Result<Manifest, Error> {
        reading.hold_still()?;
        let sums = reading.sums()?;
        let mode = self.mode(sums.simulated);
        let snapshots = Snapshots {
            number: sink::next_snapshot(&self.out),
            // One that cannot be read is replaced.
            earlier: Manifest::read(&self.out).ok().flatten().map(|manifest| manifest.datasets).unwrap_or_default(),
        };
        let mut datasets = self.results(parts)?;
        let failures = self.failures(reading, stage, mode, &snapshots, &sums)?;
        datasets.push(failures.dataset);
        datasets.push(match stage {
            Stage::UnderWay => self.counted_only(DatasetKind::Pending, &snapshots)?,
            Stage::Stopped => self.snapshot(DatasetKind::Pending, &snapshots, |each| {
                reading.pending_asks(|ask| {
                    let unrecognised = matches!(&ask.fate, AskFate::Request(request) if request.unrecognised);
                    each(self.projector.pending_row(mode, &ask, unrecognised)?)
                })
            })?,
        });
        datasets.push(match stage {
            Stage::UnderWay => self.counted_only(DatasetKind::Skipped, &snapshots)?,
            Stage::Stopped => self.snapshot(DatasetKind::Skipped, &snapshots, |each| {
                reading.skipped_asks(|ask| each(self.projector.skipped_row(mode, &ask)?))
            })?,
        });
        let totals = match stage {
            Stage::UnderWay => self.totals_so_far(reading, &sums)?,
            Stage::Stopped => self.totals(reading)?,
        };
        let input = input(reading)?;
        let accounted = stage == Stage::Stopped
            && input.sources.iter().all(|source| source.complete)
            && !input.sources.is_empty()
            && totals.iter().all(|totals| totals.pending == 0);
        if accounted {
            sink::verify(&self.out, &datasets)?;
        }
        let (images, images_unlisted) = self.listed_images(stage);
        Ok(Manifest {
            manifest_version: MANIFEST_VERSION,
            program: concat!("rescreen ", env!("CARGO_PKG_VERSION")).to_owned(),
            campaign: self.projector.campaign().to_owned(),
            mode,
            complete: accounted,
            under_way: stage == Stage::UnderWay,
            format: self.format.into(),
            datasets,
            files: failures.csv.into_iter().collect(),
            totals,
            input,
            declared: self.declared.clone(),
            mappings: if stage == Stage::Stopped { mappings::totals(reading)? } else { Vec::new() },
            images,
            images_unlisted,
            ledger: Some(LedgerMark { id: reading.ledger_id()?, commits: reading.commits()? }),
            selected: None,
        })
    }

    /// The snapshot of the failures. While a run is under way, the last one is kept until so many are new that all
    /// snapshots of a run together cost a fixed multiple of the last one.
    fn failures(
        &self,
        reading: &Reading,
        stage: Stage,
        mode: OutputMode,
        snapshots: &Snapshots,
        sums: &Sums,
    ) -> Result<Failures, Error> {
        let failed = sums.failures().values().sum();
        let mut last = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.as_ref()
            && stage == Stage::UnderWay
            && !is_snapshot_due(known.count, failed)
        {
            return Ok(known.clone());
        }
        let mut columns: Vec<String> = Vec::new();
        for (source, _) in reading.source_ends()? {
            let layout = source.layout.as_deref().map(layout_of).transpose()?;
            columns.extend(layout.into_iter().flat_map(|layout| layout.columns));
        }
        let mut csv = FailureFile::replacing(&self.out.join(sink::FAILURES_CSV), columns)?;
        let dataset = self.snapshot(DatasetKind::Failures, snapshots, |each| {
            reading.failed_asks(|ask| {
                csv.add(&self.projector.failed_row(mode, &ask)?)?;
                each(self.projector.failure_row(mode, &ask)?)
            })
        })?;
        let csv = csv.end_replacing()?.map(|written| Part::of(sink::FAILURES_CSV, written));
        let failures = Failures { dataset, csv, count: failed };
        *last = Some(failures.clone());
        Ok(failures)
    }

    fn results(&self, parts: &[LedgerPart]) -> Result<Vec<Dataset>, Error> {
        let mut datasets: BTreeMap<(DatasetKind, i64), Dataset> = BTreeMap::new();
        for (id, check) in self.projector.checks() {
            let has_parts = parts.iter().any(|part| part.check_use == id);
            let empty = self.empty_part(DatasetKind::Results, id, check, has_parts)?;
            datasets.insert((DatasetKind::Results, id), check.dataset(empty.into_iter().collect())?);
            if check.has_answers_dataset() {
                let empty = self.empty_part(DatasetKind::Answers, id, check, has_parts)?;
                datasets.insert((DatasetKind::Answers, id), check.answers_dataset(empty.into_iter().collect()));
            }
        }
        for part in parts {
            let files = [
                (DatasetKind::Results, part.path.clone(), part.written.clone()),
                (DatasetKind::Answers, part.answers_path(), part.answers.clone()),
            ];
            for (kind, path, written) in files {
                if let (Some(dataset), Some((bytes, sha256))) = (datasets.get_mut(&(kind, part.check_use)), written) {
                    dataset.parts.push(Part { path, rows: part.rows, bytes, sha256 });
                }
            }
        }
        Ok(datasets.into_values().collect())
    }

    /// The empty part of the results or answers of a check, if it has one.
    fn empty_part(
        &self,
        kind: DatasetKind,
        id: i64,
        check: &Projected,
        has_parts: bool,
    ) -> Result<Option<Part>, Error> {
        let mut known = self.empty_parts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = known.get(&(kind, id)) {
            return Ok(Some(part.clone()));
        }
        let schema = if kind == DatasetKind::Answers { sink::answers_schema() } else { check.schema()? };
        let part = sink::empty_part(&self.out, kind, &check.name, self.format, &schema, has_parts)?;
        if let Some(part) = &part {
            known.insert((kind, id), part.clone());
        }
        Ok(part)
    }

    /// A dataset whose rows are only counted. It has an empty part, so that a query finds a table. The part stays for the
    /// whole run.
    fn counted_only(&self, kind: DatasetKind, snapshots: &Snapshots) -> Result<Dataset, Error> {
        let mut known = self.counted_only.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dataset) = known.get(&kind) {
            return Ok(dataset.clone());
        }
        let dataset = self.snapshot(kind, snapshots, |_| Ok(()))?;
        known.insert(kind, dataset.clone());
        Ok(dataset)
    }

    fn snapshot(
        &self,
        kind: DatasetKind,
        snapshots: &Snapshots,
        fill: impl FnOnce(&mut dyn FnMut(Vec<sink::TableCell>) -> Result<(), Error>) -> Result<(), Error>,
    ) -> Result<Dataset, Error> {
        let schema = schema_of(kind);
        let mut writer = SnapshotWriter::create(&self.out, kind, snapshots.number, self.format, &schema)?;
        fill(&mut |cells| Ok(writer.write_row(cells)?))?;
        let earlier = snapshots.earlier.iter().find(|dataset| dataset.kind == kind);
        let earlier = earlier.map(|dataset| dataset.parts.as_slice()).unwrap_or_default();
        let parts = writer.finish(earlier)?;
        Ok(Dataset::of_all_checks(kind, &schema, parts))
    }

    fn totals(&self, reading: &Reading) -> Result<Vec<CheckTotals>, Error> {
        let counts = reading.counts()?;
        let totals = self.projector.checks().map(|(id, check)| {
            let counts = counts.get(&Some(id)).cloned().unwrap_or_default();
            CheckTotals {
                check: check.name.clone(),
                asks: counts.asks(),
                results: counts.results,
                failures: counts.failures,
                pending: counts.pending,
                skipped: counts.skipped,
                purged: counts.purged,
                credits: counts.credits.0,
                by_verdict: counts.by_verdict,
            }
        });
        Ok(totals.collect())
    }

    /// The totals by the ledger's sums, without reading its rows.
    fn totals_so_far(&self, reading: &Reading, sums: &Sums) -> Result<Vec<CheckTotals>, Error> {
        let mut verdicts = reading.verdicts()?;
        let totals = self.projector.checks().map(|(id, check)| {
            let of_check = sums.checks.get(&id).cloned().unwrap_or_default();
            CheckTotals {
                check: check.name.clone(),
                asks: of_check.asks,
                results: of_check.published,
                failures: of_check.failed(),
                pending: of_check.pending(),
                skipped: of_check.skipped,
                // A ledger of which something was purged has no run any more.
                purged: 0,
                credits: of_check.charged.0,
                by_verdict: verdicts.remove(&id).unwrap_or_default(),
            }
        });
        Ok(totals.collect())
    }
}

/// The snapshots of a publication.
struct Snapshots {
    /// The number of their first parts.
    number: u64,
    /// The datasets of the last publication.
    earlier: Vec<Dataset>,
}

/// Whether the failures are written again, after `known` of them were written and there are `failed` now.
fn is_snapshot_due(known: u64, failed: u64) -> bool {
    failed != known && (failed <= FAILURES_AT_ONCE || failed >= known + known / 10)
}

fn schema_of(kind: DatasetKind) -> Schema {
    match kind {
        DatasetKind::Failures => sink::failures_schema(),
        DatasetKind::Pending => sink::pending_schema(),
        DatasetKind::Skipped | DatasetKind::Results | DatasetKind::Answers => sink::skipped_schema(),
    }
}

/// What was read of the inputs.
pub fn input(reading: &Reading) -> Result<InputTotals, Error> {
    let sums = reading.sums()?;
    let sources = reading.source_ends()?.into_iter().map(|(source, end)| {
        let end = end.as_ref();
        SourceTotals {
            name: source.name,
            rows: end.map_or(0, |end| end.next_row_number - 1),
            bytes: end.map_or(0, |end| end.end_offset),
            sha256: end.map(|end| crate::model::key::hex(&end.sha256)).unwrap_or_default(),
            complete: source.complete,
        }
    });
    Ok(InputTotals {
        rows: sums.rows,
        unreadable_rows: sums.unreadable,
        purged_unreadable_rows: reading.purged_unreadable()?,
        sources: sources.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_snapshots_of_the_failures_together_cost_a_multiple_of_the_last_one() {
        let (mut known, mut written) = (0, 0);
        for failed in 1..=250_000 {
            if is_snapshot_due(known, failed) {
                (known, written) = (failed, written + failed);
            }
        }
        assert!(known >= 225_000, "{known}");
        // A publication a minute finds more than one failure at a time, so this is the worst case.
        assert!(written <= 11 * 250_000 + FAILURES_AT_ONCE * FAILURES_AT_ONCE, "{written}");
        assert!(!is_snapshot_due(7, 7) && is_snapshot_due(7, 8) && !is_snapshot_due(10_000, 10_001));
    }
}
