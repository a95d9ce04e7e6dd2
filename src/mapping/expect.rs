//! What rows expect of an answer. An expectation is filled like an optional field, so that an invalid one fails before
//! anything is paid for. It is not part of the request.

use super::{FieldSource, MappingError};
use crate::{
    catalogue::{ColumnKind, Declaration, FieldSpec},
    model::{
        field::{FieldKind, LetterCase},
        nearest::hint,
    },
};
use serde_json::Map;
use std::collections::BTreeMap;

const PREFIX: &str = "expect.";

/// A field for each expectation that the user set, in the order of the declaration.
pub(super) fn fields(
    declaration: &Declaration,
    check: &str,
    given: &BTreeMap<String, FieldSource>,
) -> Result<Vec<FieldSpec>, MappingError> {
    let known = || declaration.expectations().map(|(_, expect)| expect.name.as_str());
    if let Some(unknown) = given.keys().find(|name| !known().any(|known| known == *name)) {
        let near = hint(unknown, known());
        let all = known().map(|name| format!("`{name}`")).collect::<Vec<_>>();
        let all = if all.is_empty() {
            "; its answers have nothing to compare with".to_owned()
        } else {
            format!("; the expectations are {}", all.join(", "))
        };
        return Err(MappingError::UnknownExpectation {
            check: check.to_owned(),
            name: unknown.clone(),
            hint: near + &all,
        });
    }
    let wanted = declaration.expectations().filter(|(_, expect)| given.contains_key(&expect.name));
    Ok(wanted.map(|(column, expect)| field(&expect.name, column.kind)).collect())
}

/// The name that users write.
pub(super) fn name_of(field: &FieldSpec) -> &str {
    field.name.strip_prefix(PREFIX).unwrap_or(&field.name)
}

fn field(name: &str, kind: ColumnKind) -> FieldSpec {
    FieldSpec {
        name: format!("{PREFIX}{name}"),
        kind: match kind {
            ColumnKind::Date => FieldKind::Date,
            ColumnKind::Integer => FieldKind::Integer,
            ColumnKind::Boolean => FieldKind::Boolean,
            ColumnKind::Text | ColumnKind::Number | ColumnKind::Count | ColumnKind::Json | ColumnKind::Timestamp => {
                FieldKind::Text
            }
        },
        required: false,
        default: None,
        allowed: Vec::new(),
        choices: None,
        names: Map::new(),
        letter_case: LetterCase::AsIs,
        length_max: None,
        digits: None,
        synonyms: Vec::new(),
        doc: String::new(),
        assumed: false,
        assumed_parts: Vec::new(),
        source: None,
        secret: false,
    }
}
