//! The text of a literal in a template, without its escapes.

use minijinja::Environment;
use std::borrow::Cow;

/// What the inside of a quoted text means: `a\"b` is `a"b`. MiniJinja itself reads it; what it refuses stays as it is.
pub(super) fn unescaped(inner: &str) -> Cow<'_, str> {
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut quoted = "\"".to_owned();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => quoted.extend(['\\'].into_iter().chain(letters.next())),
            // It was quoted with the other sign.
            '"' => quoted.push_str("\\\""),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    let environment = Environment::empty();
    let read = environment.compile_expression(&quoted).and_then(|text| text.eval(()));
    match read.as_ref().ok().and_then(|text| text.as_str()) {
        Some(text) => Cow::Owned(text.to_owned()),
        None => Cow::Borrowed(inner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_read_as_minijinja_reads_it() {
        for (inner, text) in [
            ("plain", "plain"),
            (r#"a\"b"#, "a\"b"),
            (r#"a"b\\"#, "a\"b\\"),
            (r"two\nlines", "two\nlines"),
            (r"\u007b\u007b x \u007d\u007d", "{{ x }}"),
            (r"\ud83d\ude00", "😀"),
        ] {
            assert_eq!(unescaped(inner), text, "{inner}");
        }
    }
}
