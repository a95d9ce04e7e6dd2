//! Published rounds that are made row by row, without a campaign: what `diff` and `show` read.

use rescreen::{
    catalogue::DigestSpec,
    sink::{
        CheckTotals, Column, ColumnType, Dataset, DatasetKind, InputTotals, Kind, Manifest, OutputFormat, OutputMode,
        Part, ResultForm, Schema, SourceTotals, TableCell, TableWriter, failures_schema, pending_schema, result_id,
        results_schema, skipped_schema,
    },
};
use std::{collections::BTreeMap, path::Path};

/// How a row of a round ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Verdict, finding, and the digest as a number.
    Result(&'static str, &'static str, u8),
    Failure(&'static str),
    Pending(&'static str),
    Skipped(&'static str),
}

/// A round to be written.
pub struct Published {
    pub campaign: String,
    pub mode: OutputMode,
    pub format: OutputFormat,
    /// An older release had no digests.
    pub has_digests: bool,
    /// How the digests are made.
    pub digest: DigestSpec,
    pub version: String,
    /// What a column of JSON holds.
    pub json: String,
    datasets: BTreeMap<(DatasetKind, Option<String>), Written>,
    totals: BTreeMap<String, CheckTotals>,
    rows: u64,
    pub completed_at_us: i64,
}

struct Written {
    writer: TableWriter,
    schema: Schema,
    path: String,
}

impl Published {
    pub fn new(campaign: &str, format: OutputFormat) -> Published {
        Published {
            campaign: campaign.to_owned(),
            mode: OutputMode::Sandbox,
            format,
            has_digests: true,
            digest: DigestSpec::default(),
            version: campaign.to_owned(),
            json: "{}".to_owned(),
            datasets: BTreeMap::new(),
            totals: BTreeMap::new(),
            rows: 0,
            completed_at_us: 1_793_693_700_000_000,
        }
    }

    fn results_schema(&self) -> Schema {
        let mut schema = results_schema(&[], &[], &[], ResultForm::default()).unwrap();
        let place = schema.columns.iter().position(|column| column.name == "completed_at").unwrap();
        let column = |name: &str| Column { name: name.to_owned(), kind: Kind::Text, nullable: true };
        schema.columns.insert(place, column("dataset_version"));
        schema.columns.retain(|column| column.name != "answer_digest");
        if self.has_digests {
            schema.columns.push(column("answer_digest"));
        }
        schema
    }

    /// Adds a row of one check below a folder.
    pub fn row(&mut self, folder: &Path, check: &str, subject: Option<&str>, row_number: u64, end: End) {
        self.rows = self.rows.max(row_number);
        let totals = self.totals.entry(check.to_owned()).or_default();
        totals.check = check.to_owned();
        match end {
            End::Result(..) => totals.results += 1,
            End::Failure(_) => totals.failures += 1,
            End::Pending(_) => totals.pending += 1,
            End::Skipped(_) => totals.skipped += 1,
        }
        let (kind, schema) = match end {
            End::Result(..) => (DatasetKind::Results, self.results_schema()),
            End::Failure(_) => (DatasetKind::Failures, failures_schema()),
            End::Pending(_) => (DatasetKind::Pending, pending_schema()),
            End::Skipped(_) => (DatasetKind::Skipped, skipped_schema()),
        };
        let of_check = (kind == DatasetKind::Results).then(|| check.to_owned());
        let format = self.format;
        let written = self.datasets.entry((kind, of_check.clone())).or_insert_with(|| {
            let name = of_check.map(|check| format!("/{check}")).unwrap_or_default();
            let path = format!("{}{name}/part-000001.{}", kind.as_str(), format.extension());
            let writer = TableWriter::create(&folder.join(&path), format, &schema).unwrap();
            Written { writer, schema, path }
        });
        let text = |value: &str| TableCell::text(value);
        let cell = |column: &Column| match (column.name.as_str(), end) {
            ("result_id", _) => text(&result_id(&self.campaign, self.mode, Some(check), "book.csv", row_number)),
            ("campaign", _) => text(&self.campaign),
            ("mode", _) => text(self.mode.as_str()),
            ("check_name", _) => text(check),
            ("subject", _) => TableCell::or_null(subject, TableCell::text),
            ("source", _) => text("book.csv"),
            ("row_number", _) => TableCell::integer(row_number),
            ("completed_at", _) => TableCell::Timestamp(self.completed_at_us + row_number as i64),
            ("dataset_version", _) => text(&self.version),
            ("verdict", End::Result(verdict, ..)) => text(verdict),
            ("finding", End::Result(_, finding, _)) => text(finding),
            ("answer_digest", End::Result(_, _, digest)) => text(&format!("{digest:032x}")),
            ("message", _) => text("expected an answer, found a refusal"),
            ("code", End::Failure(word)) | ("reason", End::Pending(word) | End::Skipped(word)) => text(word),
            _ if column.nullable => TableCell::Null,
            _ => match column.kind {
                Kind::Integer => TableCell::Integer(1),
                Kind::Boolean => TableCell::Boolean(false),
                Kind::Json => TableCell::json(&self.json),
                _ => text("{}"),
            },
        };
        let cells = written.schema.columns.iter().map(cell).collect();
        written.writer.write_row(cells).unwrap();
    }

    /// Writes the manifest.
    pub fn publish(self, folder: &Path) {
        let totals = self.totals.into_values().collect();
        let digest = self.has_digests.then_some(self.digest);
        let datasets = self.datasets.into_iter().map(|((kind, check), written)| {
            let schema: Vec<ColumnType> = written.schema.column_types();
            let answer_digest = digest.clone().filter(|_| kind == DatasetKind::Results);
            let part = Part::of(written.path, written.writer.finish().unwrap());
            Dataset { kind, check, schema, answer_digest, parts: vec![part] }
        });
        let source =
            SourceTotals { name: "book.csv".into(), rows: self.rows, complete: true, ..SourceTotals::default() };
        let manifest = Manifest {
            manifest_version: 1,
            program: "rescreen test".into(),
            campaign: self.campaign,
            mode: self.mode,
            complete: false,
            under_way: false,
            format: self.format.into(),
            datasets: datasets.collect(),
            files: Vec::new(),
            totals,
            input: InputTotals { rows: self.rows, sources: vec![source], ..InputTotals::default() },
            declared: Vec::new(),
            mappings: Vec::new(),
            images: Vec::new(),
            images_unlisted: 0,
            ledger: None,
            selected: None,
        };
        manifest.write_atomically(folder).unwrap();
    }
}
