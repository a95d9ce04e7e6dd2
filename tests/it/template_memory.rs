//! The promise: evaluating any template for a row takes a bounded amount of memory, and ends with a text or with a
//! failure of the row.

use crate::support::{allocated::peak_of, rng::Rng};
use rescreen::{
    model::{Position, Row, row::Values},
    template::{RowView, Tables, Templates},
};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};

/// The longest text that a template makes.
const TEXT_BYTES_MAX: usize = 2 << 20;
/// The most that an evaluation has allocated at one time: 8 MiB of text and lists, and the memory for growing and
/// copying them.
const PEAK_BYTES_MAX: usize = 24 << 20;

const TEXTS: [&str; 8] = ["big", "a", "'xy'", "''", "x", "y", "b.c", "'%1000s%.1000f'"];
const LISTS: [&str; 6] = ["b.list", "[a, big]", "[x, y]", "(big | split(''))", "[[big], x]", "z"];
const NUMBERS: [&str; 6] = ["0", "3", "-1", "999", "1000000000", "9223372036854775807"];
const FILTERS: [&str; 14] = [
    "upper",
    "lower",
    "title",
    "capitalize",
    "trim",
    "reverse",
    "string",
    "digits",
    "replace('x', big)",
    "replace('', a)",
    "default(big)",
    "format(big, 1.5, a)",
    "split('') | join(a)",
    "list | join",
];

const METHODS: [&str; 14] = [
    "upper()",
    "title()",
    "strip('xd ')",
    "split('x')[-1]",
    "rsplit()[0]",
    "splitlines() | join(a)",
    "replace('x', big)",
    "replace('', a, 999999)",
    "join(big)",
    "join([big, a])",
    "zfill(999)",
    "removeprefix('x')",
    "find('x')",
    "startswith(big)",
];

/// An expression that gives a text, a list or an error.
fn expression(rng: &mut Rng, depth: usize) -> String {
    if depth == 0 {
        return rng.pick(&TEXTS).to_owned();
    }
    let one = expression(rng, depth - 1);
    match rng.below(14) {
        0 => format!("({one} ~ {})", expression(rng, depth - 1)),
        1 => format!("({one} ~ {} ~ x)", expression(rng, depth - 1)),
        2 => format!("({one} + {})", expression(rng, depth - 1)),
        3 => format!("({one} * {})", rng.pick(&NUMBERS)),
        4 => format!("({} * {} * {one})", rng.pick(&NUMBERS), rng.pick(&NUMBERS)),
        5 => format!("({one} | {})", rng.pick(&FILTERS)),
        6 => format!("({one} | {} | {})", rng.pick(&FILTERS), rng.pick(&FILTERS)),
        7 => format!("{one}[{}:{}:{}]", rng.pick(&NUMBERS), rng.pick(&NUMBERS), rng.pick(&["1", "-1", "2"])),
        8 => format!("(({} * {}) | join({one}))", rng.pick(&LISTS), rng.pick(&NUMBERS)),
        9 => format!("(({} + {}) | map('upper') | join)", rng.pick(&LISTS), rng.pick(&LISTS)),
        10 | 11 => format!("(({one}).{})", rng.pick(&METHODS)),
        12 => format!("({one} if {one} in {} else m({one}))", rng.pick(&LISTS)),
        _ => format!("ns.t[{}:]", rng.pick(&NUMBERS)),
    }
}

fn statement(rng: &mut Rng, depth: usize) -> String {
    let value = expression(rng, 2);
    let inside = |rng: &mut Rng| if depth == 0 { format!("{{{{ {value} }}}}") } else { statement(rng, depth - 1) };
    match rng.below(9) {
        0 => format!("{{% set x = {value} %}}"),
        1 => format!("{{% set y = x ~ {value} %}}{{% set x = y ~ y %}}"),
        2 => format!("{{% set ns.t = ns.t ~ {value} %}}"),
        3 => format!("{{% set z = z + [{value}] %}}{{% set ns.l = ns.l * 2 + [z] %}}"),
        4 => format!("{{% for c in {value} %}}{}{{% endfor %}}", inside(rng)),
        5 => format!("{{% for c in {} * 999 %}}{}{{% endfor %}}", rng.pick(&LISTS), inside(rng)),
        6 => format!("{{% set x %}}{}{{% endset %}}", inside(rng)),
        7 => format!("{{% filter {} %}}{}{{% endfilter %}}", rng.pick(&FILTERS), inside(rng)),
        _ => inside(rng) + &"text ".repeat(rng.below(200)),
    }
}

fn random(rng: &mut Rng) -> String {
    let begin = "{% set ns = namespace(t='t', l=[]) %}{% set x = a %}{% set y = big %}{% set z = [a] %}\
                 {% macro m(t) %}{{ t ~ t }}{% if t | length < 99 %}{{ m(t ~ t) }}{% endif %}{% endmacro %}";
    (0..=rng.below(8)).fold(begin.to_owned(), |text, _| text + &statement(rng, 2)) + "{{ x }}"
}

fn row() -> RowView {
    let mut values =
        json!({"big": "x".repeat(1 << 20), "a": "abc", "b": {"c": "d".repeat(999), "list": vec!["e"; 9_999]}});
    values["named"] = json!({"n".repeat(1 << 20): 1});
    let values = Values::Nested(values.as_object().unwrap().clone());
    let position = Position { source: "test".into(), row_number: 1, line: 2, byte_offset: 0 };
    RowView::new(&Row { position, values }, &Arc::default())
}

/// Evaluates a template. Returns the length of its text, if any.
fn evaluated(source: &str, row: &RowView) -> Option<usize> {
    let templates = Templates::new(Tables(BTreeMap::new()));
    let template = templates.compile(source).unwrap_or_else(|error| panic!("{source:.2000}: {error}"));
    let (text, peak) = peak_of(|| template.render(row));
    assert!(peak <= PEAK_BYTES_MAX, "{peak} bytes: {source:.2000}");
    let length = text.ok().map(|text| text.len());
    assert!(length.is_none_or(|length| length <= TEXT_BYTES_MAX), "{source:.2000}");
    length
}

#[test]
fn no_template_takes_more_than_24_mib() {
    let row = row();
    let mut rng = Rng::new(7);
    let texts = (0..400).filter_map(|_| evaluated(&random(&mut rng), &row)).count();
    assert!((20..=380).contains(&texts), "some give a text, and some are too greedy: {texts} of 400");
}

#[test]
fn the_most_expensive_templates_take_no_more_than_24_mib() {
    let row = row();
    let text = "text".repeat(15_000);
    for source in [
        "{% set a = a ~ a %}".repeat(29) + "{{ a }}",
        "{{ big | replace('x', big) }}".to_owned(),
        "{{ '%1000000000d' | format(1) }}".to_owned(),
        "{{ (big | list) | length }}{{ (big[1:] | split('')) | length }}".to_owned(),
        format!("{{{{ [{}] | length }}}}", vec!["big"; 100].join(",")),
        format!("{{% for c in big %}}{text}{{% endfor %}}"),
        format!("{{% set t %}}{{% for c in big %}}{text}{{% endfor %}}{{% endset %}}x"),
        format!("{{% set t %}}{{% for c in big %}}{:200}.{:200}{{% endfor %}}{{% endset %}}x", "", ""),
        format!("{{% macro m() %}}{text}{{% endmacro %}}{}", "{% set t = m() %}".repeat(200)),
        "{% for a in big %}{% for b in big %}{% for c in big %}{% endfor %}{% endfor %}{% endfor %}".to_owned(),
        "{{ 1 if big in [big, big] and big[1:] not in big else 2 }}".to_owned(),
        "{{ row ~ '' }}".to_owned(),
        format!("{{{{ [{}] | length }}}}", vec!["b[big]"; 100].join(",")),
        format!("{{{{ [{}] | length }}}}", vec!["(row | list)"; 100].join(",")),
        format!("{{{{ [{}] | length }}}}", vec!["(named | first)"; 50].join(",")),
        "{% set t %}{{ big }}{{ big }}{{ big }}{{ big }}{% endset %}{{ t | upper | length }}".to_owned(),
        "{{ [row, row] in big }}".to_owned(),
        "{{ big.replace('x', big) }}{{ big.join(big) }}".to_owned(),
        "{{ (big.split('x') | length) ~ (big.rsplit('x') | length) }}".to_owned(),
        format!("{{{{ [{}] | length }}}}", vec!["row.items()"; 100].join(",")),
    ] {
        evaluated(&source, &row);
    }
}
