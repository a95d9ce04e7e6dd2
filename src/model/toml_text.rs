//! A text as a string of TOML.

use super::printable::is_printable;

/// A text as a TOML string on one line, which is safe to print.
pub fn toml_text(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if is_printable(c.encode_utf8(&mut [0; 4])) => quoted.push(c),
            c => quoted.push_str(&format!("\\U{:08X}", u32::from(c))),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_read_back_from_its_string() {
        for text in ["plain", "a\"b\\c", "two\nlines\t", "\u{202e}\u{0}\u{7f}", "é€😀", "'\"\"\"'"] {
            let line = format!("text = {}", toml_text(text));
            let read: toml::Table = line.parse().unwrap();
            assert_eq!(read["text"].as_str(), Some(text));
            assert_eq!(line.lines().count(), 1);
        }
    }
}
