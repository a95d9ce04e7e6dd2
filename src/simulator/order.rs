//! A POST to a check, parsed strictly: which check, mode and key, and whether the body matches the declaration. It
//! shares no code with the mapping, which fills the same declarations, so that neither inherits the other's mistakes.
//! Fields outside the declaration are ignored, because the service's description does not say what it does with them.

use super::{
    check::{Check, Mode},
    countries::is_code,
    digest::{Digest, digest, digest_of_fields},
    field::{Field, FieldKind, FieldRule, LetterCase},
    identity_number::is_luhn,
    received::{Received, is_received},
    receiver::Receiver,
    reply::Refusal,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};
use std::{collections::BTreeSet, sync::Arc};

/// Fields that configure the request. They are not part of the subject.
const TRANSPORT_FIELDS: [&str; 4] = ["mode", "webhookUrl", "webhookSecret", "document_reference"];

/// The checks for which the description limits the length of an idempotency key.
const KEY_LENGTH: [&str; 2] = ["adverse-media", "foreign-bank-account"];

/// A valid request. It contains subject data, so it has no `Debug`.
#[derive(Clone)]
pub(super) struct Order {
    pub(super) check: Arc<Check>,
    pub(super) mode: Mode,
    /// The body's fields, as sent, without the secret of the receiver.
    pub(super) fields: Map<String, Value>,
    /// Where the deliveries of its job are sent.
    pub(super) receiver: Option<Receiver>,
    pub(super) idempotency_key: Option<String>,
    /// The idempotency key within its account.
    pub(super) key: Option<Digest>,
    /// Path and body, byte for byte, which must not change under one key.
    pub(super) content: Digest,
    /// Mode, check and fields with defaults filled in, which must not be charged twice.
    pub(super) subject: Digest,
}

impl Order {
    /// Parses a request to one of a path's checks, or returns what is wrong with it.
    pub(super) fn read(
        checks: &[Arc<Check>],
        path: &str,
        account: Digest,
        idempotency_key: Option<String>,
        body: &[u8],
        received: Received,
    ) -> Result<Order, Refusal> {
        let check = chosen(checks, &received.fields)?;
        let mut fields = received.fields_of(&check)?;
        let mode = mode(&fields)?;
        for field in &check.fields {
            validate(field, fields.get(&field.name))
                .map_err(|fault| Refusal::new(400, fault.code, format!("{}: {}", field.name, fault.expected)))?;
        }
        check.rules.iter().try_for_each(|rule| obey(rule, &fields))?;
        valid_owner(&check, mode, &fields)?;
        match &idempotency_key {
            None if mode == Mode::Production => {
                let message = "production requests must have an Idempotency-Key header";
                return Err(Refusal::new(400, "idempotency_key_required", message));
            }
            // The service's API description, Limits: 8 to 160 characters, for adverse media and foreign bank.
            Some(key) if KEY_LENGTH.contains(&check.name.as_str()) && !(8..=160).contains(&key.chars().count()) => {
                let message = "an Idempotency-Key must have 8 to 160 characters";
                return Err(Refusal::new(400, "invalid_idempotency_key", message));
            }
            _ => {}
        }
        let key = idempotency_key.as_ref().map(|key| digest(&[&account, key.as_bytes()]));
        let content = digest(&[path.as_bytes(), body]);
        let subject = subject(&check, mode, &fields);
        // Other checks ignore these fields, because the description names them for checks with jobs only.
        let receiver = if check.job.is_some() { Receiver::take(&mut fields)? } else { None };
        Ok(Order { check, mode, fields, receiver, idempotency_key, key, content, subject })
    }

    /// Whether a text field ends in these digits. The service's API description, Errors, 3: reserved inputs end in 90
    /// or 91. The description does not say in which field, so any declared text counts, except files and secrets.
    pub(super) fn ends_in(&self, digits: &str) -> bool {
        let texts = self.check.fields.iter().filter(|field| !field.kind.is_file() && !field.secret);
        let texts = texts.filter_map(|field| self.fields.get(&field.name)?.as_str());
        texts.into_iter().any(|text| text.trim_end().ends_with(digits))
    }
}

/// Chooses among the checks that share a path: all fixed fields of the check must be present. The one with most of them
/// wins. If two have equally many, the one whose required fields are present wins.
fn chosen(checks: &[Arc<Check>], fields: &Map<String, Value>) -> Result<Arc<Check>, Refusal> {
    let fits = |check: &&Arc<Check>| check.fixed.iter().all(|(name, value)| fields.get(name) == Some(value));
    let is_complete =
        |check: &Check| check.fields.iter().all(|field| !field.required || fields.contains_key(&field.name));
    let found = checks.iter().filter(fits).max_by_key(|check| (check.fixed.len(), is_complete(check)));
    found.cloned().ok_or_else(|| {
        // Each name once: several checks of a route use the same one.
        let names: BTreeSet<&str> = checks.iter().flat_map(|check| check.fixed.keys()).map(String::as_str).collect();
        let names: Vec<&str> = names.into_iter().collect();
        Refusal::new(400, "invalid_parameters", format!("{}: this route has no such report", names.join(", ")))
    })
}

/// The service's API description: a property search needs a valid South African ID number. Other checks leave a wrong
/// check digit to the register. The sandbox's reserved inputs are not valid numbers.
fn valid_owner(check: &Check, mode: Mode, fields: &Map<String, Value>) -> Result<(), Refusal> {
    let number = fields.get("idNumber").and_then(Value::as_str).unwrap_or_default();
    let is_reserved = mode == Mode::Sandbox && ["90", "91"].iter().any(|digits| number.ends_with(digits));
    if check.name == "property-search" && !(is_reserved || is_luhn(number)) {
        let message = "idNumber: a valid South African ID number is required";
        return Err(Refusal::new(400, "invalid_field", message));
    }
    Ok(())
}

fn mode(fields: &Map<String, Value>) -> Result<Mode, Refusal> {
    match fields.get("mode").and_then(Value::as_str) {
        Some("sandbox") => Ok(Mode::Sandbox),
        Some("production") => Ok(Mode::Production),
        _ => Err(Refusal::new(400, "invalid_mode", "mode: `sandbox` or `production` is required")),
    }
}

fn subject(check: &Check, mode: Mode, fields: &Map<String, Value>) -> Digest {
    let mut content = fields.clone();
    content.retain(|name, _| !TRANSPORT_FIELDS.contains(&name.as_str()));
    for field in &check.fields {
        if let (Some(default), false) = (&field.default, content.contains_key(&field.name)) {
            content.insert(field.name.clone(), default.clone());
        }
    }
    digest(&[mode.as_str().as_bytes(), check.name.as_bytes(), &digest_of_fields(&content)])
}

struct FieldFault {
    code: &'static str,
    expected: String,
}

fn validate(field: &Field, value: Option<&Value>) -> Result<(), FieldFault> {
    let invalid = |expected: String| Err(FieldFault { code: "invalid_field", expected });
    let Some(value) = value else {
        return if field.required {
            Err(FieldFault { code: "missing_field", expected: "this field is required".to_owned() })
        } else {
            Ok(())
        };
    };
    if let Err(expected) = has_kind(field, value) {
        return invalid(expected);
    }
    if let (Some(text), Some(length_max)) = (value.as_str(), field.length_max)
        && text.chars().count() > length_max
    {
        return invalid(format!("at most {length_max} characters"));
    }
    if let (Some(text), Some(digits)) = (value.as_str(), field.digits)
        && let (min, max) = digits.bounds()
        && !(min..=max).contains(&text.len())
    {
        return invalid(format!("{digits}"));
    }
    // Exactly: what a client may write in another spelling, it must send in this one.
    if let (Some(text), Some(choices)) = (value.as_str(), &field.choices)
        && !choices.texts().contains(&text)
    {
        return invalid("this value is not among the supported ones".to_owned());
    }
    if !field.allowed.is_empty() && !field.allowed.contains(value) {
        return invalid("this value is not among the allowed ones".to_owned());
    }
    Ok(())
}

fn has_kind(field: &Field, value: &Value) -> Result<(), String> {
    let text = value.as_str();
    let fits = match field.kind {
        FieldKind::Text => text.is_some_and(|text| !(field.required && text.trim().is_empty())),
        FieldKind::Integer => value.is_i64() || value.is_u64(),
        FieldKind::Boolean => value.is_boolean(),
        // A wrong date or check digit is for the register to find, and is not an invalid parameter.
        FieldKind::SaId => text.is_some_and(|text| text.len() == 13 && text.bytes().all(|byte| byte.is_ascii_digit())),
        FieldKind::Country2 => text.is_some_and(|text| is_country(text, 2, field.letter_case)),
        FieldKind::Country3 => text.is_some_and(|text| is_country(text, 3, field.letter_case)),
        FieldKind::Country => {
            text.is_some_and(|text| is_country(text, 2, field.letter_case) || is_country(text, 3, field.letter_case))
        }
        FieldKind::Image | FieldKind::ImageFile | FieldKind::Document => is_received(value),
        FieldKind::Date => text.is_some_and(|text| text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()),
        FieldKind::RegistrationNumber => text.is_some_and(|text| matches_pattern(text, "9999/999999/99")),
        // Not every market requires the check digit.
        FieldKind::Vin => {
            text.is_some_and(|text| matches_pattern(text, "AAAAAAAAAAAAAAAAA") && !text.contains(['I', 'O', 'Q']))
        }
        FieldKind::Plate => text.is_some_and(|text| {
            let characters = text.bytes().filter(|byte| *byte != b' ' && *byte != b'-').count();
            (1..=12).contains(&characters)
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -".contains(&byte))
        }),
        FieldKind::PlateAny => text.is_some_and(|text| {
            let characters = text.chars().filter(|c| !c.is_whitespace() && *c != '-').count();
            (1..=20).contains(&characters)
                && text.chars().all(|c| c.is_alphanumeric() || " -".contains(c) || !c.is_ascii() && !c.is_control())
        }),
        FieldKind::Base64 => text.is_some_and(|text| !text.is_empty() && STANDARD.decode(text).is_ok()),
        FieldKind::Digits => {
            text.is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
        }
    };
    let expected = match field.kind {
        FieldKind::Text => "text, as a JSON string",
        FieldKind::Integer => "an integer, as a JSON number",
        FieldKind::Boolean => "true or false, as a JSON boolean",
        FieldKind::SaId => "13 digits, as a JSON string",
        FieldKind::Country2 => "a two-letter country code, as a JSON string",
        FieldKind::Country3 => "a three-letter country code, as a JSON string",
        FieldKind::Country => "a two- or three-letter country code",
        FieldKind::Image => "an image as base64 text",
        FieldKind::ImageFile | FieldKind::Document => "a file, as a part of a multipart body",
        FieldKind::Date => "a date YYYY-MM-DD, as a JSON string",
        FieldKind::RegistrationNumber => "a registration number YYYY/NNNNNN/NN, as a JSON string",
        FieldKind::Vin => "17 capital letters and digits without I, O and Q, as a JSON string",
        FieldKind::Plate | FieldKind::PlateAny => "letters and digits of a number plate, as a JSON string",
        FieldKind::Base64 => "base64, as a JSON string",
        FieldKind::Digits => "digits, as a JSON string",
    };
    if fits { Ok(()) } else { Err(expected.to_owned()) }
}

/// Whether a text matches a pattern: `9` is a digit, `A` a digit or a capital letter, and other characters are literal.
fn matches_pattern(text: &str, pattern: &str) -> bool {
    let fits = |(byte, expected): (u8, u8)| match expected {
        b'9' => byte.is_ascii_digit(),
        b'A' => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
        _ => byte == expected,
    };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(fits)
}

fn is_country(text: &str, length: usize, letter_case: LetterCase) -> bool {
    let letter = |byte: u8| match letter_case {
        LetterCase::AsIs => byte.is_ascii_alphabetic(),
        LetterCase::Lower => byte.is_ascii_lowercase(),
        LetterCase::Upper => byte.is_ascii_uppercase(),
    };
    is_code(text, length) && text.bytes().all(letter)
}

fn obey(rule: &FieldRule, fields: &Map<String, Value>) -> Result<(), Refusal> {
    let given = |names: &[String]| names.iter().filter(|name| fields.contains_key(*name)).count();
    let broken = match rule {
        FieldRule::Together(names) if ![0, names.len()].contains(&given(names)) => {
            format!("{}: all or none of these fields are required", names.join(", "))
        }
        FieldRule::OneOf(names) if given(names) == 0 => {
            format!("{}: at least one of these fields is required", names.join(", "))
        }
        FieldRule::AtMostOne(names) if given(names) > 1 => {
            return Err(Refusal::new(
                400,
                "invalid_field",
                format!("{}: one of these fields is expected", names.join(", ")),
            ));
        }
        _ => return Ok(()),
    };
    Err(Refusal::new(400, "missing_field", broken))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Checks;
    use serde_json::json;

    fn read(name: &str, body: Value) -> Result<Order, &'static str> {
        let check = Arc::clone(Checks::built_in().get(name).unwrap());
        let key = Some("a-good-key".to_owned());
        let body = body.to_string();
        let received = Received::read(None, body.as_bytes()).map_err(|refusal| refusal.code)?;
        Order::read(&[check], "/path", [0; 16], key, body.as_bytes(), received).map_err(|refusal| refusal.code)
    }

    fn subject_with(name: &str, value: Value) -> Result<Digest, &'static str> {
        let mut body = json!({"mode": "production", "name": "Jo Vexford", "entity": 0, "country": "za"});
        body[name] = value;
        read("aml-screening", body).map(|order| order.subject)
    }

    #[test]
    fn types_are_those_of_json() {
        assert!(subject_with("entity", json!(1)).is_ok());
        for (name, value) in [
            ("entity", json!("1")),
            ("entity", json!(1.0)),
            ("entity", json!(2)),
            ("name", json!(7)),
            ("name", json!(" ")),
            ("name", Value::Null),
            ("country", json!("ZA")),
            ("country", json!("zz")),
            ("country", json!("zaf")),
            ("dataset", json!("x".repeat(101))),
        ] {
            assert_eq!(subject_with(name, value.clone()), Err("invalid_field"), "{name} {value}");
        }
    }

    #[test]
    fn a_subject_is_its_content_with_defaults_and_without_transport() {
        let subject = subject_with("dataset", json!("all")).unwrap();
        assert_eq!(subject_with("mode", json!("production")).unwrap(), subject);
        assert_eq!(subject_with("document_reference", json!("ref")).unwrap(), subject);
        assert_ne!(subject_with("entity", json!(1)).unwrap(), subject);
        assert_ne!(subject_with("mode", json!("sandbox")).unwrap(), subject);
    }

    #[test]
    fn a_well_formed_number_with_a_wrong_check_digit_is_left_to_the_register() {
        let number = |id: &str| json!({"mode": "sandbox", "reportType": "said_verification", "idNumber": id});
        assert!(read("said-verification", number("8001015009088")).is_ok());
        assert_eq!(read("said-verification", number("800101500908")).err(), Some("invalid_field"));
        assert_eq!(read("said-verification", json!({"mode": "sandbox"})).err(), Some("invalid_parameters"));
    }
}
