//! What the page consists of: sections of text, figures, charts and tables. The template decides how each looks, and
//! escapes all text. Only a chart is inserted as it is, because it escapes its own text.

use super::chart::{Fill, swatch};
use crate::model::printable::printable_cut;
use serde::Serialize;

/// The longest text from outside that is shown, in characters.
const TEXT_MAX: usize = 300;

/// A section of the page.
#[derive(Debug, Clone, Serialize)]
pub struct Section {
    /// Its id on the page.
    pub id: &'static str,
    pub heading: &'static str,
    pub blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Block {
    Text {
        words: Vec<Words>,
    },
    /// Text that a reader should not miss.
    Note {
        words: Vec<Words>,
    },
    Heading {
        text: String,
    },
    Facts {
        facts: Vec<Fact>,
    },
    Chart {
        svg: String,
    },
    Legend {
        entries: Vec<Entry>,
    },
    Table(Table),
}

/// Words of a text. Commands and names of files are shown as code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Words {
    pub text: String,
    pub is_code: bool,
}

/// A text in which code stands between backticks.
fn words(text: &str) -> Vec<Words> {
    let parts = text.split('`').enumerate();
    let words = parts.map(|(at, text)| Words { text: text.to_owned(), is_code: at % 2 == 1 });
    words.filter(|words| !words.text.is_empty()).collect()
}

/// A figure with its name.
#[derive(Debug, Clone, Serialize)]
pub struct Fact {
    pub name: String,
    pub value: String,
    pub detail: String,
}

/// An entry of a legend.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    pub swatch: String,
    pub name: String,
    pub value: String,
}

/// A table. The first column names the row.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Table {
    pub caption: String,
    /// The text that opens the table; `None` if it is always open.
    pub opened_by: Option<String>,
    pub columns: Vec<TableColumn>,
    pub rows: Vec<Vec<String>>,
    /// The last row, with the sums.
    pub sums: Option<Vec<String>>,
}

#[derive(Debug, Clone, Serialize)]
pub struct TableColumn {
    pub name: &'static str,
    /// `text`, `number`, `code`, `time`, or `digest` for a long code that may be broken anywhere.
    pub kind: &'static str,
}

impl Table {
    /// A table with these columns, each with its name and kind.
    pub fn new(caption: impl Into<String>, columns: &[(&'static str, &'static str)]) -> Table {
        let column = |(name, kind): &(&'static str, &'static str)| TableColumn { name, kind };
        Table { caption: caption.into(), columns: columns.iter().map(column).collect(), ..Table::default() }
    }

    /// The same table, closed until a reader opens it.
    pub fn opened_by(self, text: impl Into<String>) -> Table {
        Table { opened_by: Some(text.into()), ..self }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl Block {
    pub fn text(text: impl Into<String>) -> Block {
        Block::Text { words: words(&text.into()) }
    }

    pub fn note(text: impl Into<String>) -> Block {
        Block::Note { words: words(&text.into()) }
    }

    pub fn heading(text: impl Into<String>) -> Block {
        Block::Heading { text: text.into() }
    }
}

impl Entry {
    pub fn new(fill: Fill, name: impl Into<String>, value: impl Into<String>) -> Entry {
        Entry { swatch: swatch(fill), name: name.into(), value: value.into() }
    }
}

impl Fact {
    pub fn new(name: impl Into<String>, value: impl Into<String>, detail: impl Into<String>) -> Fact {
        Fact { name: name.into(), value: value.into(), detail: detail.into() }
    }
}

/// Text from a file, a service or a person: on one line, without characters that hide or turn text, and cut.
pub fn outside(text: &str) -> String {
    shortened(text, TEXT_MAX)
}

/// The same with another limit, in characters.
pub fn shortened(text: &str, characters_max: usize) -> String {
    let mut shown = printable_cut(text, characters_max);
    if shown.chars().count() < text.chars().count() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stands_between_backticks_and_text_from_outside_is_cut() {
        let shown = |text: &str| words(text).into_iter().map(|one| (one.text, one.is_code)).collect::<Vec<_>>();
        assert_eq!(
            shown("see `a b`."),
            [("see ".to_owned(), false), ("a b".to_owned(), true), (".".to_owned(), false)]
        );
        assert_eq!((shown(""), shown("`x`").len()), (Vec::new(), 1));
        assert_eq!(outside("a\u{202e}b\n"), "a\\u{202e}b\\n");
        assert_eq!(outside(&"x".repeat(400)), format!("{}…", "x".repeat(300)));
    }
}
