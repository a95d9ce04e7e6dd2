//! What differs between two results of a subject: the fields that were sent, and the columns of the answer.

use super::round::LIST_COLUMNS;
use crate::{
    error::Error,
    pipeline::show::{SeenRow, Wanted, rows_of},
    sink::{PublishedFolder, TableCell},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// A value that differs, or that one result does not have.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// A column, or a field that was sent.
    pub name: String,
    pub is_sent: bool,
    pub old: Option<TableCell>,
    pub new: Option<TableCell>,
}

/// The differences of these pairs of results, each by the `result_id` of the old and the new one. The version of the
/// service's list is left out, because it belongs to the whole round.
///
/// # Errors
/// A folder cannot be read.
pub fn differences(
    [old, new]: [&Path; 2],
    pairs: &[(String, String)],
) -> Result<BTreeMap<(String, String), Vec<Difference>>, Error> {
    let ids = |of: fn(&(String, String)) -> &String| pairs.iter().map(of).cloned().collect::<BTreeSet<String>>();
    let (old, new) = (rows(old, &ids(|pair| &pair.0))?, rows(new, &ids(|pair| &pair.1))?);
    let found = pairs.iter().filter_map(|pair| Some((pair.clone(), between(old.get(&pair.0)?, new.get(&pair.1)?))));
    Ok(found.collect())
}

fn rows(folder: &Path, ids: &BTreeSet<String>) -> Result<BTreeMap<String, SeenRow>, Error> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = rows_of(&[PublishedFolder::open(folder)?], Wanted::ResultIds(ids))?;
    Ok(rows.into_iter().map(|row| (row.result_id.clone(), row)).collect())
}

fn between(old: &SeenRow, new: &SeenRow) -> Vec<Difference> {
    let sent = |row: &SeenRow| -> Vec<(String, TableCell)> {
        let fields = row.sent_fields().into_iter();
        fields.map(|(name, text)| (name.to_owned(), TableCell::Text(text))).collect()
    };
    let in_list = |name: &str| LIST_COLUMNS.contains(&name);
    let columns = unequal(&old.columns, &new.columns, false).filter(|one| !in_list(&one.name)).collect::<Vec<_>>();
    // Rounds that do not keep what was sent say nothing about it.
    let fields = match (&old.sent, &new.sent) {
        (Some(_), Some(_)) => unequal(&sent(old), &sent(new), true).collect(),
        _ => Vec::new(),
    };
    [fields, columns].concat()
}

/// The values that differ, in the order of the new row. Those that only the old row has come last.
fn unequal(
    old: &[(String, TableCell)],
    new: &[(String, TableCell)],
    is_sent: bool,
) -> impl Iterator<Item = Difference> {
    let value = |row: &[(String, TableCell)], name: &str| {
        row.iter().find(|(known, _)| known == name).map(|(_, cell)| cell.clone())
    };
    let only_old = old.iter().filter(|(name, _)| value(new, name).is_none());
    let names: Vec<&str> = new.iter().chain(only_old).map(|(name, _)| name.as_str()).collect();
    let all: Vec<Difference> = names
        .into_iter()
        .map(|name| Difference { name: name.to_owned(), is_sent, old: value(old, name), new: value(new, name) })
        .collect();
    all.into_iter().filter(|one| one.old != one.new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_has_both_values_and_the_list_of_the_service_is_left_out() {
        let column = |(name, number): (&str, i64)| (name.to_owned(), TableCell::Integer(number));
        let old = [("match_count", 1), ("score", 5), ("gone", 1)].map(column);
        let new = [("match_count", 2), ("score", 5), ("more", 3)].map(column);
        let found: Vec<_> = unequal(&old, &new, false).map(|one| (one.name, one.old, one.new)).collect();
        let number = |number| Some(TableCell::Integer(number));
        assert_eq!(
            found,
            [
                ("match_count".to_owned(), number(1), number(2)),
                ("more".to_owned(), None, number(3)),
                ("gone".to_owned(), number(1), None)
            ]
        );
    }
}
