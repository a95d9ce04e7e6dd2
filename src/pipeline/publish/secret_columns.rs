//! The columns of the input that fill secret fields. The outputs that repeat a row hide their cells, and the values of
//! secret fields wherever a message or an answer repeats them.

use super::hidden::{Hiding, SECRET};
use crate::{
    error::Error,
    ledger::{AskFate, AskView},
    mapping::FieldSource,
    model::row::find_column,
    pipeline::campaign::Campaign,
    template::Templates,
};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The columns that fill secret fields of any check of the campaign: a row is the same for all its checks.
#[derive(Debug, Default, PartialEq)]
pub struct SecretColumns(Vec<String>);

impl SecretColumns {
    /// # Errors
    /// A check is not in the catalogue.
    pub fn of(campaign: &Campaign) -> Result<SecretColumns, Error> {
        let templates = Templates::new(crate::template::Tables(campaign.tables.clone()));
        let mut columns = Vec::new();
        for one in &campaign.uses {
            for field in campaign.catalogue.get(&one.check)?.fields.iter().filter(|field| field.secret) {
                // These are hidden even if another column fills the field: they hold the same secret by their name.
                columns.extend([&field.name].into_iter().chain(&field.synonyms).cloned());
                match one.fields.get(&field.name) {
                    Some(FieldSource::Column(column)) => columns.push(column.clone()),
                    Some(FieldSource::Template(source)) => {
                        columns.extend(templates.compile(source).iter().flat_map(|one| one.columns().clone()));
                    }
                    Some(FieldSource::Constant(_)) | None => {}
                }
            }
        }
        Ok(SecretColumns(columns))
    }

    /// A row without the cells of these columns. A row that is not an object could not be read: where its cells are is
    /// not known, so all of it is hidden.
    pub fn masked<'a>(&self, row: &'a Value) -> Cow<'a, Value> {
        let Value::Object(cells) = row else {
            let is_hidden = !self.0.is_empty() && !row.is_null();
            return if is_hidden { Cow::Owned(SECRET.into()) } else { Cow::Borrowed(row) };
        };
        let found = self.names(cells);
        if found.is_empty() {
            return Cow::Borrowed(row);
        }
        let mut cells = cells.clone();
        for name in found {
            cells.insert(name, SECRET.into());
        }
        Cow::Owned(Value::Object(cells))
    }

    /// What to hide in the outputs of an ask: also the values of its secret fields.
    pub fn hiding<'a>(&self, hiding: &'a Hiding, ask: &AskView<'_>) -> Cow<'a, Hiding> {
        if self.0.is_empty() && hiding.secrets.is_empty() {
            return Cow::Borrowed(hiding);
        }
        let mut values = Vec::new();
        if let Value::Object(cells) = &ask.row.input {
            values.extend(self.names(cells).iter().filter_map(|name| secret_text(&cells[name])));
        }
        if let AskFate::Request(request) = &ask.fate {
            let sent: Map<String, Value> = serde_json::from_str(&request.fields).unwrap_or_default();
            values.extend(hiding.secrets.iter().filter_map(|name| secret_text(sent.get(name)?)));
        }
        // The longest first, because one may contain another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Cow::Owned(Hiding { values, ..hiding.clone() })
    }

    /// The names of these columns in a row, as it spells them.
    fn names(&self, cells: &Map<String, Value>) -> Vec<String> {
        let all = || cells.keys().map(String::as_str);
        let at = |column: &String| all().nth(find_column(all(), column)?).map(str::to_owned);
        self.0.iter().filter_map(at).collect()
    }
}

/// A secret value as text. A blank hides nothing.
fn secret_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}
