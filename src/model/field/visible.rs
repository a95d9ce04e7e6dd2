//! The text of a value as a person reads it. Two values that look equal are one subject, have one key and are paid for
//! once, so every kind of field, the `id` and the cells that a template reads are cleaned here and nowhere else: invisible
//! characters are dropped, the formula `="…"` around a text is undone, and the text is in Unicode form NFC.

use super::{joiner, tidy};
use crate::model::Note;
use icu_normalizer::ComposingNormalizer;
use std::borrow::Cow;

/// A cleaned text, and what was changed.
#[derive(Clone, PartialEq, Eq)]
pub struct Cleaned<'a> {
    pub text: Cow<'a, str>,
    /// Each kind of change once. Spaces at the ends and repeated spaces are not noted.
    pub notes: Vec<Note>,
}

impl std::fmt::Debug for Cleaned<'_> {
    /// The text may be personal data.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cleaned").field("text", &format_args!("[redacted]")).field("notes", &self.notes).finish()
    }
}

/// The text as it is sent and as it is part of keys: [`visible`], with every run of spaces and line breaks as one space.
pub fn clean(text: &str) -> Cleaned<'_> {
    let Cleaned { text: seen, mut notes } = visible(text);
    if text.contains(is_special_space) {
        notes.push(Note::SpecialSpace);
    }
    let text = match tidy(&seen) {
        tidied if tidied == *seen => seen,
        tidied => Cow::Owned(tidied),
    };
    Cleaned { text, notes }
}

/// The text as a person sees it, trimmed. Spaces and line breaks inside are kept, because templates may split at them.
pub fn visible(text: &str) -> Cleaned<'_> {
    let trimmed = text.trim();
    let mut cleaned = Cleaned { text: Cow::Borrowed(trimmed), notes: Vec::new() };
    if trimmed.is_ascii() && !trimmed.starts_with('=') {
        return cleaned;
    }
    // One change can make another possible: without a zero-width space, an accent joins its letter. Characters only
    // become fewer, except for the few that NFC decomposes, so this ends.
    while let Some((text, note)) = changed(&cleaned.text) {
        if !cleaned.notes.contains(&note) {
            cleaned.notes.push(note);
        }
        cleaned.text = Cow::Owned(text.trim().to_owned());
    }
    cleaned.notes.sort();
    cleaned
}

/// The text with one kind of change; `None` if there is nothing to change.
fn changed(text: &str) -> Option<(String, Note)> {
    if let Some(text) = without_invisible(text) {
        return Some((text, Note::InvisibleDropped));
    }
    if let Some(text) = without_formula(text) {
        return Some((text, Note::FormulaUnwrapped));
    }
    let composed = ComposingNormalizer::new_nfc().normalize(text);
    (composed != text).then(|| (composed.into_owned(), Note::Composed))
}

/// The text in Unicode form NFC.
pub fn composed(text: String) -> String {
    if text.is_ascii() { text } else { ComposingNormalizer::new_nfc().normalize(&text).into_owned() }
}

/// Whether a character is invisible and never part of a spelling. Joiners are decided by [`joiner::is_spelling`].
fn is_invisible(c: char) -> bool {
    matches!(c,
        // soft hyphen, Arabic letter mark, Mongolian vowel separator, byte order mark
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
        // zero-width space, direction marks, embeddings, overrides, isolates
        | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // word joiner, invisible operators
        | '\u{2060}'..='\u{2064}'
        // Variation selectors, which only choose how the character before them is drawn. Those of Mongolian and of rare
        // ideographs are kept, because they tell spellings apart.
        | '\u{fe00}'..='\u{fe0f}')
}

/// The text without invisible characters, and without joiners that are not part of a spelling; `None` if it has none.
fn without_invisible(text: &str) -> Option<String> {
    if !text.contains(|c| is_invisible(c) || joiner::is_joiner(c)) {
        return None;
    }
    let characters: Vec<char> = text.chars().filter(|c| !is_invisible(*c)).collect();
    let kept = |at: &usize| !joiner::is_joiner(characters[*at]) || joiner::is_spelling(&characters, *at);
    let without: String = (0..characters.len()).filter(kept).map(|at| characters[at]).collect();
    (without != text).then_some(without)
}

/// The text inside a formula that consists of one text, as spreadsheets write it to keep leading zeros; `None` if the
/// text is not such a formula. Doubled quotes inside are single ones.
fn without_formula(text: &str) -> Option<String> {
    let inner = text.strip_prefix("=\"")?.strip_suffix('"')?;
    if !inner.replace("\"\"", "").contains('"') {
        return Some(inner.replace("\"\"", "\""));
    }
    // A program may have doubled the quotes again.
    let inner = inner.strip_prefix('"')?.strip_suffix('"')?;
    (!inner.contains('"')).then(|| inner.to_owned())
}

/// Whether a character is a space that a keyboard does not usually type, such as a no-break space.
fn is_special_space(c: char) -> bool {
    c.is_whitespace() && !c.is_ascii()
}

/// Whether a person cannot see the character at `at`.
fn is_hidden(characters: &[char], at: usize) -> bool {
    let c = characters[at];
    is_invisible(c)
        || (joiner::is_joiner(c) && !joiner::is_spelling(characters, at))
        || (c.is_control() && !c.is_whitespace())
        // Empty letters and an empty Braille cell.
        || matches!(c, '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}')
}

/// What a person cannot see or would overlook in a value that is refused, for the end of its message. It never repeats
/// a character that can be seen.
pub fn remark(text: &str) -> Option<String> {
    let characters: Vec<char> = text.chars().collect();
    if let Some(at) = (0..characters.len()).find(|at| is_hidden(&characters, *at)) {
        let code = u32::from(characters[at]);
        return Some(format!("; the value has a hidden character, U+{code:04X} at character {}", at + 1));
    }
    text.trim_start()
        .starts_with('=')
        .then(|| "; the value begins with `=`: a spreadsheet has written it as a formula, such as =\"…\"".to_owned())
}

#[cfg(test)]
#[path = "visible_tests.rs"]
mod tests;
