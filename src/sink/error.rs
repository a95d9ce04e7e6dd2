//! The errors that stop the writing of outputs. The next run writes the same bytes again, and fails again if the cause
//! remains.

use crate::model::printable::printable;
use std::{io, path::PathBuf};

/// Why an output cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    #[error("{}: {step} failed: {fault}; check free space and access rights, then run again", .path.display())]
    Storage {
        path: PathBuf,
        step: &'static str,
        #[source]
        fault: io::Error,
    },
    #[error("{}: writing Parquet failed: {fault}", .path.display())]
    Parquet {
        path: PathBuf,
        #[source]
        fault: parquet::errors::ParquetError,
    },
    #[error("{}: a row does not match the columns of its table: {fault}", .path.display())]
    Row { path: PathBuf, fault: String },
    #[error("{fault}")]
    ColumnClash { fault: String },
    #[error(
        "{}: expected a manifest, found another file or a damaged one: {fault}; restore it, or move it away and run again",
        .path.display()
    )]
    Manifest {
        path: PathBuf,
        #[source]
        fault: serde_json::Error,
    },
    #[error(
        "{}: expected a manifest of version {}, found {found}; use the release of rescreen that wrote it, or a newer one",
        .path.display(), super::MANIFEST_VERSION
    )]
    ManifestVersion { path: PathBuf, found: String },
    #[error(
        "{} contains the results of another ledger (campaign `{campaign}`), which are not replaced; choose another folder \
         with --out DIR, or with [output] dir", .path.display()
    )]
    OtherLedger { path: PathBuf, campaign: String },
    #[error(
        "{}: this ledger did not write this file, so it is not replaced; move it away, or choose another folder with \
         --out DIR, and run again", .path.display()
    )]
    NotOurs { path: PathBuf },
    #[error("{}: expected a folder, found a symbolic link; remove it, or choose another folder with --out DIR", .path.display())]
    Link { path: PathBuf },
    #[error(
        "{}: the file was changed after it was written (its SHA-256 differs); move it away and run again, which writes it \
         again from the ledger", .path.display()
    )]
    Changed { path: PathBuf },
    #[error(
        "{}: expected a folder with published results, found no {}; name the output folder of a campaign that has \
         published, or its name", .path.display(), super::MANIFEST_NAME
    )]
    NotPublished { path: PathBuf },
    #[error(
        "{}: the part `{}` cannot be used: {fault}; copy the whole folder again, or publish it again with \
         `rescreen collect` where its ledger is", .path.display(), printable(.part)
    )]
    Part { path: PathBuf, part: String, fault: String },
    #[error(
        "{}: {what}; this folder is damaged or was written by another program: copy it again, or publish it again with \
         `rescreen collect` where its ledger is", .path.display()
    )]
    Damaged { path: PathBuf, what: String },
    #[error("{}: the campaign is not complete, so the manifest cannot say so: {fault}", .path.display())]
    NotComplete { path: PathBuf, fault: String },
}

impl SinkError {
    /// Whether the user chose a wrong folder or wrong names (exit code 2), rather than a storage error (exit code 11).
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            SinkError::OtherLedger { .. }
                | SinkError::NotOurs { .. }
                | SinkError::Link { .. }
                | SinkError::ColumnClash { .. }
                | SinkError::NotPublished { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_folder_is_a_usage_error_and_a_failed_or_changed_file_is_not() {
        let path = || PathBuf::from("out");
        for chosen in [
            SinkError::OtherLedger { path: path(), campaign: "one".to_owned() },
            SinkError::NotOurs { path: path() },
            SinkError::Link { path: path() },
        ] {
            assert!(chosen.is_usage(), "{chosen}");
        }
        for failed in [
            SinkError::Storage { path: path(), step: "writing", fault: std::io::Error::other("the disk is full") },
            SinkError::Changed { path: path() },
            SinkError::NotComplete { path: path(), fault: "the counts differ".to_owned() },
        ] {
            assert!(!failed.is_usage(), "{failed}");
        }
    }
}
