//! What `bounded` and `spent` guarantee: no template exceeds its limits, and none ends the program.

use super::*;
use crate::model::{Position, Row, row::Values};
use spent::{SOURCE_BYTES_MAX, TEXT_BYTES_MAX};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

fn row(columns: &[(&str, &str)]) -> RowView {
    let header = Arc::new(columns.iter().map(|(name, _)| (*name).to_owned()).collect());
    let values = Values::Flat { header, cells: columns.iter().map(|(_, cell)| *cell).collect() };
    let position = Position { source: "test".into(), row_number: 1, line: 2, byte_offset: 0 };
    RowView::new(&Row { position, values }, &Arc::default())
}

fn compiled(source: &str) -> Result<Template, TemplateError> {
    Templates::default().compile(source)
}

fn render(source: &str, row: &RowView) -> Result<String, RenderFault> {
    compiled(source).unwrap_or_else(|error| panic!("{source}: {error}")).render(row)
}

/// The failure of a row.
fn failure(source: &str, row: &RowView) -> String {
    match render(source, row) {
        Err(RenderFault::Error { message }) => message,
        other => panic!("{source}: {:.200}", format!("{other:?}")),
    }
}

#[test]
fn operators_slices_and_literals_give_the_usual_results() {
    let row = row(&[("a", "abc"), ("n", "12"), ("empty", "")]);
    for (source, text) in [
        ("{{ a ~ 1 ~ '-' ~ 2.5 }}", "abc1-2.5"),
        ("{{ a ~ 2 * 3 ~ 1 + 1 }}", ""),
        ("{{ 1 + 2 * 3 - 4 // 3 }}", "6"),
        ("{{ 7 - 2 + 1 - 3 }}", "3"),
        ("{{ 2 * 3 / 4 * 2 }}", "3.0"),
        ("{{ 2 * 2 ** 3 % 5 }}", "1"),
        ("{{ -2 ** 2 * -1 }}", "-4"),
        ("{{ 1e-5 * 1e5 + 1 }}", "2.0"),
        ("{{ 0x1f + 1_000 + true }}", "1032"),
        ("{{ 'ab' * 3 ~ 2 * 'c' }}", "abababcc"),
        ("{{ '0' * (5 - n | length) ~ n }}", "00012"),
        ("{{ 'a' + 'b' + 'c' }}", "abc"),
        ("{{ ([1] + [2] * 2 + [3]) | join(',') }}", "1,2,2,3"),
        ("{{ a[1:] ~ a[:1] ~ a[::-1] ~ a[-2:] ~ a[0:9:2] ~ a[2:0:-1] }}", "bcacbabcaccba"),
        ("{{ ('' ~ '')[::-1] ~ ([][::-1] | join) ~ 'x' }}", "x"),
        ("{{ a[1:][0] ~ [1, 2, 3][1:] | join }}", "b23"),
        ("{{ {'x': [1, {'y': 'z'}]}.x[1].y }}", "z"),
        ("{{ 'yes' if 'b' in a and 'x' not in a and not a in ['z'] else 'no' }}", "yes"),
        ("{{ 'yes' if a is in ['abc'] and a is not eq 'b' ~ '' else 'no' }}", "yes"),
        ("{{ 1 if n | int is gt 11 and -1 is lt 0 else 2 }}", "1"),
        ("{{- a -}}  x  {{- a | upper ~ '!' }}", "abcxABC!"),
        ("{% for x in 'ab' if x in 'b' %}{{ x ~ loop.index }}{% endfor %}", "b1"),
        ("{% for k, v in [['p', 1], ['q', 2]] %}{{ k ~ v }}{% endfor %}", "p1q2"),
        ("{% set ns = namespace(t='') %}{% for c in a %}{% set ns.t = c ~ ns.t %}{% endfor %}{{ ns.t }}", "cba"),
        ("{% macro m(x, y='!' ~ '?') %}{{ x ~ y }}{% endmacro %}{{ m(a) }}", "abc!?"),
        ("{% filter replace('a', 'b' ~ 'c') %}a{{ a }}{% endfilter %}", "bcbcbc"),
        ("{{ 'a' 'b' ~ \"c}}\" }}", "abc}}"),
        ("{{ empty | default('x' ~ 'y') }}", "xy"),
        ("{{ a\n  ~ a\n  ~ a }}", "abcabcabc"),
    ] {
        match text {
            // What MiniJinja refuses too.
            "" => assert!(compiled(source).is_err() || render(source, &row).is_err(), "{source}"),
            text => assert_eq!(render(source, &row), Ok(text.to_owned()), "{source}"),
        }
    }
}

#[test]
fn slices_agree_with_minijinja() {
    let environment = minijinja::Environment::new();
    let none = row(&[]);
    let bounds: Vec<String> = (-5..=5).map(|at| at.to_string()).chain([String::new()]).collect();
    for (value, step) in
        ["'abcd'", "[1, 2, 3, 4]"].into_iter().flat_map(|v| ["", "1", "2", "3", "-1", "-2"].map(|s| (v, s)))
    {
        for (start, stop) in bounds.iter().flat_map(|start| bounds.iter().map(move |stop| (start, stop))) {
            let source = format!("{{{{ {value}[{start}:{stop}:{step}] | join }}}}");
            let ours = render(&source, &none).unwrap();
            let theirs = catch_unwind(AssertUnwindSafe(|| environment.render_str(&source, ()).unwrap()));
            // With overflow checks it panics if the start is after the stop.
            assert_eq!(ours, theirs.unwrap_or_default(), "{source}");
        }
    }
}

#[test]
fn a_long_text_between_two_tags_is_printed_unchanged() {
    let row = row(&[("a", "abc")]);
    let long = "it's a \\ long \"text\"\n with } and { and %} in it. ".repeat(20);
    assert_eq!(render(&format!("{{{{ a }}}}{long}{{{{ a }}}}"), &row).unwrap(), format!("abc{long}abc"));
    assert_eq!(render(&format!("{{{{ a -}}}}  {long}{{{{- a }}}}"), &row).unwrap(), format!("abc{}abc", long.trim()));
    assert_eq!(render(&format!("{long}\n"), &row).unwrap(), long);
    assert!(compiled(&format!("x{}x{{{{ a }}}}", " ".repeat(5_000))).is_ok(), "spaces inside a text are text");
    assert!(compiled(&format!("{}x{{{{ a }}}}", " ".repeat(201))).unwrap_err().to_string().contains("200 spaces"));
}

#[test]
fn a_template_has_at_most_64_kib() {
    let of = |bytes: usize| format!("{{{{ 1 }}}}{}", "x".repeat(bytes - 7));
    assert_eq!(render(&of(SOURCE_BYTES_MAX), &row(&[])).unwrap().len(), SOURCE_BYTES_MAX - 6);
    let message = compiled(&of(SOURCE_BYTES_MAX + 1)).unwrap_err().to_string();
    assert_eq!(message, "expected a template of at most 64 KiB, found 65537 bytes");
    assert!(Templates::default().condition(&format!("a == '{}'", "x".repeat(70_000))).is_err());
}

#[test]
fn the_result_has_at_most_2_mib() {
    let cell = "x".repeat(1 << 20);
    let row = row(&[("big", &cell)]);
    assert_eq!(render("{{ big }}{{ big }}", &row).unwrap().len(), TEXT_BYTES_MAX);
    for source in
        ["{{ big }}{{ big }}x", "{{ big ~ big ~ 'x' }}", "{{ big + big + 'x' }}", "{{ [big, big] | join('x') }}"]
    {
        assert_eq!(failure(source, &row), spent::TOO_LONG, "{source}");
    }
}

/// Templates that make a lot of text from little.
const GREEDY: [&str; 24] = [
    "{{ big | replace('x', big) }}",
    "{{ big | replace('', big) }}",
    "{{ big * 100000 }}",
    "{{ 100 * 1000 * 'xxxx' * 1000 }}",
    "{{ ([big] * 100000000) | length }}",
    "{{ ([big] * 99999) | join }}",
    "{{ ([big] * 18446744073709551615) | length }}",
    "{{ big | list | length }}",
    "{{ big | split('') | length }}",
    "{{ (big | split('x')) | map('upper') | join }}",
    "{{ '%1000000000d' | format(1) }}",
    "{{ '%.99999f' | format(1.5) }}",
    "{{ '%.65536f' | format(1.5) }}",
    "{{ '%99999999999999999999999d' | format(1) }}",
    "{{ '%s%s%s' | format(big, big, big) }}",
    "{{ ('%1000d' * 9000) | format(1) }}",
    "{{ [big[1:], big[2:], big[3:], big[4:], big[5:], big[6:], big[7:], big[8:], big[9:]] | length }}",
    "{{ [big ~ 1, big ~ 2, big ~ 3, big ~ 4, big ~ 5, big ~ 6, big ~ 7, big ~ 8, big ~ 9] | length }}",
    "{{ 1 if [big, big, big, big] in 'x' else 2 }}",
    "{{ 1 if ([big] * 9999) is in 'x' else 2 }}",
    "{% set ns = namespace(t=big) %}{% for c in 'abcdefgh' %}{% set ns.t = ns.t ~ ns.t %}{% endfor %}x",
    "{% macro m(t) %}{{ m(t ~ t) }}{% endmacro %}{{ m(big) }}",
    "{% set t %}{% for a in big %}{% for b in 'xxxx' %}{{ big }}{% endfor %}{% endfor %}{% endset %}x",
    "{% for a in big %}{{ big | upper }}{% endfor %}",
];

#[test]
fn an_expansion_beyond_the_limit_fails_the_row() {
    let cell = "x".repeat(1 << 20);
    let row = row(&[("big", &cell), ("a", "abc")]);
    for source in GREEDY {
        let message = failure(source, &row);
        assert!(message.starts_with("expected a") || message.contains(", found "), "{source}: {message}");
    }
    let doubled = "{% set a = a ~ a %}".repeat(29) + "{{ a }}";
    assert_eq!(failure(&doubled, &row), spent::TOO_LONG);
    let doubled = "{% set a = a ~ a %}".repeat(29) + "x";
    assert_eq!(failure(&doubled, &row), spent::TOO_LONG);
}

/// Templates that read a long text again and again.
fn reading_again() -> impl Iterator<Item = String> {
    ["t | replace('a', '')", "t | digits", "t | trim", "t | length"].into_iter().map(|read| {
        format!(
            "{{% set t = 'a' * 2000000 %}}{{% for i in ('x' * 7000) | list %}}{{% if {read} == 'b' %}}y{{% endif %}}{{% endfor %}}x"
        )
    })
}

mod timed {
    use super::*;

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn reading_a_long_text_again_and_again_fails_soon() {
        let row = row(&[("a", "abc")]);
        for source in reading_again() {
            let begun = std::time::Instant::now();
            failure(&source, &row);
            assert!(begun.elapsed().as_secs() < 60, "{source}: {:?}", begun.elapsed());
        }
    }
}

#[test]
fn reading_a_long_text_again_and_again_fails_the_row() {
    let row = row(&[("a", "abc")]);
    for source in reading_again() {
        let message = failure(&source, &row);
        assert!(message.starts_with("expected a template that"), "{source}: {message}");
    }
    // The ends of a text are found without reading all of it.
    let ends = "{% set t = 'a' * 2000000 %}{% for i in ('x' * 2000) | list %}{% if t | last == 'b' or t | first == 'b' %}y{% endif %}{% endfor %}x";
    assert_eq!(render(ends, &row).as_deref(), Ok("x"));
}

#[test]
fn no_pattern_in_a_cell_ends_the_program() {
    for pattern in
        ["%.99999f", "%1000000000d", "%.65536e", "%70000s", "%-99999c", "%(x)99999d", "%0099999d", "%+.99999g"]
    {
        let message = failure("{{ fmt | format(1.5) }}", &row(&[("fmt", pattern)]));
        assert!(message.contains("width and a precision of at most 1000"), "{pattern}: {message}");
    }
    let of = |pattern: &str| render("{{ fmt | format(1.5) }}", &row(&[("fmt", pattern)]));
    assert_eq!(of("%.1000f").unwrap().len(), 1_002);
    assert_eq!(of("%1000s").unwrap().len(), 1_000);
    assert_eq!(of("%08.3f%%99999"), Ok("0001.500%99999".to_owned()));
}

#[test]
fn no_number_in_a_cell_ends_the_program() {
    let edges =
        ["0", "-1", "9223372036854775807", "-9223372036854775808", "170141183460469231731687303715884105727", "1e308"];
    for a in edges {
        for b in edges {
            let row = row(&[("a", a), ("b", b), ("s", "abc")]);
            for source in [
                "{{ s[a | int:b | int] }}",
                "{{ s[::a | int] ~ s[a | int::b | int] }}",
                "{{ [1, 2, 3][a | int:b | int:-1] | join }}",
                "{{ s * (a | int) }}",
                "{{ ([s] * (a | int)) | length }}",
                "{{ (a | float) * (b | float) + (a | int) - (b | int) // 7 }}",
                "{{ a | int * b | int }}",
                "{{ a | float | round(b | int) }}",
                "{{ a | int | abs }}",
                "{{ -(a | int) }}",
                "{{ (a | int) ** (b | int) }}",
                "{{ s[a | int] | default('x') }}",
                "{{ '%d %x %c' | format(a | int, b | int, a | int) }}",
            ] {
                drop(render(source, &row));
            }
        }
    }
}

/// Runs on a stack of half the size of the program's thread stacks.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap();
    thread.join().expect("no overflow, and no panic");
}

/// A chain with this many links.
type Chain = fn(usize) -> String;

const CHAINS: [(&str, Chain); 22] = [
    ("filters", |n| format!("{{{{ a{} }}}}", "|lower".repeat(n))),
    ("members", |n| format!("{{{{ a{} }}}}", ".a".repeat(n))),
    ("subscripts", |n| format!("{{{{ a{} }}}}", "[0]".repeat(n))),
    ("slices", |n| format!("{{{{ a{} }}}}", "[0:]".repeat(n))),
    ("calls", |n| format!("{{{{ a{} }}}}", "()".repeat(n))),
    ("joined", |n| format!("{{{{ 1{} }}}}", "~1".repeat(n))),
    ("sums", |n| format!("{{{{ 1{} }}}}", "+1".repeat(n))),
    ("differences", |n| format!("{{{{ 1{} }}}}", "-1".repeat(n))),
    ("sums and differences", |n| format!("{{{{ 1{} }}}}", "-1+1".repeat(n))),
    ("products", |n| format!("{{{{ 1{} }}}}", "*1".repeat(n))),
    ("powers", |n| format!("{{{{ 1{} }}}}", "**1".repeat(n))),
    ("not", |n| format!("{{{{ {} a }}}}", "not ".repeat(n))),
    ("minus", |n| format!("{{{{ 0{} 1 }}}}", " -".repeat(n))),
    ("and", |n| format!("{{{{ 1{} }}}}", " and 1".repeat(n))),
    ("comparisons", |n| format!("{{{{ 1{} }}}}", " == 1".repeat(n))),
    ("tests", |n| format!("{{{{ 1{} }}}}", " is number".repeat(n))),
    ("choices", |n| format!("{{{{ {} 1 }}}}", "1 if 0 else ".repeat(n))),
    ("round brackets", |n| format!("{{{{ {}1{} }}}}", "(".repeat(n), ")".repeat(n))),
    ("square brackets", |n| format!("{{{{ {}1{} }}}}", "[".repeat(n), "]".repeat(n))),
    ("statements", |n| format!("{}1{}", "{%if 1%}".repeat(n), "{%endif%}".repeat(n))),
    ("branches", |n| format!("{{%if 0%}}{}{{%endif%}}", "{%elif 0%}".repeat(n))),
    ("loops", |n| format!("{}1{}", "{%for x in a%}".repeat(n), "{%endfor%}".repeat(n))),
];

#[test]
fn no_chain_of_any_length_overflows_the_stack() {
    on_a_small_stack(|| {
        let row = row(&[("a", "abc")]);
        for (name, chain) in CHAINS {
            let mut longest = 0;
            for links in (1..=260).step_by(4).chain([1_000, 5_000, 20_000, 30_000]) {
                let source = chain(links);
                if let Ok(template) = compiled(&source) {
                    drop(template.render(&row));
                    longest = links;
                }
                let expression = source.trim_start_matches("{{").trim_end_matches("}}");
                if let Ok(condition) = Templates::default().condition(expression) {
                    drop(condition.holds(&row));
                }
            }
            assert!((10..=260).contains(&longest), "{name}: up to {longest} links");
        }
    });
}

#[test]
fn values_nested_by_evaluation_do_not_overflow_the_stack() {
    let attempts = [
        format!("{{% set a = [a] %}}{}x", "{% set a = [a] %}".repeat(3_000)),
        format!("{{% set b = [a] %}}{}{{{{ a == b }}}}", "{% set a = {'x': a} %}{% set b = {'x': b} %}".repeat(490)),
        "{% set ns = namespace(a=1) %}{% for c in a * 3000 %}{% set ns.a = [ns.a] %}{% endfor %}x".to_owned(),
        "{% set ns = namespace(a=1) %}{% for c in a * 300 %}{% set ns.a = [ns.a] %}{% endfor %}{{ ns.a == [1] }}"
            .to_owned(),
        "{% set ns = namespace(a='x') %}{% for c in a * 3000 %}{% set ns.a = namespace(b=ns.a) %}{% endfor %}x"
            .to_owned(),
        "{% set ns = namespace(a=[1]) %}{% for c in a * 3000 %}{% set ns.a = ns.a[0:] %}{% endfor %}x".to_owned(),
        "{% set ns = namespace(a=[1]) %}{% for c in a * 3000 %}{% set ns.a = ns.a + [] %}{% endfor %}x".to_owned(),
        "{% macro m(n) %}{{ m(n) }}{% endmacro %}{{ m(1) }}".to_owned(),
        "{% macro m(n) %}{% if 1 %}{{ m([n]) ~ m(n) }}{% endif %}{% endmacro %}{{ m(1) }}".to_owned(),
        "{% for x in [a] recursive %}{{ loop([x]) }}{% endfor %}".to_owned(),
        format!("{{{{ a | map({}'upper') | join }}}}", "'map', ".repeat(1_000)),
    ];
    on_a_small_stack(move || {
        let row = row(&[("a", "abc")]);
        for source in attempts {
            drop(compiled(&source).unwrap_or_else(|error| panic!("{source}: {error}")).render(&row));
        }
    });
}
