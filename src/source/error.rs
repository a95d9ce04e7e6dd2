//! Errors that stop the reading of a source. A record that cannot be read is not an error but data; see
//! `records/damaged`.

use super::{
    arrow_stream::ArrowFault, bytes::encoding::Encoding, parquet::fault::ParquetFault, xlsx::fault::SheetFault,
};
use std::{io, ops::RangeInclusive, sync::Arc};

/// What to do about an input that changed after some of its rows may have been sent, or were decided.
const WAYS_ON: &str = "Restore the old file and run again. Then rows that were never sent can be changed in it, new rows can be \
                       appended, and rows that failed can be corrected with --corrections FILE, an edited copy of \
                       failures.csv. Or put the changed rows into another file, and check it with --campaign NAME";

fn change_of(row: Option<u64>, rows: &RangeInclusive<u64>) -> String {
    row.map_or_else(
        || format!("the first change is in rows {} to {}, which may have been sent", rows.start(), rows.end()),
        |row| format!("row {row} was sent, and has changed"),
    )
}

impl SourceError {
    /// A source has other columns than before.
    pub fn columns_changed(source_name: Arc<str>, known: &[String], found: &[String]) -> SourceError {
        let alike = known.iter().zip(found).take_while(|(known, found)| known == found).count();
        let (columns_known, columns_found, first_changed) = (known.len(), found.len(), alike + 1);
        SourceError::ColumnsChanged { source_name, columns_known, columns_found, first_changed }
    }
}

/// Why a source, or the rest of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("{source_name}: cannot be opened: {fault}")]
    Open {
        source_name: Arc<str>,
        #[source]
        fault: io::Error,
    },
    #[error("{source_name}: reading failed after byte {offset}: {fault}; the rows that were read are kept; run again")]
    Read {
        source_name: Arc<str>,
        offset: u64,
        #[source]
        fault: io::Error,
    },
    #[error("{source_name}: expected a file, found a folder; name the files in it")]
    Folder { source_name: Arc<str> },
    #[error("{source_name}: {what} is not supported; {advice}")]
    Refused { source_name: Arc<str>, what: &'static str, advice: &'static str },
    #[error(
        "{source_name}: expected {expected} text, found {found}; set `encoding` (or --encoding) to the encoding of the file"
    )]
    OtherEncoding { source_name: Arc<str>, expected: Encoding, found: &'static str },
    #[error("{source_name}: {fault}")]
    Sheet { source_name: Arc<str>, fault: SheetFault },
    #[error("{source_name}: {fault}")]
    Parquet { source_name: Arc<str>, fault: ParquetFault },
    #[error("{source_name}: {fault}")]
    Arrow { source_name: Arc<str>, fault: ArrowFault },
    #[error(
        "{source_name}: expected CSV or a spreadsheet, found a table of Parquet or Arrow, which names its own columns; remove `header` and \
         `columns`, `header_row`, `skip_rows` and `skip_footer`"
    )]
    HeaderOfTable { source_name: Arc<str> },
    #[error(
        "{source_name}: expected a workbook with the sheet `{wanted}`, found a file of another format; remove `sheet`"
    )]
    NoSheets { source_name: Arc<str>, wanted: String },
    #[error(
        "{source_name}: expected CSV or a spreadsheet, found JSON Lines, which has the column names on each line; \
         remove `header` and `columns`, `header_row`, `skip_rows` and `skip_footer`"
    )]
    HeaderOfJson { source_name: Arc<str> },
    /// The names are not repeated, because the first line of a file without a header is a row.
    #[error(
        "{source_name}: expected the {columns_known} columns that this input had before, found {columns_found}, and \
         column {first_changed} differs; restore them, or start a new campaign with --campaign NAME"
    )]
    ColumnsChanged { source_name: Arc<str>, columns_known: usize, columns_found: usize, first_changed: usize },
    #[error(
        "{source_name}: expected one JSON object on each line, found a JSON list; `jq -c '.[]'` converts it to lines"
    )]
    JsonList { source_name: Arc<str> },
    #[error("{source_name}: expected a header line with the names of the columns, found an empty input")]
    NoHeader { source_name: Arc<str> },
    #[error(
        "{source_name}: expected the table to begin in line {line}, found the end of the input before it; correct \
         --header-row or --skip-rows (or [input] header_row, skip_rows)"
    )]
    NothingBelow { source_name: Arc<str>, line: u64 },
    #[error(
        "{source_name}: expected the last {rows} rows, which are not read, to have at most 64 MiB, found more; remove \
         them from the input, and --skip-footer (or [input] skip_footer)"
    )]
    FooterTooLarge { source_name: Arc<str>, rows: usize },
    #[error("{source_name}: the header: expected {expected}, found {found} in column {column}{advice}")]
    HeaderNotText {
        source_name: Arc<str>,
        column: usize,
        expected: &'static str,
        found: &'static str,
        advice: &'static str,
    },
    #[error("{source_name}: the header: expected {expected}; check that no quote is left open in it")]
    HeaderUnended { source_name: Arc<str>, expected: &'static str },
    /// The name is not repeated, because the first line of a file without a header is a row.
    #[error(
        "{source_name}: the header: columns {first} and {second} have the same name; rename one of them, or, if the first line \
         is a row, use --no-header (or [input] header = false)"
    )]
    DuplicateColumn { source_name: Arc<str>, first: usize, second: usize },
    #[error(
        "{source_name}: line {line}: expected a row that ends within 256 MiB, found no end; check that this is the right \
         file and that no quote is left open"
    )]
    RowUnended { source_name: Arc<str>, line: u64 },
    #[error("{source_name}: the header: expected at most {max} columns, found {found}", max = super::COLUMNS_MAX)]
    TooManyColumns { source_name: Arc<str>, found: usize },
    #[error(
        "{source_name}: this input has changed since {rows_known} rows of it were read: {}. {WAYS_ON}",
        change_of(*first_changed_row, first_changed_rows)
    )]
    Changed {
        source_name: Arc<str>,
        /// Rows that were read before.
        rows_known: u64,
        /// Row numbers, from 1, of the split that contains the first change.
        first_changed_rows: RangeInclusive<u64>,
        /// The first row that was sent and has changed, if it was found.
        first_changed_row: Option<u64>,
    },
    #[error(
        "{source_name}: expected the {bytes_known} bytes ({rows_known} rows) that were read before, found an input of \
         {bytes_found} bytes: {}. {WAYS_ON}", change_of(*first_changed_row, &(*first_row..=*rows_known))
    )]
    Truncated {
        source_name: Arc<str>,
        rows_known: u64,
        bytes_known: u64,
        bytes_found: u64,
        /// The first row of the split that is not whole any more.
        first_row: u64,
        /// The first row that was sent and has changed, if it was found.
        first_changed_row: Option<u64>,
    },
    #[error(
        "{source_name}: expected the {rows_known} rows that were read before, found an empty input; send the same \
         input again"
    )]
    NothingOnStdin { source_name: Arc<str>, rows_known: u64 },
}
