//! What the bytes of a source contain: text in an encoding, or the cells of a sheet. It defines the message for
//! undecodable text, and how a cell without a value is encoded for the record readers.

use crate::{model::FailureCode, source::bytes::encoding::Encoding};

/// Marks a cell of a sheet without a value. This byte never occurs in UTF-8. It is followed by a letter for the reason.
const NO_VALUE: u8 = 0xff;

/// What the bytes contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Written(Encoding),
    /// The cells of a sheet; each row of the sheet is one record.
    Cells,
    /// The rows of a Parquet file.
    Table,
}

/// Why a cell of a sheet has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoValue {
    /// An error such as `#N/A`; the text of the cell is its name.
    Error,
    /// A formula whose result is not in the file.
    Formula,
    /// A number that may have lost digits.
    Number,
    /// A number formatted as a date that is not a valid date.
    Date,
}

impl NoValue {
    const ALL: [NoValue; 4] = [NoValue::Error, NoValue::Formula, NoValue::Number, NoValue::Date];

    fn letter(self) -> u8 {
        match self {
            NoValue::Error => b'e',
            NoValue::Formula => b'f',
            NoValue::Number => b'n',
            NoValue::Date => b'd',
        }
    }

    /// Marks the cell that ends here.
    pub fn mark(self, cell: &mut Vec<u8>) {
        cell.extend_from_slice(&[NO_VALUE, self.letter()]);
    }

    fn message(self, shown: &[u8]) -> String {
        match self {
            NoValue::Error => {
                let name = String::from_utf8_lossy(shown);
                format!("expected a value, found the error {name}; fix the cell")
            }
            NoValue::Formula => {
                "expected a value, found a formula without its result; open the file in a spreadsheet program and save \
                 it"
                .to_owned()
            }
            NoValue::Number => {
                "expected a number of at most 15 digits, found a longer one, and spreadsheets lose digits of such \
                 numbers; store it as text"
                    .to_owned()
            }
            NoValue::Date => {
                "expected a date from 1900 to 9999, found a number formatted as a date that is not one; fix the \
                 cell"
                    .to_owned()
            }
        }
    }
}

/// Why a column of a Parquet file has no value in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoColumnValue {
    NotFinite,
    Date,
    /// Bytes that are not UTF-8.
    Bytes,
}

impl NoColumnValue {
    const ALL: [NoColumnValue; 3] = [NoColumnValue::NotFinite, NoColumnValue::Date, NoColumnValue::Bytes];

    fn letter(self) -> u8 {
        match self {
            NoColumnValue::NotFinite => b'n',
            NoColumnValue::Date => b'd',
            NoColumnValue::Bytes => b'b',
        }
    }

    /// Marks the row that ends here: the byte that never occurs in UTF-8, the reason, and the name of the column.
    pub fn mark(self, row: &mut Vec<u8>, column: &str) {
        row.extend_from_slice(&[NO_VALUE, self.letter()]);
        row.extend(column.bytes().filter(|byte| *byte != b'\n'));
    }

    fn failure(self, column: &str) -> (FailureCode, String) {
        let message = match self {
            NoColumnValue::NotFinite => {
                "expected a number, found NaN or an infinite one; write null for a missing number"
            }
            NoColumnValue::Date => "expected a date or time from year 1 to 9999, found another one; correct it",
            NoColumnValue::Bytes => "expected text, found bytes that are not UTF-8; correct them or remove the column",
        };
        let code = if self == NoColumnValue::Bytes { FailureCode::InvalidUtf8 } else { FailureCode::InvalidValue };
        (code, format!("column `{column}`: {message}"))
    }
}

impl Content {
    pub fn is_sheet(self) -> bool {
        self == Content::Cells
    }

    /// What was expected, what was found and what to do, if bytes are not valid UTF-8.
    pub fn not_text(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Content::Written(Encoding::Utf8) => (
                "UTF-8",
                "other bytes",
                "; save the file as UTF-8, or set `encoding = \"windows-1252\"` before the first run; if the campaign \
                 has already started, run the failed rows from their own file in a new campaign",
            ),
            Content::Written(Encoding::Utf16 | Encoding::Utf16Le | Encoding::Utf16Be) => {
                ("UTF-16", "half a character", "; save the file again")
            }
            Content::Written(page @ Encoding::CodePage(_)) => {
                (page.name(), "a byte that has no character in it", "; check the encoding of the file")
            }
            Content::Cells | Content::Table => ("text", "a cell without a value", "; fix the cell"),
        }
    }

    /// The failure of a cell that is not UTF-8.
    pub fn failure(self, cell: &[u8]) -> (FailureCode, String) {
        if let (true, Some((shown, reason))) = (self.is_sheet(), no_value(cell)) {
            return (FailureCode::InvalidValue, reason.message(shown));
        }
        let (expected, found, advice) = self.not_text();
        (FailureCode::InvalidUtf8, format!("expected {expected}, found {found}{advice}"))
    }

    /// The failure of a row that a Parquet file has no value for; `None` if it has all.
    pub fn column_failure(self, row: &[u8]) -> Option<(FailureCode, String)> {
        let (_, mark) = (self == Content::Table).then(|| split_mark(row))??;
        let (letter, column) = mark.split_first()?;
        let reason = NoColumnValue::ALL.into_iter().find(|reason| reason.letter() == *letter)?;
        Some(reason.failure(&String::from_utf8_lossy(column)))
    }

    /// The cell as it is kept for a damaged record.
    pub fn shown(self, cell: &[u8]) -> &[u8] {
        match (self, no_value(cell)) {
            (Content::Cells, Some((shown, _))) => shown,
            (Content::Table, _) => split_mark(cell).map_or(cell, |(shown, _)| shown),
            _ => cell,
        }
    }
}

/// A row before its mark, and the mark without its first byte.
fn split_mark(row: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = row.iter().rposition(|byte| *byte == NO_VALUE)?;
    Some((&row[..at], &row[at + 1..]))
}

/// The text of a cell without a value, and why it has none.
fn no_value(cell: &[u8]) -> Option<(&[u8], NoValue)> {
    let (shown, [NO_VALUE, letter]) = cell.split_last_chunk()? else { return None };
    NoValue::ALL.into_iter().find(|reason| reason.letter() == *letter).map(|reason| (shown, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_without_a_value_is_distinguished_from_bad_utf_8() {
        for reason in NoValue::ALL {
            let mut cell = b"#N/A".to_vec();
            reason.mark(&mut cell);
            assert!(std::str::from_utf8(&cell).is_err());
            assert_eq!(Content::Cells.failure(&cell).0, FailureCode::InvalidValue);
            assert_eq!(Content::Cells.shown(&cell), b"#N/A");
            assert_eq!(Content::Written(Encoding::Utf8).failure(&cell).0, FailureCode::InvalidUtf8);
            assert_eq!(Content::Written(Encoding::Utf8).shown(&cell), cell);
        }
        assert_eq!(Content::Cells.column_failure(b"{}\xffna"), None);
        for reason in NoColumnValue::ALL {
            let mut row = b"{\"a\":null}".to_vec();
            reason.mark(&mut row, "a");
            let (_, message) = Content::Table.column_failure(&row).unwrap();
            assert!(message.starts_with("column `a`: expected "), "{message}");
            assert_eq!(Content::Table.shown(&row), b"{\"a\":null}");
            assert_eq!(Content::Table.column_failure(b"{\"a\":null}"), None);
        }
        assert!(Content::Cells.failure(b"#REF!\xffe").1.contains("found the error #REF!;"));
    }
}
