//! Text that no spreadsheet program takes for a formula. This module decides which text is changed: a cell of a CSV file
//! can come from anyone, and a formula could send the rest of the sheet away.

use std::borrow::Cow;

/// What a spreadsheet program recognises UTF-8 by.
pub const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The text of a cell of a CSV file: an apostrophe is put before what would be a formula. A negative number is not changed.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let is_number = text.strip_prefix('-').is_some_and(|digits| {
        digits.starts_with(|c: char| c.is_ascii_digit()) && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
    });
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && !is_number {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The text that a cell of a CSV file stands for: without the apostrophe that [`harmless`] put before it.
pub fn unmarked(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|text| harmless(text) == cell).unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_a_spreadsheet_would_execute_gets_an_apostrophe() {
        for text in ["=1+1", "+27 82 555 0199", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "--1"] {
            assert_eq!(harmless(text), format!("'{text}"));
            assert_eq!(unmarked(&harmless(text)), text);
        }
        for text in ["", "a=1", " =1", "-12.5", "-7", "2026-11", "'=1"] {
            assert_eq!(harmless(text), text);
            assert!(unmarked(text) == text || text == "'=1");
        }
    }
}
