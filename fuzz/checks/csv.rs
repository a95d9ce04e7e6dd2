//! Any bytes as a CSV file. In addition to what is true for every input, a row has as many cells as the header.

use super::records;
use rescreen::source::Format;

pub fn check(data: &[u8]) {
    let Some(taken) = records::check(data, &records::options(Format::Csv)) else { return };
    let mut columns = None;
    for record in taken.records.iter().filter(|record| record.is_row) {
        let row: serde_json::Value = serde_json::from_str(&record.text).expect("a row is JSON");
        assert_eq!(row.to_string(), record.text, "a row is the same after it is written and read");
        let row = row.as_object().expect("a row is an object");
        assert_eq!(*columns.get_or_insert(row.len()), row.len(), "all rows have the columns of the header");
        assert!(row.values().all(|cell| cell.as_str().is_some_and(|text| !text.contains('\0'))), "a cell has no NUL");
    }
}
