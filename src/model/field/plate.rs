//! Number plates, South African ones and those of any country. Spaces and hyphens are not part of a plate: the provinces print them in different
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

/// Plates of other countries have up to twelve signs with the code of the region, and no fixed script.
const LENGTH_ANY_MAX: usize = 14;

/// A plate of any country as it is sent: upper-case letters and digits of any script.
pub fn read_any(text: &str) -> Result<String, FieldRefusal> {
    let plate = text.to_uppercase();
    let length = plate.chars().count();
    // Some scripts write a vowel as a mark on its letter, which is not a letter itself.
    if !plate.chars().all(|c| c.is_alphanumeric() || !c.is_ascii() && !c.is_control()) {
        return Err(FieldRefusal::invalid(
            "expected a number plate of letters, digits, spaces and hyphens, found another character",
        ));
    }
    if !(1..=LENGTH_ANY_MAX).contains(&length) {
        return Err(FieldRefusal::invalid(format!(
            "expected a number plate of 1 to {LENGTH_ANY_MAX} letters and digits, found {length}; put one plate in \
             each cell"
        )));
    }
    Ok(plate)
}

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
    fn a_plate_of_another_country_has_its_own_letters_and_length() {
        for (text, plate) in [("müab1234", "MÜAB1234"), ("а123вс77", "А123ВС77"), ("京a12345", "京A12345"), ("7", "7")]
        {
            assert_eq!(read_any(text).unwrap(), plate);
        }
        assert!(read_any("DUBAIA12345678").is_ok());
        for (text, says) in [("CA123456CA123457", "put one plate in each cell"), ("CA/123", "another character")] {
            let refusal = read_any(text).unwrap_err();
            assert!(refusal.message.contains(says) && !refusal.message.contains("CA"), "{}", refusal.message);
        }
        assert!(read_any("").is_err() && read_any("CA\u{7}123").is_err());
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
