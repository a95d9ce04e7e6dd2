//! The tokens of a JSON text with their places, so that single values can be replaced and everything else stays as it is.

use std::{borrow::Cow, ops::Range};

/// A string of a JSON text with its quotation marks, or a number, `true`, `false` or `null`.
pub struct Token {
    pub start: usize,
    /// The index after its last byte.
    pub end: usize,
    /// It is a string.
    pub is_text: bool,
    /// It is the name of a member.
    pub is_name: bool,
}

/// The strings, numbers and words of a JSON text, in order. The text was parsed before, so it is valid JSON.
pub struct Tokens<'a> {
    pub text: &'a str,
    /// Where the next token is looked for.
    pub at: usize,
}

impl Tokens<'_> {
    /// Passes over the value after the name that was read last.
    pub fn skip_value(&mut self) -> Range<usize> {
        let bytes = self.text.as_bytes();
        let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b':';
        let start = self.at + bytes[self.at..].iter().take_while(|byte| is_between(byte)).count();
        self.at = start;
        let mut depth = 0_usize;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'{' | b'[' => (self.at, depth) = (self.at + 1, depth + 1),
                b'}' | b']' => (self.at, depth) = (self.at + 1, depth.saturating_sub(1)),
                b',' | b':' => self.at += 1,
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => drop(self.next()),
            }
            if depth == 0 {
                break;
            }
        }
        start..self.at
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let bytes = self.text.as_bytes();
        let is_between = |byte: &u8| byte.is_ascii_whitespace() || b"{}[],:".contains(byte);
        let start = self.at + bytes.get(self.at..)?.iter().position(|byte| !is_between(byte))?;
        let is_text = bytes[start] == b'"';
        let mut end = start + 1;
        if is_text {
            loop {
                match bytes.get(end)? {
                    b'\\' => end += 2,
                    b'"' => break,
                    _ => end += 1,
                }
            }
            end += 1;
        } else {
            end += bytes[end..].iter().take_while(|byte| !is_between(byte) && **byte != b'"').count();
        }
        self.at = end;
        let next = bytes.get(end..)?.iter().find(|byte| !byte.is_ascii_whitespace());
        Some(Token { start, end, is_text, is_name: is_text && next == Some(&b':') })
    }
}

/// The value of a string between its quotation marks.
pub fn unescaped(raw: &str) -> Cow<'_, str> {
    if raw.contains('\\')
        && let Ok(text) = serde_json::from_str::<String>(&format!("\"{raw}\""))
    {
        return text.into();
    }
    raw.into()
}
