//! What the bytes of a source stand for: text in an encoding, or the cells of a sheet. It decides how a place that is no
//! text is told to the user, and what a cell that has no value looks like on its way through the readers of records.

use crate::{model::FailureCode, source::bytes::encoding::Encoding};

/// Ends a cell of a sheet that has no value; no text in UTF-8 holds this byte. A letter follows that says why.
const NO_VALUE: u8 = 0xff;

/// What the bytes stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Written(Encoding),
    /// The cells of a sheet, each of its rows one record.
    Cells,
}

/// Why a cell of a sheet has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoValue {
    /// `#N/A` and its like; the text of the cell is its name.
    Error,
    /// A formula whose result the file does not hold.
    Formula,
    /// A number that may have lost digits.
    Number,
    /// A number in the form of a date that is none.
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
                format!("expected a value, found the error {name}; mend the cell")
            }
            NoValue::Formula => "expected a value, found a formula without its result; open the file in a spreadsheet \
                                 and save it"
                .to_owned(),
            NoValue::Number => "expected a number of at most 15 digits, found a longer one, and a spreadsheet loses \
                                digits of those; store it as text"
                .to_owned(),
            NoValue::Date => {
                "expected a date from 1900 to 9999, found a number in the form of a date that is none".to_owned()
            }
        }
    }
}

impl Content {
    pub fn is_sheet(self) -> bool {
        self == Content::Cells
    }

    /// What was expected and what came, where bytes are not UTF-8, and what to do.
    pub fn not_text(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Content::Written(Encoding::Utf8) => (
                "UTF-8",
                "other bytes",
                "; save the file as UTF-8, or say before the first run that it is `encoding = \"windows-1252\"`; of a book \
                 that was begun, send the rows that failed as a file and a campaign of their own",
            ),
            Content::Written(Encoding::Utf16) => ("UTF-16", "half a character", "; save the file anew"),
            Content::Written(Encoding::Windows1252) => {
                ("windows-1252", "a byte that it has no character for", "; is it another encoding?")
            }
            Content::Cells => ("text", "a cell without a value", "; mend the cell"),
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

    /// The cell as it is kept of a damaged record.
    pub fn shown(self, cell: &[u8]) -> &[u8] {
        match no_value(cell) {
            Some((shown, _)) if self.is_sheet() => shown,
            _ => cell,
        }
    }
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
        assert!(Content::Cells.failure(b"#REF!\xffe").1.contains("found the error #REF!;"));
    }
}
