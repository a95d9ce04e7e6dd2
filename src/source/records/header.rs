//! The column names: trimmed, unique, and `column_N` if the name is empty or there is no header.

use super::{NAME_RESERVED, content::Content};
use crate::source::{COLUMNS_MAX, SourceError};
use std::{collections::HashMap, sync::Arc};

/// Where the column names come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HeaderLine {
    /// The first record.
    #[default]
    First,
    /// There is none: the first record is a row, and the columns are named `column_1`, `column_2` and so on.
    Missing,
    /// From the user: the first record is a row.
    Named(Columns),
}

impl HeaderLine {
    /// The names the user gave.
    pub fn columns(&self) -> Option<&[String]> {
        match self {
            HeaderLine::Named(columns) => Some(&columns.0),
            HeaderLine::First | HeaderLine::Missing => None,
        }
    }
}

/// Valid column names: not empty, and unique.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns(Vec<String>);

impl Columns {
    /// # Errors
    /// What is wrong with the names.
    pub fn new(names: &[String]) -> Result<Columns, String> {
        let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        if names.is_empty() || names.len() > COLUMNS_MAX {
            return Err(format!("expected 1 to {COLUMNS_MAX} columns, found {}", names.len()));
        }
        for (at, name) in names.iter().enumerate() {
            if name.is_empty() || name.contains('\0') || name.starts_with(NAME_RESERVED) {
                return Err(format!("expected a name for column {}, found one that is empty or reserved", at + 1));
            }
            if let Some(first) = names[..at].iter().position(|other| other == name) {
                return Err(format!(
                    "columns {} and {} are both called `{name}`; rename one of them",
                    first + 1,
                    at + 1
                ));
            }
        }
        Ok(Columns(names))
    }
}

/// Names for columns that have none.
pub fn numbered(source_name: &Arc<str>, count: usize) -> Result<Vec<String>, SourceError> {
    if count > COLUMNS_MAX {
        return Err(SourceError::TooManyColumns { source_name: source_name.clone(), found: count });
    }
    Ok((1..=count).map(|number| column_n(number, &[])).collect())
}

/// The names in the cells of a header record.
pub fn names<'a>(
    source_name: &Arc<str>,
    content: Content,
    count: usize,
    cells: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<String>, SourceError> {
    if count > COLUMNS_MAX {
        return Err(SourceError::TooManyColumns { source_name: source_name.clone(), found: count });
    }
    let mut names = Vec::with_capacity(count);
    for (at, cell) in cells.enumerate() {
        let not_text = |(expected, found, advice)| {
            let (source_name, column) = (source_name.clone(), at + 1);
            SourceError::HeaderNotText { source_name, column, expected, found, advice }
        };
        let text = std::str::from_utf8(cell).map_err(|_| not_text(content.not_text()))?;
        if text.contains('\0') {
            return Err(not_text((
                "text",
                "a NUL byte",
                "; remove it, or, if the file is UTF-16, name its byte order with --encoding utf-16le or utf-16be (or \
                 [input] encoding)",
            )));
        }
        let name = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if name.starts_with(NAME_RESERVED) {
            return Err(not_text(("another name", "one reserved by serde_json", "; rename it")));
        }
        names.push(name.to_owned());
    }
    for at in 0..names.len() {
        if names[at].is_empty() {
            names[at] = column_n(at + 1, &names);
        }
    }
    let mut places = HashMap::new();
    for (at, name) in names.iter().enumerate() {
        if let Some(first) = places.insert(name.as_str(), at) {
            return Err(SourceError::DuplicateColumn {
                source_name: source_name.clone(),
                first: first + 1,
                second: at + 1,
            });
        }
    }
    Ok(names)
}

/// Whether the header line seems to end with a delimiter: only its last column has no name. A file without a header has no
/// names at all, and is not meant.
pub fn ends_with_delimiter(header: &[String]) -> bool {
    let is_unnamed = |at: usize| header[at] == format!("column_{}", at + 1);
    header.len() > 1 && is_unnamed(header.len() - 1) && !is_unnamed(header.len() - 2)
}

/// The name of a column that has none: `column_N`, with further `_` where that name is taken.
pub fn column_n(number: usize, header: &[String]) -> String {
    let mut name = format!("column_{number}");
    while header.contains(&name) {
        name.push('_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cells: &[&[u8]]) -> Result<Vec<String>, String> {
        let content = Content::Written(crate::source::Encoding::Utf8);
        names(&"f.csv".into(), content, cells.len(), cells.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_header_ends_with_a_delimiter_if_only_its_last_name_is_missing() {
        let ends = |cells: &[&[u8]]| ends_with_delimiter(&of(cells).unwrap());
        assert!(ends(&[b"id", b"name", b""]));
        assert!(!ends(&[b"id", b"name"]) && !ends(&[b"id", b"", b""]) && !ends(&[b""]));
        assert!(!ends_with_delimiter(&numbered(&"f.csv".into(), 3).unwrap()));
    }

    #[test]
    fn names_are_trimmed_and_empty_ones_are_numbered() {
        assert_eq!(of(&[b"\xef\xbb\xbf id ", b"", b"a b"]).unwrap(), ["id", "column_2", "a b"]);
        assert_eq!(of(&[b"column_2", b" "]).unwrap(), ["column_2", "column_2_"]);
    }

    #[test]
    fn a_name_that_json_reads_as_something_else_is_refused() {
        assert!(
            of(&[b"id", b" $serde_json::private::RawValue"])
                .unwrap_err()
                .contains("reserved by serde_json in column 2")
        );
    }

    #[test]
    fn duplicate_names_are_reported_by_their_positions() {
        let message = of(&[b"id", b"x", b"id"]).unwrap_err();
        let expected = "f.csv: the header: columns 1 and 3 have the same name; rename one of them, or, if the first line is a row, \
            use --no-header (or [input] header = false)";
        assert_eq!(message, expected);
    }

    #[test]
    fn columns_named_by_the_user_are_trimmed_and_must_be_unique() {
        let new = |names: &[&str]| Columns::new(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(new(&[" id ", "name"]).unwrap().0, ["id", "name"]);
        assert_eq!(new(&["id", " "]).unwrap_err(), "expected a name for column 2, found one that is empty or reserved");
        assert_eq!(new(&["id", "x", "id "]).unwrap_err(), "columns 1 and 3 are both called `id`; rename one of them");
        assert_eq!(new(&[]).unwrap_err(), "expected 1 to 1024 columns, found 0");
        let many: Vec<String> = (0..1_025).map(|n| format!("c{n}")).collect();
        assert!(Columns::new(&many[..1_024]).is_ok() && Columns::new(&many).is_err());
    }

    #[test]
    fn the_limit_of_columns_is_1024() {
        let cells: Vec<String> = (0..1_025).map(|n| format!("c{n}")).collect();
        let cells: Vec<&[u8]> = cells.iter().map(|name| name.as_bytes()).collect();
        assert_eq!(of(&cells[..1_024]).unwrap().len(), 1_024);
        assert!(of(&cells).unwrap_err().contains("at most 1024 columns, found 1025"));
    }
}
