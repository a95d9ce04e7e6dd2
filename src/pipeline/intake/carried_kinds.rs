//! The types of the carried columns: those of the first rows decide, the first run records them, and a later value that
//! does not fit fails its row. A column of CSV or of a sheet is text, unless the campaign names a type.

use crate::{
    mapping::{Bound, Mapped, MappingError},
    model::{
        Failure, FailureCode, Record, Row,
        row::{Cell, find_column, folded},
        value_kind::{SeenValues, ValueKind},
    },
    pipeline::campaign::{Campaign, carried::Carried},
    source::{SourceReader, Split},
};
use serde_json::Value;

/// The carried columns that have another type than text, and the texts that mean null in them.
#[derive(Debug, Clone, Default)]
pub struct CarriedKinds(Vec<(Carried, Vec<String>)>);

impl CarriedKinds {
    /// `carry` has the types of the results.
    pub fn new(campaign: &Campaign, carry: &[Carried]) -> CarriedKinds {
        let typed = carry.iter().filter(|one| one.kind() != ValueKind::Text);
        let nulls = |one: &Carried| {
            let own = campaign.null_in.iter().find(|(column, _)| folded(column) == folded(&one.column));
            own.map_or(&campaign.null, |(_, texts)| texts).clone()
        };
        CarriedKinds(typed.map(|one| (one.clone(), nulls(one))).collect())
    }

    /// Maps a row. A value of a carried column that does not fit its type fails the asks of the row.
    ///
    /// # Errors
    /// The row has other columns than the mapping.
    pub fn map(&self, bound: &Bound, row: &Row) -> Result<Vec<Mapped>, MappingError> {
        let mapped = bound.map(row)?;
        let Some(failure) = self.failure(row) else { return Ok(mapped) };
        let failed = |one: Mapped| match one {
            Mapped::Ask(_) => Mapped::Failed(failure.clone()),
            other => other,
        };
        Ok(mapped.into_iter().map(failed).collect())
    }

    fn failure(&self, row: &Row) -> Option<Failure> {
        let does_not_fit = |(one, nulls): &&(Carried, Vec<String>)| {
            let value = match row.get(&one.column) {
                None | Some(Cell::Json(Value::Null)) => return false,
                Some(Cell::Text(text)) => &Value::from(text),
                Some(Cell::Json(value)) => value,
            };
            let is_null = value.as_str().is_some_and(|text| nulls.iter().any(|null| null.trim() == text.trim()));
            !is_null && one.kind().read(value).is_none()
        };
        let (one, _) = self.0.iter().find(does_not_fit)?;
        let (column, expected) = (&one.column, one.kind().with_article());
        let found = match one.kind() {
            ValueKind::Integer | ValueKind::Number => "another value, or more digits than 64 bits keep",
            ValueKind::Boolean | ValueKind::Text => "another value",
        };
        let message = format!(
            "carried column `{column}`: expected {expected}, found {found}; correct the row, or carry the column as \
             text from the first run of a campaign on: carry = [{{ {} = {{ column = {}, type = \"text\" }} }}]",
            crate::model::toml_text::toml_text(one.name()),
            crate::model::toml_text::toml_text(column),
        );
        Some(Failure::map(FailureCode::InvalidValue, message))
    }
}

/// What the beginning of an input says about the type of a column. `first` is its first split, if its rows are JSON.
pub fn seen_values(reader: &SourceReader, first: Option<&Split>, column: &str) -> SeenValues {
    let mut seen = SeenValues::default();
    let kinds = reader.kinds();
    if let Some(at) = find_column(kinds.iter().map(|(name, _)| name.as_str()), column) {
        seen.add_kind(kinds[at].1);
        return seen;
    }
    if let Some(header) = reader.layout().2 {
        if find_column(header.iter().map(String::as_str), column).is_some() {
            seen.add_kind(ValueKind::Text);
        }
        return seen;
    }
    for record in first.iter().flat_map(|split| &split.records) {
        if let Record::Row(row) = record
            && let Some(Cell::Json(value)) = row.get(column)
        {
            seen.add(value);
        }
    }
    seen
}
