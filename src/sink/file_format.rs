//! The format of a file with a table. A campaign publishes in two of them, and an export writes all three.

use super::OutputFormat;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The format of a file with a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileFormat {
    Parquet,
    Jsonl,
    /// RFC 4180, UTF-8. Only an export writes it, because it has no types.
    Csv,
    /// The same with a byte order mark, by which Excel recognises UTF-8.
    #[serde(rename = "csv", skip_deserializing)]
    ExcelCsv,
}

impl FileFormat {
    /// The name in the manifest and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            FileFormat::Parquet => "parquet",
            FileFormat::Jsonl => "jsonl",
            FileFormat::Csv | FileFormat::ExcelCsv => "csv",
        }
    }

    /// The file extension, without the dot.
    pub fn extension(self) -> &'static str {
        self.as_str()
    }
}

impl From<OutputFormat> for FileFormat {
    fn from(format: OutputFormat) -> FileFormat {
        match format {
            OutputFormat::Parquet => FileFormat::Parquet,
            OutputFormat::Jsonl => FileFormat::Jsonl,
        }
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
