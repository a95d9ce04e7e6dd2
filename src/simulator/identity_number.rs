//! South African ID numbers as the register reads them: `YYMMDD SSSS C A Z`, with a date of birth, a citizenship digit
//! and a check digit.

use jiff::civil::Date;

/// Whether the register can have a number: its date exists in 19YY or in 20YY, its citizenship digit is 0 or 1, and its
/// check digit is right.
pub(super) fn is_possible(number: &str) -> bool {
    let is_digits = number.len() == 13 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && has_date(number) && number.as_bytes()[10] <= b'1' && is_luhn(number)
}

fn has_date(number: &str) -> bool {
    let (year, month, day) = (&number[..2], &number[2..4], &number[4..6]);
    ["19", "20"].iter().any(|century| format!("{century}{year}-{month}-{day}").parse::<Date>().is_ok())
}

/// Whether the last digit is the check digit of the others.
pub(super) fn is_luhn(number: &str) -> bool {
    let sum: u32 = number
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, byte)| u32::from(byte.saturating_sub(b'0')) * if place % 2 == 0 { 1 } else { 2 })
        .map(|value| if value > 9 { value - 9 } else { value })
        .sum();
    sum.is_multiple_of(10)
}

/// The number of an invented citizen.
pub(super) fn invented(yymmdd: u64, sequence: u64) -> String {
    let with = |last: u32| format!("{yymmdd:06}{sequence:04}08{last}");
    (0..10).map(with).find(|number| is_luhn(number)).expect("one of ten digits always fits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_a_date_a_citizenship_and_a_check_digit() {
        assert!(is_possible("8001015009087") && is_possible(&invented(800_101, 5_009)));
        assert!(is_possible(&invented(229, 5_009)), "2000 was a leap year, 1900 was not");
        for number in ["8001015009088", "800101500908", "80010150090 7", &invented(10_229, 1), &invented(801_301, 1)] {
            assert!(!is_possible(number), "{number}");
        }
        let resident = |digit: u32| (0..10).any(|last| is_possible(&format!("8001015009{digit}8{last}")));
        assert_eq!([0, 1, 2].map(resident), [true, true, false]);
    }
}
