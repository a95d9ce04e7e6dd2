//! The columns of the inputs, and whether they have those that the campaign names.

use crate::{
    error::Error,
    mapping::{ShownColumns, both},
    model::{
        Record,
        row::{find_column, find_two_columns},
    },
    pipeline::campaign::carried::Carried,
    source::{SourceReader, Split},
};
use std::collections::HashSet;

/// The columns of inputs: their headers, or the keys of the first rows of JSON, at most 1,000 of each input.
pub fn columns_of<'a>(inputs: impl Iterator<Item = (&'a SourceReader, Option<&'a Split>)>) -> Vec<String> {
    let (mut columns, mut known) = (Vec::new(), HashSet::new());
    for (reader, first) in inputs {
        let names = match reader.layout().2 {
            Some(header) => header.to_vec(),
            None => first.into_iter().flat_map(keys).flatten().collect(),
        };
        columns.extend(names.into_iter().filter(|name| known.insert(name.clone())));
    }
    columns
}

/// Checks that the id and carried columns are columns of the header, or keys of the first object.
pub fn check_columns(
    (id, carry): (Option<&str>, &[Carried]),
    header: &[String],
    shown: &ShownColumns<'_>,
) -> Result<(), Error> {
    let names = || header.iter().map(String::as_str);
    let carried = carry.iter().map(|one| ("--carry", one.column.as_str()));
    for (flag, column) in id.map(|id| ("--id", id)).into_iter().chain(carried) {
        if let Some([first, second]) = find_two_columns(names(), column) {
            let columns = both(first, second);
            return Err(Error::Config(format!(
                "{flag}: expected one column called `{column}`, found {columns}; rename one of them, or write one exactly"
            )));
        }
        if find_column(names(), column).is_none() {
            let hint = shown.doubt().unwrap_or_else(|| shown.hint(column));
            return Err(Error::Config(format!("{flag}: the input has no column `{column}`{hint}")));
        }
    }
    Ok(())
}

/// The keys of each row of JSON.
fn keys(split: &Split) -> impl Iterator<Item = Vec<String>> {
    split.records.iter().filter_map(|record| match record {
        Record::Row(row) => Some(row.to_json().into_iter().map(|(key, _)| key).collect()),
        Record::Damaged { .. } => None,
    })
}

/// The keys of the first row of JSON.
pub fn first_keys(split: &Split) -> Option<Vec<String>> {
    keys(split).next()
}
