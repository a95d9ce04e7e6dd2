//! Numbers in a JSON text that no reader of JSON can represent: `NaN` and `Infinity`, which some libraries write, as
//! Python's does, and numbers beyond the range of a float. The answer around one was paid for, so the number becomes a
//! text and the rest is read.

use super::json_tokens::Tokens;
use serde::de::IgnoredAny;

/// The text with each such number in quotation marks; `None` if there is none. The text need not be JSON.
pub fn quoted(text: &str) -> Option<String> {
    let (mut whole, mut copied) = (String::new(), 0);
    for token in (Tokens { text, at: 0 }) {
        let written = &text[token.start..token.end];
        if token.is_text || !is_unreadable(written) || is_before_colon(text, token.end) {
            continue;
        }
        whole.push_str(&text[copied..token.start]);
        whole.extend(["\"", written, "\""]);
        copied = token.end;
    }
    if copied == 0 {
        return None;
    }
    whole.push_str(&text[copied..]);
    Some(whole)
}

fn is_unreadable(token: &str) -> bool {
    // Reading it as anything checks how it is written, and not its size.
    let is_number = || serde_json::from_str::<IgnoredAny>(token).is_ok();
    matches!(token, "NaN" | "Infinity" | "-Infinity")
        || (token.parse::<f64>().is_ok_and(f64::is_infinite) && is_number())
}

/// Whether the word before this index would be the name of a member, which must be a text.
fn is_before_colon(text: &str, end: usize) -> bool {
    text[end..].trim_start().starts_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_cannot_be_read_become_texts_and_nothing_else_changes() {
        for (text, read) in [
            (r#"{"a":NaN}"#, r#"{"a":"NaN"}"#),
            (r#"[ NaN , -Infinity,Infinity ]"#, r#"[ "NaN" , "-Infinity","Infinity" ]"#),
            (r#"{"a": 1e999, "b": -1e999, "c": 1.50}"#, r#"{"a": "1e999", "b": "-1e999", "c": 1.50}"#),
            (r#"{"a": NaN, "b": "NaN, \" NaN"}"#, r#"{"a": "NaN", "b": "NaN, \" NaN"}"#),
        ] {
            assert_eq!(quoted(text).as_deref(), Some(read), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(read).is_ok());
        }
        for text in
            ["", "{}", "[1e308]", r#"{"NaN": 1}"#, "{NaN: 1}", "[nan, inf, -NaN, +Infinity, NaNs, 01e999]", "\"NaN"]
        {
            assert_eq!(quoted(text), None, "{text}");
        }
    }
}
