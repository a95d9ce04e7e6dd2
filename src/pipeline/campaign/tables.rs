//! The tables of a campaign, for the filter `table("name")`. The entries are in the campaign file, or in a CSV file or
//! spreadsheet that it names. A table is unambiguous: a key may occur twice only with the same value.
//!
//! A file is named by a string (`nationality = "demonyms.csv"`), never by a TOML table, because any key of a TOML table
//! may be an entry.

use crate::{
    error::Error,
    model::{
        Record, Row,
        row::{Values, find_column},
    },
    source::{Origin, SourceOptions, SourceReader},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

/// The maximum number of entries of a table. Entries are kept in memory.
const ENTRIES_MAX: usize = 100_000;

/// The maximum size of all keys and values of a table, in bytes.
const ENTRIES_BYTES_MAX: usize = 64 << 20;

/// Where the entries of a table come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", untagged)]
pub enum TableSource {
    Entries(BTreeMap<String, String>),
    /// A file; its path is relative to the campaign file.
    File(PathBuf),
}

const EXPECTED: &str = "expected the entries of a table, each a string, or the path of a CSV file as a string, such as \
    nationality = \"demonyms.csv\"";

impl TryFrom<toml::Value> for TableSource {
    type Error = &'static str;

    fn try_from(value: toml::Value) -> Result<TableSource, &'static str> {
        match value {
            toml::Value::String(path) if !path.is_empty() => Ok(TableSource::File(path.into())),
            toml::Value::Table(table) => {
                let means_a_file = |(key, value): (&String, &toml::Value)| {
                    ["path", "file", "csv"].contains(&key.as_str())
                        && value.as_str().is_some_and(|text| text.to_lowercase().ends_with(".csv"))
                };
                if table.len() == 1 && table.iter().any(means_a_file) {
                    return Err(EXPECTED);
                }
                let entry = |(key, value): (String, toml::Value)| Some((key, value.as_str()?.to_owned()));
                table.into_iter().map(entry).collect::<Option<_>>().map(TableSource::Entries).ok_or(EXPECTED)
            }
            _ => Err(EXPECTED),
        }
    }
}

/// The entries of all tables, by table name.
pub fn read_all(
    tables: &BTreeMap<String, TableSource>,
    base: &Path,
) -> Result<BTreeMap<String, BTreeMap<String, String>>, Error> {
    let read = |(name, source): (&String, &TableSource)| {
        let entries = match source {
            TableSource::Entries(entries) => entries.clone(),
            TableSource::File(path) => read(name, &base.join(path))?,
        };
        Ok((name.clone(), entries))
    };
    tables.iter().map(read).collect()
}

/// Reads the entries of a file from its columns `key` and `value`, or else from its first two columns. A line without a
/// value is skipped.
fn read(name: &str, path: &Path) -> Result<BTreeMap<String, String>, Error> {
    let refused = |fault: String| Err(Error::Config(format!("[tables] {name}: {}: {fault}", path.display())));
    if path.exists() && !path.is_file() {
        return refused("expected a file".to_owned());
    }
    let source = path.display().to_string().as_str().into();
    let opened = SourceReader::open(source, Origin::File(path.to_owned()), &SourceOptions::default(), None);
    let mut reader = opened.map_err(|fault| Error::Config(format!("[tables] {name}: {fault}")))?;
    let Some((key_at, value_at)) = reader.layout().2.and_then(places) else {
        return refused("expected a CSV file with at least two columns, the key first and the value second".to_owned());
    };
    let mut entries = BTreeMap::new();
    let mut lines: HashMap<String, u64> = HashMap::new();
    let mut bytes = 0;
    while let Some(split) = reader.next_split()? {
        for record in split.records {
            let line = record.position().line;
            let row = match record {
                Record::Row(row) => row,
                Record::Damaged { failure, .. } => return refused(format!("line {line}: {}", failure.message)),
            };
            let (key, value) = (cell(&row, key_at), cell(&row, value_at));
            if value.is_empty() {
                continue;
            }
            if key.is_empty() {
                return refused(format!(
                    "line {line}: expected a key, found a value without a key; add the key or remove the line"
                ));
            }
            if entries.len() >= ENTRIES_MAX {
                return refused(format!("line {line}: expected at most {ENTRIES_MAX} entries, found more"));
            }
            bytes += key.len() + value.len();
            if bytes > ENTRIES_BYTES_MAX {
                return refused(format!("line {line}: expected at most 64 MiB of keys and values, found more"));
            }
            match entries.get(key) {
                Some(known) if known != value => {
                    let first = lines.get(key).copied().unwrap_or_default();
                    return refused(format!(
                        "lines {first} and {line} give the same key different values; remove one of them"
                    ));
                }
                Some(_) => {}
                None => {
                    entries.insert(key.to_owned(), value.to_owned());
                    lines.insert(key.to_owned(), line);
                }
            }
        }
    }
    if entries.is_empty() {
        return refused("expected entries, found none".to_owned());
    }
    Ok(entries)
}

/// The column indexes of key and value in a header.
fn places(header: &[String]) -> Option<(usize, usize)> {
    let place = |name| find_column(header.iter().map(String::as_str), name);
    match (place("key"), place("value")) {
        (Some(key), Some(value)) => Some((key, value)),
        _ => (header.len() >= 2).then_some((0, 1)),
    }
}

fn cell(row: &Row, at: usize) -> &str {
    match &row.values {
        Values::Flat { cells, .. } => cells.get(at).unwrap_or_default().trim(),
        Values::Nested(_) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<BTreeMap<String, String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("demonyms.csv");
        std::fs::write(&path, text).unwrap();
        let shown = path.display().to_string();
        read("nationality", &path).map_err(|error| error.to_string().replace(&shown, "demonyms.csv"))
    }

    fn entries(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_key_and_value_columns_are_found_by_name_or_are_the_first_two() {
        let expected = entries(&[("American", "us"), ("Dutch", "nl")]);
        for text in [
            "demonym,code,note\nAmerican,us,x\n Dutch , nl ,\n",
            "note;Value;KEY\nx;us;American\n;nl;Dutch\n",
            "a,b\nAmerican,us\nDutch,nl\nAmerican,us\nGerman,\n",
        ] {
            assert_eq!(of(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn a_table_of_more_than_64_mib_is_refused() {
        let rows = |count: usize| {
            (0..count).map(|row| format!("{row:07},{}\n", "x".repeat((1 << 20) - 7 - 1))).collect::<String>()
        };
        assert_eq!(of(&format!("key,value\n{}", rows(64))).unwrap().len(), 64);
        let refused = of(&format!("key,value\n{}", rows(65))).unwrap_err();
        assert!(refused.contains("line 66: expected at most 64 MiB"), "{refused}");
    }

    #[test]
    fn a_file_that_cannot_be_a_table_is_refused_with_its_lines() {
        for (text, fault) in [
            (
                "a,b\nDutch,nl\nGerman,de\nDutch,be\n",
                "lines 2 and 4 give the same key different values; remove one of them",
            ),
            ("", "demonyms.csv: expected a header line with the names of the columns, found an empty input"),
            ("a,b\n", "expected entries, found none"),
            ("a\nDutch\n", "expected a CSV file with at least two columns, the key first and the value second"),
            ("a,b\n,nl\n", "line 2: expected a key, found a value without a key"),
            ("a,b\nDutch,nl,x\n", "line 2: expected 2 columns, found 3"),
        ] {
            let found = of(text).unwrap_err();
            assert!(found.contains(fault) && !found.contains("Dutch"), "{text:?}: {found}");
        }
    }

    #[test]
    fn a_path_is_text_and_a_table_is_entries() {
        let parse =
            |text: &str| toml::from_str::<BTreeMap<String, TableSource>>(text).map_err(|error| error.to_string());
        assert_eq!(parse("a = \"x.csv\"").unwrap()["a"], TableSource::File("x.csv".into()));
        assert_eq!(parse("[a]\npath = \"us\"").unwrap()["a"], TableSource::Entries(entries(&[("path", "us")])));
        for text in ["a = { path = \"x.csv\" }", "a = 5", "a = \"\"", "a = { b = 5 }"] {
            assert!(parse(text).unwrap_err().contains("nationality = \"demonyms.csv\""), "{text}");
        }
    }
}
