//! Colour on a terminal: verdicts, warnings and errors. Decides when output is coloured (never without a terminal, with
//! `NO_COLOR` or with `TERM=dumb`) and which colour a word has. Colour is added to text that is already escaped.

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use rescreen::model::Verdict;
use std::{
    io::{self, IsTerminal},
    sync::OnceLock,
};

/// What a word or line means, as far as its colour shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Error,
    Warning,
    /// The command that continues.
    Command,
    /// What matters less than the rest.
    Faint,
    Verdict(Verdict),
}

impl Ink {
    fn style(self) -> Style {
        let of = |colour: AnsiColor| colour.on_default();
        match self {
            Ink::Error => of(AnsiColor::Red).bold(),
            Ink::Warning => of(AnsiColor::Yellow).bold(),
            Ink::Command => Style::new().bold(),
            Ink::Faint => Style::new().dimmed(),
            Ink::Verdict(Verdict::Clear) => of(AnsiColor::Green),
            Ink::Verdict(Verdict::Adverse) => of(AnsiColor::Red),
            Ink::Verdict(Verdict::Review) => of(AnsiColor::Yellow),
            Ink::Verdict(Verdict::NotFound) => of(AnsiColor::Magenta),
            Ink::Verdict(Verdict::Data) => of(AnsiColor::Cyan),
            Ink::Verdict(Verdict::Unrecognised) => of(AnsiColor::Red).bold(),
        }
    }
}

/// Whether messages on standard error are coloured.
pub fn on_stderr() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    let is_on = || io::stderr().is_terminal() && AutoStream::choice(&io::stderr()) != ColorChoice::Never;
    *ON.get_or_init(is_on)
}

/// Whether data on standard output is coloured.
pub fn on_stdout() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    let is_on = || io::stdout().is_terminal() && AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    *ON.get_or_init(is_on)
}

/// The text in its colour, if output is coloured.
pub fn painted(text: &str, ink: Ink, is_on: bool) -> String {
    if !is_on || text.is_empty() {
        return text.to_owned();
    }
    let style = ink.style();
    format!("{style}{text}{style:#}")
}

/// A message with the word that says what it is in colour: `error:`, `stopped:`, `continue with:`.
pub fn headed(text: &str, is_on: bool) -> String {
    let heads = [
        ("error:", Ink::Error),
        ("stopped:", Ink::Warning),
        ("stopping:", Ink::Warning),
        ("warning:", Ink::Warning),
        ("continue with:", Ink::Command),
        ("a run would stop", Ink::Warning),
        ("a run would not start", Ink::Warning),
        ("nothing would be sent:", Ink::Warning),
    ];
    match heads.into_iter().find(|(head, _)| text.starts_with(head)) {
        Some((head, ink)) if is_on => format!("{}{}", painted(head, ink, true), &text[head.len()..]),
        _ => text.to_owned(),
    }
}

/// A line of totals with its verdicts in colour, such as `3 results (2 clear, 1 review), 1 failures`.
pub fn totals(text: &str, is_on: bool) -> String {
    if !is_on {
        return text.to_owned();
    }
    let mut painted_text = String::with_capacity(text.len() + 64);
    let mut previous = "";
    for word in text.split_inclusive(' ') {
        let bare = word.trim_end_matches([' ', ',', ')', ';']);
        let is_counted = previous.trim_matches(['(', ' ']).starts_with(|first: char| first.is_ascii_digit());
        let is_none = matches!(previous.trim_matches(['(', ' ']), "0");
        match ink_of(bare).filter(|_| is_counted && !is_none) {
            Some(ink) => {
                painted_text.push_str(&painted(bare, ink, true));
                painted_text.push_str(&word[bare.len()..]);
            }
            None => painted_text.push_str(word),
        }
        previous = word;
    }
    painted_text
}

fn ink_of(word: &str) -> Option<Ink> {
    match word {
        "failure" | "failures" => Some(Ink::Error),
        word => Verdict::from_word(word).map(Ink::Verdict),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_nothing_is_added() {
        let text = "error: 3 rows: 2 results (1 clear), 1 failures";
        assert_eq!(headed(text, false), text);
        assert_eq!(totals(text, false), text);
        assert_eq!(painted("clear", Ink::Verdict(Verdict::Clear), false), "clear");
    }

    #[test]
    fn the_word_that_says_what_a_message_is_has_its_colour() {
        assert_eq!(headed("error: no file", true), "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m no file");
        assert!(headed("stopped: the limit", true).starts_with("\u{1b}[1m\u{1b}[33mstopped:\u{1b}[0m"));
        assert_eq!(headed("an error: in the middle", true), "an error: in the middle");
    }

    #[test]
    fn verdicts_and_failures_that_are_counted_have_their_colour() {
        let text = "9 rows: 8 results (7 clear, 1 not_found), 0 failures; clear";
        let painted = totals(text, true);
        assert_eq!(
            painted,
            "9 rows: 8 results (7 \u{1b}[32mclear\u{1b}[0m, 1 \u{1b}[35mnot_found\u{1b}[0m), 0 failures; clear"
        );
        assert!(totals("2 failures, 0 pending", true).starts_with("2 \u{1b}[1m\u{1b}[31mfailures\u{1b}[0m,"));
    }
}
