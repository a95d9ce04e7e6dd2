//! Makes text from outside safe to print. It defines which characters a terminal, a log or a message must not receive
//! unchanged. They are shown as escapes, so that an analyst sees what was there.

use std::borrow::Cow;

/// Whether a character moves the cursor, ends the line, reverses its direction or is invisible. The joiners U+200C and
/// U+200D are allowed: Persian and Indic words and emoji are not displayed correctly without them.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // soft hyphen, grapheme joiner, Arabic letter mark, Hangul and Khmer fillers, Mongolian separators, an
            // empty Braille cell, variation selectors for rare ideographs
            '\u{ad}' | '\u{34f}' | '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{2800}'
            | '\u{e0100}'..='\u{e01ef}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            // zero-width space, direction marks, separators of lines and paragraphs, embeddings and overrides
            | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            // word joiner, invisible operators, isolates, deprecated formats
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            // shorthand and musical formats, tags
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether a text can be printed unchanged.
pub fn is_printable(text: &str) -> bool {
    !text.contains(is_unsafe)
}

/// A text on one line: unsafe characters, including newlines, become escapes such as `\n` and `\u{202e}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    if is_printable(text) {
        Cow::Borrowed(text)
    } else {
        let mut shown = String::with_capacity(text.len() + 16);
        text.chars().for_each(|c| push(&mut shown, c));
        Cow::Owned(shown)
    }
}

/// The same for a text that may be very long: the result has at most `characters_max` characters.
pub fn printable_cut(text: &str, characters_max: usize) -> String {
    let (mut shown, mut left) = (String::new(), characters_max);
    for c in text.chars() {
        let length = if is_unsafe(c) { c.escape_default().len() } else { 1 };
        if length > left {
            break;
        }
        push(&mut shown, c);
        left -= length;
    }
    shown
}

/// Equivalent JSON in which unsafe characters, which can only be inside strings, become `\uXXXX`. Line breaks and tabs
/// between values are kept.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    if is_printable(json) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            c if is_unsafe(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    shown.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn push(shown: &mut String, c: char) {
    if is_unsafe(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_characters_become_escapes_and_everything_else_stays() {
        for (text, shown) in [
            ("a\u{1b}]0;pwn\u{7}\r\n\t\u{0}b", r"a\u{1b}]0;pwn\u{7}\r\n\t\u{0}b"),
            ("\u{7f}\u{80}\u{9b}\u{85}", r"\u{7f}\u{80}\u{9b}\u{85}"),
            (
                "\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}",
                r"\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}",
            ),
            (
                "\u{2028}\u{2029}\u{200b}\u{2060}\u{feff}\u{ad}\u{e0041}",
                r"\u{2028}\u{2029}\u{200b}\u{2060}\u{feff}\u{ad}\u{e0041}",
            ),
            ("\u{34f}\u{180b}\u{180f}\u{2800}\u{e0101}", r"\u{34f}\u{180b}\u{180f}\u{2800}\u{e0101}"),
        ] {
            assert_eq!(printable(text), shown);
        }
        for text in ["", "Müller \\ “x” 名前 שלום", "\u{a0}e\u{301}", "می\u{200c}خواهم", "👩\u{200d}💻\u{fe0f}"]
        {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn a_text_is_cut_between_two_escapes() {
        assert_eq!(printable_cut(&"é".repeat(9), 4), "éééé");
        assert_eq!(printable_cut("ab\u{1b}cd", 7), "ab");
        assert_eq!(printable_cut("ab\u{1b}cd", 8), r"ab\u{1b}");
        assert_eq!(printable_cut("ab", 8), "ab");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({"a\u{202e}": ["\u{9b}\n\u{e0041}\u{7f}", 1]});
        for json in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let shown = printable_json(&json);
            assert!(shown.lines().all(is_printable), "{shown}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }
}
