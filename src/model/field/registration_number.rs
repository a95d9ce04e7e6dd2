//! South African company registration numbers, `YYYY/NNNNNN/NN`. Hand-typed variants that can only mean one number are
//! rewritten. Anything that could mean another number is refused, with what a clerk can do about it.

use super::{
    refusal::FieldRefusal,
    spreadsheet::{is_e_notation, rounded},
};

const EXPECTED: &str = "expected a company registration number YYYY/NNNNNN/NN";

/// Words before a number that only say what it is.
const LABEL_WORDS: [&str; 16] = [
    "CC",
    "CIPC",
    "CIPRO",
    "CK",
    "COMPANY",
    "CO",
    "ENTERPRISE",
    "NO",
    "NR",
    "NUM",
    "NUMBER",
    "PTY",
    "REG",
    "REGISTERED",
    "REGISTRATION",
    "REGN",
];

/// Slashes as people type them.
const SLASHES: [char; 3] = ['/', '\\', '-'];

/// The number in the standard format, from a text whose whitespace is already reduced to single spaces.
pub fn read(text: &str) -> Result<String, FieldRefusal> {
    if is_e_notation(text) {
        return Err(rounded("a company registration number YYYY/NNNNNN/NN"));
    }
    let number = without_label(text);
    rewritten(number).ok_or_else(|| FieldRefusal::invalid(fault(text, number)))
}

/// The text after a label such as `CK No.:` or `Registration number`, or the whole text if it starts with another word.
fn without_label(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '.', ':', '#', '(', ')']);
        let length = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let word = &rest[..length];
        match length {
            0 => return rest.trim_end(),
            _ if LABEL_WORDS.iter().any(|known| known.eq_ignore_ascii_case(word)) => rest = &rest[length..],
            _ => return text,
        }
    }
}

/// The number, if its digits are separated after the fourth and the tenth and nowhere else. Spaces inside a part are
/// ignored, as long as a slash shows where the parts are.
fn rewritten(number: &str) -> Option<String> {
    let mut digits = String::with_capacity(12);
    let mut slashed = [false; 13];
    let mut blank = [false; 13];
    for c in number.chars() {
        match c {
            '0'..='9' if digits.len() < 12 => digits.push(c),
            ' ' => blank[digits.len()] = true,
            _ if SLASHES.contains(&c) => slashed[digits.len()] = true,
            _ => return None,
        }
    }
    let places = || 1..12_usize;
    let parted = [4, 10].into_iter().all(|at| slashed[at] || blank[at]);
    let slashed_elsewhere = slashed[0] || slashed[12] || places().any(|at| slashed[at] && at != 4 && at != 10);
    let blank_elsewhere = places().any(|at| blank[at] && at != 4 && at != 10);
    let slash = slashed[4] || slashed[10];
    let fits = digits.len() == 12 && parted && !slashed_elsewhere && (slash || !blank_elsewhere) && is_year(&digits);
    fits.then(|| format!("{}/{}/{}", &digits[..4], &digits[4..10], &digits[10..]))
}

/// Whether the digits start with a year. The oldest registers are from the 19th century.
fn is_year(digits: &str) -> bool {
    ["18", "19", "20"].iter().any(|century| digits.starts_with(century))
}

/// What is wrong. The message never contains the text itself.
fn fault(text: &str, number: &str) -> String {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let parts: Vec<&str> = number.split(SLASHES).map(str::trim).filter(|part| !part.is_empty()).collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.chars().filter(|c| *c != ' ').count()).collect();
    let first_word: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
    let letters = number.chars().any(|c| !c.is_ascii_digit() && c != ' ' && !SLASHES.contains(&c));
    match (first_word.to_ascii_uppercase().as_str(), &lengths[..]) {
        _ if digits == 0 => format!("{EXPECTED}, found no digits; leave the cell empty if there is no number"),
        ("IT", _) => format!(
            "{EXPECTED}, found what looks like the number of a trust (IT …); trusts are not in the register of \
             companies"
        ),
        _ if digits >= 20 => {
            format!("{EXPECTED}, found {digits} digits: more than one number in the cell; put each in its own row")
        }
        _ if letters => format!(
            "{EXPECTED}, found letters or other characters; supplier, tax, trust and non-profit numbers are not \
             registration numbers; put only the registration number in the cell"
        ),
        (_, [4, 6]) => {
            format!(
                "{EXPECTED}, found no suffix: the last two digits (such as 07 or 23) are missing; look up the number"
            )
        }
        (_, [4, 6, 2]) if !is_year(parts[0]) => {
            format!("{EXPECTED}, found a number whose first four digits are not a year; look up the number")
        }
        (_, [4, 6, 2]) => format!("{EXPECTED}, found an extra slash or space; look up the number"),
        (_, [first, second, third]) => format!(
            "{EXPECTED}, found {first}, {second} and {third} digits: a digit is missing or extra; look up the number, \
             do not pad it with zeros"
        ),
        (_, [_]) => format!(
            "{EXPECTED}, found {digits} digits without slashes, which may be another kind of number; look up the \
             number"
        ),
        _ => format!("{EXPECTED}, found {} parts and {digits} digits; look up the number", parts.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FailureCode;

    fn message(text: &str) -> String {
        read(text).map_or_else(|refusal| refusal.message, |number| panic!("`{text}` was read as {number}"))
    }

    #[test]
    fn hand_typed_variants_of_one_number_are_one_number() {
        for text in [
            "2016/004321/07",
            "2016 / 004321 / 07",
            "2016/ 004321/07",
            "2016//004321/07",
            "2016 004321/07",
            "2016 004321 07",
            "2016/004 321/07",
            "2016-004321-07",
            "2016\\004321\\07",
            "CK No.: 2016/004321/07",
            "CK2016/004321/07",
            "ck 2016/004321/07",
            "Reg No: 2016/004321/07",
            "REG No: 2016 004321/07",
            "Reg. no 2016/004321/07",
            "Registration number 2016/004321/07",
            "Company Registration No: 2016/004321/07",
        ] {
            assert_eq!(read(text).unwrap(), "2016/004321/07", "{text}");
        }
    }

    #[test]
    fn an_ambiguous_number_is_refused_with_what_to_do() {
        for (text, says) in [
            ("2016/004321/07 2015/001234/07", "more than one number"),
            ("2016/004321/07, 2015/001234/07", "more than one number"),
            ("2016/04321/07", "found 4, 5 and 2 digits"),
            ("2016/0004321/07", "found 4, 7 and 2 digits"),
            ("216/004321/07", "found 3, 6 and 2 digits"),
            ("2016/004321/0", "found 4, 6 and 1 digits"),
            ("0216/004321/07", "not a year"),
            ("2016/004321", "no suffix"),
            ("2016 004321/", "without slashes"),
            ("IT 353/2016", "trust"),
            ("IT1130/2016", "trust"),
            ("CANCELLED", "no digits"),
            ("N/A", "no digits"),
            ("E2S016/004321/07", "letters"),
            ("MAAA0012345", "letters"),
            ("115-472 NPO", "letters"),
            ("Only VAT no. 4920012345", "letters"),
            ("201600432107", "12 digits without slashes"),
            ("9225200000", "10 digits without slashes"),
            ("740605 5015 087", "without slashes"),
            ("2016 004 321 07", "without slashes"),
            ("2017/0043/21/07", "4 parts and 12 digits"),
            ("/2016/004321/07", "an extra slash or space"),
            ("٢٠١٦/004321/07", "letters"),
        ] {
            let message = message(text);
            assert!(message.contains(says), "{text}: {message}");
            assert_eq!(read(text).unwrap_err().code, FailureCode::InvalidValue);
            assert!(!message.contains("4321") && !message.contains("MAAA"), "{message}");
        }
    }

    #[test]
    fn a_rounded_number_is_spreadsheet_damage() {
        assert_eq!(read("8.61E+12").unwrap_err().code, FailureCode::SpreadsheetDamage);
    }
}
