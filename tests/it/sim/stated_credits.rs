//! What a reply states about credits, parsed independently of the program: by the service's description, at the places
//! that the script's service uses. Also, whether a text has a duplicate name.

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use std::{collections::HashSet, fmt};

/// A stated charge above this is absurd: more than a hundred times any price of any script.
const CHARGE_MAX: f64 = 10_000.0;

/// What a reply states about money.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// Whether it is a complete JSON object that looks like the service's.
    pub json: bool,
    /// Whether it is complete and begins as JSON, but is none.
    pub damaged: bool,
    /// The charge, if a readable one is stated.
    pub charge: Option<u64>,
    /// The place of the charge holds something that is not a charge.
    pub odd: bool,
    pub balance: Option<u64>,
    /// The id of the request that it says it answers.
    pub request_id: Option<String>,
    /// Whether it says that it failed.
    pub failed: bool,
    /// The job that it names, and the state that it states.
    pub job: Option<String>,
    pub state: Option<String>,
}

/// Reads a complete body.
pub fn said(body: &[u8]) -> Said {
    let Ok(json @ Value::Object(_)) = serde_json::from_slice(body) else {
        return Said { damaged: body.starts_with(b"{"), ..Said::default() };
    };
    let first = |places: &[&str]| places.iter().find_map(|place| json.pointer(place));
    let charge = first(&["/creditsUsed", "/meta/creditsUsed", "/meta/credits_spent", "/billing/charged"]);
    let balances =
        ["/remainingCredits", "/meta/remainingCredits", "/billing/left", "/available_credits", "/Result/credits"];
    let read = charge.and_then(amount).filter(|charge| (0.0..=CHARGE_MAX).contains(charge));
    Said {
        damaged: false,
        json: ["success", "meta", "requestId", "results"].iter().any(|name| json.get(name).is_some()),
        charge: read.map(|charge| charge.ceil() as u64),
        odd: charge.is_some() && read.is_none(),
        balance: first(&balances).and_then(amount).map(|balance| balance.max(0.0).floor() as u64),
        job: json.get("jobId").and_then(Value::as_str).map(str::to_owned),
        state: json.get("status").and_then(Value::as_str).map(str::to_owned),
        failed: json.get("success") == Some(&Value::Bool(false)),
        request_id: first(&["/requestId", "/meta/requestId"]).and_then(Value::as_str).map(str::to_owned),
    }
}

fn amount(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|amount| amount.is_finite())
}

/// Whether an object in a JSON text has a duplicate name.
pub fn repeats_a_name(text: &str) -> bool {
    serde_json::from_str::<Names>(text).is_err_and(|error| error.to_string().contains(TWICE))
}

const TWICE: &str = "a name comes twice";

/// Any value, provided no object in it has a duplicate name.
struct Names;

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Names, D::Error> {
        deserializer.deserialize_any(Names)
    }
}

impl<'de> Visitor<'de> for Names {
    type Value = Names;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !seen.insert(name) {
                return Err(A::Error::custom(TWICE));
            }
            map.next_value::<Names>()?;
        }
        Ok(Names)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
        while list.next_element::<Names>()?.is_some() {}
        Ok(Names)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Names, E> {
        Ok(Names)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Names, E> {
        Ok(Names)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Names, E> {
        Ok(Names)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Names, E> {
        Ok(Names)
    }

    fn visit_str<E>(self, _: &str) -> Result<Names, E> {
        Ok(Names)
    }

    fn visit_unit<E>(self) -> Result<Names, E> {
        Ok(Names)
    }
}

#[test]
fn credits_are_read_in_every_format_and_place() {
    let charge = |body: &str| said(body.as_bytes()).charge;
    assert_eq!(charge(r#"{"creditsUsed": 7.0}"#), Some(7));
    assert_eq!(charge(r#"{"meta": {"credits_spent": "6.50"}}"#), Some(7));
    assert_eq!(charge(r#"{"billing": {"charged": 7}}"#), Some(7));
    for odd in ["-7", "1e23", "18446744073709551615", "\"seven\"", "true", "[7]"] {
        let found = said(format!("{{\"creditsUsed\": {odd}}}").as_bytes());
        assert_eq!((found.charge, found.odd), (None, true), "{odd}");
    }
    assert_eq!(said(br#"{"remainingCredits": 992.5, "requestId": "r"}"#).balance, Some(992));
    assert_eq!(said(b"<html>"), Said::default());
}

#[test]
fn a_duplicate_name_is_seen_at_any_depth() {
    assert!(repeats_a_name(r#"{"a": 1, "a": 2}"#));
    assert!(repeats_a_name(r#"{"a": [{"b": {"c": 1, "d": null, "c": 2.5}}]}"#));
    assert!(!repeats_a_name(r#"{"a": {"a": 1}, "b": [true, "a"]}"#));
    assert!(!repeats_a_name("{"));
}
