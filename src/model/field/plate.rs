//! South African number plates. Spaces and hyphens are not part of a plate: the provinces print them in different
//! places (`CA 123-456`, `AB 12 CD GP`), people may or may not type them, and the register has none. If they were kept,
//! one car would have several keys and be paid for several times. Otherwise the check is lenient, because personal and
//! historic plates have no fixed format.

use super::{
    refusal::FieldRefusal,
    spreadsheet::{is_e_notation, rounded},
};

/// The shortest personal plate has one character and its province; the longest series have nine characters, and one is
/// spare.
const LENGTHS: std::ops::RangeInclusive<usize> = 2..=10;

/// The plate as it is sent: upper-case letters and digits.
pub fn read(text: &str) -> Result<String, FieldRefusal> {
    if is_e_notation(text) {
        return Err(rounded("a number plate"));
    }
    let plate: String = text.chars().filter(|c| ![' ', '-'].contains(c)).map(|c| c.to_ascii_uppercase()).collect();
    let length = plate.chars().count();
    if !plate.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Err(FieldRefusal::invalid(
            "expected a number plate of letters, digits, spaces and hyphens, found another character",
        ));
    }
    if !LENGTHS.contains(&length) {
        let (least, most) = (LENGTHS.start(), LENGTHS.end());
        return Err(FieldRefusal::invalid(format!(
            "expected a number plate of {least} to {most} letters and digits, found {length}; put one plate in each \
             cell"
        )));
    }
    Ok(plate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FailureCode;

    #[test]
    fn a_plate_has_one_text_however_it_is_typed() {
        for text in ["CA 123-456", "ca 123 456", "CA123456", "C A 1 2 3 4 5 6"] {
            assert_eq!(read(text).unwrap(), "CA123456", "{text}");
        }
        for text in ["AB 12 CD GP", "FGT 123 L", "ZKBUFFALO", "1 GP", "123E45"] {
            assert!(read(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn an_invalid_plate_says_why() {
        for (text, says) in [
            ("-", "found 0"),
            ("A", "found 1"),
            ("CA 123-456 CA 123-457", "put one plate in each cell"),
            ("CA/123/456", "another character"),
            ("CA 123.456", "another character"),
            ("ÇA 123-456", "another character"),
        ] {
            let refusal = read(text).unwrap_err();
            assert!(refusal.message.contains(says) && !refusal.message.contains("CA"), "{text}: {}", refusal.message);
            assert_eq!(refusal.code, FailureCode::InvalidValue);
        }
        assert_eq!(read("1.23E+05").unwrap_err().code, FailureCode::SpreadsheetDamage);
    }
}
