//! What templates guarantee, case by case: a missing value never becomes text.

use super::*;
use crate::model::{Position, row::Values};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};

fn position() -> Position {
    Position { source: "test".into(), row_number: 1, line: 2, byte_offset: 0 }
}

fn flat(columns: &[(&str, &str)]) -> RowView {
    let header = Arc::new(columns.iter().map(|(name, _)| (*name).to_owned()).collect());
    let cells = columns.iter().map(|(_, cell)| *cell).collect();
    view(Values::Flat { header, cells })
}

fn nested(value: serde_json::Value) -> RowView {
    let serde_json::Value::Object(map) = value else { unreachable!("a test gives an object") };
    view(Values::Nested(map))
}

fn view(values: Values) -> RowView {
    let nulls = Nulls::new(vec![String::new(), "NULL".to_owned()], BTreeMap::new());
    RowView::new(&crate::model::Row { position: position(), values }, &Arc::new(nulls))
}

fn templates() -> Templates {
    let nationality = BTreeMap::from([("American".to_owned(), "us".to_owned())]);
    Templates::new(Tables(BTreeMap::from([("nationality".to_owned(), nationality)])))
}

fn render(source: &str, row: &RowView) -> Result<String, RenderFault> {
    templates().compile(source).unwrap_or_else(|error| panic!("{source}: {error}")).render(row)
}

fn sparse() -> RowView {
    nested(json!({
        "first": "Jo", "last": null, "blank": " ", "word": "NULL", "number": 7, "empty": [],
        "list": ["a", null], "texts": ["a", "b"], "names": [{"full": null}, {"other": "x"}],
        "deep": {"null": null, "map": {"x": 1}}, "format": "%s %s",
    }))
}

#[test]
fn a_missing_value_never_becomes_text() {
    let attempts = [
        "{{ last }}",
        "{{ blank }}",
        "{{ word }}",
        "{{ absent }}",
        "{{ row.last }}",
        "{{ row['last'] }}",
        "{{ row['absent'] }}",
        "{{ first ~ last }}",
        "{{ first ~ ' ' ~ absent }}",
        "{{ last ~ first }}",
        "{{ first + last }}",
        "{{ last + first }}",
        "{{ number + last }}",
        "{{ last * 2 }}",
        "{{ -last }}",
        "{{ last | upper }}",
        "{{ last | lower }}",
        "{{ last | trim }}",
        "{{ last | title }}",
        "{{ last | capitalize }}",
        "{{ last | string }}",
        "{{ last | reverse }}",
        "{{ last | digits }}",
        "{{ last | length }}",
        "{{ last | int }}",
        "{{ last | float }}",
        "{{ last | round }}",
        "{{ last | abs }}",
        "{{ last | list | length }}",
        "{{ last | split | join(' ') }}",
        "{{ last | lines | join }}",
        "{{ last | first }}",
        "{{ last | last }}",
        "{{ last | join(' ') }}",
        "{{ last | country }}",
        "{{ last | date('%Y') }}",
        "{{ last | table('nationality') }}",
        "{{ first | table('nationality') }}",
        "{{ last | replace('a', 'b') }}",
        "{{ first | replace('J', last) }}",
        "{{ first | replace(last, 'x') }}",
        "{{ last | unique | join }}",
        "{{ last | map('upper') | join }}",
        "{{ '%s' | format(last) }}",
        "{{ '%s' | format(absent) }}",
        "{{ format | format(first, last) }}",
        "{{ last | format }}",
        "{{ last.upper() }}",
        "{{ absent.upper() }}",
        "{{ last() }}",
        "{{ last[0] }}",
        "{{ last[:2] }}",
        "{{ last['x'] }}",
        "{{ last.a.b }}",
        "{{ deep.null }}",
        "{{ deep.absent }}",
        "{{ deep.absent.more }}",
        "{{ deep['null'] }}",
        "{{ row.deep.null }}",
        "{{ deep.map.y }}",
        "{{ list[1] }}",
        "{{ list[7] }}",
        "{{ list[-1] }}",
        "{{ list | last }}",
        "{{ list | join(' ') }}",
        "{{ list | map('upper') | join }}",
        "{{ [first, last] | join(' ') }}",
        "{{ empty | first }}",
        "{{ empty | last }}",
        "{{ '' | first }}",
        "{{ names | map(attribute='full') | first }}",
        "{{ names | map(attribute='full') | join(' ') }}",
        "{{ names[0].full }}",
        "{{ names[1].full }}",
        "{{ names | selectattr('full') | map(attribute='full') | first }}",
        "{{ texts[5] }}",
        "{% set x = last %}{{ x }}",
        "{% set x %}{{ last }}{% endset %}Jo",
        "{% set x = first ~ last %}Jo",
        "{% for x in list %}{{ x }}{% endfor %}",
        "{% for x in last %}{{ x }}{% endfor %}Jo",
        "{% for x in absent %}{{ x }}{% endfor %}Jo",
        "{% for n in names %}{{ n.full }}{% endfor %}",
        "{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}",
        "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(last) }}",
        "{% filter upper %}{{ last }}{% endfilter %}",
        "{% with x = last %}{{ x }}{% endwith %}",
        "{{ last if last is none else 'x' }}",
        "{{ last or absent }}",
        "{{ first and last }}",
        "{{ 1 if last == 'x' else 0 }}",
        "{{ 1 if last != 'x' else 0 }}",
        "{{ 1 if absent == 'x' else 0 }}",
        "{{ 1 if last < 5 else 0 }}",
        "{{ 1 if last in ['x'] else 0 }}",
        "{{ 1 if 'x' in last else 0 }}",
        "{% if last == 'x' %}1{% else %}0{% endif %}",
        "{{ 1 if last == absent else 0 }}",
        "{{ 1 if last is startingwith('x') else 0 }}",
        "{{ 1 if last is gt(5) else 0 }}",
        "{{ last == last }}",
        "{{ 1 if deep.null.x == 1 else 0 }}",
        "{% set ns = namespace() %}{{ ns.x }}",
        "{% set ns = namespace(x=last) %}{{ ns.x }}",
    ];
    for attempt in attempts {
        match render(attempt, &sparse()) {
            Err(RenderFault::Missing { .. }) => {}
            other => panic!("{attempt} gave {other:?}"),
        }
    }
}

#[test]
fn a_list_or_an_object_never_becomes_text_with_or_without_a_missing_value_in_it() {
    let attempts = [
        "{{ list ~ '' }}",
        "{{ [last] ~ '' }}",
        "{{ {'a': last} ~ '' }}",
        "{{ [first, absent] ~ '' }}",
        "{{ [empty | first] ~ '' }}",
        "{{ names ~ '' }}",
        "{{ row ~ '' }}",
        "{{ deep ~ '' }}",
        "{{ names | map(attribute='full') | list ~ '' }}",
        "{{ texts ~ '' }}",
        "{{ ['a'] ~ '' }}",
        "{{ 'x' ~ deep.map }}",
        "{{ texts }}",
        "{{ 1 if texts in 'abc' else 0 }}",
    ];
    for attempt in attempts {
        assert!(matches!(render(attempt, &sparse()), Err(RenderFault::Error { .. })), "{attempt}");
    }
}

#[test]
fn an_empty_cell_is_as_missing_as_a_null() {
    let row = flat(&[("first_name", "Jo"), ("Sur Name", " "), ("code", "NULL")]);
    for source in ["{{ first_name }} {{ row['Sur Name'] }}", "{{ first_name ~ code }}", "{{ row['sur name'] ~ '' }}"] {
        assert!(matches!(render(source, &row), Err(RenderFault::Missing { .. })), "{source}");
    }
    let fault = render("{{ row['sur name'] }}", &row).unwrap_err();
    assert_eq!(fault.to_string(), "column `Sur Name` has no value; set a value to use instead with `| default(…)`");
}

#[test]
fn a_default_or_an_explicit_choice_answers_for_a_missing_value() {
    let expectations = [
        ("{{ last | default('x') }}", "x"),
        ("{{ absent | d('x') }}", "x"),
        ("{{ deep.null | default('x') }}", "x"),
        ("{{ absent.more.still | default('x') }}", "x"),
        ("{{ last['a'] | default('x') }}", "x"),
        ("{{ empty | first | default('x') }}", "x"),
        ("{{ first | default('x') }}", "Jo"),
        ("{{ '' | default('x', true) }}", "x"),
        ("{{ first | table('nationality') | default('zz') }}", "zz"),
        ("{{ 'American' | table('nationality') }}", "us"),
        ("{{ (last | default('')) == 'x' }}", "false"),
        ("{{ last or 'x' }}", "x"),
        ("{{ 'x' if last is none else last }}", "x"),
        ("{{ 'x' if absent is undefined else absent }}", "x"),
        ("{% if last %}{{ last }}{% endif %}Jo", "Jo"),
        ("{% if not last %}x{% endif %}", "x"),
        ("{{ [first, last] | select | join(' ') }}", "Jo"),
        ("{{ [first, last] | reject('none') | join(' ') }}", "Jo"),
        ("{{ list | select('defined') | join }}", "a"),
        ("{{ names | selectattr('other') | map(attribute='other') | first }}", "x"),
        ("{{ names | map(attribute='full') | map('default', '?') | join }}", "??"),
        ("{{ number }}", "7"),
        ("{{ number + 1 }}", "8"),
        ("{{ texts | join(' ') }}", "a b"),
        ("{{ first == 'Jo' }}", "true"),
        ("{{ deep.map.x }}", "1"),
        ("{{ 1 if first == 'Jo' else 0 }}", "1"),
        ("{{ {'a': {'b': 1}}.a.b }}", "1"),
        ("{{ '%s-%s' | format(first, number) }}", "Jo-7"),
    ];
    for (source, text) in expectations {
        assert_eq!(render(source, &sparse()), Ok(text.to_owned()), "{source}");
    }
}

#[test]
fn only_text_numbers_and_booleans_are_printed() {
    for source in ["{{ texts }}", "{{ deep.map }}", "{{ row }}", "{{ texts | upper }}", "{{ deep.map | trim }}"] {
        let Err(RenderFault::Error { message }) = render(source, &sparse()) else { panic!("{source}") };
        assert!(message.contains("expected text or a number"), "{message}");
    }
}

#[test]
fn an_invalid_template_is_refused_before_any_row() {
    let refusals = [
        ("{{ a ~ none }}", "`none` would be printed"),
        ("{{ none }}", "`none`"),
        ("{{ a | default(None) }}", "`none`"),
        ("{{ a == none }}", "`is none`"),
        ("{{ [none] | join }}", "`none`"),
        ("{{ {'a': {'b': none}} }}", "`none`"),
        ("{{ a if b }}", "needs an `else`"),
        ("{{ a ~ (b if c) }}", "needs an `else`"),
        ("{% set x = a if b %}{{ x }}", "needs an `else`"),
        ("{{ a | uper }}", "did you mean `upper`"),
        ("{{ a | tojson }}", "no filter"),
        ("{{ a is defind }}", "did you mean `defined`"),
        ("{{ a | table('nationalty') }}", "did you mean `nationality`"),
        ("{% include 'x' %}", "cannot use other templates"),
        ("{% raw %}{{ a }}{% endraw %}", "cannot use other templates"),
        ("{{ a", "unexpected end"),
        ("{{ }}", "unexpected"),
    ];
    for (source, message) in refusals {
        let error = templates().compile(source).expect_err(source).to_string();
        assert!(error.contains(message), "{source}: {error}");
    }
    for source in
        ["{{ 'none' }}", "{{ a is none }}", "{{ a is not none }}", "{{ a.none }}", "none {# none #}", "{{ '}}' }}"]
    {
        templates().compile(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    }
    assert!(templates().condition("status == ").is_err());
    assert!(templates().condition("true) %}x{% if (true").is_err());
}

#[test]
fn every_listed_test_is_there() {
    let probe = |source: String| {
        let compiled = templates().compile(&source).unwrap_or_else(|error| panic!("{source}: {error}"));
        let message = format!("{:?}", compiled.render(&sparse()));
        assert!(!message.contains("unknown"), "{source}: {message}");
    };
    filters::TESTS.iter().for_each(|test| probe(format!("{{{{ 'x' is {test} }}}}")));
}

#[test]
fn filters_read_dates_digits_and_countries() {
    let row =
        flat(&[("dob", "12/11/1978"), ("id", " 8001 015009-087 "), ("land", "South Africa"), ("odd", "Ruritania")]);
    assert_eq!(render("{{ dob | date('%d/%m/%Y') }}", &row).unwrap(), "1978-11-12");
    let refused = templates().compile("{{ dob | date }}").unwrap_err().to_string();
    assert!(refused.starts_with("`date`: expected 1 argument in its brackets, found 0; write it as in"), "{refused}");
    assert!(refused.contains("date('%d/%m/%Y')"), "{refused}");
    assert_eq!(render("{{ id | digits }}", &row).unwrap(), "8001015009087");
    assert_eq!(render("{{ land | country }}", &row).unwrap(), "za");
    for source in ["{{ land | date('%d/%m/%Y') }}", "{{ odd | country }}", "{{ odd | int }}", "{{ odd + 1 }}"] {
        let Err(RenderFault::Error { message } | RenderFault::Country { message }) = render(source, &row) else {
            panic!("{source}")
        };
        assert!(!message.contains("Ruritania") && !message.contains("South"), "{message}");
    }
}

#[test]
fn an_arithmetic_error_does_not_repeat_the_numbers() {
    let fault = render("{{ (id | int) % 0 }}", &flat(&[("id", "8001015009087")])).unwrap_err();
    assert!(!format!("{fault:?}").contains("8001015009087"), "{fault:?}");
}

#[test]
fn a_template_says_which_columns_it_reads() {
    let source = r#"{% set x = a %}{{ x ~ b.c }} {{ row['First Name'] }}{{ row.d }}{{ row["\u007b\"\n"] }}"#;
    let template = templates().compile(source).unwrap();
    assert_eq!(
        template.columns().iter().map(String::as_str).collect::<Vec<_>>(),
        ["First Name", "a", "b", "d", "{\"\n"]
    );
}

#[test]
fn a_wrong_name_in_a_subscript_is_a_mistake_of_the_configuration() {
    let row = flat(&[("First Name", "Jo")]);
    assert_eq!(render("{{ row['First Name'] }}{{ row['first name '] }}", &row).unwrap(), "JoJo");
    for source in ["{{ row['Frist Name'] }}", "{% set n = 'Frist Name' %}{{ row[n] | default('x') }}"] {
        let fault = render(source, &row).unwrap_err();
        let hint = "; did you mean `First Name`?".to_owned();
        assert_eq!(fault, RenderFault::UnknownColumn { name: "Frist Name".to_owned(), hint }, "{source}");
    }
}

#[test]
fn fuel_bounds_a_template() {
    let row = flat(&[("s", &"x".repeat(1000))]);
    let fault = render("{% for a in s %}{% for b in s %}{{ a }}{% endfor %}{% endfor %}", &row).unwrap_err();
    assert!(fault.to_string().contains("more than 50000 steps"), "{fault}");
}

#[test]
fn in_a_condition_a_missing_value_matches_nothing_and_has_no_order() {
    let holds = |source: &str| templates().condition(source).unwrap().holds(&sparse());
    for (source, expected) in [
        ("first == 'Jo'", true),
        ("last == 'x'", false),
        ("last in ['x']", false),
        ("last != 'x'", true),
        ("last", false),
        ("not last", true),
        ("absent.deep == 1", false),
        ("number > 5", true),
        ("first == 'Jo' and number < 5", false),
        ("last is none", true),
        ("(last | default('x')) < 'y'", true),
    ] {
        assert_eq!(holds(source), Ok(expected), "{source}");
    }
    for source in ["last < 'x'", "last > 'x'", "5 >= last", "last | upper == 'X'", "last ~ 'x' == 'x'", "absent.a < 1"]
    {
        assert!(matches!(holds(source), Err(RenderFault::Missing { .. })), "{source}");
    }
}

#[test]
fn an_answer_rule_accepts_missing_values_and_never_guesses_an_order() {
    let payload = json!({"match": null, "totalHits": 0, "status": "ok", "list": [{"type": "pep"}, {"type": null}, {}]});
    let holds = |source: &str| templates().answer_rule(source).unwrap().holds(&payload, &json!({"id": 1}));
    for (source, expected) in [
        ("payload.a.b.c is defined", false),
        ("payload.a.b.c == 1", false),
        ("payload.a['b'][0].c == 1", false),
        ("payload.match is defined", true),
        ("payload.match is none", true),
        ("payload.match == []", false),
        ("payload.status == 'ok' and answer.id == 1", true),
        ("payload.totalHits is number", true),
        ("(payload.match or payload.matches or []) | length > 0 or (payload.totalHits or 0) | int > 0", false),
        ("payload.list | selectattr('type', 'in', ['pep']) | list | length > 0", true),
        ("payload.score is number and payload.score > 5", false),
        ("(payload.a.b.list or []) | length > 0", false),
        ("payload.list.match == []", false),
    ] {
        assert_eq!(holds(source), Ok(expected), "{source}");
    }
    for source in [
        "payload.score < 5",
        "payload.a.b.score < 5",
        "payload.status.code < 5",
        "payload.score > 5",
        "payload.match < 5",
        "payload.match | int == 0",
        "payload.x | length == 0",
    ] {
        assert!(holds(source).is_err(), "{source}");
    }
}

#[test]
fn a_row_is_not_printed_by_debug() {
    assert_eq!(format!("{:?}", flat(&[("name", "Jo")])), "[redacted]");
}
