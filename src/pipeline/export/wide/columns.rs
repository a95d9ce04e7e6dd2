//! The columns of the input, as its rows have them: their names in order, and a type that holds every value of each. Rows
//! of JSON may have any columns, so all rows are looked at before the first is written.

use crate::sink::{Column, Kind, TableCell};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The column for the text of a row that could not be split into columns.
const RAW: &str = "_raw";
/// Further columns are left out. Rows of JSON could have a new one each.
const COLUMNS_MAX: usize = 10_000;

/// The columns of one input, or of several with the same columns.
#[derive(Debug, Clone, Default)]
pub struct InputColumns {
    columns: Vec<(String, Option<Kind>)>,
    places: HashMap<String, usize>,
    /// Whether a column was left out.
    pub is_cut: bool,
}

impl InputColumns {
    /// Notes the columns of a row.
    pub fn note(&mut self, row: &Value) {
        match row {
            Value::Object(cells) => cells.iter().for_each(|(name, value)| self.note_cell(name, value)),
            other => self.note_cell(RAW, other),
        }
    }

    fn note_cell(&mut self, name: &str, value: &Value) {
        self.add(name, kind_of(value));
    }

    fn add(&mut self, name: &str, found: Option<Kind>) {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None if self.columns.len() >= COLUMNS_MAX => {
                self.is_cut = true;
                return;
            }
            None => {
                self.columns.push((name.to_owned(), None));
                self.places.insert(name.to_owned(), self.columns.len() - 1);
                self.columns.len() - 1
            }
        };
        let kind = &mut self.columns[place].1;
        *kind = both(*kind, found);
    }

    /// Whether another input has columns of the same names.
    pub fn is_like(&self, other: &InputColumns) -> bool {
        let names = |columns: &InputColumns| columns.places.keys().cloned().collect::<HashSet<_>>();
        names(self) == names(other)
    }

    /// Adds the columns and types of others.
    pub fn join(&mut self, other: &InputColumns) {
        for (name, kind) in &other.columns {
            self.add(name, *kind);
        }
        self.is_cut |= other.is_cut;
    }

    /// The columns, as a table has them.
    pub fn columns(&self) -> Vec<Column> {
        let column = |(name, kind): &(String, Option<Kind>)| Column {
            name: name.clone(),
            kind: kind.unwrap_or(Kind::Text),
            nullable: true,
        };
        self.columns.iter().map(column).collect()
    }

    /// The cells of a row: one for each column.
    pub fn cells(&self, row: &Value) -> Vec<TableCell> {
        let mut cells = vec![TableCell::Null; self.columns.len()];
        let mut put = |name: &str, value: &Value| {
            if let Some(place) = self.places.get(name) {
                cells[*place] = cell(value, self.columns[*place].1.unwrap_or(Kind::Text));
            }
        };
        match row {
            Value::Object(values) => values.iter().for_each(|(name, value)| put(name, value)),
            other => put(RAW, other),
        }
        cells
    }
}

/// The type of a value; `None` for null.
fn kind_of(value: &Value) -> Option<Kind> {
    match value {
        Value::Null => None,
        Value::Bool(_) => Some(Kind::Boolean),
        Value::Number(number) if number.is_i64() => Some(Kind::Integer),
        // Above 2^63, a number of 64 bits is not exact.
        Value::Number(number) if number.is_f64() => Some(Kind::Number),
        Value::Array(_) | Value::Object(_) => Some(Kind::Json),
        _ => Some(Kind::Text),
    }
}

/// A type for the values of both. Numbers with and numbers without a fraction become text, because 2^53 + 1 cannot be
/// represented as a floating-point number.
fn both(one: Option<Kind>, other: Option<Kind>) -> Option<Kind> {
    match (one, other) {
        (None, kind) | (kind, None) => kind,
        (Some(one), Some(other)) if one == other => Some(one),
        _ => Some(Kind::Text),
    }
}

fn cell(value: &Value, kind: Kind) -> TableCell {
    match (value, kind) {
        (Value::Null, _) => TableCell::Null,
        (Value::Bool(truth), Kind::Boolean) => TableCell::Boolean(*truth),
        (Value::Number(number), Kind::Integer) => TableCell::or_null(number.as_i64(), TableCell::Integer),
        (Value::Number(number), Kind::Number) => TableCell::or_null(number.as_f64(), TableCell::Number),
        (Value::String(text), _) => TableCell::text(text.as_str()),
        (other, Kind::Json) => TableCell::Json(other.to_string()),
        (other, _) => TableCell::Text(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(rows: &[Value]) -> InputColumns {
        let mut columns = InputColumns::default();
        rows.iter().for_each(|row| columns.note(row));
        columns
    }

    fn kinds(columns: &InputColumns) -> Vec<(String, Kind)> {
        columns.columns().into_iter().map(|column| (column.name, column.kind)).collect()
    }

    #[test]
    fn a_column_has_a_type_that_holds_every_value() {
        let rows = [
            json!({ "id": "0001", "n": 1, "x": 1, "f": 0.5, "b": true, "big": u64::MAX, "empty": null, "mixed": true }),
            json!({ "id": "0002", "n": 2, "x": 1.5, "f": null, "b": false, "list": [1], "mixed": "yes" }),
        ];
        let columns = of(&rows);
        let expected = [
            ("id", Kind::Text),
            ("n", Kind::Integer),
            ("x", Kind::Text),
            ("f", Kind::Number),
            ("b", Kind::Boolean),
            ("big", Kind::Text),
            ("empty", Kind::Text),
            ("mixed", Kind::Text),
            ("list", Kind::Json),
        ];
        assert_eq!(kinds(&columns), expected.map(|(name, kind)| (name.to_owned(), kind)));
        let cells = columns.cells(&rows[1]);
        let text = |text: &str| TableCell::text(text);
        let expected = [
            text("0002"),
            TableCell::Integer(2),
            text("1.5"),
            TableCell::Null,
            TableCell::Boolean(false),
            TableCell::Null,
            TableCell::Null,
            text("yes"),
            TableCell::Json("[1]".to_owned()),
        ];
        assert!(cells == expected);
    }

    #[test]
    fn a_row_that_is_no_object_has_a_column_of_its_own() {
        let columns = of(&[json!({ "a": "1" }), json!("a;b;c")]);
        assert_eq!(kinds(&columns), [("a".to_owned(), Kind::Text), ("_raw".to_owned(), Kind::Text)]);
        assert!(columns.cells(&json!("a;b;c")) == [TableCell::Null, TableCell::text("a;b;c")]);
    }

    #[test]
    fn inputs_with_the_same_names_are_alike_in_any_order() {
        let (mut one, two) = (of(&[json!({ "a": 1, "b": "x" })]), of(&[json!({ "b": "y", "a": "2" })]));
        assert!(one.is_like(&two) && !one.is_like(&of(&[json!({ "a": 1 })])));
        one.join(&two);
        assert_eq!(kinds(&one), [("a".to_owned(), Kind::Text), ("b".to_owned(), Kind::Text)]);
    }

    #[test]
    fn columns_beyond_the_limit_are_left_out_and_that_is_said() {
        let row = |number: usize| json!({ format!("c{number}"): "x" });
        let columns = of(&(0..=COLUMNS_MAX).map(row).collect::<Vec<_>>());
        assert_eq!((columns.columns().len(), columns.is_cut), (COLUMNS_MAX, true));
    }
}
