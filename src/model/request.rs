//! The canonical form of a request, from which its key is made: RFC 8785 JSON of campaign, mode, check, mapped fields
//! and generation. Fixed fields and catalogue defaults are not part of it: changing them leads to a refusal or a 409
//! from the service, never to a new charge.

use super::mode::Mode;
use serde::Serialize;
use serde_json::{Map, Value};

/// The header of every answer of the simulator. A ledger that has received it is `simulated` for ever, and a ledger of
/// the real service refuses the answer. It is defined here because client and simulator must not import each other.
pub const SIMULATOR_MARKER: &str = "x-rescreen-simulator";

/// The version of the canonical form. A release that changed it would pay again for answers already paid for.
pub const KEY_VERSION: u32 = 1;

/// The content from which a key is made. Equal content has an equal key, and is charged once.
#[derive(Debug, Clone, Serialize)]
pub struct CanonicalRequest<'a> {
    /// The version of this form.
    pub v: u32,
    pub campaign: &'a str,
    pub mode: Mode,
    /// The check's name in the catalogue, not its name in the campaign: a check that is used twice is still one check
    /// to pay for.
    pub check: &'a str,
    /// The mapped fields as sent. A file is represented by the SHA-256 of its bytes; identifiers are text.
    pub fields: &'a Map<String, Value>,
    /// Starts at 0. A new generation means a new charge, and needs proof or the user's decision.
    pub generation: u32,
}

impl<'a> CanonicalRequest<'a> {
    /// The canonical request of generation 0.
    pub fn first(campaign: &'a str, mode: Mode, check: &'a str, fields: &'a Map<String, Value>) -> Self {
        CanonicalRequest { v: KEY_VERSION, campaign, mode, check, fields, generation: 0 }
    }

    /// The RFC 8785 bytes. Millions of keys are made from them, so they are written directly here; a test compares them
    /// with the result of [`canonical_json`].
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let CanonicalRequest { v, campaign, mode, check, fields, generation } = self;
        let mut form = Vec::with_capacity(256);
        form.extend_from_slice(b"{\"campaign\":");
        write_json(&mut form, campaign);
        form.extend_from_slice(b",\"check\":");
        write_json(&mut form, check);
        form.extend_from_slice(b",\"fields\":{");
        // Sorted by the UTF-16 code units of the names (RFC 8785, 3.2.3).
        let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
        sorted.sort_unstable_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
        for (at, (name, value)) in sorted.into_iter().enumerate() {
            if at > 0 {
                form.push(b',');
            }
            write_json(&mut form, name);
            form.push(b':');
            write_value(&mut form, value);
        }
        let rest = format!("}},\"generation\":{generation},\"mode\":\"{mode}\",\"v\":{v}}}");
        form.extend_from_slice(rest.as_bytes());
        form
    }
}

/// Text, booleans and whole numbers of up to 53 bits have only one representation in JSON; the rest follows RFC 8785.
fn write_value(form: &mut Vec<u8>, value: &Value) {
    match value {
        Value::String(text) => write_json(form, text),
        Value::Bool(true) => form.extend_from_slice(b"true"),
        Value::Bool(false) => form.extend_from_slice(b"false"),
        Value::Number(number) => match number.as_i64() {
            Some(whole) if whole.unsigned_abs() < 1 << 53 => form.extend_from_slice(whole.to_string().as_bytes()),
            _ => form.extend(canonical_json(value)),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => form.extend(canonical_json(value)),
    }
}

/// Writes a value as compact JSON.
pub fn write_json<T: Serialize + ?Sized>(bytes: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(bytes, value).expect("a JSON value or a text writes into memory");
}

/// RFC 8785 (JCS) bytes of any JSON value.
pub fn canonical_json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).expect("text, integers, booleans, lists and objects always have a form")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<String>().prop_map(Value::from),
            "[\\x00-\\x7f\u{2028}\u{fffd}\u{10ffff}\"\\\\]{0,12}".prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            Just(json!({"b": [1, null, {"é": 1e21}], "a": -0.0})),
        ]
    }

    proptest! {
        #[test]
        fn the_format_is_that_of_rfc_8785(
            fields in proptest::collection::vec((any::<String>(), value()), 0..6),
            (campaign, check, generation, production) in (any::<String>(), any::<String>(), any::<u32>(), any::<bool>()),
        ) {
            let fields: Map<String, Value> = fields.into_iter().collect();
            let mode = if production { Mode::Production } else { Mode::Sandbox };
            let request = CanonicalRequest { generation, ..CanonicalRequest::first(&campaign, mode, &check, &fields) };
            prop_assert_eq!(request.canonical_bytes(), canonical_json(&request));
        }
    }

    #[test]
    fn names_are_ordered_by_utf_16_and_not_by_bytes() {
        let fields: Map<String, Value> =
            ["\u{fb33}", "\u{1f600}", "a", "", "B"].map(|name| (name.to_owned(), json!(1))).into_iter().collect();
        let request = CanonicalRequest::first("c", Mode::Sandbox, "k", &fields);
        assert_eq!(request.canonical_bytes(), canonical_json(&request));
        let form = String::from_utf8(request.canonical_bytes()).unwrap();
        assert!(form.contains("{\"\":1,\"B\":1,\"a\":1,\"\u{1f600}\":1,\"\u{fb33}\":1}"), "{form}");
    }
}
