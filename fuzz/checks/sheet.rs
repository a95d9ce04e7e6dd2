//! Any bytes as a spreadsheet: those that begin like a spreadsheet are used as the file, all others as the XML of its
//! only sheet. It gives rows and failures, or a fault, the same each time. The line of a record is its row in the
//! sheet.

use super::{folder::folder, records, xlsx::Workbook};
use rescreen::source::{Format, Origin, SourceError, SourceOptions, SourceReader};
use std::{fs, path::Path, sync::Arc};

pub fn check(data: &[u8]) {
    let folder = folder();
    let path = folder.path().join("book.xlsx");
    let whole;
    let bytes = if data.starts_with(b"PK") {
        data
    } else {
        whole = Workbook::new()
            .shared(&["no", "name", "Jo Vexford"])
            .sheet("Sheet1", &String::from_utf8_lossy(data))
            .bytes();
        &whole
    };
    fs::write(&path, bytes).expect("the file can be written");
    let read = || open(&path, &SourceOptions::default()).map(records::whole).map_err(|error| error.to_string());
    let taken = read();
    assert_eq!(taken, read(), "the same each time");
    if let Ok(taken) = &taken {
        records::lines_rise(taken, 1 << 20);
    }
    // A stated format does not change the result.
    let said = SourceOptions { format: Some(Format::Csv), ..SourceOptions::default() };
    assert_eq!(open(&path, &said).is_ok(), taken.is_ok());
}

fn open(path: &Path, options: &SourceOptions) -> Result<SourceReader, SourceError> {
    SourceReader::open(Arc::from("book.xlsx"), Origin::File(path.to_owned()), options, None)
}
