//! Vehicle identification numbers: seventeen letters and digits without I, O and Q. It owns one decision: the check digit
//! of ISO 3779 is looked at and never decides, since only some markets have the duty to use it.

use super::{
    refusal::FieldRefusal,
    spreadsheet::{is_e_notation, rounded},
};

const LENGTH: usize = 17;
/// The check digit's own place, from 0.
const CHECK_AT: usize = 8;
const WEIGHTS: [u32; LENGTH] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];

/// The VIN in upper case, from a text that is trimmed already.
pub fn read(text: &str) -> Result<String, FieldRefusal> {
    if is_e_notation(text) {
        return Err(rounded("a VIN of 17 characters"));
    }
    let vin = text.to_ascii_uppercase();
    let length = vin.chars().count();
    if let Some(odd) = vin.chars().find(|c| !c.is_ascii_alphanumeric()) {
        let what = if odd == ' ' { "a blank or a line break" } else { "another sign" };
        return Err(FieldRefusal::invalid(format!("a VIN has letters and digits only, found {what} inside")));
    }
    if length != LENGTH {
        return Err(FieldRefusal::invalid(format!(
            "a VIN has 17 characters, this one has {length}; look it up on the licence disc"
        )));
    }
    if vin.contains(['I', 'O', 'Q']) {
        return Err(FieldRefusal::invalid(
            "a VIN has no letters I, O and Q: they are 1 and 0; look it up on the licence disc",
        ));
    }
    Ok(vin)
}

/// Whether the ninth character is the check digit of the others, for a VIN as [`read`] gives it.
pub fn check_digit_fits(vin: &str) -> bool {
    let sum: u32 = vin.bytes().zip(WEIGHTS).map(|(sign, weight)| value(sign) * weight).sum();
    let expected = match sum % 11 {
        10 => b'X',
        digit => b'0' + digit as u8,
    };
    vin.as_bytes().get(CHECK_AT) == Some(&expected)
}

/// The number a sign stands for in the sum.
fn value(sign: u8) -> u32 {
    u32::from(match sign {
        b'0'..=b'9' => sign - b'0',
        b'A'..=b'H' => sign - b'A' + 1,
        b'J'..=b'R' => sign - b'J' + 1,
        b'S'..=b'Z' => sign - b'S' + 2,
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FailureCode;

    #[test]
    fn a_vin_becomes_upper_case_and_an_invalid_one_is_refused_with_the_reason() {
        assert_eq!(read("1m8gdm9axkp042788").unwrap(), "1M8GDM9AXKP042788");
        for (text, says) in [
            ("1M8GDM9AXKP04278", "has 16"),
            ("1M8GDM9AXKP0427888", "has 18"),
            ("1M8GDM9AXKPO42788", "I, O and Q"),
            ("1M8GDM9AX KP042788", "a blank"),
            ("1M8GDM9AXKP0427:8", "another sign"),
            ("1M8GDM9AXKP04278é", "another sign"),
        ] {
            let refusal = read(text).unwrap_err();
            assert!(refusal.message.contains(says) && !refusal.message.contains("1M8"), "{text}: {}", refusal.message);
            assert_eq!(refusal.code, FailureCode::InvalidValue);
        }
        assert_eq!(read("1.2E+16").unwrap_err().code, FailureCode::SpreadsheetDamage);
    }

    #[test]
    fn the_check_digit_fits_where_it_is_the_sum_of_the_others() {
        // The textbook VIN, and seventeen ones, whose weights add up to 89.
        assert!(check_digit_fits("1M8GDM9AXKP042788") && check_digit_fits("11111111111111111"));
        for wrong in ["1M8GDM9A0KP042788", "1M8GDM9AXKP042789", "21111111111111111"] {
            assert!(!check_digit_fits(wrong), "{wrong}");
        }
    }
}
