//! Wraps a message at spaces, so that a terminal does not break it inside a word. Colours take no room. What is between
//! two backquotes is a command to copy, and is never broken.

use std::iter::repeat_n;
use unicode_width::UnicodeWidthChar;

/// The text in lines of at most this many columns. Later lines have the indentation of the first. A word that is longer
/// than a line has a line of its own.
pub fn wrapped(text: &str, columns: usize) -> String {
    let indentation = text.len() - text.trim_start_matches(' ').len();
    if width(text) <= columns || indentation * 2 > columns {
        return text.to_owned();
    }
    let mut lines = text[..indentation].to_owned();
    let (mut used, mut is_first) = (indentation, true);
    for word in words(&text[indentation..]) {
        let room = width(word);
        if !is_first && used + 1 + room > columns {
            lines.push('\n');
            lines.extend(repeat_n(' ', indentation));
            used = indentation;
        } else if !is_first {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += room;
        is_first = false;
    }
    lines
}

/// The words of a text. Spaces between backquotes do not end a word.
fn words(text: &str) -> Vec<&str> {
    let (mut words, mut from, mut is_quoted) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '`' => is_quoted = !is_quoted,
            ' ' if !is_quoted => {
                words.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    words.push(&text[from..]);
    words
}

/// The columns of a text without its colours.
fn width(text: &str) -> usize {
    let mut is_escape = false;
    let mut columns = 0;
    for c in text.chars() {
        match c {
            '\u{1b}' => is_escape = true,
            'm' if is_escape => is_escape = false,
            _ if is_escape => {}
            c => columns += c.width().unwrap_or_default(),
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_at_spaces_and_keeps_its_indentation() {
        let line = "  cipc-company.registration_number ← column `company_registration_number` (by name)";
        assert_eq!(
            wrapped(line, 60),
            "  cipc-company.registration_number ← column\n  `company_registration_number` (by name)"
        );
        assert_eq!(wrapped(line, 200), line);
        assert_eq!(wrapped(line, 3), line);
    }

    #[test]
    fn a_command_between_backquotes_is_not_broken() {
        let line = "decide with `rescreen resolve out/2026-11 --list` now";
        assert_eq!(wrapped(line, 20), "decide with\n`rescreen resolve out/2026-11 --list`\nnow");
    }

    #[test]
    fn colours_take_no_room() {
        let line = "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m no file";
        assert_eq!(wrapped(line, 14), line);
        assert_eq!(wrapped(line, 13), line.replace(" file", "\nfile"));
    }
}
