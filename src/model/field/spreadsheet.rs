//! Damage that a spreadsheet does to values: identifiers that it treats as numbers, and cells with an error. The value is
//! missing from the file, so nothing is repaired here: the message says how to export the column again.

use super::refusal::FieldRefusal;
use crate::model::failure::FailureCode;

/// Whether the text is in E-notation (`8.6E+12`, `8,6E+12`, `86E+11`), which a spreadsheet uses for a number too long
/// for its column. Without a plus, a minus or a decimal separator it may be a number plate.
pub fn is_e_notation(text: &str) -> bool {
    let Some((mantissa, exponent)) = text.trim().split_once(['E', 'e']) else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let parts: Vec<&str> = mantissa.split(['.', ',']).collect();
    let marked = unsigned.len() < exponent.len() || parts.len() == 2;
    marked && digits(unsigned) && parts.len() <= 2 && parts.iter().all(|part| digits(part))
}

/// The errors that Excel, LibreOffice and Google Sheets write in place of a value.
const CELL_ERRORS: [&str; 19] = [
    "#N/A",
    "#NULL!",
    "#DIV/0!",
    "#VALUE!",
    "#REF!",
    "#NAME?",
    "#NUM!",
    "#SPILL!",
    "#CALC!",
    "#FIELD!",
    "#BLOCKED!",
    "#CONNECT!",
    "#BUSY!",
    "#UNKNOWN!",
    "#EXTERNAL!",
    "#PYTHON!",
    "#TIMEOUT!",
    "#ERROR!",
    "#GETTING_DATA",
];

/// The refusal of a text that a spreadsheet writes for a cell without a value: an error, or `####` for a number that is
/// wider than its column. The message repeats the error: it says nothing about a person.
pub fn without_value(text: &str) -> Option<FieldRefusal> {
    let number = text.strip_prefix("Err:").filter(|number| number.len() == 3);
    if CELL_ERRORS.contains(&text) || number.is_some_and(|number| number.parse::<u16>().is_ok()) {
        return Some(damage(format!(
            "expected a value, found the error {text} of a spreadsheet; fix the cell and export again"
        )));
    }
    (text.len() >= 3 && text.bytes().all(|byte| byte == b'#')).then(|| {
        damage(
            "expected a value, found only `#`: the column of the spreadsheet was too narrow; widen it and export again"
                .to_owned(),
        )
    })
}

/// The refusal of a number that was shortened to E-notation.
pub fn rounded(what: &str) -> FieldRefusal {
    damage(format!(
        "expected {what}, found a number in E-notation: a spreadsheet has rounded it, and the digits are not in this \
         file; format the column as text and export it again from a source with the full numbers"
    ))
}

/// The damage a spreadsheet did to an ID number of thirteen digits, if the text looks like that.
pub fn damaged_sa_id(text: &str) -> Option<FieldRefusal> {
    if is_e_notation(text) {
        return Some(rounded("an ID number of 13 digits"));
    }
    let whole =
        text.split_once(['.', ',']).filter(|(_, zeros)| zeros.bytes().all(|zero| zero == b'0') && !zeros.is_empty());
    let digits = whole.map_or(text, |(whole, _)| whole);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match (digits.len(), whole) {
        (10..13, _) => Some(damage(format!(
            "expected an ID number of 13 digits, found {}: a spreadsheet may have dropped leading zeros; format the column \
             as text and export it again with the zeros (do not add them here: another digit may be missing instead)",
            digits.len()
        ))),
        (13, Some(_)) => Some(damage(
            "expected an ID number of 13 digits and no decimals, found decimals: a spreadsheet has converted it to a \
             number; format the column as text and export it again"
                .to_owned(),
        )),
        _ => None,
    }
}

fn damage(message: String) -> FieldRefusal {
    FieldRefusal { code: FailureCode::SpreadsheetDamage, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e_notation_has_a_plus_a_minus_or_a_decimal() {
        for text in ["8.6E+12", "8,6E+12", "8.61e+12", "8.6E12", "86E+11", "9E+3", " 8.6E+12 ", "1.2E-5"] {
            assert!(is_e_notation(text), "{text}");
        }
        for text in ["86E11", "E+12", "8.6E", "8.6.1E+12", "CA 123", "8E+1E", "2014/075830/07", "", "1E", "8.6E+"] {
            assert!(!is_e_notation(text), "{text}");
        }
    }

    #[test]
    fn an_error_of_a_cell_is_no_value() {
        for text in
            ["#N/A", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#SPILL!", "#GETTING_DATA", "#ERROR!", "Err:502", "####"]
        {
            assert!(without_value(text).is_some(), "{text}");
        }
        for text in ["#", "##", "#1", "C#", "#Me!", "#!", "N/A", "#n/a Ltd", "Err: Bob", "Err:50", "#TEAM!", ""] {
            assert!(without_value(text).is_none(), "{text}");
        }
    }

    #[test]
    fn lost_zeros_and_decimals_have_different_remedies() {
        let message = |text: &str| damaged_sa_id(text).map(|refusal| refusal.message).unwrap_or_default();
        for short in ["1015009087", "01015009087", "801015009087", "801015009087.0"] {
            assert!(message(short).contains("leading zeros"), "{short}");
        }
        for decimal in ["8001015009087.0", "8001015009087.00", "8001015009087,0"] {
            assert!(message(decimal).contains("no decimals"), "{decimal}");
        }
        assert!(message("8,01E+12").contains("E-notation"));
        for other in
            ["8001015009087", "123456789", "80010150090871", "80010150 9087", "8001015009087.5", "8001015009087."]
        {
            assert_eq!(message(other), "", "{other}");
        }
    }
}
