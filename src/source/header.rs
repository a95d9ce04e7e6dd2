//! The names of the columns: trimmed, never two alike, `column_N` where the header has a blank.

use super::{COLUMNS_MAX, NAME_RESERVED, SourceError};
use std::{collections::HashMap, sync::Arc};

/// The names out of the cells of a header record.
pub(super) fn names<'a>(
    source_name: &Arc<str>,
    count: usize,
    cells: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<String>, SourceError> {
    if count > COLUMNS_MAX {
        return Err(SourceError::TooManyColumns { source_name: source_name.clone(), found: count });
    }
    let mut names = Vec::with_capacity(count);
    for (at, cell) in cells.enumerate() {
        let not_text = |found| SourceError::HeaderNotText { source_name: source_name.clone(), column: at + 1, found };
        let text = std::str::from_utf8(cell).map_err(|_| not_text("other bytes"))?;
        if text.contains('\0') {
            return Err(not_text("a NUL byte"));
        }
        let name = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if name.starts_with(NAME_RESERVED) {
            return Err(not_text("a name reserved by the JSON library"));
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
                name: name.clone(),
                first: first + 1,
                second: at + 1,
            });
        }
    }
    Ok(names)
}

/// The name of a column that has none: `column_N`, with further `_` where that name is taken.
pub(super) fn column_n(number: usize, header: &[String]) -> String {
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
        names(&"f.csv".into(), cells.len(), cells.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn names_are_trimmed_and_blanks_are_numbered() {
        assert_eq!(of(&[b"\xef\xbb\xbf id ", b"", b"a b"]).unwrap(), ["id", "column_2", "a b"]);
        assert_eq!(of(&[b"column_2", b" "]).unwrap(), ["column_2", "column_2_"]);
    }

    #[test]
    fn a_name_that_json_reads_as_something_else_is_refused() {
        assert!(
            of(&[b"id", b" $serde_json::private::RawValue"])
                .unwrap_err()
                .contains("reserved by the JSON library in column 2")
        );
    }

    #[test]
    fn two_alike_are_named_with_their_places() {
        let message = of(&[b"id", b"x", b"id"]).unwrap_err();
        assert_eq!(message, "f.csv: the header: columns 1 and 3 are both called `id`; rename one of them");
    }

    #[test]
    fn the_limit_of_columns_is_1024() {
        let cells: Vec<String> = (0..1_025).map(|n| format!("c{n}")).collect();
        let cells: Vec<&[u8]> = cells.iter().map(|name| name.as_bytes()).collect();
        assert_eq!(of(&cells[..1_024]).unwrap().len(), 1_024);
        assert!(of(&cells).unwrap_err().contains("at most 1024 columns, found 1025"));
    }
}
