//! Any bytes as JSON Lines. In addition to what is true for every input, a row that is written as JSON and read again
//! is the same row, also for readers of the ledger and the outputs.

use super::records;
use rescreen::source::{Format, JSON_VALUES_MAX};
use serde_json::Value;

pub fn check(data: &[u8]) {
    let options = records::options(Format::Jsonl);
    let Some(taken) = records::check(data, &options) else { return };
    let rows: Vec<&str> = taken.records.iter().filter(|row| row.is_row).map(|row| row.text.as_str()).collect();
    for row in &rows {
        let read: Value = serde_json::from_str(row).expect("a row is JSON");
        assert!(values(&read) <= JSON_VALUES_MAX, "a row has too many values");
        assert_eq!(read.to_string(), **row, "a row is the same after it is parsed");
    }
    let again = records::take(rows.join("\n").as_bytes(), &options, usize::MAX).expect("rows are JSON Lines");
    let again: Vec<&str> = again.records.iter().map(|row| row.text.as_str()).collect();
    assert_eq!(again, rows, "a row is the same when it is written and read again");
}

/// The number of values in a value, including itself.
fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(members) => members.values().map(values).sum(),
        _ => 0,
    }
}
