//! A failed row with the cells of a file of corrections in their places. A cell that says what `failures.csv` says about
//! the row is not a correction, so values that the file cannot show, such as numbers and secrets, stay as they are.

use crate::{
    pipeline::{failure_file::text_of, publish::hidden::SECRET},
    sink::{harmless, unmarked},
    source::Format,
};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// What a file says about a row.
#[derive(Debug, PartialEq)]
pub enum Merged {
    /// The same as before.
    Unchanged,
    /// The corrected row, and the columns that changed.
    Corrected { row: Map<String, Value>, columns: Vec<String> },
    /// Why it cannot be used.
    Unclear(String),
}

/// Whether the input of a row has no such column. A person may have added it, such as one for notes.
pub fn is_foreign(row: &Value, format: Format, columns: &[String], column: &str) -> bool {
    let is_here = row.as_object().is_some_and(|row| row.contains_key(column));
    format == Format::Csv && !is_here && !columns.iter().any(|known| known == column)
}

/// Puts the cells of a file into a row. `columns` are those of its input. Cells of other columns are ignored.
pub fn merged(row: &Value, format: Format, columns: &[String], cells: &[(String, String)]) -> Merged {
    let empty = Map::new();
    let before = row.as_object().unwrap_or(&empty);
    let mut after = Map::new();
    if format == Format::Csv {
        for column in columns {
            after.insert(column.clone(), before.get(column).cloned().unwrap_or_else(|| Value::from("")));
        }
    } else {
        after = before.clone();
    }
    let known: BTreeSet<&String> = columns.iter().collect();
    let mut changed = Vec::new();
    for (column, cell) in cells.iter().filter(|(column, _)| !is_foreign(row, format, columns, column)) {
        let old = before.get(column);
        let shown = old.map(text_of).unwrap_or_default();
        let is_same = *cell == harmless(&shown) || *cell == shown || cell == SECRET;
        if !is_same {
            changed.push(column.clone());
        }
        if format == Format::Csv && !known.contains(column) {
            // A row with too many cells has them in columns that the input does not have.
            let is_edited = !is_same || !changed.is_empty();
            if !cell.is_empty() && is_edited {
                return Merged::Unclear(format!("`{column}` is not a column of its input; empty the cell"));
            }
        } else if !is_same {
            after.insert(column.clone(), value(old, unmarked(cell)));
        }
    }
    if changed.is_empty() { Merged::Unchanged } else { Merged::Corrected { row: after, columns: changed } }
}

/// The value that a cell stands for in the place of another: a number, a boolean, a list or an object can be replaced by
/// one, and everything else is text.
fn value(old: Option<&Value>, cell: &str) -> Value {
    match old {
        None | Some(Value::String(_)) => Value::from(cell),
        Some(_) if cell.is_empty() => Value::Null,
        Some(_) => serde_json::from_str(cell).unwrap_or_else(|_| Value::from(cell)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(row: Value, format: Format, columns: &[&str], cells: &[(&str, &str)]) -> Merged {
        let columns: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
        let cells: Vec<(String, String)> =
            cells.iter().map(|(column, cell)| ((*column).to_owned(), (*cell).to_owned())).collect();
        merged(&row, format, &columns, &cells)
    }

    fn corrected(row: Value, changed: &[&str]) -> Merged {
        let Value::Object(row) = row else { panic!("{row}") };
        Merged::Corrected { row, columns: changed.iter().map(|column| (*column).to_owned()).collect() }
    }

    #[test]
    fn a_changed_cell_takes_the_place_of_its_own_and_the_rest_stays() {
        let row = json!({ "no": "007", "name": "", "phone": "+27 82", "pin": "1234" });
        let columns = ["no", "name", "phone", "pin"];
        let shown = [("no", "007"), ("name", ""), ("phone", "'+27 82"), ("pin", "…")];
        assert_eq!(of(row.clone(), Format::Csv, &columns, &shown), Merged::Unchanged);
        let edited = [("no", "007"), ("name", "Jo"), ("phone", "'+27 83"), ("pin", "…")];
        let expected = json!({ "no": "007", "name": "Jo", "phone": "+27 83", "pin": "1234" });
        assert_eq!(of(row, Format::Csv, &columns, &edited), corrected(expected, &["name", "phone"]));
        let notes = [("no", "007"), ("Notes", "asked the branch")];
        assert_eq!(of(json!({ "no": "007" }), Format::Csv, &["no"], &notes), Merged::Unchanged);
    }

    #[test]
    fn a_row_with_too_few_or_too_many_cells_gets_the_columns_of_its_input() {
        let columns = ["no", "name", "status"];
        let short = of(json!({ "no": "5" }), Format::Csv, &columns, &[("no", "5"), ("name", "Jo"), ("status", "")]);
        assert_eq!(short, corrected(json!({ "no": "5", "name": "Jo", "status": "" }), &["name"]));
        let long = json!({ "no": "5", "name": "Jo", "status": "x", "column_4": "y" });
        let cells = |more: &'static str| [("no", "5"), ("name", "Jo"), ("status", "x y"), ("column_4", more)];
        assert_eq!(
            of(long.clone(), Format::Csv, &columns, &cells("")),
            corrected(json!({ "no": "5", "name": "Jo", "status": "x y" }), &["status", "column_4"])
        );
        let Merged::Unclear(why) = of(long, Format::Csv, &columns, &cells("y")) else { panic!() };
        assert!(why.contains("`column_4` is not a column of its input"), "{why}");
    }

    #[test]
    fn a_row_of_json_keeps_its_types_and_one_that_could_not_be_read_gets_the_cells() {
        let row = json!({ "no": 8, "more": [1], "vip": true });
        let shown = [("no", "8"), ("more", "[1]"), ("vip", "true"), ("other", "")];
        assert_eq!(of(row.clone(), Format::Jsonl, &["no"], &shown), Merged::Unchanged);
        let edited = [("no", "9"), ("more", "[1]"), ("vip", ""), ("other", "new")];
        let expected = json!({ "no": 9, "more": [1], "vip": null, "other": "new" });
        assert_eq!(of(row, Format::Jsonl, &["no"], &edited), corrected(expected, &["no", "vip", "other"]));
        let broken = of(json!("{\"no\": "), Format::Jsonl, &["no"], &[("no", "7"), ("name", "")]);
        assert_eq!(broken, corrected(json!({ "no": "7" }), &["no"]));
    }
}
