//! South African ID numbers: thirteen digits `YYMMDD SSSS C A Z` with a date of birth, a citizenship digit and a Luhn
//! check digit. The check is local and free, so a mistyped number costs nothing.

/// Why a text is not a South African ID number. The text itself is personal data and is never repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaIdFault {
    NotThirteenDigits { length: usize },
    NotDigits,
    Date,
    Citizenship,
    Checksum,
}

impl std::fmt::Display for SaIdFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SaIdFault::NotThirteenDigits { length } => {
                let characters = if *length == 1 { "character" } else { "characters" };
                write!(f, "expected an ID number of 13 digits, found {length} {characters}")
            }
            SaIdFault::NotDigits => f.write_str("expected an ID number of digits only, found other characters"),
            SaIdFault::Date => {
                f.write_str("expected an ID number that starts with a date YYMMDD, found one that does not")
            }
            SaIdFault::Citizenship => f.write_str(
                "expected 0 (citizen) or 1 (resident) as the eleventh digit of the ID number, found another digit",
            ),
            SaIdFault::Checksum => f.write_str("the last digit of the ID number does not match the others (checksum)"),
        }
    }
}

/// Checks length, digits, date, citizenship digit and checksum, in that order.
pub fn check(text: &str) -> Result<(), SaIdFault> {
    if text.chars().count() != 13 {
        return Err(SaIdFault::NotThirteenDigits { length: text.chars().count() });
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(SaIdFault::NotDigits);
    }
    let digits: Vec<u32> = text.bytes().map(|byte| u32::from(byte - b'0')).collect();
    if !is_date(&digits) {
        return Err(SaIdFault::Date);
    }
    if digits[10] > 1 {
        return Err(SaIdFault::Citizenship);
    }
    if !checksum_holds(&digits) {
        return Err(SaIdFault::Checksum);
    }
    Ok(())
}

/// The number has no century: a date that exists in 19YY or in 20YY is accepted.
fn is_date(digits: &[u32]) -> bool {
    let pair = |at: usize| (digits[at] * 10 + digits[at + 1]) as i16;
    let (year, month, day) = (pair(0), pair(2), pair(4));
    [1900, 2000].iter().any(|century| jiff::civil::Date::new(century + year, month as i8, day as i8).is_ok())
}

/// Whether the Luhn sum over all digits is a multiple of ten.
pub fn checksum_holds(digits: &[u32]) -> bool {
    let luhn = |(place, digit): (usize, &u32)| match (place % 2, digit * 2) {
        (0, _) => *digit,
        (_, doubled) => doubled / 10 + doubled % 10,
    };
    digits.iter().rev().enumerate().map(luhn).sum::<u32>().is_multiple_of(10)
}

/// A number with a correct checksum made of these parts, for invented people.
pub fn compose(yymmdd: u32, sequence: u32, citizenship: u32) -> String {
    let stem = format!("{:06}{:04}{}8", yymmdd % 1_000_000, sequence % 10_000, citizenship % 10);
    let with = |last: u32| format!("{stem}{last}");
    let holds = |text: &String| checksum_holds(&text.bytes().map(|b| u32::from(b - b'0')).collect::<Vec<_>>());
    (0..10).map(with).find(holds).expect("one of ten check digits always fits a Luhn sum")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_checked_in_order() {
        let good = compose(800101, 5009, 0);
        assert_eq!(check(&good), Ok(()));
        assert_eq!(check("12345"), Err(SaIdFault::NotThirteenDigits { length: 5 }));
        assert_eq!(check("20010148000.6"), Err(SaIdFault::NotDigits));
        assert_eq!(check(&compose(801301, 5009, 0)), Err(SaIdFault::Date));
        assert_eq!(check(&compose(800101, 5009, 2)), Err(SaIdFault::Citizenship));
        let last = good.as_bytes()[12];
        let wrong = format!("{}{}", &good[..12], (last - b'0' + 1) % 10);
        assert_eq!(check(&wrong), Err(SaIdFault::Checksum));
    }

    #[test]
    fn the_29th_of_february_counts_in_either_century() {
        assert_eq!(check(&compose(229, 5009, 0)), Ok(()), "2000 was a leap year, 1900 was not");
        assert_eq!(check(&compose(10229, 5009, 0)), Err(SaIdFault::Date), "neither 1901 nor 2001 was");
    }
}
