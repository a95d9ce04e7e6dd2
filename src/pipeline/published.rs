//! The rows of a published folder, in both formats, as cells. Parquet is read by the reader of inputs, which has limits
//! whatever a file claims.

use crate::{
    error::Error,
    sink::{Dataset, Kind, OutputFormat, Part, PublishedFolder, SinkError, TableCell, jsonl_cells},
    source::parquet_batches,
};
use arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch},
    datatypes::{DataType, Date32Type, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType},
};
use std::{path::Path, str::FromStr};

/// Hands out the rows of a dataset, part by part, with these columns in this order. A column that the dataset does not
/// have is null in every row.
///
/// # Errors
/// A part is missing or damaged, or the error of `each`.
pub fn each_row(
    folder: &PublishedFolder,
    dataset: &Dataset,
    columns: &[&str],
    each: &mut dyn FnMut(&[TableCell]) -> Result<(), Error>,
) -> Result<(), Error> {
    dataset.parts.iter().try_for_each(|part| each_row_of_part(folder, dataset, part, columns, each))
}

/// Hands out the rows of one part, as [`each_row`] does.
///
/// # Errors
/// Those of [`each_row`].
pub fn each_row_of_part(
    folder: &PublishedFolder,
    dataset: &Dataset,
    part: &Part,
    columns: &[&str],
    each: &mut dyn FnMut(&[TableCell]) -> Result<(), Error>,
) -> Result<(), Error> {
    let file = folder.part(part)?;
    let kind_of = |name: &str| dataset.schema.iter().find(|column| column.name == name).map(|column| column.kind);
    let chosen: Vec<(&str, Option<Kind>)> = columns.iter().map(|name| (*name, kind_of(name))).collect();
    let damaged = |fault: String| Error::from(folder.unusable(part, fault));
    let mut rows = 0;
    let mut counted = |cells: &[TableCell]| {
        rows += 1;
        each(cells)
    };
    match format_of(&part.path) {
        Some(OutputFormat::Jsonl) => {
            let mut each = |cells: &[TableCell]| counted(cells).map_err(Fault::Other);
            jsonl_cells(file, &chosen, &mut each).map_err(|fault| match fault {
                Fault::Damaged(fault) => damaged(fault),
                Fault::Other(error) => error,
            })?;
        }
        Some(OutputFormat::Parquet) => {
            let names: Vec<&str> = chosen.iter().filter(|(_, kind)| kind.is_some()).map(|(name, _)| *name).collect();
            let mut end = Ok(());
            let read = parquet_batches(file, &names, &mut |batch| {
                end = batch_rows(batch, &chosen, &mut counted).map_err(|fault| match fault {
                    Fault::Damaged(fault) => damaged(fault),
                    Fault::Other(error) => error,
                });
                end.is_ok()
            });
            end?;
            read.map_err(|fault| damaged(fault.to_string()))?;
        }
        None => return Err(damaged("expected a file with the extension parquet or jsonl, because CSV has no types; export the campaign again with --format parquet".to_owned())),
    }
    if rows == part.rows { Ok(()) } else { Err(damaged(format!("expected {} rows, found {rows}", part.rows))) }
}

fn format_of(path: &str) -> Option<OutputFormat> {
    OutputFormat::from_str(Path::new(path).extension()?.to_str()?).ok()
}

/// Why a part was not read to its end.
enum Fault {
    Damaged(String),
    /// The error of the caller.
    Other(Error),
}

impl From<String> for Fault {
    fn from(fault: String) -> Fault {
        Fault::Damaged(fault)
    }
}

/// Hands out the rows of a batch. Its columns are in the order of the file.
fn batch_rows(
    batch: &RecordBatch,
    chosen: &[(&str, Option<Kind>)],
    each: &mut dyn FnMut(&[TableCell]) -> Result<(), Error>,
) -> Result<(), Fault> {
    let array = |(name, kind): &(&str, Option<Kind>)| {
        let Some(kind) = kind else { return Ok(None) };
        let array = batch.column_by_name(name);
        let array = array.ok_or_else(|| Fault::Damaged(format!("expected the column `{name}`, found none")))?;
        if matches(array.data_type(), *kind) {
            Ok(Some(array))
        } else {
            Err(Fault::Damaged(format!("column `{name}`: expected the type {} of the manifest", kind.as_str())))
        }
    };
    let arrays = chosen.iter().map(array).collect::<Result<Vec<_>, Fault>>()?;
    let mut cells = vec![TableCell::Null; chosen.len()];
    for row in 0..batch.num_rows() {
        for ((cell, array), (_, kind)) in cells.iter_mut().zip(&arrays).zip(chosen) {
            *cell = match (array.map_or(TableCell::Null, |array| cell_of(array, row)), kind) {
                (TableCell::Text(json), Some(Kind::Json)) => TableCell::Json(json),
                (cell, _) => cell,
            };
        }
        each(&cells).map_err(Fault::Other)?;
    }
    Ok(())
}

/// Whether a column of a file has the type that the manifest states.
fn matches(found: &DataType, kind: Kind) -> bool {
    match kind {
        Kind::Text | Kind::Json => *found == DataType::Utf8View,
        Kind::Integer => *found == DataType::Int64,
        Kind::Number => *found == DataType::Float64,
        Kind::Boolean => *found == DataType::Boolean,
        Kind::Date => *found == DataType::Date32,
        Kind::Timestamp => matches!(found, DataType::Timestamp(TimeUnit::Microsecond, _)),
    }
}

fn cell_of(array: &ArrayRef, row: usize) -> TableCell {
    if array.is_null(row) {
        return TableCell::Null;
    }
    match array.data_type() {
        DataType::Utf8View => TableCell::text(array.as_string_view().value(row)),
        DataType::Int64 => TableCell::Integer(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => TableCell::Number(array.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => TableCell::Boolean(array.as_boolean().value(row)),
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().value(row);
            let day = jiff::Span::new().try_days(days).ok();
            let day = day.and_then(|days| jiff::civil::date(1970, 1, 1).checked_add(days).ok());
            TableCell::or_null(day, TableCell::Date)
        }
        DataType::Timestamp(..) => TableCell::Timestamp(array.as_primitive::<TimestampMicrosecondType>().value(row)),
        _ => TableCell::Null,
    }
}

/// Opens a folder whose results are all there.
///
/// # Errors
/// It cannot be opened, or a run was under way when it was published.
pub fn open_settled(path: &Path) -> Result<PublishedFolder, Error> {
    let folder = PublishedFolder::open(path).map_err(Error::from)?;
    if folder.manifest().under_way {
        return Err(Error::Config(format!(
            "{0}: expected the results of a run that has stopped, found those of one under way; wait for its end, or, if \
             it was killed, publish them with `rescreen collect {0}`",
            path.display()
        )));
    }
    Ok(folder)
}

/// The error of a row whose cells contradict the format.
pub fn damaged_row(folder: &PublishedFolder, what: &str) -> Error {
    SinkError::Damaged { path: folder.path().to_owned(), what: what.to_owned() }.into()
}
