//! The rows of a split as the ledger keeps them: one compressed block of JSON lines, a line each. It owns the decision that
//! whoever wants to know of rows alone where they stand passes over their values.

use super::{
    LedgerError,
    compression::{Level, ROWS_BYTES_MAX, compress, decompress},
};
use crate::model::json_values;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A row as the ledger keeps it: one JSON line of its split's records.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct IngestedRow {
    #[serde(rename = "n")]
    pub row_number: u64,
    #[serde(rename = "l")]
    pub line: u64,
    #[serde(rename = "b")]
    pub byte_offset: u64,
    /// The value of the id column.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The row as a JSON object, or what could be read of a damaged one.
    #[serde(rename = "r")]
    pub input: Value,
}

/// The rows of a split as one compressed block of JSON lines.
pub(super) fn compress_rows(rows: &[IngestedRow]) -> Vec<u8> {
    let mut lines = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut lines, row).expect("a row is text and numbers, and memory does not fail to write");
        lines.push(b'\n');
    }
    compress(&lines, Level::Rows)
}

/// The rows of a packed block.
pub(super) fn decompress_rows(block: &[u8]) -> Result<Vec<IngestedRow>, LedgerError> {
    decompress_as(block, |row: IngestedRow| row)
}

/// The rows of a packed block by position and subject; their values are passed over.
pub(super) fn decompress_heads(block: &[u8]) -> Result<Vec<IngestedRow>, LedgerError> {
    decompress_as(block, |head: RowHead| {
        let RowHead { row_number, line, byte_offset, subject } = head;
        IngestedRow { row_number, line, byte_offset, subject, input: Value::Null }
    })
}

/// A [`IngestedRow`] as far as most outputs need it.
#[derive(Deserialize)]
struct RowHead {
    #[serde(rename = "n")]
    row_number: u64,
    #[serde(rename = "l")]
    line: u64,
    #[serde(rename = "b")]
    byte_offset: u64,
    #[serde(rename = "s", default)]
    subject: Option<String>,
}

/// Values of a row as the ledger keeps it, at most: more than any row that was read has.
pub(super) const ROW_VALUES_MAX: usize = 200_000;

fn decompress_as<T: DeserializeOwned>(
    block: &[u8],
    row: fn(T) -> IngestedRow,
) -> Result<Vec<IngestedRow>, LedgerError> {
    let damaged = |error: &dyn std::fmt::Display| LedgerError::Damaged(format!("the rows of a split: {error}"));
    let lines = decompress(block, ROWS_BYTES_MAX).map_err(|error| damaged(&error))?;
    lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| match std::str::from_utf8(line) {
            Ok(text) if json_values::count(text, ROW_VALUES_MAX) > ROW_VALUES_MAX => {
                Err(damaged(&"a row has more values than a row can have"))
            }
            _ => serde_json::from_slice(line).map(row).map_err(|error| damaged(&error)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{CommitMode, Identity, IngestedSplit, Ledger},
        *,
    };
    use crate::model::{Checkpoint, Mode};
    use serde_json::json;

    #[tokio::test]
    async fn the_size_of_a_split_is_that_of_its_rows_without_any_asks() {
        let folder = tempfile::tempdir().unwrap();
        let (campaign, origin) = ("wide".to_owned(), "simulated".to_owned());
        let identity = Identity { campaign, mode: Mode::Sandbox, origin, key_secret: None };
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite"), &identity, CommitMode::Inline, 0).unwrap();
        let source = ledger.sources(vec!["scans.jsonl".to_owned()]).await.unwrap()[0];
        // Not to be compressed: no two words alike.
        let wide: String = (0..20_000_u64).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let row = IngestedRow { row_number: 1, line: 1, byte_offset: 0, subject: None, input: json!({ "scan": wide }) };
        let end = Checkpoint { end_offset: 1, end_line: 2, next_row_number: 2, sha256: [0; 32] };
        let (committing, bytes) =
            ledger.ingest_later(IngestedSplit { source, rows: vec![row], asks: Vec::new(), end }, 0).unwrap();
        assert!(bytes > 100_000, "{bytes} bytes for a row of {}", wide.len());
        drop(ledger.await_commit(committing));
    }
}
