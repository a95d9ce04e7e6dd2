//! All datasets as one stream of Arrow data: one row for each ask, in the order of the input. It has the columns of all datasets; one
//! that a dataset does not have is null in its rows.

use super::table::Table;
use crate::{
    error::Error,
    sink::{ArrowRows, Column, HEAD_COLUMNS, Kind, Schema, TableCell},
};
use std::{collections::BTreeMap, io::Write};

/// Where the rows go.
pub type Out = Box<dyn Write + Send>;

/// The name of the stream in errors.
const NAME: &str = "standard output";
/// The column that says which dataset a row is of.
const DATASET: &str = "dataset";
/// Columns of rows without a result. A column of results with one of these names would mean two things.
const OTHERS: [&str; 11] = [
    "stage",
    "code",
    "message",
    "possibly_charged",
    "retryable",
    "line",
    "byte_offset",
    "input",
    "reason",
    "job_id",
    "deadline",
];

/// The stream. It begins with the first row, when all datasets are known.
pub struct OneStream {
    out: Option<Out>,
    /// The datasets, in the order in which they were added, with the name of the check.
    tables: Vec<(Table, String, Schema)>,
    begun: Option<Begun>,
}

struct Begun {
    rows: ArrowRows<Out>,
    /// How many columns the stream has.
    width: usize,
    /// For each column of a dataset, its place in the stream.
    places: BTreeMap<Table, Vec<usize>>,
}

impl OneStream {
    pub fn new(out: Out) -> OneStream {
        OneStream { out: Some(out), tables: Vec::new(), begun: None }
    }

    /// Adds a dataset. `name` is the check of results.
    pub fn add(&mut self, table: Table, name: Option<&str>, schema: Schema) {
        self.tables.push((table, name.unwrap_or(table.kind().as_str()).to_owned(), schema));
    }

    /// Adds a row.
    ///
    /// # Errors
    /// Two datasets have a column with one name and different types, or a storage error.
    pub fn write(&mut self, table: Table, row: Vec<TableCell>) -> Result<(), Error> {
        let Begun { rows, width, places } = self.begun()?;
        let mut cells = vec![TableCell::Null; *width];
        cells[HEAD_COLUMNS] = TableCell::text(table.kind().as_str());
        for (cell, place) in row.into_iter().zip(places.get(&table).into_iter().flatten()) {
            cells[*place] = cell;
        }
        Ok(rows.write(cells)?)
    }

    /// Checks that all datasets fit into one stream.
    ///
    /// # Errors
    /// Two datasets have a column with one name and different types.
    pub fn check(&self) -> Result<(), Error> {
        united(&self.tables).map(drop)
    }

    /// Ends the stream. One without rows has its columns.
    ///
    /// # Errors
    /// As for a row.
    pub fn finish(mut self) -> Result<(), Error> {
        self.begun()?;
        match self.begun {
            Some(begun) => Ok(begun.rows.finish()?),
            None => Ok(()),
        }
    }

    fn begun(&mut self) -> Result<&mut Begun, Error> {
        let begun = match (self.begun.take(), self.out.take()) {
            (Some(begun), _) => begun,
            (None, Some(out)) => {
                let (schema, places) = united(&self.tables)?;
                let width = schema.columns.len();
                Begun { rows: ArrowRows::new(out, schema, NAME)?, width, places }
            }
            (None, None) => return Err(Error::Internal("the stream of rows has ended".to_owned())),
        };
        Ok(self.begun.insert(begun))
    }
}

/// The columns of all datasets, and the place of each.
fn united(tables: &[(Table, String, Schema)]) -> Result<(Schema, BTreeMap<Table, Vec<usize>>), Error> {
    let dataset = Column { name: DATASET.to_owned(), kind: Kind::Text, nullable: false };
    let head = tables.first().into_iter().flat_map(|(.., schema)| schema.columns.iter().take(HEAD_COLUMNS).cloned());
    let mut columns: Vec<(Column, &str)> = head.chain([dataset]).map(|column| (column, "every dataset")).collect();
    let mut known: BTreeMap<String, usize> =
        columns.iter().enumerate().map(|(at, (column, _))| (column.name.clone(), at)).collect();
    let mut places = BTreeMap::new();
    for (table, name, schema) in tables {
        let mut of_table = Vec::with_capacity(schema.columns.len());
        for column in &schema.columns {
            let at = *known.entry(column.name.clone()).or_insert_with(|| {
                columns.push((Column { nullable: true, ..column.clone() }, name));
                columns.len() - 1
            });
            let (first, of) = &mut columns[at];
            let means_two_things = matches!(table, Table::Results(_)) && OTHERS.contains(&column.name.as_str());
            if means_two_things || column.name == DATASET {
                return Err(Error::Config(format!(
                    "column `{}` of {name}: the rows of a filter have a column of their own with this name; rename it, \
                     for a carried column with [output] carry = [{{ my_{0} = \"COLUMN\" }}]",
                    column.name
                )));
            }
            if first.kind != column.kind {
                return Err(Error::Config(format!(
                    "column `{}`: it is {} in {of} and {} in {name}, so the rows cannot be one table; filter one check at a \
                     time, or rename the column",
                    column.name,
                    first.kind.as_str(),
                    column.kind.as_str()
                )));
            }
            first.nullable |= column.nullable;
            of_table.push(at);
        }
        places.insert(*table, of_table);
    }
    Ok((Schema { columns: columns.into_iter().map(|(column, _)| column).collect() }, places))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(columns: &[(&str, Kind)]) -> Schema {
        let column = |(name, kind): &(&str, Kind)| Column { name: (*name).to_owned(), kind: *kind, nullable: false };
        let head = ["result_id", "campaign", "mode", "check_name", "subject"].map(|name| (name, Kind::Text));
        Schema { columns: head.iter().chain(columns).map(column).collect() }
    }

    #[test]
    fn columns_of_one_name_are_one_and_may_be_null_in_the_rows_of_others() {
        let results = schema(&[("verdict", Kind::Text), ("row_number", Kind::Integer)]);
        let failures = schema(&[("code", Kind::Text), ("row_number", Kind::Integer)]);
        let tables =
            [(Table::Results(1), "aml".to_owned(), results), (Table::Failures, "failures".to_owned(), failures)];
        let (all, places) = united(&tables).unwrap();
        let names: Vec<(&str, bool)> =
            all.columns[HEAD_COLUMNS..].iter().map(|column| (column.name.as_str(), column.nullable)).collect();
        assert_eq!(names, [("dataset", false), ("verdict", true), ("row_number", true), ("code", true)]);
        assert_eq!(places[&Table::Failures][HEAD_COLUMNS..], [8, 7]);
    }

    #[test]
    fn columns_with_one_name_and_different_types_are_refused() {
        let (one, two) = (schema(&[("score", Kind::Text)]), schema(&[("score", Kind::Number)]));
        let fault = united(&[(Table::Results(1), "a".to_owned(), one), (Table::Results(2), "b".to_owned(), two)]);
        assert!(fault.unwrap_err().to_string().contains("column `score`: it is text in a and number in b"));
        for name in ["dataset", "code"] {
            let fault = united(&[(Table::Results(1), "a".to_owned(), schema(&[(name, Kind::Text)]))]).unwrap_err();
            assert!(fault.to_string().contains(&format!("column `{name}` of a: the rows of a filter")), "{fault}");
        }
    }
}
