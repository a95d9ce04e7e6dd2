//! What is kept of a record that is not a row: its position, its failure, and its text up to a limit. Bytes that are
//! not valid UTF-8 are replaced, and truncated text is marked as such.

use crate::model::{Failure, Position, Record};
use serde_json::{Map, Value};

/// Maximum bytes of text kept of one damaged record.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// A damaged record of raw text.
pub fn raw(position: Position, failure: Failure, text: &[u8]) -> Record {
    let mut left = KEPT_BYTES_MAX;
    Record::Damaged { position, failure, input: kept(text, &mut left) }
}

/// A damaged record of cells, by column name; cells beyond the header are named `column_N`.
pub fn cells<'a>(
    position: Position,
    failure: Failure,
    header: &[String],
    cells: impl Iterator<Item = &'a [u8]>,
) -> Record {
    let mut left = KEPT_BYTES_MAX;
    let mut map = Map::new();
    for (at, cell) in cells.enumerate() {
        let name = header.get(at).cloned().unwrap_or_else(|| super::header::column_n(at + 1, header));
        map.insert(name, kept(cell, &mut left));
    }
    Record::Damaged { position, failure, input: Value::Object(map) }
}

fn kept(text: &[u8], left: &mut usize) -> Value {
    let count = text.len().min(*left);
    *left -= count;
    let mut kept = String::from_utf8_lossy(&text[..count]).into_owned();
    if count < text.len() {
        kept.push_str(" [cut]");
    }
    Value::String(kept)
}
