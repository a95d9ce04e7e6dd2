//! The rows of a sheet as CSV, which the record readers then check like any other CSV. Each row of the sheet is one
//! line and empty rows are empty lines, so line numbers are row numbers of the sheet. It defines the text of a cell:
//! `YYYY-MM-DD` for a date, the shortest digits for a number, `true` and `false`. A cell without a value is marked,
//! never left empty.
//!
//! Campaigns that have started identify their sheet by these bytes: changing the text of a cell would make all of them
//! refuse their input.

use crate::source::records::content::NoValue;
use calamine::{DataRef, ExcelDateTime};
use jiff::{Span, civil::Date};

const DAY_MILLISECONDS: f64 = 86_400_000.0;
/// Spreadsheets keep 15 digits: in whole numbers from this one on, the digits after them may have become zeros.
const WHOLE_LIMIT: f64 = 1e15;

/// The CSV text made so far.
pub struct SheetText {
    pub bytes: Vec<u8>,
    /// Minimum cells of each row.
    width: u32,
    /// The current row, from 0; all rows before it are written.
    row: u32,
    /// Cells of the current row that are written.
    cells: u32,
    /// The current value.
    value: Vec<u8>,
}

/// Whether a cell is empty.
pub fn is_empty(value: &DataRef<'_>, is_formula: bool) -> bool {
    match value {
        DataRef::Empty => !is_formula,
        DataRef::String(text) => text.is_empty(),
        DataRef::SharedString(text) => text.is_empty(),
        _ => false,
    }
}

impl SheetText {
    pub fn new(width: u32) -> SheetText {
        SheetText { bytes: Vec::new(), width, row: 0, cells: 0, value: Vec::new() }
    }

    /// Writes a cell that is not empty. Returns `false` if it comes before a cell that is already written.
    pub fn cell(&mut self, (row, column): (u32, u32), value: &DataRef<'_>, is_1904: bool) -> bool {
        if row < self.row || (row == self.row && column < self.cells) {
            return false;
        }
        while self.row < row {
            self.end_row();
        }
        for _ in self.cells.max(1)..=column {
            self.bytes.push(b',');
        }
        self.cells = column + 1;
        self.value.clear();
        if let Err(reason) = push_text(&mut self.value, value, is_1904) {
            reason.mark(&mut self.value);
        }
        self.bytes.push(b'"');
        for byte in &self.value {
            if *byte == b'"' {
                self.bytes.push(b'"');
            }
            self.bytes.push(*byte);
        }
        self.bytes.push(b'"');
        true
    }

    /// Ends the current row; an empty row becomes an empty line.
    pub fn end_row(&mut self) {
        if self.cells > 0 {
            for _ in self.cells..self.width {
                self.bytes.push(b',');
            }
            self.cells = 0;
        }
        self.bytes.push(b'\n');
        self.row += 1;
    }
}

/// Writes the text of a value. For a cell without a value it writes the text to show, and returns the reason.
fn push_text(bytes: &mut Vec<u8>, value: &DataRef<'_>, is_1904: bool) -> Result<(), NoValue> {
    let mut push = |text: &str| bytes.extend_from_slice(text.as_bytes());
    match value {
        DataRef::Empty => return Err(NoValue::Formula),
        DataRef::String(text) | DataRef::DurationIso(text) => push(text),
        DataRef::SharedString(text) => push(text),
        DataRef::DateTimeIso(text) => push(text.strip_suffix("T00:00:00").unwrap_or(text)),
        DataRef::Bool(value) => push(if *value { "true" } else { "false" }),
        DataRef::Int(number) => push(&number.to_string()),
        DataRef::Float(number) => {
            push(&number_text(*number));
            if !number.is_finite() || (number.fract() == 0.0 && number.abs() >= WHOLE_LIMIT) {
                return Err(NoValue::Number);
            }
        }
        DataRef::DateTime(date) => match date_text(*date, is_1904) {
            Some(text) => push(&text),
            None => {
                push(&number_text(date.as_f64()));
                return Err(NoValue::Date);
            }
        },
        DataRef::Error(error) => {
            push(&error.to_string());
            return Err(NoValue::Error);
        }
    }
    Ok(())
}

/// The shortest digits that represent this number, without an exponent.
fn number_text(number: f64) -> String {
    // Negative zero is written as 0.
    format!("{}", if number == 0.0 { 0.0 } else { number })
}

/// A date, a date with a time, a time, or a duration (`PT36H0M0S`); `None` if it is not valid.
fn date_text(date: ExcelDateTime, is_1904: bool) -> Option<String> {
    let milliseconds = (date.as_f64() * DAY_MILLISECONDS).round();
    // 9999-12-31 is day 2,958,465.
    if !(0.0..2_958_466.0 * DAY_MILLISECONDS).contains(&milliseconds) {
        return None;
    }
    let milliseconds = milliseconds as i64;
    let (day, of_day) = (milliseconds / 86_400_000, milliseconds % 86_400_000);
    let (seconds, thousandths) = (of_day / 1_000, of_day % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let fraction = if thousandths > 0 { format!(".{thousandths:03}") } else { String::new() };
    if date.is_duration() {
        return Some(format!("PT{}H{minute}M{second}{fraction}S", day * 24 + hour));
    }
    let time = format!("{hour:02}:{minute:02}:{second:02}{fraction}");
    // The 1900 date system treats 1900 as a leap year: its day 60 does not exist.
    let first = match (is_1904, day) {
        (true, 0) | (false, 0) if of_day > 0 => return Some(time),
        (true, _) => Date::constant(1904, 1, 1),
        (false, 0 | 60) => return None,
        (false, ..60) => Date::constant(1899, 12, 31),
        (false, _) => Date::constant(1899, 12, 30),
    };
    let date = first.checked_add(Span::new().try_days(day).ok()?).ok()?;
    Some(if of_day == 0 { date.to_string() } else { format!("{date}T{time}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use calamine::{CellErrorType, ExcelDateTimeType};

    fn text(value: &DataRef<'_>) -> (String, Option<NoValue>) {
        let mut bytes = Vec::new();
        let reason = push_text(&mut bytes, value, false).err();
        (String::from_utf8(bytes).unwrap(), reason)
    }

    fn dated(days: f64, kind: ExcelDateTimeType, is_1904: bool) -> Option<String> {
        date_text(ExcelDateTime::new(days, kind, is_1904), is_1904)
    }

    #[test]
    fn numbers_have_the_shortest_digits_and_inexact_ones_are_not_values() {
        for (number, expected) in [
            (8_001_015_009_087.0, "8001015009087"),
            (0.1, "0.1"),
            (1_234_567.89, "1234567.89"),
            (-0.0, "0"),
            (999_999_999_999_999.0, "999999999999999"),
            (-999_999_999_999_999.0, "-999999999999999"),
        ] {
            assert_eq!(text(&DataRef::Float(number)), (expected.to_owned(), None));
        }
        for number in [1e15, -1e15, 9_007_199_254_740_991.0, 1e300, f64::NAN, f64::INFINITY] {
            assert_eq!(text(&DataRef::Float(number)).1, Some(NoValue::Number));
        }
    }

    #[test]
    fn dates_are_iso_in_both_calendars() {
        let day = |days: f64| dated(days, ExcelDateTimeType::DateTime, false);
        assert_eq!(day(46_115.0).unwrap(), "2026-04-03");
        assert_eq!(day(46_115.5).unwrap(), "2026-04-03T12:00:00");
        assert_eq!(day(46_114.999_999_999).unwrap(), "2026-04-03", "rounded to the millisecond, with carry");
        assert_eq!(day(0.25).unwrap(), "06:00:00");
        assert_eq!((day(1.0).unwrap(), day(59.0).unwrap()), ("1900-01-01".to_owned(), "1900-02-28".to_owned()));
        assert_eq!(day(61.0).unwrap(), "1900-03-01");
        assert_eq!(day(2_958_465.0).unwrap(), "9999-12-31");
        for none in [0.0, 60.0, 60.5, -1.0, 2_958_466.0, f64::NAN, f64::INFINITY] {
            assert_eq!(day(none), None, "{none}");
        }
        assert_eq!(dated(0.0, ExcelDateTimeType::DateTime, true).unwrap(), "1904-01-01");
        assert_eq!(dated(44_653.0, ExcelDateTimeType::DateTime, true).unwrap(), "2026-04-03");
        assert_eq!(dated(1.5, ExcelDateTimeType::TimeDelta, false).unwrap(), "PT36H0M0S");
    }

    #[test]
    fn a_line_is_a_row_of_the_sheet_and_the_text_is_csv() {
        let mut sheet = SheetText::new(3);
        assert!(sheet.cell((1, 0), &DataRef::SharedString("a"), false));
        assert!(sheet.cell((1, 2), &DataRef::String("say \"no\",\n".to_owned()), false));
        assert!(sheet.cell((3, 1), &DataRef::Bool(true), false));
        assert!(!sheet.cell((3, 1), &DataRef::Bool(true), false), "the same cell again");
        assert!(!sheet.cell((2, 1), &DataRef::Bool(true), false), "a row before");
        assert!(sheet.cell((3, 4), &DataRef::Error(CellErrorType::NA), false));
        sheet.end_row();
        let expected = b"\n\"a\",,\"say \"\"no\"\",\n\"\n\n,\"true\",,,\"#N/A\xffe\"\n";
        assert_eq!(sheet.bytes, expected, "{}", String::from_utf8_lossy(&sheet.bytes));
    }
}
