//! What the methods and the errors of calls guarantee: they behave as in Python, a missing value never becomes text, no
//! method makes unbounded text, and no error repeats a value.

use super::*;
use crate::model::{Position, Row, row::Values};
use serde_json::json;
use std::sync::Arc;

fn row() -> RowView {
    let value = json!({
        "full": "Dr  Anele van Wyk, MD ", "code": "0042-za", "number": 1250, "last": null, "list": ["b", null, "a"],
        "texts": ["a", "b"], "object": {"a": "x", "b": null, "title": "T"}, "big": "x".repeat(1 << 20), "word": "secret",
    });
    let serde_json::Value::Object(map) = value else { unreachable!("it is an object") };
    let position = Position { source: "test".into(), row_number: 1, line: 2, byte_offset: 0 };
    RowView::new(&Row { position, values: Values::Nested(map) }, &Arc::default())
}

fn render(source: &str) -> Result<String, RenderFault> {
    Templates::default().compile(source).unwrap_or_else(|error| panic!("{source}: {error}")).render(&row())
}

fn failure(source: &str) -> String {
    match render(source) {
        Err(RenderFault::Error { message } | RenderFault::Country { message }) => message,
        other => panic!("{source}: {:.200}", format!("{other:?}")),
    }
}

#[test]
fn an_end_of_something_empty_is_said_to_be_missing_in_words() {
    let said = |source| render(source).unwrap_err().to_string();
    assert!(said("{{ ''.split() | first }}").starts_with("the list is empty and has no first item; set a value"));
    assert!(said("{{ '' | last }}").starts_with("the text is empty and has no last character; set a value"));
}

#[test]
fn the_methods_that_people_know_from_python_work() {
    for (source, text) in [
        ("{{ full.split(', ')[-1] }}", "MD"),
        ("{{ full.split()[0] ~ full.split() | length }}", "Dr5"),
        ("{{ full.split(' ', 1)[1] }}", " Anele van Wyk, MD"),
        ("{{ '  a  b  c '.split() | join('|') }}", "a|b|c"),
        ("{{ 'a,b,c'.rsplit(',', 1) | join('|') }}", "a,b|c"),
        ("{{ 'a b  c'.rsplit() | join('|') }}", "a|b|c"),
        ("{{ 'a,b,c'.split(',', -1) | join('|') }}", "a|b|c"),
        ("{{ 'a,b,c'.split(',', 0) | join('|') }}", "a,b,c"),
        ("{{ ' x '.strip() ~ '|' ~ ' x '.lstrip() ~ '|' ~ ' x '.rstrip() }}", "x|x | x"),
        ("{{ code.lstrip('0') ~ code.strip('0az') ~ code.rstrip('az-') }}", "42-za42-0042"),
        ("{{ code.upper() ~ code.upper().lower() }}", "0042-ZA0042-za"),
        ("{{ 'aXa'.replace('a', 'b') ~ 'aXa'.replace('a', 'b', 1) }}", "bXbbXa"),
        ("{{ 'ab'.replace('', '-') }}", "-a-b-"),
        ("{{ code.startswith('00') and code.endswith('za') and not code.startswith('1') }}", "true"),
        ("{{ code.startswith(['1', '00']) ~ code.endswith(('x', 'y')) }}", "truefalse"),
        ("{{ 'o neill'.title() ~ 'jOE'.capitalize() }}", "O NeillJoe"),
        ("{{ ', '.join(texts) ~ '-'.join('abc') }}", "a, ba-b-c"),
        ("{{ '42'.zfill(5) ~ '-42'.zfill(5) ~ '123456'.zfill(5) }}", "00042-0042123456"),
        ("{{ 'héé'.find('é') ~ 'héé'.rfind('é') ~ 'h'.find('x') ~ 'aaa'.count('a') }}", "12-13"),
        ("{{ '12'.isdigit() ~ ''.isdigit() ~ 'a1'.isalnum() ~ 'a1'.isalpha() }}", "truefalsetruefalse"),
        ("{{ 'A1'.isupper() ~ '1'.isupper() ~ 'a1'.islower() ~ ' '.isspace() }}", "truefalsetruetrue"),
        ("{{ 'a\\nb'.splitlines() | length }}", "2"),
        ("{{ 'Mr X'.removeprefix('Mr ') ~ 'X Ltd'.removesuffix(' Ltd') ~ 'X'.removesuffix('Y') }}", "XXX"),
        ("{{ number.zfill(6) }}", "001250"),
        ("{{ object.get('a') ~ object.get('b', '-') ~ object.get('c', '-') ~ object.title }}", "x--T"),
        ("{{ object.keys() | join }}{{ {'a': 1}.items()[0][1] }}{{ {'a': 1}.values() | join }}", "abtitle11"),
        ("{{ row.get('code') }}", "0042-za"),
    ] {
        assert_eq!(render(source).as_deref(), Ok(text), "{source}");
    }
}

#[test]
fn a_missing_value_never_becomes_text_through_a_method() {
    for source in [
        "{{ last.strip() }}",
        "{{ absent.split(',')[0] }}",
        "{{ ', '.join(list) }}",
        "{{ ', '.join(last) }}",
        "{{ code.replace('0', last) }}",
        "{{ code.replace(last, '0') }}",
        "{{ code.startswith(last) }}",
        "{{ code.startswith(list) }}",
        "{{ code.split(last) | join }}",
        "{{ code.strip(last) }}",
        "{{ code.count(absent) }}",
        "{{ code.find(last) }}",
        "{{ code.zfill(last) }}",
        "{{ object.get('b') }}",
        "{{ object.get('absent') }}",
        "{{ object.get(last, 'x') }}",
        "{{ object.values() | join }}",
        "{{ object.items()[1][1] }}",
        "{{ {'a': 1}.get('b') }}",
        "{{ row.get('last') }}",
        "{{ 1 if code.startswith(last) else 0 }}",
        "{{ 1 if last.startswith('x') else 0 }}",
    ] {
        assert!(matches!(render(source), Err(RenderFault::Missing { .. })), "{source}: {:?}", render(source));
    }
}

#[test]
fn no_method_makes_unbounded_text() {
    for source in [
        "{{ big.replace('x', big) | length }}",
        "{{ big.replace('', big, 9999999) | length }}",
        "{{ big.join(big.split('x')) }}",
        "{{ big.split('x') | length }}",
        "{{ big.rsplit('x') | length }}",
        "{{ ('x ' * 500000).split() | length }}",
        "{{ ('x ' * 500000).rsplit() | length }}",
        "{{ code.zfill(1000000000) }}",
        "{{ code.strip(big) }}",
        "{{ ('\n' * 1000000).splitlines() | length }}",
        "{% for i in 'x' * 100 %}{% if big.find('y') == 1 or big.count('y') == 1 %}1{% endif %}{% endfor %}",
        "{% for i in 'x' * 100 %}{% if big.isdigit() or big.endswith('y') or big.lower() == 'y' %}1{% endif %}{% endfor %}",
    ] {
        let message = failure(source);
        assert!(message.contains("expected a") && message.contains(", found "), "{source}: {message}");
    }
}

#[test]
fn an_error_of_a_row_names_the_function_and_the_kind_of_the_value_and_not_the_value() {
    for (source, named) in [
        ("{{ word | int }}", "`int` cannot be applied to this text"),
        ("{{ word | float }}", "`float` cannot be applied to this text"),
        ("{{ word | round }}", "`round` cannot be applied to this text"),
        ("{{ word | abs }}", "`abs` cannot be applied to this text"),
        ("{{ texts | upper }}", "`upper`: expected text or a number from a template, found a list"),
        ("{{ texts.upper() }}", "`upper`: expected text or a number from a template, found a list"),
        ("{{ object.strip() }}", "`strip`: expected text or a number from a template, found an object"),
        ("{{ word.get('x') }}", "`get`: expected an object, found another value"),
        ("{{ word.split('') | join }}", "`split`: expected a separator that is not empty"),
        ("{{ word.zfill('x') }}", "`zfill`: expected a whole number of times"),
        ("{{ word | replace(texts, 'x') }}", "`replace`: expected text or a number from a template, found a list"),
        ("{{ [word] | map('int') | join }}", "`int` cannot be applied to this text"),
        ("{{ number | join }}", "`join` cannot be applied to this number"),
        ("{{ word | date('%d/%m/%Y') }}", "`date`: expected a date in the format"),
        ("{{ word | country }}", "`country`: expected the English name"),
    ] {
        let message = failure(source);
        assert!(message.starts_with(named) && !message.contains("secret"), "{source}: {message}");
    }
}
