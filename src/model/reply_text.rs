//! The text of a reply. An answer in another encoding than UTF-8, or with half a character, was paid for too: what can
//! be decoded is decoded, and the result says whether characters were lost.

use std::borrow::Cow;

/// The replacement character, as JSON writes it.
const REPLACEMENT: &str = "\\ufffd";

/// The text of `bytes` without a byte order mark, and whether anything in it had to be decoded or replaced. Half a
/// surrogate pair in a JSON escape is replaced too, because JSON readers refuse it.
pub fn reply_text(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    let (text, was_decoded) = match encoding_rs::Encoding::for_bom(bytes) {
        Some((encoding, mark)) => {
            let (text, damaged) = encoding.decode_without_bom_handling(&bytes[mark..]);
            (text, damaged || encoding != encoding_rs::UTF_8)
        }
        // Checked first, because the lossy reading of valid text takes several times as long.
        None => match str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), false),
            Err(_) => (String::from_utf8_lossy(bytes), true),
        },
    };
    match whole_surrogates(&text) {
        Some(repaired) => (Cow::Owned(repaired), true),
        None => (text, was_decoded),
    }
}

/// The text with each escape of half a surrogate pair replaced; `None` if there is none.
fn whole_surrogates(text: &str) -> Option<String> {
    let mut repaired = String::new();
    let (mut copied, mut at) = (0, 0);
    let bytes = text.as_bytes();
    while let Some(found) = text[at..].find('\\') {
        at += found;
        match (escaped_unit(bytes, at), escaped_unit(bytes, at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => at += 12,
            (Some(0xd800..0xe000), _) => {
                repaired.push_str(&text[copied..at]);
                repaired.push_str(REPLACEMENT);
                at += 6;
                copied = at;
            }
            (Some(_), _) => at += 6,
            // An escaped backslash or quote is two characters. The second one of an invalid escape may have several
            // bytes.
            (None, _) => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    if copied == 0 {
        return None;
    }
    repaired.push_str(&text[copied..]);
    Some(repaired)
}

/// The UTF-16 unit of a `\uXXXX` escape at this index.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed_and_unchanged() {
        for text in ["{\"a\": \"\u{e9}\"}", r#"{"a": "\ud83d\ude00 \\ud83d \u00e9"}"#, "", "\\", "\\u12"] {
            let (read, replaced) = reply_text(text.as_bytes());
            assert_eq!((read.as_ref(), replaced), (text, false));
        }
        let (read, replaced) = reply_text(b"\xef\xbb\xbf{}");
        assert_eq!((read.as_ref(), replaced), ("{}", false));
    }

    #[test]
    fn other_encodings_and_half_a_surrogate_pair_are_replaced_and_reported() {
        let cases: [(&[u8], &str); 4] = [
            (b"{\"a\": \"Andr\xe9\"}", "{\"a\": \"Andr\u{fffd}\"}"),
            (br#"{"a": "Li \ud83d"}"#, r#"{"a": "Li \ufffd"}"#),
            (br#"{"a": "\ude00\ud83d\ud83d\ude00"}"#, r#"{"a": "\ufffd\ufffd\ud83d\ude00"}"#),
            (b"\xff\xfe{\0}\0", "{}"),
        ];
        for (bytes, text) in cases {
            let (read, replaced) = reply_text(bytes);
            assert_eq!((read.as_ref(), replaced), (text, true));
        }
    }
}
