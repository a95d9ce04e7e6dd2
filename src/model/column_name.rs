//! Decides whether a text in a header is a column name or personal data: a file without a header has a row in its
//! place, and messages must not repeat a row.

/// Maximum characters of a name.
const LENGTH_MAX: usize = 60;
/// Maximum digits of a name.
const DIGITS_MAX: usize = 5;
/// This many consecutive digits are data, such as an ID number, a date or an account number.
const DIGITS_UNBROKEN: usize = 6;
/// The same for digits with separators, as in 1980-01-01. A month such as 2026-11 has fewer.
const DIGITS_BROKEN: usize = 8;

/// Whether a text looks like a column name: it starts with a letter or `_`, has few digits and is not long.
pub fn looks_like_a_name(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && digits <= DIGITS_MAX
        && text.chars().count() <= LENGTH_MAX
        && !looks_like_data(text)
}

/// Whether a text cannot be a column name, because it contains a long number or an address.
pub fn looks_like_data(text: &str) -> bool {
    let (mut unbroken, mut broken) = (0, 0);
    let is_long = |c: char| {
        match c {
            c if c.is_numeric() => (unbroken, broken) = (unbroken + 1, broken + 1),
            ' ' | '-' | '.' | '/' | '\'' | ',' => unbroken = 0,
            _ => (unbroken, broken) = (0, 0),
        }
        unbroken >= DIGITS_UNBROKEN || broken >= DIGITS_BROKEN
    };
    text.contains('@') || text.contains("://") || text.chars().any(is_long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_names_are_distinguished_from_data() {
        for name in [
            "name",
            "_id",
            "Customer Name",
            "address_2",
            "column_12",
            "iso2",
            "joined_2024",
            "surname (maiden)",
            "naam",
            "Größe",
        ] {
            assert!(looks_like_a_name(name) && !looks_like_data(name), "{name}");
        }
        for number in [
            "8001015009087",
            "800101 5009 087",
            "1980-01-01",
            "Sales 20251130",
            "a@b.example",
            "https://x",
            "+27 82 555 0199",
            "B2021/123456/07",
        ] {
            assert!(looks_like_data(number) && !looks_like_a_name(number), "{number}");
        }
        for other in ["", "1", "2026-11", "-x", "$6$", "a1b2c3d4e5f6", &"x".repeat(61)] {
            assert!(!looks_like_a_name(other), "{other}");
        }
    }
}
