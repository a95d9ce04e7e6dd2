//! The meanings of the columns, as docs/outputs.md describes them: tables in a warehouse and the page say the same.

use super::DatasetKind;
use std::{collections::HashMap, sync::LazyLock};

const PAGE: &str = include_str!("../../../docs/outputs.md");
/// The section about the columns that every dataset begins with.
const HEAD: &str = "Columns of every dataset";

/// The first sentence about each column, by section of the page and name.
static MEANINGS: LazyLock<HashMap<(&str, &str), String>> = LazyLock::new(|| {
    let mut meanings = HashMap::new();
    let mut section = "";
    for line in PAGE.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading;
        }
        if let Some((name, meaning)) = described(line) {
            meanings.insert((section, name), meaning);
        }
    }
    meanings
});

/// The first sentence about a column of a dataset; `None` if the page does not describe it.
pub(super) fn of(kind: DatasetKind, name: &str) -> Option<String> {
    MEANINGS.get(&(kind.as_str(), name)).or_else(|| MEANINGS.get(&(HEAD, name))).cloned()
}

/// Name and meaning of a table row such as "| `name` | type | meaning |".
fn described(line: &'static str) -> Option<(&'static str, String)> {
    let cells: Vec<&str> = line.strip_prefix("| `")?.strip_suffix(" |")?.split(" | ").collect();
    let [name, _, meaning] = cells[..] else { return None };
    Some((name.strip_suffix('`')?, first_sentence(&plain(meaning))))
}

/// A text without code marks, and with the words of each link only.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, words, after)) = split_at_link(rest) {
        plain.push_str(before);
        plain.push_str(words);
        rest = after;
    }
    plain.push_str(rest);
    plain.replace('`', "")
}

/// What is before the first link, its words, and what is after it.
fn split_at_link(text: &str) -> Option<(&str, &str, &str)> {
    let (before, from) = text.split_once('[')?;
    let (words, target) = from.split_once("](")?;
    let (_, after) = target.split_once(')')?;
    Some((before, words, after))
}

fn first_sentence(text: &str) -> String {
    text.split_once(". ").map_or_else(|| text.to_owned(), |(first, _)| format!("{first}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meaning_is_the_first_sentence_as_plain_text() {
        let described = |line: &'static str| described(line).unwrap();
        assert_eq!(described("| `a` | text | `x` or `y`. See below. |"), ("a", "x or y.".to_owned()));
        assert_eq!(described("| `b` | date | See [the page](x.md#y), and more. |").1, "See the page, and more.");
        assert_eq!(super::described("| `refused` | The service refused the request. |"), None);
        assert_eq!(super::described("| (carried columns) | text | As named. |"), None);
    }
}
