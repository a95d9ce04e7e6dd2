//! The XML of one cell. A cell cannot hold every value: longer texts are cut, whole numbers of more than 15 digits are
//! text, and so are dates before March 1900, because spreadsheet programs disagree about the days before.

use crate::{model::cell_ref::reference, sink::TableCell};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use std::borrow::Cow;

/// The most characters in a cell, in UTF-16 units.
pub const CHARACTERS_MAX: usize = 32_767;
/// The end of a text that was cut.
const CUT_MARK: &str = " … (cut)";
/// Spreadsheet programs keep 15 digits of a number.
const WHOLE_LIMIT: u64 = 1_000_000_000_000_000;
/// The day 0 of spreadsheet programs, as seen from March 1900 on.
const DAY_0: Date = Date::constant(1899, 12, 30);
const FIRST_DAY: Date = Date::constant(1900, 3, 1);
const DAY_MILLISECONDS: f64 = 86_400_000.0;

/// The styles of cells, in the order of `package`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Number = 0,
    Text = 1,
    Whole = 2,
    Day = 3,
    Time = 4,
    Heading = 5,
}

/// What a cell takes of its sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// Characters that are seen.
    pub width: usize,
    pub is_cut: bool,
}

/// Adds the XML of a cell at a row and a column from 0. A null has no cell.
pub fn push_cell(xml: &mut Vec<u8>, place: (u32, u32), cell: &TableCell, is_heading: bool) -> Taken {
    let mut number = |look: Look, value: String, width: usize| {
        let look = if is_heading { Look::Heading } else { look };
        push(xml, &format!("<c r=\"{}\" s=\"{}\"><v>{value}</v></c>", reference(place), look as u8));
        Taken { width, is_cut: false }
    };
    match cell {
        TableCell::Null => Taken::default(),
        TableCell::Integer(whole) if whole.unsigned_abs() < WHOLE_LIMIT => {
            let text = whole.to_string();
            let width = text.len();
            number(Look::Whole, text, width)
        }
        TableCell::Number(value) if value.is_finite() => {
            let text = format!("{value:?}");
            let width = text.len().min(12);
            number(Look::Number, text, width)
        }
        TableCell::Date(day) if *day >= FIRST_DAY => number(Look::Day, days(*day).to_string(), 10),
        TableCell::Timestamp(at_us) if serial(*at_us).is_some() => {
            number(Look::Time, serial(*at_us).unwrap_or_default().to_string(), 19)
        }
        TableCell::Boolean(truth) => {
            let look = if is_heading { Look::Heading } else { Look::Number };
            let value = u8::from(*truth);
            push(xml, &format!("<c r=\"{}\" s=\"{}\" t=\"b\"><v>{value}</v></c>", reference(place), look as u8));
            Taken { width: 5, is_cut: false }
        }
        TableCell::Text(text) | TableCell::Json(text) => push_text_cell(xml, place, text, is_heading),
        TableCell::Integer(whole) => push_text_cell(xml, place, &whole.to_string(), is_heading),
        TableCell::Number(value) => push_text_cell(xml, place, &value.to_string(), is_heading),
        TableCell::Date(day) => push_text_cell(xml, place, &day.to_string(), is_heading),
        TableCell::Timestamp(at_us) => {
            let at = Timestamp::from_microsecond(*at_us).map(|at| format!("{at:.6}")).unwrap_or_default();
            push_text_cell(xml, place, &at, is_heading)
        }
    }
}

fn push_text_cell(xml: &mut Vec<u8>, place: (u32, u32), text: &str, is_heading: bool) -> Taken {
    let look = if is_heading { Look::Heading } else { Look::Text };
    let (shown, is_cut) = fitting(text);
    let place = reference(place);
    push(xml, &format!("<c r=\"{place}\" s=\"{}\" t=\"inlineStr\"><is><t xml:space=\"preserve\">", look as u8));
    push_text(xml, &shown);
    push(xml, "</t></is></c>");
    let width = shown.lines().map(|line| line.chars().take(100).count()).max().unwrap_or_default();
    Taken { width, is_cut }
}

/// The text as far as a cell can hold it, and whether it was cut.
fn fitting(text: &str) -> (Cow<'_, str>, bool) {
    // Every byte is at most one UTF-16 unit.
    if text.len() <= CHARACTERS_MAX || text.encode_utf16().count() <= CHARACTERS_MAX {
        return (Cow::Borrowed(text), false);
    }
    let room = CHARACTERS_MAX - CUT_MARK.encode_utf16().count();
    let mut units = 0;
    let kept = text.chars().take_while(|c| {
        units += c.len_utf16();
        units <= room
    });
    (Cow::Owned(kept.collect::<String>() + CUT_MARK), true)
}

/// Adds text as the content of an element. A character that XML does not allow has the form `_x0001_`, which spreadsheet
/// programs show as the character; a text that has this form already is marked so that it stays as it is.
pub fn push_text(xml: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    for (at, c) in text.char_indices() {
        match c {
            '<' => push(xml, "&lt;"),
            '>' => push(xml, "&gt;"),
            '&' => push(xml, "&amp;"),
            '"' => push(xml, "&quot;"),
            '_' if is_code(&bytes[at..]) => push(xml, "_x005F_"),
            '\t' | '\n' => xml.push(c as u8),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => push(xml, &format!("_x{:04X}_", u32::from(c))),
            _ => push(xml, c.encode_utf8(&mut [0; 4])),
        }
    }
}

/// Whether a text begins like `_x0001_`.
fn is_code(bytes: &[u8]) -> bool {
    matches!(bytes, [b'_', b'x', a, b, c, d, b'_', ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()))
}

fn push(xml: &mut Vec<u8>, text: &str) {
    xml.extend_from_slice(text.as_bytes());
}

/// The days since the day 0.
fn days(day: Date) -> i64 {
    day.duration_since(DAY_0).as_hours() / 24
}

/// A time as days since the day 0, to the millisecond; `None` if spreadsheet programs have no such time.
fn serial(at_us: i64) -> Option<f64> {
    let at = Timestamp::from_microsecond(at_us).ok()?;
    let day = at.to_zoned(TimeZone::UTC).date();
    if day < FIRST_DAY || day.year() > 9999 {
        return None;
    }
    let milliseconds = at_us.rem_euclid(86_400_000_000) / 1_000;
    Some(days(day) as f64 + milliseconds as f64 / DAY_MILLISECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xml(cell: &TableCell) -> String {
        let mut xml = Vec::new();
        push_cell(&mut xml, (1, 2), cell, false);
        String::from_utf8(xml).unwrap()
    }

    #[test]
    fn text_is_a_text_cell_whatever_it_looks_like() {
        for text in ["=1+1", "0001015009087", "8001015009087", "1e5", "TRUE", "2026-11-03", "+27", "@x"] {
            let expected =
                format!("<c r=\"C2\" s=\"1\" t=\"inlineStr\"><is><t xml:space=\"preserve\">{text}</t></is></c>");
            assert_eq!(xml(&TableCell::text(text)), expected);
        }
    }

    #[test]
    fn characters_that_xml_does_not_allow_are_coded_and_codes_stay_text() {
        let shown = |text: &str| {
            let mut xml = Vec::new();
            push_text(&mut xml, text);
            String::from_utf8(xml).unwrap()
        };
        assert_eq!(shown("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
        assert_eq!(shown("\0\u{1}\r\u{1f}\u{fffe}\t\n"), "_x0000__x0001__x000D__x001F__xFFFE_\t\n");
        assert_eq!(shown("_x0041_ _x00G1_ _é"), "_x005F_x0041_ _x00G1_ _é");
    }

    #[test]
    fn a_number_that_would_lose_digits_is_text_and_others_are_numbers() {
        assert_eq!(xml(&TableCell::Integer(999_999_999_999_999)), "<c r=\"C2\" s=\"2\"><v>999999999999999</v></c>");
        assert_eq!(xml(&TableCell::Integer(-7)), "<c r=\"C2\" s=\"2\"><v>-7</v></c>");
        assert!(xml(&TableCell::Integer(1_000_000_000_000_000)).contains(">1000000000000000</t>"));
        assert!(xml(&TableCell::Integer(i64::MIN)).contains(">-9223372036854775808</t>"));
        assert_eq!(xml(&TableCell::Number(1e300)), "<c r=\"C2\" s=\"0\"><v>1e300</v></c>");
        assert_eq!(xml(&TableCell::Boolean(true)), "<c r=\"C2\" s=\"0\" t=\"b\"><v>1</v></c>");
        assert_eq!(xml(&TableCell::Null), "");
    }

    #[test]
    fn dates_are_days_since_1899_from_march_1900_on() {
        let day = |year, month, day| xml(&TableCell::Date(jiff::civil::date(year, month, day)));
        assert_eq!(day(1900, 3, 1), "<c r=\"C2\" s=\"3\"><v>61</v></c>");
        assert_eq!(day(2026, 4, 3), "<c r=\"C2\" s=\"3\"><v>46115</v></c>");
        assert_eq!(day(9999, 12, 31), "<c r=\"C2\" s=\"3\"><v>2958465</v></c>");
        assert!(day(1900, 2, 28).contains(">1900-02-28</t>"));
        // 2026-04-03T12:00:00Z
        assert_eq!(xml(&TableCell::Timestamp(1_775_217_600_000_000)), "<c r=\"C2\" s=\"4\"><v>46115.5</v></c>");
        assert!(xml(&TableCell::Timestamp(-3_000_000_000_000_000)).contains(">1874-12-07T18:40:00.000000Z</t>"));
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_with_a_mark() {
        let fits = "é".repeat(CHARACTERS_MAX);
        assert_eq!(fitting(&fits), (Cow::Borrowed(fits.as_str()), false));
        // Each of these is two units.
        let long = "😀".repeat(20_000);
        let (cut, is_cut) = fitting(&long);
        assert!(is_cut && cut.ends_with("😀 … (cut)"));
        assert!((CHARACTERS_MAX - 1..=CHARACTERS_MAX).contains(&cut.encode_utf16().count()));
    }
}
