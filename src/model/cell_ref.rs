//! Cell references of a spreadsheet, such as `B2`, or `A1:B2` for a range. They are validated before calamine sees them:
//! its arithmetic on them is unchecked and overflows.

/// Columns of a sheet in this file format: the last one is `XFD`.
pub const COLUMNS_MAX: u32 = 1 << 14;
/// Rows of a sheet.
pub const ROWS_MAX: u32 = 1 << 20;

/// Whether this is a cell reference, or a row number.
pub fn is_cell_ref(text: &str) -> bool {
    place(text).is_some()
}

/// Whether this is a cell reference, or a range from its first corner to its last.
pub fn is_range_ref(text: &str) -> bool {
    let Some((first, last)) = text.split_once(':') else { return is_cell_ref(text) };
    matches!((place(first), place(last)), (Some(first), Some(last)) if first.0 <= last.0 && first.1 <= last.1)
}

/// Column and row, from 1; column 0 if there is only a row number.
fn place(text: &str) -> Option<(u32, u32)> {
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (letters, digits) = text.split_at(letters);
    if letters.len() > 3 || digits.len() > 7 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let column = letters.bytes().fold(0, |sum, letter| sum * 26 + u32::from(letter.to_ascii_uppercase() - b'A') + 1);
    let row = digits.parse().ok()?;
    (column <= COLUMNS_MAX && (1..=ROWS_MAX).contains(&row)).then_some((column, row))
}

/// Whether a row and a column, counted from 0, are within the limits of a sheet.
pub fn is_in_a_sheet((row, column): (u32, u32)) -> bool {
    row < ROWS_MAX && column < COLUMNS_MAX
}

/// The reference (such as `C7`) of a row and a column counted from 0.
pub fn reference((row, column): (u32, u32)) -> String {
    let (mut letters, mut rest) = (Vec::new(), column + 1);
    while rest > 0 {
        letters.push(char::from(b'A' + ((rest - 1) % 26) as u8));
        rest = (rest - 1) / 26;
    }
    format!("{}{}", letters.iter().rev().collect::<String>(), row + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_reference_lies_within_a_sheet() {
        for place in ["A1", "b2", "XFD1048576", "7", "A0001"] {
            assert!(is_cell_ref(place), "{place}");
        }
        for none in ["", "A", "A0", "0", "XFE1", "A1048577", "AAAA1", "A12345678", "1A", "A1:B2", "AÉ1", "A 1", "$A$1"]
        {
            assert!(!is_cell_ref(none), "{none}");
        }
    }

    #[test]
    fn a_range_goes_from_its_first_corner_to_its_last() {
        for range in ["A1", "A1:A1", "A1:D10", "B2:XFD9"] {
            assert!(is_range_ref(range), "{range}");
        }
        for none in ["B9:A2", "A9:B2", "B1:A2", "A1:", ":A1", "A1:B2:C3", "A1:AHEETDATA2"] {
            assert!(!is_range_ref(none), "{none}");
        }
    }

    #[test]
    fn a_reference_is_letters_and_a_row_from_1() {
        for (place, name) in [((0, 0), "A1"), ((6, 25), "Z7"), ((0, 26), "AA1"), ((1_048_575, 16_383), "XFD1048576")] {
            assert_eq!(reference(place), name);
        }
    }
}
