//! Internal guarantees of mapping: exact bytes, and no personal data in `Debug`.

use super::*;
use crate::model::{Position, Row, row::Values};
use serde_json::json;

fn mapping(when: Option<&str>, fields: &[(&str, FieldSource)]) -> Mapping {
    let check_use = CheckUse {
        check: "aml-screening".into(),
        when: when.map(str::to_owned),
        fields: fields.iter().map(|(field, source)| ((*field).to_owned(), source.clone())).collect(),
        ..CheckUse::default()
    };
    Mapping::new(&Catalogue::built_in(), &[check_use], MappingOptions::new("t", Mode::Sandbox)).unwrap()
}

fn row(values: Values) -> Row {
    Row { position: Position { source: "t".into(), row_number: 1, line: 2, byte_offset: 0 }, values }
}

fn flat(header: &[&str], cells: &[&str]) -> Row {
    let header = Arc::new(header.iter().map(|name| (*name).to_owned()).collect());
    row(Values::Flat { header, cells: cells.iter().copied().collect() })
}

#[test]
fn a_body_has_the_mode_the_fixed_fields_and_the_fields_in_their_order() {
    let header = ["Country Code", "Customer Name", "entity"].map(str::to_owned);
    let bound = mapping(None, &[]).bind(&header).unwrap();
    let row = flat(&["Country Code", "Customer Name", "entity"], &["ZA", " Thandi  Nkosi ", "0"]);
    let [Mapped::Ask(ask)] = &bound.map(&row).unwrap()[..] else { panic!("an ask") };
    let body = r#"{"mode":"sandbox","name":"Thandi Nkosi","entity":0,"country":"za","dataset":"all"}"#;
    assert_eq!(String::from_utf8_lossy(&ask.body), body);
    assert_eq!(json!(ask.fields), json!({"name": "Thandi Nkosi", "entity": 0, "country": "za"}), "no default");
}

#[test]
fn debug_of_an_ask_says_nothing_about_a_person() {
    let bound = mapping(None, &[("entity", FieldSource::Constant(json!(0)))]);
    let bound = bound.bind(&["name".to_owned(), "country".to_owned()]).unwrap();
    let mapped = bound.map(&flat(&["name", "country"], &["Thandi Nkosi", "za"])).unwrap();
    assert_eq!(format!("{mapped:?}"), "[Ask(AskRequest { check_index: 0, request: [redacted] })]");
}

#[test]
fn feeds_say_where_each_field_comes_from() {
    let fields = [("entity", FieldSource::Constant(json!(0))), ("name", FieldSource::from("{{ a }} {{ b }}"))];
    let bound = mapping(None, &fields).bind(&["a", "b", "ISO2"].map(str::to_owned)).unwrap();
    let feeds: Vec<_> = bound.feeds().into_iter().map(|feed| (feed.field, feed.from, feed.by_name)).collect();
    let feed = |field: &str, from: &str, by_name| (field.to_owned(), from.to_owned(), by_name);
    assert_eq!(
        feeds,
        [
            feed("name", "template", false),
            feed("entity", "constant 0", false),
            feed("country", "column `ISO2`", true),
            feed("dataset", "default \"all\"", false),
        ]
    );
}

#[test]
fn a_row_under_another_header_is_read_by_name() {
    let fields = [("entity", FieldSource::Constant(json!(0))), ("country", FieldSource::Constant(json!("za")))];
    let bound = mapping(None, &fields).bind(&["name", "branch"].map(str::to_owned)).unwrap();
    let mapped = bound.map(&flat(&["branch", "name"], &["Durban", "Thandi Nkosi"])).unwrap();
    let [Mapped::Ask(ask)] = &mapped[..] else { panic!("an ask") };
    assert_eq!(ask.fields["name"], json!("Thandi Nkosi"));
}

#[test]
fn an_empty_constant_is_a_mistake() {
    let fields = BTreeMap::from([("name".to_owned(), FieldSource::Constant(json!(" ")))]);
    let check_use = CheckUse { check: "aml-screening".into(), fields, ..CheckUse::default() };
    let options = MappingOptions::new("t", Mode::Sandbox);
    let message = Mapping::new(&Catalogue::built_in(), &[check_use], options).unwrap_err().to_string();
    assert_eq!(message, "check `aml-screening`, the constant of field `name`: expected a value, found none");
}
