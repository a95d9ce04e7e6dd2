//! Wraps a line at spaces, so that a terminal does not break it inside a word. Colours take no room. What is between two
//! backquotes is a command to copy, and is never broken.

use std::iter::repeat_n;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The columns of a page: the width of what is not on a terminal, and the most on one.
pub const PAGE: usize = 80;
/// The spaces between a number or a name and the note behind it.
const GAP: &str = "   ";

/// Breaks a text into lines of at most this many columns. A longer word stays whole, on its own line. If there is a note
/// behind a gap, the next lines begin below the note. Otherwise they are indented.
pub fn wrapped(text: &str, columns: usize) -> String {
    lines(text, columns).join("\n")
}

/// The same as lines.
pub fn lines(text: &str, columns: usize) -> Vec<String> {
    if width(text) <= columns {
        return vec![text.to_owned()];
    }
    let (first, indentation, rest) = begun(text, columns);
    let indentation = if indentation * 3 > columns * 2 { 0 } else { indentation };
    let mut lines = vec![first.to_owned()];
    let (mut used, mut is_first) = (width(first), true);
    if rest.starts_with(GAP) {
        // The note has its own lines.
        (used, is_first) = (columns, false);
    }
    for word in words(rest.trim_start_matches(' ')) {
        let room = width(word);
        if !is_first && used + 1 + room > columns {
            lines.push(repeat_n(' ', indentation).collect());
            used = indentation;
        } else if !is_first {
            lines.last_mut().expect("there is a first line").push(' ');
            used += 1;
        }
        lines.last_mut().expect("there is a first line").push_str(word);
        used += room;
        is_first = false;
    }
    lines
}

/// The beginning of a text that stays on the first line, the indentation of the others, and the rest.
fn begun(text: &str, columns: usize) -> (&str, usize, &str) {
    let leading = text.len() - text.trim_start_matches(' ').len();
    let gaps = || text[leading..].match_indices("  ").map(|(at, _)| leading + at);
    let text_after = |at: usize| text.len() - text[at..].trim_start_matches(' ').len();
    let room = columns * 2 / 3;
    let behind = gaps().map(text_after).filter(|at| width(&text[..*at]) <= room).last();
    let indented = if leading < 8 { leading + 2 } else { leading };
    // A note that begins too far on the right has its own lines.
    let notes = text.match_indices(GAP).map(|(at, _)| text[..at].trim_end().len());
    let note = notes.filter(|at| *at > leading && width(&text[..*at]) <= columns).last();
    match (behind, note) {
        (behind, Some(note)) if behind.is_none_or(|at| at <= note) => (&text[..note], indented, &text[note..]),
        (Some(at), _) => (&text[..at], width(&text[..at]), &text[at..]),
        (None, _) if text[leading..].starts_with("- ") => (&text[..leading], leading + 2, &text[leading..]),
        (None, _) => (&text[..leading], indented, &text[leading..]),
    }
}

/// At most this many lines. If some were cut, the last one says so.
pub fn cut(mut lines: Vec<String>, most: usize, columns: usize) -> Vec<String> {
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            let kept: String = last.chars().take(columns.saturating_sub(2)).collect();
            *last = format!("{} …", kept.trim_end());
        }
    }
    lines
}

/// A text of at most this many columns. The last character of one that was cut is `…`.
pub fn cut_line(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let (mut kept, mut used) = (String::new(), 1);
    for c in text.chars() {
        used += c.width().unwrap_or_default();
        if used > columns {
            break;
        }
        kept.push(c);
    }
    kept + "…"
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
    fn a_line_is_broken_at_spaces_and_later_lines_are_indented() {
        let line = "  cipc-company.registration_number ← column `company_registration_number` (by name)";
        assert_eq!(
            wrapped(line, 60),
            "  cipc-company.registration_number ← column\n    `company_registration_number` (by name)"
        );
        assert_eq!(wrapped(line, 200), line);
        assert_eq!(wrapped("  - one two three", 10), "  - one\n    two\n    three");
        assert_eq!(wrapped("one two", 3), "one\n  two");
        assert_eq!(wrapped("one two", 2), "one\ntwo", "a line this short is not indented");
        assert_eq!(lines(&"x".repeat(100), 80), ["x".repeat(100)], "a word is not broken");
    }

    #[test]
    fn a_note_continues_below_itself_or_has_its_own_lines() {
        let line = "rejected        1,200   cannot be sent, and costs nothing";
        assert_eq!(
            wrapped(line, 44),
            "rejected        1,200   cannot be sent, and\n                        costs nothing"
        );
        assert_eq!(wrapped(line, 30), "rejected        1,200\n  cannot be sent, and costs\n  nothing");
        assert_eq!(
            wrapped("failed              1   adverse-media: 1", 26),
            "failed              1\n  adverse-media: 1"
        );
    }

    #[test]
    fn a_command_between_backquotes_is_not_broken() {
        let line = "decide with `rescreen resolve out/2026-11 --list` now";
        assert_eq!(wrapped(line, 20), "decide with\n  `rescreen resolve out/2026-11 --list`\n  now");
    }

    #[test]
    fn colours_take_no_room() {
        let line = "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m no file";
        assert_eq!(wrapped(line, 14), line);
        assert_eq!(wrapped(line, 13), line.replace(" file", "\n  file"));
    }

    #[test]
    fn what_is_cut_says_so() {
        let text = "word ".repeat(29);
        let lines = lines(text.trim_end(), 80);
        assert_eq!((lines.len(), cut(lines, 1, 80)[0].chars().last()), (2, Some('…')));
        assert_eq!(
            (cut_line(&"x".repeat(80), 80), cut_line(&"x".repeat(81), 80)),
            ("x".repeat(80), "x".repeat(79) + "…")
        );
    }
}
