//! The manifest: the valid parts, their schemas and digests, and the totals. It is written last and replaced as a
//! whole. A part that it does not name is not valid. It may say `complete` only if every ask is accounted for.

use super::{
    FileFormat, ImageFile, Kind, OutputMode, Schema, SinkError, WrittenFile,
    new_file::NewFile,
    totals::{CheckTotals, InputTotals, MappingTotals, is_zero},
};
use crate::{
    catalogue::{DeclaredCheck, DigestSpec},
    files::{self, Links},
    model::Verdict,
};
use serde::{Deserialize, Serialize};
use std::{io::Write, path::Path};

/// The manifest's name in the output folder.
pub const MANIFEST_NAME: &str = "manifest.json";
/// A manifest of 100,000 parts is a third of this.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;
/// The version of the manifest's format.
pub const MANIFEST_VERSION: u32 = 1;

/// The contents of an output folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`MANIFEST_VERSION`].
    pub manifest_version: u32,
    /// `rescreen <version>`.
    pub program: String,
    pub campaign: String,
    pub mode: OutputMode,
    /// Nothing is pending, and the counts add up to the rows of the input.
    pub complete: bool,
    /// A run was under way: pending and skipped rows are only counted in `totals`, and have no parts. The failures may be
    /// those of an earlier minute.
    #[serde(default)]
    pub under_way: bool,
    pub format: FileFormat,
    pub datasets: Vec<Dataset>,
    /// Valid files beside the datasets: `failures.csv`, if a row failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Part>,
    pub totals: Vec<CheckTotals>,
    pub input: InputTotals,
    /// The checks whose declaration is the user's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<DeclaredCheck>,
    /// The rows of each mapping, for the checks whose mapping changed during the campaign.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mappings: Vec<MappingTotals>,
    /// The images of the answers, if they are written as files: the first 100,000 by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageFile>,
    /// The number of further images.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub images_unlisted: u64,
    /// The ledger that it was written from, as it was then. An export has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerMark>,
    /// What an export was limited to. Its parts have only these rows; the totals are those of the campaign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<Selected>,
}

/// A ledger at a moment. One with the same id and fewer commits is an older copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerMark {
    pub id: String,
    /// The number of its commits.
    pub commits: u64,
}

/// The limits of an export. Without any, it has every row.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Selected {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<Verdict>,
    /// The checks, by their names in the campaign.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// The folder of the earlier round that it was compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_since: Option<String>,
}

/// A dataset. All its parts have the same schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dataset {
    pub kind: DatasetKind,
    /// The check of a results or answers dataset; `None` for a dataset of all checks.
    pub check: Option<String>,
    pub schema: Vec<ColumnType>,
    /// How the column `answer_digest` of results is made. Digests of two rounds can be compared only if it is equal in
    /// both. Other datasets have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_digest: Option<DigestSpec>,
    pub parts: Vec<Part>,
}

impl Dataset {
    /// A dataset of all checks.
    pub fn of_all_checks(kind: DatasetKind, schema: &Schema, parts: Vec<Part>) -> Dataset {
        Dataset { kind, check: None, schema: schema.column_types(), answer_digest: None, parts }
    }
}

/// The datasets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatasetKind {
    Results,
    Failures,
    Pending,
    Skipped,
    /// The answers of the results, if they are a dataset of their own.
    Answers,
}

impl DatasetKind {
    /// The name in the manifest, and of the folder.
    pub fn as_str(self) -> &'static str {
        match self {
            DatasetKind::Results => "results",
            DatasetKind::Failures => "failures",
            DatasetKind::Pending => "pending",
            DatasetKind::Skipped => "skipped",
            DatasetKind::Answers => "answers",
        }
    }
}

/// A column in the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnType {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: Kind,
}

impl Schema {
    /// The columns as the manifest lists them.
    pub fn column_types(&self) -> Vec<ColumnType> {
        self.columns.iter().map(|column| ColumnType { name: column.name.clone(), kind: column.kind }).collect()
    }
}

/// An immutable output file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Relative to the output folder, with `/`.
    pub path: String,
    pub rows: u64,
    pub bytes: u64,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
}

impl Part {
    /// The part for a written file, with its path relative to the output folder.
    pub fn of(path: impl Into<String>, written: WrittenFile) -> Part {
        Part { path: path.into(), rows: written.rows, bytes: written.bytes, sha256: written.sha256 }
    }
}

impl Manifest {
    /// Checks that every ask of every check is in exactly one of results, failures, pending and skipped.
    pub fn accounts(&self) -> Result<(), String> {
        self.totals.iter().try_for_each(CheckTotals::accounts)
    }

    /// All files that it names. Images have no rows.
    pub fn all_files(&self) -> impl Iterator<Item = Part> {
        let parts = self.datasets.iter().flat_map(|dataset| &dataset.parts).chain(&self.files).cloned();
        let image = |ImageFile { path, bytes, sha256 }: &ImageFile| Part {
            path: path.clone(),
            rows: 0,
            bytes: *bytes,
            sha256: sha256.clone(),
        };
        parts.chain(self.images.iter().map(image))
    }

    /// Checks what else a complete campaign needs: nothing is pending, every readable row has its asks, and the parts
    /// contain exactly the rows in the totals.
    pub fn completes(&self) -> Result<(), String> {
        self.accounts()?;
        for totals in &self.totals {
            if totals.pending > 0 {
                return Err(format!("check `{}`: expected no pending asks, found {}", totals.check, totals.pending));
            }
            let unreadable = u128::from(self.input.unreadable_rows) + u128::from(self.input.purged_unreadable_rows);
            if u128::from(totals.asks) + unreadable != u128::from(self.input.rows) {
                return Err(format!(
                    "check `{}`: expected one ask for each of {} rows except {unreadable} unreadable ones, found {}",
                    totals.check, self.input.rows, totals.asks
                ));
            }
            let check = Some(totals.check.as_str());
            self.expect_rows(DatasetKind::Results, check, totals.results.into())?;
            if self.datasets.iter().any(|dataset| dataset.kind == DatasetKind::Answers) {
                self.expect_rows(DatasetKind::Answers, check, totals.results.into())?;
            }
        }
        let sum = |count: fn(&CheckTotals) -> u64| self.totals.iter().map(count).map(u128::from).sum::<u128>();
        let failures = sum(|totals| totals.failures) + u128::from(self.input.unreadable_rows);
        self.expect_rows(DatasetKind::Failures, None, failures)?;
        self.expect_rows(DatasetKind::Pending, None, 0)?;
        self.expect_rows(DatasetKind::Skipped, None, sum(|totals| totals.skipped))
    }

    /// Checks the number of rows in the parts of a kind, for one check or for all.
    fn expect_rows(&self, kind: DatasetKind, check: Option<&str>, expected: u128) -> Result<(), String> {
        let of_check = |dataset: &&Dataset| check.is_none() || dataset.check.as_deref() == check;
        let datasets = self.datasets.iter().filter(|dataset| dataset.kind == kind).filter(of_check);
        let found: u128 = datasets.flat_map(|dataset| &dataset.parts).map(|part| u128::from(part.rows)).sum();
        if found == expected {
            return Ok(());
        }
        let of = check.map(|check| format!(" of check `{check}`")).unwrap_or_default();
        Err(format!("expected {expected} rows in the parts of {}{of}, found {found}", kind.as_str()))
    }

    /// Replaces the manifest of an output folder as a whole. Refuses a manifest that wrongly says `complete`.
    pub fn write_atomically(&self, folder: &Path) -> Result<(), SinkError> {
        let path = folder.join(MANIFEST_NAME);
        if self.complete {
            self.completes().map_err(|fault| SinkError::NotComplete { path: path.clone(), fault })?;
        }
        let mut text =
            serde_json::to_vec_pretty(self).map_err(|fault| SinkError::Manifest { path: path.clone(), fault })?;
        text.push(b'\n');
        let mut file = NewFile::create(&path)?;
        file.write_all(&text).map_err(|fault| SinkError::Storage { path, step: "writing", fault })?;
        file.publish().map(|_| ())
    }

    /// The manifest of an output folder; `None` if nothing has been published yet.
    pub fn read(folder: &Path) -> Result<Option<Manifest>, SinkError> {
        let path = folder.join(MANIFEST_NAME);
        let found = files::found(&path, Links::Refused, MANIFEST_BYTES_MAX);
        let found = found.map_err(|fault| SinkError::Storage { path: path.clone(), step: "reading", fault })?;
        let Some(text) = found else { return Ok(None) };
        let invalid = |fault| SinkError::Manifest { path: path.clone(), fault };
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(invalid)?;
        // The version is checked first, because another version has another format.
        let version = &value["manifest_version"];
        if *version != MANIFEST_VERSION {
            return Err(SinkError::ManifestVersion { path, found: version.to_string() });
        }
        serde_json::from_value(value).map(Some).map_err(invalid)
    }
}
