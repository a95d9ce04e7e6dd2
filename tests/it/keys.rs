//! Keys never change: a release that changes one charges again for what was already paid. The expected texts and keys
//! were made outside this program; the subjects are invented.

use crate::support::data::shared;
use rescreen::model::{CanonicalRequest, IdempotencyKey, KeyMaker, KeySecret, Mode, request::canonical_json};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::fs;
use uuid::Uuid;

/// The keys of the first release.
#[derive(Deserialize)]
struct Frozen {
    campaign: String,
    secret: String,
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    mode: Mode,
    check: String,
    fields: Map<String, Value>,
    generation: u32,
    canonical: String,
    key: String,
    key_with_secret: String,
}

#[test]
fn the_frozen_vectors_hold() {
    let frozen: Frozen = serde_json::from_str(include_str!("../golden/0.1.0/keys.json")).unwrap();
    let secret = KeySecret::new(frozen.secret.into());
    assert_eq!(frozen.vectors.len(), 5);
    for vector in frozen.vectors {
        let first = CanonicalRequest::first(&frozen.campaign, vector.mode, &vector.check, &vector.fields);
        let request = CanonicalRequest { generation: vector.generation, ..first };
        assert_eq!(String::from_utf8(request.canonical_bytes()).unwrap(), vector.canonical);
        assert_eq!(IdempotencyKey::of(&request, None).to_string(), vector.key);
        assert_eq!(IdempotencyKey::of(&request, Some(&secret)).to_string(), vector.key_with_secret);
        let again = |secret: Option<&KeySecret>| {
            let keys = KeyMaker { campaign: frozen.campaign.clone(), mode: vector.mode, secret: secret.cloned() };
            keys.key(&vector.check, &vector.fields, vector.generation).to_string()
        };
        assert_eq!(again(None), vector.key);
        assert_eq!(again(Some(&secret)), vector.key_with_secret);
    }
}

#[test]
fn the_order_of_fields_does_not_change_a_key() {
    let key = |fields: Value| {
        let fields: Map<String, Value> = serde_json::from_value(fields).unwrap();
        let keys = KeyMaker { campaign: "c".to_owned(), mode: Mode::Sandbox, secret: None };
        keys.key("aml-screening", &fields, 0)
    };
    assert_eq!(key(json!({"name": "A", "entity": 0})), key(json!({"entity": 0, "name": "A"})));
    assert_ne!(key(json!({"name": "A", "entity": 0})), key(json!({"name": "A", "entity": "0"})));
}

#[test]
fn the_canonical_format_is_rfc_8785() {
    let Some(folder) = shared("vectors/jcs") else { return };
    let mut count = 0;
    for entry in fs::read_dir(folder.join("input")).unwrap() {
        let name = entry.unwrap().file_name();
        let input: Value = serde_json::from_slice(&fs::read(folder.join("input").join(&name)).unwrap()).unwrap();
        let expected = fs::read(folder.join("output").join(&name)).unwrap();
        assert_eq!(canonical_json(&input), expected, "{name:?}");
        count += 1;
    }
    assert_eq!(count, 6);
}

#[test]
fn uuid_v5_agrees_with_other_implementations() {
    let Some(path) = shared("vectors/uuid_v5.csv") else { return };
    let mut count = 0;
    for record in csv::Reader::from_path(path).unwrap().records() {
        let record = record.unwrap();
        let namespace: Uuid = record[1].parse().unwrap();
        assert_eq!(Uuid::new_v5(&namespace, record[2].as_bytes()).to_string(), record[3], "{}", &record[2]);
        count += 1;
    }
    assert_eq!(count, 18);
}
