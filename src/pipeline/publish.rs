//! Publishing: settled asks → rows → parts → manifest. What a part holds is in the ledger before it is written, the
//! manifest is written last, and everything here can be done again at any time with the same result.

use super::campaign::Campaign;
use crate::{
    catalogue::ColumnSpec,
    error::Error,
    ledger::{AskFate, AskView, Ledger, Part as LedgerPart, PartPlan, Reading, RequestView},
    model::{
        Credits, Failure, FailureCode, Stage, Verdict,
        planted::{Bug, planted},
        row::find_column,
        state::State,
    },
    sink::{
        self, AnswerSource, CheckTotals, Dataset, DatasetKind, FailureRow, Head, InputTotals, JsonlRows,
        MANIFEST_VERSION, Manifest, OutputFormat, OutputMode, Part, PendingReason, PendingRow, ResultRow, Schema,
        SkippedRow, SourceTotals, TableWriter,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// Rows a result part holds at most.
pub const PART_ROWS_MAX: u64 = 50_000;

/// The shape of a check's results, fixed at its first use and kept in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// One campaign, one format: half of the parts in another would be missing from every glob.
    pub format: OutputFormat,
    pub carry: Vec<String>,
    pub columns: Vec<ColumnSpec>,
    /// JSON pointers to the part of an answer the columns read.
    pub payload: Vec<String>,
}

/// A check of the campaign as publishing knows it.
struct Published {
    name: String,
    layout: Layout,
    key_life_hours: u32,
}

/// Publishes one ledger into one folder.
pub struct Publisher {
    ledger: Arc<Ledger>,
    out: PathBuf,
    format: OutputFormat,
    campaign: String,
    mode: crate::model::Mode,
    /// A rehearsal is one from its first output, also before the simulator was met.
    rehearsal: bool,
    checks: BTreeMap<i64, Published>,
    tap: Mutex<Option<Tap>>,
}

/// Where result rows go beside their parts, as JSON lines.
pub type Tap = Box<dyn Write + Send>;

impl Publisher {
    pub fn new(campaign: &Campaign, ledger: Arc<Ledger>, tap: Option<Tap>) -> Result<Publisher, Error> {
        let uses = Reading::open(ledger.path())?.check_uses()?;
        let checks = uses.into_iter().map(|(id, row)| {
            let damaged = |error| crate::ledger::LedgerError::Damaged(format!("the layout of a check: {error}"));
            let layout = serde_json::from_str(&row.layout).map_err(damaged)?;
            let key_life_hours = campaign.catalogue.get(&row.sold).map_or(72, |declaration| declaration.key_life_hours);
            Ok((id, Published { name: row.name, layout, key_life_hours }))
        });
        Ok(Publisher {
            ledger,
            out: campaign.out.clone(),
            format: campaign.format,
            campaign: campaign.name.clone(),
            mode: campaign.mode,
            rehearsal: campaign.service.simulate && !planted(Bug::RehearsalUnnamed),
            checks: checks.collect::<Result<_, Error>>()?,
            tap: Mutex::new(tap),
        })
    }

    /// Writes what is new and replaces the snapshots and the manifest. Blocks: call it from a thread of its own.
    pub fn publish(&self) -> Result<Manifest, Error> {
        sink::create_folder(&self.out)?;
        sink::write_readme(&self.out)?;
        let extension = self.format.extension().to_owned();
        let folders: BTreeMap<i64, String> = self.checks.iter().map(|(id, check)| (*id, check.name.clone())).collect();
        let plan = PartPlan { rows_max: PART_ROWS_MAX, extension, folders };
        // A cut that is not full is the last: while answers keep coming there would always be another, of a few rows.
        let rows = |parts: Vec<LedgerPart>| parts.iter().map(|part| part.rows).sum::<u64>();
        while rows(self.ledger.cut_parts(plan.clone())?) == PART_ROWS_MAX {}
        let reading = Reading::open(self.ledger.path())?;
        let early = planted(Bug::ManifestBeforeParts).then(|| self.manifest(&Reading::open(self.ledger.path())?));
        for part in reading.parts()? {
            if part.written.is_none() || !self.out.join(&part.path).exists() {
                self.write_part(&reading, &part)?;
            }
        }
        let manifest = early.unwrap_or_else(|| self.manifest(&reading))?;
        manifest.write_atomically(&self.out)?;
        sink::sweep(&self.out, &manifest)?;
        Ok(manifest)
    }

    fn mode(&self, simulated: Option<bool>) -> OutputMode {
        OutputMode::of(self.mode, self.rehearsal || simulated == Some(true))
    }

    fn write_part(&self, reading: &Reading, part: &LedgerPart) -> Result<(), Error> {
        let check = self.check(Some(part.check_use))?;
        let mode = self.mode(reading.sums()?.simulated);
        let schema = sink::results_schema(&check.layout.carry, &check.layout.columns)?;
        let path = self.out.join(&part.path);
        let mut writer = TableWriter::create(&path, format_of(&path), &schema)?;
        let mut tap = self.tap.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tapped = tap.as_mut().map(|tap| JsonlRows::new(tap, &schema));
        reading.part_asks(part, |ask| -> Result<(), Error> {
            let cells = self.result_row(check, mode, &ask)?.into_cells();
            if tapped.as_mut().is_some_and(|rows| rows.write(&cells).is_err()) {
                // Whoever read it went away; the part has every row all the same.
                tapped = None;
            }
            Ok(writer.write_row(cells)?)
        })?;
        let written = writer.finish()?;
        if written.rows != part.rows {
            let fault = format!("part {} has {} rows, the ledger says {}", part.path, written.rows, part.rows);
            return Err(Error::Internal(fault));
        }
        self.ledger.part_written(part.id, written.bytes, written.sha256)?;
        Ok(())
    }

    /// The manifest of one moment of the ledger, with its snapshots written.
    fn manifest(&self, reading: &Reading) -> Result<Manifest, Error> {
        reading.hold_still()?;
        let mode = self.mode(reading.sums()?.simulated);
        let number = next_snapshot(&self.out)?;
        let mut datasets = self.results(reading)?;
        datasets.push(self.snapshot(DatasetKind::Failures, number, |each| {
            reading.failed_asks(|ask| each(self.failure_row(mode, &ask)?))
        })?);
        datasets.push(self.snapshot(DatasetKind::Pending, number, |each| {
            reading.pending_asks(|ask| each(self.pending_row(mode, &ask)?))
        })?);
        datasets.push(self.snapshot(DatasetKind::Skipped, number, |each| {
            reading.skipped_asks(|ask| each(self.skipped_row(mode, &ask)?))
        })?);
        let totals = self.totals(reading)?;
        let input = input(reading)?;
        let complete = input.sources.iter().all(|source| source.complete)
            && !input.sources.is_empty()
            && totals.iter().all(|totals| totals.pending == 0 || planted(Bug::CompleteTooSoon));
        Ok(Manifest {
            manifest_version: MANIFEST_VERSION,
            program: concat!("rescreen ", env!("CARGO_PKG_VERSION")).to_owned(),
            campaign: self.campaign.clone(),
            mode,
            complete,
            format: self.format,
            datasets,
            totals,
            input,
        })
    }

    fn results(&self, reading: &Reading) -> Result<Vec<Dataset>, Error> {
        let mut datasets: BTreeMap<i64, Dataset> = BTreeMap::new();
        for (id, check) in &self.checks {
            let schema = sink::results_schema(&check.layout.carry, &check.layout.columns)?.column_types();
            let kind = DatasetKind::Results;
            datasets.insert(*id, Dataset { kind, check: Some(check.name.clone()), schema, parts: Vec::new() });
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
        fill: impl FnOnce(&mut dyn FnMut(Vec<sink::Cell>) -> Result<(), Error>) -> Result<(), Error>,
    ) -> Result<Dataset, Error> {
        let schema: Schema = match kind {
            DatasetKind::Failures => sink::failures_schema(),
            DatasetKind::Pending => sink::pending_schema(),
            DatasetKind::Skipped | DatasetKind::Results => sink::skipped_schema(),
        };
        let path = format!("{}/part-{number:06}.{}", kind.as_str(), self.format.extension());
        let mut writer = TableWriter::create(&self.out.join(&path), self.format, &schema)?;
        fill(&mut |cells| Ok(writer.write_row(cells)?))?;
        let written = writer.finish()?;
        let mut parts = vec![Part::of(path, written)];
        if planted(Bug::SnapshotAppended) {
            let before = Manifest::read(&self.out)?.into_iter().flat_map(|manifest| manifest.datasets);
            parts.extend(before.filter(|dataset| dataset.kind == kind).flat_map(|dataset| dataset.parts));
        }
        Ok(Dataset { kind, check: None, schema: schema.column_types(), parts })
    }

    fn totals(&self, reading: &Reading) -> Result<Vec<CheckTotals>, Error> {
        let counts = reading.counts()?;
        let totals = self.checks.iter().map(|(id, check)| {
            let counts = counts.get(&Some(*id)).cloned().unwrap_or_default();
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

    fn check(&self, check_use: Option<i64>) -> Result<&Published, Error> {
        check_use
            .and_then(|id| self.checks.get(&id))
            .ok_or_else(|| Error::Internal("an ask of a check the campaign does not have".to_owned()))
    }

    fn head<'a>(&'a self, mode: OutputMode, ask: &AskView<'a>) -> Head<'a> {
        Head {
            campaign: &self.campaign,
            mode,
            check_name: self.check(ask.check_use).ok().map(|check| check.name.as_str()),
            subject: ask.row.subject.as_deref(),
            source: ask.source,
            row_number: ask.row.row_number,
        }
    }

    fn result_row<'a>(
        &'a self,
        check: &Published,
        mode: OutputMode,
        ask: &'a AskView<'a>,
    ) -> Result<ResultRow<'a>, Error> {
        let defect = || Error::Internal("a result without an answer".to_owned());
        let AskFate::Request(request) = &ask.fate else { return Err(defect()) };
        let answer = request.answer.as_ref().ok_or_else(defect)?;
        let json: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let payload = check.layout.payload.iter().find_map(|at| json.pointer(at).filter(|found| !found.is_null()));
        let columns = &check.layout.columns;
        Ok(ResultRow {
            head: self.head(mode, ask),
            verdict: answer.verdict,
            finding: &answer.finding,
            carried: check.layout.carry.iter().map(|column| carried(&ask.row.input, column)).collect(),
            columns: columns.iter().map(|column| column.read(payload.unwrap_or(&Value::Null))).collect(),
            completed_at_us: answer.completed_at_us,
            credits: request.credits,
            answer_source: if request.first { AnswerSource::Sent } else { AnswerSource::Duplicate },
            request_id: answer.request_id.as_deref(),
            idempotency_key: request.key,
            http_status: request.http_status,
            attempts: request.attempts,
            latency_ms: Some(answer.latency_ms),
            requested_at_us: Some(answer.requested_at_us),
            sent: &request.fields,
            answer: &answer.body,
        })
    }

    fn failure_row(&self, mode: OutputMode, ask: &AskView<'_>) -> Result<Vec<sink::Cell>, Error> {
        let unexplained = Failure {
            stage: Stage::Send,
            code: FailureCode::Refused,
            message: "the ledger keeps no reason".to_owned(),
        };
        let (failure, request): (&Failure, Option<&RequestView>) = match &ask.fate {
            AskFate::Failure(failure) => (failure, None),
            AskFate::Request(request) => (request.failure.as_ref().unwrap_or(&unexplained), Some(request)),
            AskFate::Skipped(_) => return Err(Error::Internal("a skipped ask among the failures".to_owned())),
        };
        let possibly_charged = request.is_some_and(|request| request.possibly_charged);
        let row = FailureRow {
            head: self.head(mode, ask),
            failure,
            http_status: request.and_then(|request| request.http_status),
            attempts: request.map_or(0, |request| request.attempts),
            possibly_charged,
            retryable: request.is_some() && !possibly_charged,
            line: ask.row.line,
            byte_offset: ask.row.byte_offset,
            idempotency_key: request.map(|request| request.key),
            input: &ask.row.input.to_string(),
        };
        Ok(row.into_cells())
    }

    fn pending_row(&self, mode: OutputMode, ask: &AskView<'_>) -> Result<Vec<sink::Cell>, Error> {
        let AskFate::Request(request) = &ask.fate else {
            return Err(Error::Internal("a pending ask without a request".to_owned()));
        };
        let reason = match request.state {
            State::Planned => PendingReason::Unsent,
            State::Armed | State::InDoubt => PendingReason::InDoubt,
            State::Repeating => PendingReason::Repeating,
            State::Quarantined => PendingReason::Quarantined,
            State::Answered | State::Failed => PendingReason::Answered,
        };
        let life_us = i64::from(self.check(ask.check_use)?.key_life_hours) * 3_600 * 1_000_000;
        let in_doubt = matches!(reason, PendingReason::InDoubt | PendingReason::Repeating);
        let deadline_us = request.first_armed_at_us.filter(|_| in_doubt).map(|at| at + life_us);
        Ok(PendingRow { head: self.head(mode, ask), reason, job_id: None, deadline_us }.into_cells())
    }

    fn skipped_row(&self, mode: OutputMode, ask: &AskView<'_>) -> Result<Vec<sink::Cell>, Error> {
        match &ask.fate {
            AskFate::Skipped(reason) => Ok(SkippedRow { head: self.head(mode, ask), reason }.into_cells()),
            _ => Err(Error::Internal("an ask among the skipped that was not".to_owned())),
        }
    }
}

fn input(reading: &Reading) -> Result<InputTotals, Error> {
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

/// The value of a carried column as text; lists and objects as JSON.
fn carried(input: &Value, column: &str) -> Option<String> {
    let map = input.as_object()?;
    let at = find_column(map.keys().map(String::as_str), column)?;
    match map.values().nth(at)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// A part is written again in the format it was begun in.
fn format_of(path: &Path) -> OutputFormat {
    match path.extension().is_some_and(|extension| extension == OutputFormat::Jsonl.extension()) {
        true => OutputFormat::Jsonl,
        false => OutputFormat::Parquet,
    }
}

/// One more than the number of the snapshots the manifest names: readers of the old ones are not disturbed.
fn next_snapshot(out: &Path) -> Result<u64, Error> {
    let named = Manifest::read(out)?.into_iter().flat_map(|manifest| manifest.datasets);
    let parts = named.filter(|dataset| dataset.kind != DatasetKind::Results).flat_map(|dataset| dataset.parts);
    let number = |path: &str| path.rsplit_once("part-")?.1.split('.').next()?.parse::<u64>().ok();
    Ok(parts.filter_map(|part| number(&part.path)).max().unwrap_or(0) + 1)
}

/// What a manifest's totals come to, over all checks.
pub fn credits(manifest: &Manifest) -> Credits {
    Credits(manifest.totals.iter().map(|totals| totals.credits).sum())
}

/// Results by verdict, over all checks.
pub fn by_verdict(manifest: &Manifest) -> BTreeMap<Verdict, u64> {
    let mut sums = BTreeMap::new();
    for (word, count) in manifest.totals.iter().flat_map(|totals| &totals.by_verdict) {
        if let Some(verdict) = Verdict::from_word(word) {
            *sums.entry(verdict).or_default() += count;
        }
    }
    sums
}
