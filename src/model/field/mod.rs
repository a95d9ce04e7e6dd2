//! Field kinds: the validation of a value before a request for it is paid for. The list of kinds is closed and is code;
//! which field of a check has which kind is data (the catalogue).

pub mod base64_text;
pub mod cleaned;
pub mod country;
pub mod digits;
mod joiner;
pub mod plate;
pub mod refusal;
pub mod registration_number;
pub mod sa_id;
pub mod spreadsheet;
pub mod vin;
pub mod visible;

use super::{Note, attachment::Placement, file_kind::FileKind};
use cleaned::{cleaned, without_apostrophe};
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
    /// A two- or three-letter ISO 3166 country code, in the letter case that the declaration sets.
    Country,
    /// A date, `YYYY-MM-DD`.
    Date,
    /// A South African company registration number, sent as `YYYY/NNNNNN/NN`.
    RegistrationNumber,
    /// A vehicle identification number: 17 characters, upper case.
    Vin,
    /// A South African number plate, sent in upper case without spaces and hyphens.
    Plate,
    /// A number plate of any country: letters and digits of any script, sent in upper case without spaces and hyphens.
    PlateAny,
    /// A number that is an identifier, such as an account number: digits, sent as text with its leading zeros.
    Digits,
    /// Bytes as base64 text, sent without whitespace.
    Base64,
    /// An image file. The value in the row is its path below the files root; it is sent as base64 text.
    Image,
    /// An image file, sent as a part of a multipart body.
    ImageFile,
    /// An image or PDF file, sent as a part of a multipart body, or uploaded first if it is large.
    Document,
}

/// A value as it will be sent.
#[derive(Clone, PartialEq)]
pub struct Accepted {
    pub value: Value,
    /// Remarks on the value.
    pub notes: Vec<Note>,
}

impl fmt::Debug for Accepted {
    /// The value may be personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accepted").field("value", &format_args!("[redacted]")).field("notes", &self.notes).finish()
    }
}

impl From<Value> for Accepted {
    fn from(value: Value) -> Accepted {
        Accepted { value, notes: Vec::new() }
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
            FieldKind::Country => "country",
            FieldKind::Date => "date",
            FieldKind::RegistrationNumber => "registration-number",
            FieldKind::Vin => "vin",
            FieldKind::Plate => "plate",
            FieldKind::PlateAny => "plate-any",
            FieldKind::Digits => "digits",
            FieldKind::Base64 => "base64",
            FieldKind::Image => "image",
            FieldKind::ImageFile => "image-file",
            FieldKind::Document => "document",
        }
    }

    /// How the file of this field is sent; `None` if the field takes no file.
    pub fn file(self) -> Option<Placement> {
        match self {
            FieldKind::Image => Some(Placement::Base64),
            FieldKind::ImageFile | FieldKind::Document => Some(Placement::Part),
            _ => None,
        }
    }

    /// The formats that the service accepts for the file of this field.
    pub fn formats(self) -> &'static [FileKind] {
        if self == FieldKind::Document { &FileKind::ALL } else { &FileKind::IMAGES }
    }

    /// The value as it will be sent, with notes on what was changed, or why it is refused. The message never repeats the
    /// value, which may be personal data.
    pub fn accept(self, text: &str, letter_case: LetterCase) -> Result<Accepted, FieldRefusal> {
        let clean = visible::clean(text);
        if let Some(damage) = spreadsheet::without_value(&clean.text) {
            return Err(damage);
        }
        let mut accepted = self.read(&clean.text, letter_case)?;
        accepted.notes.splice(0..0, clean.notes);
        if let Value::String(text) = accepted.value {
            // Upper case may take an accent off its letter again.
            accepted.value = Value::String(visible::composed(text));
        }
        Ok(accepted)
    }

    /// A clean text as a value of this kind.
    fn read(self, text: &str, letter_case: LetterCase) -> Result<Accepted, FieldRefusal> {
        let value = match self {
            FieldKind::Text => Value::String(letter_case.apply(text.to_owned())),
            FieldKind::Integer => whole_number(text).map(Value::from)?,
            FieldKind::Boolean => match text.to_lowercase().as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => return Err(FieldRefusal::invalid("expected `true` or `false`")),
            },
            FieldKind::SaId => {
                let typed = without_apostrophe(text);
                let number = cleaned(typed);
                return match (sa_id::check(&number), spreadsheet::damaged_sa_id(typed)) {
                    (Ok(()), _) => Ok(identifier(number, text, None)),
                    (Err(_), Some(damage)) => Err(damage),
                    (Err(fault), None) => Err(FieldRefusal::invalid(fault.to_string())),
                };
            }
            FieldKind::Country2 => return known_country(text, CodeLength::Two, letter_case),
            FieldKind::Country3 => return known_country(text, CodeLength::Three, letter_case),
            FieldKind::Country if text.len() == 3 => return known_country(text, CodeLength::Three, letter_case),
            FieldKind::Country => return known_country(text, CodeLength::Two, letter_case),
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
                let number = registration_number::read(without_apostrophe(text))?;
                let notes = if number == *text { Vec::new() } else { vec![Note::RegistrationNumberRewritten] };
                return Ok(Accepted { value: Value::String(number), notes });
            }
            FieldKind::Vin => {
                let vin = vin::read(&unrounded(text, "a VIN of 17 characters")?)?;
                let doubt = (!vin::check_digit_fits(&vin)).then_some(Note::VinCheckDigit);
                return Ok(identifier(vin, text, doubt));
            }
            FieldKind::Plate => {
                return Ok(identifier(plate::read(&unrounded(text, "a number plate")?)?, text, None));
            }
            FieldKind::PlateAny => {
                return Ok(identifier(plate::read_any(&unrounded(text, "a number plate")?)?, text, None));
            }
            FieldKind::Digits => {
                let number = digits::read(&unrounded(text, "a number of digits")?)?;
                return Ok(identifier(number, text, None));
            }
            FieldKind::Base64 => Value::String(base64_text::read(text)?),
            // The mapping reads files itself.
            FieldKind::Image | FieldKind::ImageFile | FieldKind::Document => {
                return Err(FieldRefusal::invalid(
                    "expected a column or a template that contains the path of each row's file, found a constant",
                ));
            }
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

/// An identifier as it will be sent, with a note if it was typed with signs that are not part of it.
fn identifier(read: String, typed: &str, doubt: Option<Note>) -> Accepted {
    let is_cleaned = (cleaned(without_apostrophe(typed)) != typed).then_some(Note::IdentifierCleaned);
    Accepted { value: Value::String(read), notes: is_cleaned.into_iter().chain(doubt).collect() }
}

/// The text of an identifier without the signs that are not part of it. A number in E-notation is refused, because a
/// spreadsheet has rounded it.
fn unrounded(text: &str, what: &str) -> Result<String, FieldRefusal> {
    let typed = without_apostrophe(text);
    if spreadsheet::is_e_notation(typed) { Err(spreadsheet::rounded(what)) } else { Ok(cleaned(typed)) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeLength {
    Two,
    Three,
}

/// The ISO 3166 code of a country. A name or another code of it, such as `UK`, is translated: it is never sent, because
/// a list searched for a country that does not exist has no match.
fn known_country(text: &str, length: CodeLength, letter_case: LetterCase) -> Result<Accepted, FieldRefusal> {
    let word = if length == CodeLength::Two { "two" } else { "three" };
    let expected = || format!("a {word}-letter ISO 3166 country code or the English name of a country");
    let found = country::find(text).ok_or_else(|| country::refusal(text, &expected()))?;
    let code = if length == CodeLength::Two { found.alpha2 } else { found.alpha3 };
    if text.eq_ignore_ascii_case(code) {
        return Ok(Value::String(letter_case.apply(text.to_owned())).into());
    }
    let code = if letter_case == LetterCase::Lower { code.to_owned() } else { code.to_uppercase() };
    Ok(Accepted { value: Value::String(code), notes: vec![Note::CountryTranslated] })
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
        assert!(FieldKind::Country2.accept("zz", LetterCase::Lower).unwrap_err().message.contains("two-letter"));
        assert_eq!(sent(FieldKind::Country3, "zaf", LetterCase::Upper), Some(Value::from("ZAF")));
    }

    #[test]
    fn a_country_name_or_another_code_is_translated_and_noted() {
        for (text, alpha2, alpha3) in [
            ("UK", "gb", "GBR"),
            ("UAE", "ae", "ARE"),
            ("DRC", "cd", "COD"),
            ("RSA", "za", "ZAF"),
            ("South Africa", "za", "ZAF"),
        ] {
            for (kind, letter_case, code) in
                [(FieldKind::Country2, LetterCase::Lower, alpha2), (FieldKind::Country3, LetterCase::Upper, alpha3)]
            {
                let accepted = kind.accept(text, letter_case).unwrap();
                assert_eq!((accepted.value, accepted.notes), (code.into(), vec![Note::CountryTranslated]), "{text}");
            }
        }
        let as_is = |text: &str| sent(FieldKind::Country2, text, LetterCase::AsIs);
        assert_eq!((as_is("uk"), as_is("gb"), as_is("GB")), (Some("GB".into()), Some("gb".into()), Some("GB".into())));
        assert_eq!(sent(FieldKind::Country2, "zaf", LetterCase::Lower), Some(Value::from("za")));
        assert_eq!(FieldKind::Country2.accept("ZA", LetterCase::Lower).unwrap().notes, [], "a code is not noted");
    }

    #[test]
    fn every_identifier_drops_the_same_signs_and_counts_it() {
        for (kind, text, sent) in [
            (FieldKind::SaId, "'800101 5009-087", "8001015009087"),
            (FieldKind::Vin, "\u{2019}1M8-GDM9AXK P042788", "1M8GDM9AXKP042788"),
            (FieldKind::Plate, "'CA 123\u{2011}456", "CA123456"),
            (FieldKind::PlateAny, "' B-MW 1234", "BMW1234"),
            (FieldKind::Digits, "'051-001", "051001"),
        ] {
            let accepted = kind.accept(text, LetterCase::AsIs).unwrap();
            assert_eq!((accepted.value, accepted.notes), (sent.into(), vec![Note::IdentifierCleaned]), "{kind:?}");
            let plain = kind.accept(sent, LetterCase::AsIs).unwrap();
            assert_eq!((plain.value, plain.notes), (sent.into(), vec![]), "{kind:?}");
        }
        let number = FieldKind::RegistrationNumber.accept("'2016/004321/07", LetterCase::AsIs).unwrap();
        assert_eq!((number.value, number.notes), ("2016/004321/07".into(), vec![Note::RegistrationNumberRewritten]));
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
            (FieldKind::PlateAny, "9E-3"),
            (FieldKind::Digits, "'6.2E+10"),
            (FieldKind::Text, " #N/A "),
            (FieldKind::Country, "#REF!"),
        ] {
            assert_eq!(code(kind, text), FailureCode::SpreadsheetDamage, "{kind:?} {text}");
        }
        assert_eq!(code(FieldKind::SaId, "123"), FailureCode::InvalidValue);
        assert_eq!(code(FieldKind::SaId, "8001015009088"), FailureCode::InvalidValue);
    }

    #[test]
    fn a_doubtful_value_that_is_accepted_has_a_note() {
        let note = |kind: FieldKind, text: &str| kind.accept(text, LetterCase::AsIs).unwrap().notes.pop();
        let (number, vin) = (FieldKind::RegistrationNumber, FieldKind::Vin);
        assert_eq!(note(number, " 2016/004321/07 "), None);
        assert_eq!(note(number, "CK No.:\n2016/004321/07"), Some(Note::RegistrationNumberRewritten));
        assert_eq!((note(vin, "1m8gdm9axkp042788"), note(vin, "1M8GDM9A0KP042788")), (None, Some(Note::VinCheckDigit)));
        assert_eq!(
            (note(FieldKind::Plate, "ca 123-456"), note(FieldKind::Plate, "ca123456")),
            (Some(Note::IdentifierCleaned), None)
        );
    }

    #[test]
    fn debug_of_an_accepted_value_does_not_show_it() {
        let accepted = FieldKind::Text.accept("Thandi", LetterCase::AsIs).unwrap();
        assert_eq!(format!("{accepted:?}"), "Accepted { value: [redacted], notes: [] }");
    }
}
