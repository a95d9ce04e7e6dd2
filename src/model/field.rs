//! Field kinds: what a value must be before anything is paid for it. The list is closed and in Rust; which field of which
//! check has which kind is data (the catalogue).

use super::{country, sa_id};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The kind of a request field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldKind {
    /// Text; trimmed, inner blanks become one.
    Text,
    /// A whole number, sent as a JSON number.
    Integer,
    /// `true` or `false`, sent as a JSON boolean.
    Boolean,
    /// A South African ID number: 13 digits with date, citizenship and checksum; sent as text.
    SaId,
    /// A two-letter ISO 3166 country code, in the letter case the declaration says.
    Country2,
    /// A three-letter ISO 3166 country code, in the letter case the declaration says.
    Country3,
    /// A date, `YYYY-MM-DD`.
    Date,
}

/// The letter case a service wants for codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LetterCase {
    #[default]
    AsIs,
    Lower,
    Upper,
}

impl LetterCase {
    fn apply(self, text: String) -> String {
        match self {
            LetterCase::AsIs => text,
            LetterCase::Lower => text.to_lowercase(),
            LetterCase::Upper => text.to_uppercase(),
        }
    }
}

impl FieldKind {
    /// The word in declarations.
    pub fn as_str(self) -> &'static str {
        match self {
            FieldKind::Text => "text",
            FieldKind::Integer => "integer",
            FieldKind::Boolean => "boolean",
            FieldKind::SaId => "sa-id",
            FieldKind::Country2 => "country2",
            FieldKind::Country3 => "country3",
            FieldKind::Date => "date",
        }
    }

    /// The value as it will be sent, or what was expected. The message never repeats the value: it may be personal data.
    pub fn accept(self, text: &str, letter_case: LetterCase) -> Result<Value, String> {
        let text = tidy(text);
        match self {
            FieldKind::Text => Ok(Value::String(letter_case.apply(text))),
            FieldKind::Integer => whole_number(&text).map(Value::from),
            FieldKind::Boolean => match text.to_lowercase().as_str() {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                _ => Err("expected `true` or `false`".to_owned()),
            },
            FieldKind::SaId => sa_id::check(&text).map(|()| Value::String(text)).map_err(|fault| fault.to_string()),
            FieldKind::Country2 => known_country(&text, 2, "two").map(|()| Value::String(letter_case.apply(text))),
            FieldKind::Country3 => known_country(&text, 3, "three").map(|()| Value::String(letter_case.apply(text))),
            FieldKind::Date => match text.parse::<jiff::civil::Date>() {
                Ok(date) if text.len() == 10 => Ok(Value::String(date.to_string())),
                _ => Err("expected a date YYYY-MM-DD; the filter `date` reads other forms".to_owned()),
            },
        }
    }
}

/// Trimmed, with every run of inner blanks made one space. Control characters other than blanks are kept: they are the
/// user's data, and the service decides.
pub fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !tidied.is_empty() {
            tidied.push(' ');
        }
        tidied.push_str(word);
    }
    tidied
}

/// Every whole number up to here is a double of its own.
const WHOLE_NUMBER_MAX: u64 = (1 << 53) - 1;

fn whole_number(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("expected a whole number".to_owned());
    }
    // RFC 8785 has doubles only: beyond this two numbers would be one key, and one subject would get another's answer.
    let exact = text.parse().ok().filter(|number: &i64| number.unsigned_abs() <= WHOLE_NUMBER_MAX);
    exact.ok_or_else(|| "expected a whole number of at most 15 digits; longer ones are text".to_owned())
}

fn known_country(text: &str, length: usize, word: &str) -> Result<(), String> {
    match country::find(text) {
        Some(_) if text.len() == length => Ok(()),
        Some(_) => Err(format!("expected a {word}-letter country code; the filter `country` makes one from a name")),
        None => Err(format!("expected a {word}-letter ISO 3166 country code; this is none of them")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_stay_text_and_integers_become_numbers() {
        assert_eq!(FieldKind::Text.accept(" 0012 ", LetterCase::AsIs), Ok(Value::from("0012")));
        assert_eq!(FieldKind::Integer.accept("1", LetterCase::AsIs), Ok(Value::from(1)));
        assert!(FieldKind::Integer.accept("1.0", LetterCase::AsIs).is_err());
        assert!(FieldKind::Integer.accept("-9007199254740991", LetterCase::AsIs).is_ok());
        assert!(FieldKind::Integer.accept("9007199254740992", LetterCase::AsIs).is_err());
        assert!(FieldKind::Integer.accept("-", LetterCase::AsIs).is_err());
    }

    #[test]
    fn text_is_trimmed_and_inner_blanks_become_one() {
        assert_eq!(tidy("  Jo\u{a0}\t van\n der  Merwe "), "Jo van der Merwe");
    }

    #[test]
    fn a_country_is_one_of_the_list_in_the_declared_case() {
        assert_eq!(FieldKind::Country2.accept("ZA", LetterCase::Lower), Ok(Value::from("za")));
        assert!(FieldKind::Country2.accept("zz", LetterCase::Lower).is_err());
        assert!(FieldKind::Country2.accept("zaf", LetterCase::Lower).unwrap_err().contains("two-letter"));
        assert_eq!(FieldKind::Country3.accept("zaf", LetterCase::Upper), Ok(Value::from("ZAF")));
    }

    #[test]
    fn a_date_is_written_one_way() {
        assert!(FieldKind::Date.accept("2026-02-29", LetterCase::AsIs).is_err());
        assert!(FieldKind::Date.accept("03/04/2026", LetterCase::AsIs).is_err());
        assert_eq!(FieldKind::Date.accept("2024-02-29", LetterCase::AsIs), Ok(Value::from("2024-02-29")));
    }
}
