//! A mistake in a template that would fail every row is found before the first row, and the message says what to write.

use super::*;

fn refusal(source: &str) -> String {
    match Templates::default().compile(source) {
        Ok(_) => panic!("{source} was accepted"),
        Err(error) => error.to_string(),
    }
}

fn refused_condition(source: &str) -> String {
    match Templates::default().condition(source) {
        Ok(_) => panic!("{source} was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_unknown_filter_or_method_is_named_with_the_nearest_one_and_the_list() {
    let listed = "`rescreen help templates` lists them";
    for (source, message) in [
        ("{{ a | foo }}", "there is no filter `foo`"),
        ("{{ a | uper }}", "there is no filter `uper`; did you mean `upper`?"),
        ("{{ a.foo() }}", "there is no method `foo`"),
        ("{{ a.splt(',') }}", "there is no method `splt`; did you mean `split`?"),
        ("{{ a.digits() }}", "there is no method `digits`; there is a filter of this name: write `| digits`"),
        ("{% filter uper %}a{% endfilter %}", "there is no filter `uper`; did you mean `upper`?"),
        ("{{ a | map('uper') | join }}", "there is no filter `uper`; did you mean `upper`?"),
        ("{% if a.startwith('x') %}1{% endif %}", "there is no method `startwith`; did you mean `startswith`?"),
    ] {
        assert_eq!(refusal(source), format!("{message}; {listed}"), "{source}");
    }
    assert!(
        refusal("{{ a | select('defind') | join }}").starts_with("there is no test `defind`; did you mean `defined`")
    );
    assert!(refused_condition("a.startwith('x')").contains("did you mean `startswith`?"));
}

#[test]
fn a_wrong_number_of_arguments_is_found_before_the_first_row() {
    for (source, message) in [
        ("{{ a | date }}", "`date`: expected 1 argument in its brackets, found 0; write it as in"),
        ("{{ a | replace('x') }}", "`replace`: expected 2 arguments in its brackets, found 1; write it as in"),
        ("{{ a | default }}", "`default`: expected at least 1 argument in its brackets, found 0; write it as in"),
        ("{{ a.split(',', 1, 2) }}", "`split`: expected at most 2 arguments in its brackets, found 3; write it as in"),
        ("{{ a.upper(1) }}", "`upper`: expected at most 0 arguments in its brackets, found 1; write it as in"),
    ] {
        assert!(refusal(source).starts_with(message), "{source}: {}", refusal(source));
    }
    for source in ["{{ a | join(', ',) }}", "{{ a.replace(b.strip(','), [1, 2][0]) }}", "{{ ','.join([a, b]) }}"] {
        Templates::default().compile(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    }
}

#[test]
fn a_column_with_spaces_that_is_written_bare_is_shown_as_it_must_be_written() {
    for (source, message) in [
        (
            "{{ Full Name }}",
            r#"found `Full Name`, which is more than one word; if it is a column, write `{{ row["Full Name"] }}`"#,
        ),
        (
            "{{ first_name }} {{ Date of  Birth | date('%d') }}",
            r#"found `Date of Birth`, which is more than one word; if it is a column, write `{{ row["Date of Birth"] }}`"#,
        ),
        (
            "{% if Address 2 %}x{% endif %}",
            r#"found `Address 2`, which is more than one word; if it is a column, write `row["Address 2"]`"#,
        ),
    ] {
        assert_eq!(refusal(source), message, "{source}");
    }
    let message = refused_condition("Account Status == 'active'");
    assert!(message.ends_with(r#"if it is a column, write `row["Account Status"]`"#), "{message}");
}

#[test]
fn a_single_equals_sign_is_answered_with_two() {
    let message = "found `=`, which compares nothing; did you mean `==`?";
    assert_eq!(refused_condition("status = 'a'"), message);
    assert_eq!(refused_condition("(status = 'a') and b"), message);
    assert_eq!(refusal("{% if a = 'b' %}1{% endif %}"), message);
    assert_eq!(refusal("{{ 1 if a = 'b' else 0 }}"), message);
    for (source, meant) in [("a && b", "and"), ("a || b", "or"), ("!a", "not"), ("a <> b", "!=")] {
        assert!(refused_condition(source).ends_with(&format!("did you mean `{meant}`?")), "{source}");
    }
    for fine in ["a <= 'b' and a >= 'c'", "a | default('x', true) == 'x'", "namespace(a=1).a == 1"] {
        Templates::default().condition(fine).unwrap_or_else(|error| panic!("{fine}: {error}"));
    }
}
