//! What a person cannot see in a value: it is not sent, not part of a key, counted, and named where a value is refused.

use super::{Draft, SAID, code, fields};
use rescreen::{
    catalogue::Catalogue,
    mapping::Mapped,
    model::{FailureCode, Note},
};
use serde_json::json;

fn notes(mapped: &Mapped) -> &[Note] {
    match mapped {
        Mapped::Ask(ask) => &ask.notes,
        other => panic!("an ask, not {:?}", fields(other)),
    }
}

#[test]
fn a_template_reads_cells_as_a_person_sees_them() {
    let header = ["first", "last", "status"];
    let draft = Draft::plain().field("name", "{{ first }} {{ last }}").when("status == 'active'");
    let mapped = &draft.maps(&header, &["=\"Ines\"", "\u{feff}Palomar\u{200b}", "active\u{200b}"])[0];
    assert_eq!(fields(mapped)["name"], json!("Ines Palomar"));
    assert_eq!(notes(mapped), [Note::InvisibleDropped, Note::FormulaUnwrapped]);
    let mapped = &draft.maps(&header, &["Ines", "Palomar", "active\u{200b}"])[0];
    assert_eq!(notes(mapped), [], "the condition is not a value that is sent");
}

#[test]
fn a_value_without_anything_to_see_is_missing() {
    for text in ["\u{200b}", "\u{feff} ", "=\"\"", "=\" \"", "\u{200b}NULL", "=\"NULL\""] {
        for source in ["name", "{{ name }}"] {
            let mapped = &Draft::plain().field("name", source).null(&["", "NULL"]).maps(&["name"], &[text])[0];
            assert_eq!(code(mapped), FailureCode::MissingValue, "{text:?} {source}");
        }
    }
}

#[test]
fn a_country_and_a_word_are_read_without_what_cannot_be_seen() {
    let draft = Draft::plain().field("country", "country").field("entity", "entity");
    let header = ["name", "country", "entity"];
    let mapped = &draft.maps(&header, &["A", "=\"South Africa\"", "company\u{feff}"])[0];
    assert_eq!(fields(mapped), json!({"name": "A", "country": "za", "entity": 1}));
    assert_eq!(notes(mapped), [Note::InvisibleDropped, Note::FormulaUnwrapped, Note::CountryTranslated]);
    let draft = Draft::plain().field("country", "{{ country | country }}");
    assert_eq!(fields(&draft.maps(&["name", "country"], &["A", "ZA\u{200b}"])[0])["country"], json!("za"));
}

#[test]
fn a_refusal_names_the_hidden_character_or_the_formula_and_never_the_value() {
    let draft = Draft::of(SAID).field("idNumber", "id");
    for (text, says) in [
        ("\u{200b}80010150", "U+200B at character 1"),
        ("80010150\u{7}", "U+0007 at character 9"),
        ("=\"80010150\"", "begins with `=`"),
        ("=A1&\"80010150\"", "begins with `=`"),
    ] {
        let message = fields(&draft.maps(&["id"], &[text])[0])["message"].as_str().unwrap().to_owned();
        assert!(message.contains(says) && !message.contains("80010150"), "{message}");
    }
    let catalogue = Catalogue::built_in();
    let entity = catalogue.get("aml-screening").unwrap().fields.iter().find(|field| field.name == "entity").unwrap();
    assert!(entity.accept("\u{2060}7").unwrap_err().message.ends_with("U+2060 at character 1"));
}
