//! Field kinds: the validation of a value before a request for it is paid for. The list of kinds is closed and is code;
//! which field of a check has which kind is data (the catalogue).

pub mod country;
pub mod plate;
pub mod refusal;
pub mod registration_number;
pub mod sa_id;
pub mod spreadsheet;
pub mod vin;

use super::Note;
use refusal::FieldRefusal;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// The kind of a request field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldKind {
    /// Text, trimmed, with every run of whitespace reduced to one space.
    Text,
    /// A whole number, sent as a JSON number.
    Integer,
    /// `true` or `false`, sent as a JSON boolean.
    Boolean,
    /// A South African ID number: 13 digits with a date, a citizenship digit and a checksum; sent as text.
    SaId,
    /// A two-letter ISO 3166 country code, in the letter case that the declaration sets.
    Country2,
    /// A three-letter ISO 3166 country code, in the letter case that the declaration sets.
    Country3,
    /// A date, `YYYY-MM-DD`.
    Date,
    /// A South African company registration number, sent as `YYYY/NNNNNN/NN`.
    RegistrationNumber,
    /// A vehicle identification number: 17 characters, upper case.
    Vin,
    /// A South African number plate, sent in upper case without spaces and hyphens.
    Plate,
}

/// A value as it will be sent.
#[derive(Clone, PartialEq)]
pub struct Accepted {
    pub value: Value,
    /// A remark on the value.
    pub note: Option<Note>,
}

impl fmt::Debug for Accepted {
    /// The value may be personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accepted").field("value", &format_args!("[redacted]")).field("note", &self.note).finish()
    }
}

impl From<Value> for Accepted {
    fn from(value: Value) -> Accepted {
        Accepted { value, note: None }
    }
}

/// The letter case that a service expects for codes.
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
    /// The name used in declarations.
    pub fn as_str(self) -> &'static str {
        match self {
            FieldKind::Text => "text",
            FieldKind::Integer => "integer",
            FieldKind::Boolean => "boolean",
            FieldKind::SaId => "sa-id",
            FieldKind::Country2 => "country2",
            FieldKind::Country3 => "country3",
            FieldKind::Date => "date",
            FieldKind::RegistrationNumber => "registration-number",
            FieldKind::Vin => "vin",
            FieldKind::Plate => "plate",
        }
    }

    /// The value as it will be sent, or why it is refused. The message never repeats the value, which may be personal
    /// data.
    pub fn accept(self, text: &str, letter_case: LetterCase) -> Result<Accepted, FieldRefusal> {
        let text = tidy(text);
        let value = match self {
            FieldKind::Text => Value::String(letter_case.apply(text)),
            FieldKind::Integer => whole_number(&text).map(Value::from)?,
            FieldKind::Boolean => match text.to_lowercase().as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => return Err(FieldRefusal::invalid("expected `true` or `false`")),
            },
            FieldKind::SaId => match (sa_id::check(&text), spreadsheet::damaged_sa_id(&text)) {
                (Ok(()), _) => Value::String(text),
                (Err(_), Some(damage)) => return Err(damage),
                (Err(fault), None) => return Err(FieldRefusal::invalid(fault.to_string())),
            },
            FieldKind::Country2 => known_country(&text, 2, "two").map(|()| Value::String(letter_case.apply(text)))?,
            FieldKind::Country3 => known_country(&text, 3, "three").map(|()| Value::String(letter_case.apply(text)))?,
            FieldKind::Date => match text.parse::<jiff::civil::Date>() {
                Ok(date) if text.len() == 10 => Value::String(date.to_string()),
                _ => {
                    return Err(FieldRefusal::invalid(
                        "expected a date YYYY-MM-DD; a template with the filter `date` reads another format, such as \
                         {{ born | date(\"%d/%m/%Y\") }}",
                    ));
                }
            },
            FieldKind::RegistrationNumber => {
                let number = registration_number::read(&text)?;
                let note = (number != text).then_some(Note::RegistrationNumberRewritten);
                return Ok(Accepted { value: Value::String(number), note });
            }
            FieldKind::Vin => {
                let vin = vin::read(&text)?;
                let note = (!vin::check_digit_fits(&vin)).then_some(Note::VinCheckDigit);
                return Ok(Accepted { value: Value::String(vin), note });
            }
            FieldKind::Plate => Value::String(plate::read(&text)?),
        };
        Ok(value.into())
    }
}

/// The text trimmed, with every run of whitespace reduced to one space. Other control characters are kept: they are the
/// user's data, and the service decides about them.
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

/// Every whole number up to this one has its own double.
const WHOLE_NUMBER_MAX: u64 = (1 << 53) - 1;

fn whole_number(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("expected a whole number".to_owned());
    }
    // RFC 8785 has only doubles: above this limit two numbers would have the same key, and one subject would get the
    // answer for another.
    let exact = text.parse().ok().filter(|number: &i64| number.unsigned_abs() <= WHOLE_NUMBER_MAX);
    exact.ok_or_else(|| "expected a whole number of at most 15 digits; map a longer one to a text field".to_owned())
}

fn known_country(text: &str, length: usize, word: &str) -> Result<(), String> {
    match country::find(text) {
        Some(_) if text.len() == length => Ok(()),
        Some(_) => {
            Err(format!("expected a {word}-letter country code; the filter `country` converts a name to a code"))
        }
        None => Err(format!("expected a {word}-letter ISO 3166 country code, found something else")),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::FailureCode, *};

    fn sent(kind: FieldKind, text: &str, letter_case: LetterCase) -> Option<Value> {
        kind.accept(text, letter_case).ok().map(|accepted| accepted.value)
    }

    #[test]
    fn identifiers_stay_text_and_integers_become_numbers() {
        assert_eq!(sent(FieldKind::Text, " 0012 ", LetterCase::AsIs), Some(Value::from("0012")));
        assert_eq!(sent(FieldKind::Integer, "1", LetterCase::AsIs), Some(Value::from(1)));
        assert!(FieldKind::Integer.accept("1.0", LetterCase::AsIs).is_err());
        assert!(FieldKind::Integer.accept("-9007199254740991", LetterCase::AsIs).is_ok());
        assert!(FieldKind::Integer.accept("9007199254740992", LetterCase::AsIs).is_err());
        assert!(FieldKind::Integer.accept("-", LetterCase::AsIs).is_err());
    }

    #[test]
    fn text_is_trimmed_and_inner_spaces_become_one() {
        assert_eq!(tidy("  Jo\u{a0}\t van\n der  Merwe "), "Jo van der Merwe");
    }

    #[test]
    fn a_country_is_one_of_the_list_in_the_declared_case() {
        assert_eq!(sent(FieldKind::Country2, "ZA", LetterCase::Lower), Some(Value::from("za")));
        assert!(FieldKind::Country2.accept("zz", LetterCase::Lower).is_err());
        assert!(FieldKind::Country2.accept("zaf", LetterCase::Lower).unwrap_err().message.contains("two-letter"));
        assert_eq!(sent(FieldKind::Country3, "zaf", LetterCase::Upper), Some(Value::from("ZAF")));
    }

    #[test]
    fn a_date_is_written_in_one_format() {
        assert!(FieldKind::Date.accept("2026-02-29", LetterCase::AsIs).is_err());
        assert!(FieldKind::Date.accept("03/04/2026", LetterCase::AsIs).is_err());
        assert_eq!(sent(FieldKind::Date, "2024-02-29", LetterCase::AsIs), Some(Value::from("2024-02-29")));
    }

    #[test]
    fn spreadsheet_damage_has_its_own_code() {
        let code = |kind: FieldKind, text: &str| kind.accept(text, LetterCase::AsIs).unwrap_err().code;
        for (kind, text) in [
            (FieldKind::SaId, "8.6E+12"),
            (FieldKind::SaId, "801015009087"),
            (FieldKind::SaId, "8001015009087.0"),
            (FieldKind::RegistrationNumber, "8.6E+12"),
            (FieldKind::Vin, "1,2E+16"),
            (FieldKind::Plate, "1.2E+05"),
        ] {
            assert_eq!(code(kind, text), FailureCode::SpreadsheetDamage, "{kind:?} {text}");
        }
        assert_eq!(code(FieldKind::SaId, "123"), FailureCode::InvalidValue);
        assert_eq!(code(FieldKind::SaId, "8001015009088"), FailureCode::InvalidValue);
    }

    #[test]
    fn a_doubtful_value_that_is_accepted_has_a_note() {
        let note = |kind: FieldKind, text: &str| kind.accept(text, LetterCase::AsIs).unwrap().note;
        let (number, vin) = (FieldKind::RegistrationNumber, FieldKind::Vin);
        assert_eq!(note(number, " 2016/004321/07 "), None);
        assert_eq!(note(number, "CK No.:\n2016/004321/07"), Some(Note::RegistrationNumberRewritten));
        assert_eq!((note(vin, "1m8gdm9axkp042788"), note(vin, "1M8GDM9A0KP042788")), (None, Some(Note::VinCheckDigit)));
        assert_eq!(note(FieldKind::Plate, "ca 123-456"), None, "plates have no standard spelling to compare with");
    }

    #[test]
    fn debug_of_an_accepted_value_does_not_show_it() {
        let accepted = FieldKind::Text.accept("Thandi", LetterCase::AsIs).unwrap();
        assert_eq!(format!("{accepted:?}"), "Accepted { value: [redacted], note: None }");
    }
}
