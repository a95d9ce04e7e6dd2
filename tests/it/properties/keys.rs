//! Keys are a function of the whole content and of nothing else. Bodies are a function of the row.

use super::cases;
use proptest::{
    collection::vec,
    prelude::*,
    string::{RegexGeneratorStrategy, string_regex},
};
use rescreen::{
    catalogue::Catalogue,
    mapping::{CheckUse, FieldSource, Mapped, Mapping, MappingOptions},
    model::{
        CanonicalRequest, IdempotencyKey, KeySecret, Mode, Position, Row,
        field::{FieldKind, LetterCase},
        row::Values,
    },
};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

/// Text that matches a pattern. The pattern is parsed once; a pattern used directly as a strategy is parsed again for
/// every case.
fn text(pattern: &str) -> RegexGeneratorStrategy<String> {
    string_regex(pattern).expect("a pattern of ours")
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<String>().prop_map(Value::from),
        (-9_000_000_000_i64..9_000_000_000).prop_map(Value::from),
        any::<bool>().prop_map(Value::from)
    ]
}

type Fields = Vec<(String, Value)>;

/// Fields under different names.
fn fields() -> impl Strategy<Value = Fields> {
    let unlike = |fields: Fields| fields.into_iter().collect::<BTreeMap<_, _>>().into_iter().collect::<Fields>();
    vec((text("[a-zA-Z_]{1,8}|\\PC{1,4}"), value()), 1..7).prop_map(unlike)
}

fn map(fields: &[(String, Value)]) -> Map<String, Value> {
    fields.iter().cloned().collect()
}

fn key(fields: &Map<String, Value>, secret: Option<&KeySecret>) -> IdempotencyKey {
    IdempotencyKey::of(&CanonicalRequest::first("2026-11", Mode::Production, "aml-screening", fields), secret)
}

static MAPPING: LazyLock<Mapping> = LazyLock::new(|| {
    let constant = |field: &str, value| (field.to_owned(), FieldSource::Constant(value));
    let name = ("name".to_owned(), FieldSource::from("{{ first }} {{ last }}"));
    let fields = [name, constant("entity", json!(0)), constant("country", json!("za"))].into();
    let check_use = CheckUse { check: "aml-screening".into(), fields, ..CheckUse::default() };
    let options = MappingOptions::new("2026-11", Mode::Production);
    Mapping::new(&Catalogue::built_in(), &[check_use], options).unwrap()
});

/// The ask of one row, with its columns in this order.
fn asked(columns: [&str; 3], cells: [&str; 3]) -> (IdempotencyKey, Vec<u8>) {
    let header = columns.map(str::to_owned).to_vec();
    let position = Position { source: "book".into(), row_number: 1, line: 2, byte_offset: 0 };
    let values = Values::Flat { header: Arc::new(header.clone()), cells: cells.to_vec().into() };
    match &MAPPING.bind(&header).unwrap().map(&Row { position, values }).unwrap()[..] {
        [Mapped::Ask(ask)] => (ask.key, ask.body.clone()),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn equal_content_has_one_key_in_any_order(
        (fields, shuffled) in fields().prop_flat_map(|fields| (Just(fields.clone()), Just(fields).prop_shuffle())),
        secret in text("\\PC{1,20}"),
    ) {
        let secret = KeySecret::new(secret.into());
        prop_assert_eq!(key(&map(&fields), None), key(&map(&shuffled), None));
        prop_assert_eq!(key(&map(&fields), Some(&secret)), key(&map(&shuffled), Some(&secret)));
        prop_assert_ne!(key(&map(&fields), None), key(&map(&fields), Some(&secret)));
    }

    #[test]
    fn a_different_value_or_field_gives_another_key(fields in fields(), at in any::<prop::sample::Index>(), other in value()) {
        let at = at.index(fields.len());
        let mut changed = fields.clone();
        changed[at].1 = other;
        prop_assert_eq!(changed == fields, key(&map(&changed), None) == key(&map(&fields), None));
        let mut fewer = fields.clone();
        fewer.remove(at);
        prop_assert_ne!(key(&map(&fewer), None), key(&map(&fields), None));
    }

    #[test]
    fn two_whole_numbers_that_are_accepted_never_share_a_key(number in any::<i64>(), shift in 0..64_u32, more in 1..3_i64) {
        let accepted = |number: i64| FieldKind::Integer.accept(&number.to_string(), LetterCase::AsIs).ok().map(|accepted| accepted.value);
        let number = number >> shift;
        if let (Some(one), Some(other)) = (accepted(number), accepted(number.saturating_add(more))) {
            let key = |value| key(&map(&[("number".to_owned(), value)]), None);
            prop_assert_eq!(one == other, key(one) == key(other));
        }
    }

    #[test]
    fn campaign_mode_check_generation_and_secret_are_each_in_the_key(
        fields in fields(), campaign in text("[a-z0-9.-]{1,9}"), generation in 1..9_u32, secrets in (text("\\PC{1,9}"), text("\\PC{1,9}")),
    ) {
        let fields = map(&fields);
        let first = CanonicalRequest::first(&campaign, Mode::Production, "aml-screening", &fields);
        let longer = format!("{campaign}x");
        let others = [
            CanonicalRequest { generation, ..first.clone() },
            CanonicalRequest { mode: Mode::Sandbox, ..first.clone() },
            CanonicalRequest { check: "said-verification", ..first.clone() },
            CanonicalRequest { campaign: &longer, ..first.clone() },
        ];
        for other in others {
            prop_assert_ne!(IdempotencyKey::of(&first, None), IdempotencyKey::of(&other, None));
        }
        let keys = [&secrets.0, &secrets.1].map(|secret| {
            IdempotencyKey::of(&first, Some(&KeySecret::new(secret.as_str().into())))
        });
        prop_assert_eq!(secrets.0 == secrets.1, keys[0] == keys[1]);
    }

    #[test]
    fn a_row_has_one_body_whatever_the_order_of_its_columns(
        first in text("[A-Za-zéöñ]{1,9}"), last in text("[A-Za-z'\"\\\\株 -]{0,9}[a-z]"), other in text("\\PC{0,9}"),
    ) {
        let here = asked(["first", "last", "other"], [&first, &last, &other]);
        prop_assert_eq!(&here, &asked(["other", "last", "first"], [&other, &last, &first]));
        prop_assert_eq!(&here, &asked(["first", "last", "other"], [&first, &last, "nobody asks"]));
        let body: Value = serde_json::from_slice(&here.1).unwrap();
        prop_assert_eq!(&body["mode"], "production");
        prop_assert!(body["name"].as_str().unwrap().starts_with(&first));
    }
}
