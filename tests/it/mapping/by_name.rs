//! Countries that are not written as their code, fields that are only sent if the user maps them, and columns that match
//! the same field.

use super::{AML, Draft, SAID, code, fields};
use rescreen::{
    mapping::Mapped,
    model::{FailureCode, Note},
};
use serde_json::json;

#[test]
fn an_optional_field_is_sent_if_it_is_mapped_and_its_cell_is_not_empty() {
    let draft = Draft::plain().field("dataset", "list");
    assert_eq!(fields(&draft.maps(&["name", "list"], &["A", "pep"])[0])["dataset"], json!("pep"));
    let mapped = draft.maps(&["name", "list"], &["A", ""]);
    assert_eq!(fields(&mapped[0]), json!({"name": "A", "entity": 0, "country": "za"}));
}

#[test]
fn a_country_is_translated_before_it_is_sent_and_counted() {
    let draft = Draft::of(AML).constant("entity", json!(0));
    for (cell, sent) in [("UK", "gb"), ("UAE", "ae"), ("DRC", "cd"), ("RSA", "za"), ("zaf", "za"), ("ZA", "za")] {
        let mapped = draft.maps(&["name", "country"], &["A", cell]);
        assert_eq!(fields(&mapped[0])["country"], json!(sent), "{cell}");
        let Mapped::Ask(ask) = &mapped[0] else { panic!("{cell}") };
        let noted = if cell == "ZA" { vec![] } else { vec![Note::CountryTranslated] };
        assert_eq!(ask.notes, noted, "{cell}");
    }
    assert_eq!(code(&draft.maps(&["name", "country"], &["A", "EU"])[0]), FailureCode::UnknownCountry);
}

#[test]
fn a_path_that_is_named_like_a_column_of_json_is_answered_with_a_template() {
    let draft = Draft::plain().field("name", "names[0].full");
    let bind = |keys: &[&str]| {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        draft.mapping().unwrap().bind_nested(&keys).map(drop).map_err(|error| error.to_string())
    };
    let message = bind(&["id", "names"]).unwrap_err();
    assert!(message.contains("to read a part of `names`, write `{{ names[0].full }}`"), "{message}");
    assert!(message.contains(r#"write `{{ row["names[0].full"] }}`"#), "{message}");
    bind(&["id", "names[0].full"]).unwrap();
    for path in ["FEATURES[].ADDR_COUNTRY", "FEATURES[0].in.x", "FEATURES[].a.b", "FEATURES.a b", "FEATURES[}}"] {
        let draft = Draft::plain().field("name", path);
        let keys = ["FEATURES".to_owned()];
        let message = draft.mapping().unwrap().bind_nested(&keys).map(drop).unwrap_err().to_string();
        let hints: Vec<&str> = message.split("write `").skip(1).map(|rest| rest.split('`').next().unwrap()).collect();
        assert!(!hints.is_empty(), "{message}");
        for hint in hints {
            Draft::plain().field("name", hint).mapping().unwrap_or_else(|error| panic!("{message}: {error}"));
        }
        let listed = "write `{{ FEATURES | map(attribute='ADDR_COUNTRY') | select | first }}`";
        assert!(message.contains(listed) || !path.contains("ADDR"), "{message}");
    }
    bind(&["id"]).expect("the first row may lack a key");
}

#[test]
fn an_ambiguous_match_is_not_resolved() {
    let message = Draft::plain().clone().refusal(&["full name", "customer_name"]);
    assert!(message.contains("there is no column `name`"), "{message}");
    let draft = Draft::of(AML).constant("entity", json!(0)).constant("country", json!("za"));
    assert_eq!(
        draft.refusal(&["full name", "customer_name"]),
        "check `aml-screening`: columns `full name` and `customer_name` both match field `name`; choose one with `--map 'name=full name'`"
    );
    let message = draft.refusal(&["name", "full name"]);
    assert!(message.contains("columns `name` and `full name` both match field `name`"), "{message}");
    let message = draft.and(SAID).refusal(&["full_name", "customer_name"]);
    assert!(message.ends_with("choose one with `--map aml-screening.name=full_name`"), "{message}");
}
