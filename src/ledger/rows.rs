//! The rows of a split as the ledger stores them: one compressed block of JSON lines, one line per row. Readers that
//! need only the positions of rows skip their values.

use super::{
    LedgerError, Reading,
    compression::{Level, ROWS_BYTES_MAX, compress, decompress},
};
use crate::model::json_values;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A row as the ledger stores it: one JSON line of its split's records.
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
    /// The row as a JSON object, or the readable part of a damaged row.
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

/// The block of a split without the values and subjects of these rows. Their numbers and places stay.
///
/// # Errors
/// The split cannot be read.
pub(super) fn without_values(
    conn: &Connection,
    split: i64,
    leaves: &dyn Fn(u32) -> bool,
) -> Result<Vec<u8>, LedgerError> {
    let split = Split::read(conn, split)?;
    let mut lines = Vec::new();
    for (index, ends) in split.starts.windows(2).enumerate() {
        if leaves(index as u32) {
            let row = split.row(index, Values::Skipped)?;
            serde_json::to_writer(&mut lines, &IngestedRow { subject: None, ..row }).expect("numbers");
            lines.push(b'\n');
        } else {
            lines.extend_from_slice(&split.lines[ends[0]..ends[1]]);
        }
    }
    Ok(compress(&lines, Level::Rows))
}

/// Whether a reader of rows needs their values, or only position and subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    Read,
    Skipped,
}

/// Reads the rows of a ledger one by one. The text of one split and one parsed row are in memory: parsed rows take many
/// times the memory of their text.
pub(super) struct RowReader<'a> {
    conn: &'a Connection,
    values: Values,
    split: Option<Split>,
    /// The last row, with its split and its index. The asks of a row follow each other.
    row: Option<((i64, u32), IngestedRow)>,
}

/// The rows of a split as text.
struct Split {
    id: i64,
    source: String,
    lines: Vec<u8>,
    /// Where each row starts, and the end of the last one.
    starts: Vec<usize>,
}

impl RowReader<'_> {
    pub(super) fn new(conn: &Connection, values: Values) -> RowReader<'_> {
        RowReader { conn, values, split: None, row: None }
    }

    /// How many rows a split has.
    ///
    /// # Errors
    /// The split cannot be read.
    pub(super) fn rows_in(&mut self, split: i64) -> Result<u32, LedgerError> {
        Ok((self.split(split)?.starts.len() - 1) as u32)
    }

    /// The name of the source of a row, and the row. `place` is its split and its index there.
    ///
    /// # Errors
    /// The row does not exist or cannot be read.
    pub(super) fn at(&mut self, place: (i64, u32)) -> Result<(&str, &IngestedRow), LedgerError> {
        if self.row.as_ref().is_none_or(|(read, _)| *read != place) {
            let values = self.values;
            let row = self.split(place.0)?.row(place.1 as usize, values)?;
            self.row = Some((place, row));
        }
        let (Some(split), Some((_, row))) = (&self.split, &self.row) else { unreachable!("both were read") };
        Ok((&split.source, row))
    }

    fn split(&mut self, id: i64) -> Result<&Split, LedgerError> {
        let split = match self.split.take_if(|split| split.id == id) {
            Some(same) => same,
            None => {
                (self.split, self.row) = (None, None);
                Split::read(self.conn, id)?
            }
        };
        Ok(self.split.insert(split))
    }
}

impl Reading {
    /// The rows of a split.
    ///
    /// # Errors
    /// The ledger has no split with this id, or cannot be read.
    pub(super) fn rows_of_split(&self, split: i64) -> Result<Vec<IngestedRow>, LedgerError> {
        let split = Split::read(&self.conn, split)?;
        (0..split.starts.len() - 1).map(|index| split.row(index, Values::Read)).collect()
    }
}

impl Split {
    fn read(conn: &Connection, id: i64) -> Result<Split, LedgerError> {
        let sql = "SELECT source.name, records FROM split JOIN source ON source.id = split.source WHERE split.id = ?1";
        let (source, block): (String, Vec<u8>) =
            conn.prepare_cached(sql)?.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let lines = decompress(&block, ROWS_BYTES_MAX).map_err(|error| damaged(&error))?;
        let ends = lines.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let starts = [0].into_iter().chain(ends).collect();
        Ok(Split { id, source, lines, starts })
    }

    fn row(&self, index: usize, values: Values) -> Result<IngestedRow, LedgerError> {
        let line = match self.starts.get(index..index.saturating_add(2)) {
            Some(&[from, to]) => &self.lines[from..to],
            _ => return Err(damaged(&format!("row {index} is missing"))),
        };
        if let Ok(text) = std::str::from_utf8(line)
            && json_values::count(text, ROW_VALUES_MAX) > ROW_VALUES_MAX
        {
            return Err(damaged(&"a row has too many values"));
        }
        let row = match values {
            Values::Read => serde_json::from_slice(line),
            Values::Skipped => serde_json::from_slice(line).map(|head: RowHead| {
                let RowHead { row_number, line, byte_offset, subject } = head;
                IngestedRow { row_number, line, byte_offset, subject, input: Value::Null }
            }),
        };
        row.map_err(|error| damaged(&error))
    }
}

pub(super) fn damaged(error: &dyn std::fmt::Display) -> LedgerError {
    LedgerError::Damaged(format!("the rows of a split: {error}"))
}

/// The part of an [`IngestedRow`] that most outputs need.
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

/// The maximum number of values in a stored row. Rows from an input always have fewer.
pub(super) const ROW_VALUES_MAX: usize = 200_000;

#[cfg(test)]
mod tests {
    use super::{
        super::{CommitMode, IngestedSplit, Ledger, for_tests::identity},
        *,
    };
    use crate::model::Checkpoint;
    use serde_json::json;

    #[tokio::test]
    async fn the_size_of_a_split_includes_its_rows() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite"), &identity(), CommitMode::Inline, 0).unwrap();
        let source = ledger.sources(vec!["scans.jsonl".to_owned()]).await.unwrap()[0];
        // Text that does not compress well.
        let wide: String = (0..20_000_u64).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let row = IngestedRow { row_number: 1, line: 1, byte_offset: 0, subject: None, input: json!({ "scan": wide }) };
        let end = Checkpoint { end_offset: 1, end_line: 2, next_row_number: 2, sha256: [0; 32] };
        let (committing, bytes) =
            ledger.ingest_later(IngestedSplit { source, rows: vec![row], asks: Vec::new(), end }, 0).unwrap();
        assert!(bytes > 100_000, "{bytes} bytes for a row of {}", wide.len());
        drop(ledger.await_commit(committing));
    }
}
