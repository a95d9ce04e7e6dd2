//! The columns that the user named with `--map`: `init` has read the rows, so it refuses a column that they do not have,
//! and writes a path such as `FEATURES[].ADDR_COUNTRY` as the template that reads it.

use super::{column::Place, inputs::Sampled, profile::Profile, row_id::RowId};
use crate::{
    catalogue::column_names::tokens,
    error::Error,
    mapping::{FieldSource, MappingError, path_expression},
    model::{
        nearest::{about_nearest, suggestion},
        printable::printable,
        row::{Values, find_column},
    },
};
use std::collections::BTreeMap;

/// Most columns that a message lists.
const COLUMNS_LISTED_MAX: usize = 20;

/// The sources of a check's fields, with paths as templates.
///
/// # Errors
/// A source is a column that the rows do not have. The error names the nearest ones.
pub fn given(
    check: &str,
    sources: &BTreeMap<String, FieldSource>,
    sampled: &Sampled,
) -> Result<BTreeMap<String, FieldSource>, MappingError> {
    let columns = columns(sampled);
    let resolved = |(field, source): (&String, &FieldSource)| {
        let source = match source {
            FieldSource::Column(name) => {
                column_or_path(name, &columns, &sampled.profiles).ok_or_else(|| MappingError::UnknownColumn {
                    check: check.to_owned(),
                    place: format!("field `{field}`"),
                    column: name.clone(),
                    known: known(name, &sampled.profiles),
                })?
            }
            FieldSource::Template(_) | FieldSource::Constant(_) => source.clone(),
        };
        Ok((field.clone(), source))
    };
    sources.iter().map(resolved).collect()
}

/// The column that the user named for `id`.
///
/// # Errors
/// The rows do not have it. The error names the nearest ones.
pub fn id(name: &str, sampled: &Sampled) -> Result<RowId, Error> {
    let columns = columns(sampled);
    let Some(column) = find_column(columns.iter().map(String::as_str), name).map(|at| columns[at].clone()) else {
        let known = known(name, &sampled.profiles);
        return Err(Error::Config(format!("--id: the input has no column `{}`{known}", printable(name))));
    };
    let profile = sampled.profiles.iter().find(|one| one.place == Place::column(&column));
    let counts = profile.map(|one| format!("; {}", one.about())).unwrap_or_default();
    Ok(RowId {
        shown: format!("column `{}`", printable(name)),
        column: Some(column),
        why: format!("as you said{counts}"),
    })
}

/// The columns of all inputs. A key of a JSON row is one even if each of its values is null.
fn columns(sampled: &Sampled) -> Vec<String> {
    let mut columns: Vec<String> = sampled.samples[0].header.clone().unwrap_or_default();
    for row in sampled.samples.iter().flat_map(|sample| &sample.rows) {
        if let Values::Nested(map) = &row.values {
            for key in map.keys().filter(|key| !columns.contains(key)).collect::<Vec<_>>() {
                columns.push(key.clone());
            }
        }
    }
    columns
}

/// A column as the user wrote it, or the template for a path; `None` if the rows have neither.
fn column_or_path(name: &str, columns: &[String], profiles: &[Profile]) -> Option<FieldSource> {
    if find_column(columns.iter().map(String::as_str), name).is_some() {
        return Some(FieldSource::from(name));
    }
    let place = |wanted: &str| profiles.iter().find(|one| !one.place.steps.is_empty() && one.place.path() == wanted);
    if let Some(found) = place(name) {
        return Some(found.place.source());
    }
    // `names[0].full` reads the first item of a list whose items have `full`.
    let of_items = without_numbers(name);
    let expression = path_expression(name).filter(|_| of_items != name && place(&of_items).is_some())?;
    Some(FieldSource::Template(format!("{{{{ {expression} }}}}")))
}

/// A path with `[]` for each `[0]`.
fn without_numbers(path: &str) -> String {
    let mut parts = path.split('[');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push('[');
        text.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    text
}

/// The nearest columns and paths, and what the columns are. Names that may be data are left out.
fn known(wrong: &str, profiles: &[Profile]) -> String {
    let names: Vec<(String, &Profile)> = profiles.iter().filter_map(|one| Some((one.shown_name()?, one))).collect();
    if names.is_empty() {
        return "; the first line may be a row, so no name of it is repeated here".to_owned();
    }
    let same_last = |one: &Profile| tokens(one.place.name()) == tokens(wrong);
    let mut near: Vec<&str> =
        names.iter().filter(|(_, one)| same_last(one)).map(|(name, _)| name.as_str()).take(3).collect();
    if near.is_empty() {
        near = about_nearest(wrong, names.iter().map(|(name, _)| name.as_str()));
    }
    if near.is_empty() {
        // A path is also known by its last name.
        let last = about_nearest(wrong, names.iter().map(|(_, one)| one.place.name()));
        near =
            names.iter().filter(|(_, one)| last.contains(&one.place.name())).map(|(name, _)| name.as_str()).collect();
        near.truncate(3);
    }
    let quoted: Vec<String> = names.iter().map(|(name, _)| format!("`{name}`")).collect();
    let all = if quoted.len() > COLUMNS_LISTED_MAX {
        format!("{} and {} more", quoted[..COLUMNS_LISTED_MAX].join(", "), quoted.len() - COLUMNS_LISTED_MAX)
    } else {
        quoted.join(", ")
    };
    format!("{}; the columns are {all}", suggestion(&near))
}
