//! Streams of Arrow data: as a program writes them to `rescreen filter`, and reads them from it.

use super::program::Said;
use arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch, StringArray},
    compute::concat_batches,
    ipc::{reader::StreamReader, writer::StreamWriter},
};
use std::{
    io::{Read, Write},
    process::{Command, Stdio},
    sync::Arc,
};

/// Writes the columns as a stream. `rows` is the number of rows in a batch.
pub fn stream_of(columns: &[(&str, ArrayRef)], rows: usize) -> Vec<u8> {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.iter().map(|(name, array)| (*name, array.clone(), true)));
    let batch = batch.unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    for first in (0..batch.num_rows()).step_by(rows) {
        writer.write(&batch.slice(first, rows.min(batch.num_rows() - first))).unwrap();
    }
    writer.into_inner().unwrap()
}

/// A stream of customers with the ids 1 to `count` and different names.
pub fn customers(whose: &str, count: usize) -> Vec<u8> {
    let column = |text: &dyn Fn(usize) -> String| -> ArrayRef {
        Arc::new((1..=count).map(|at| Some(text(at))).collect::<StringArray>())
    };
    stream_of(&[("id", column(&|at| format!("{at:04}"))), ("name", column(&|at| format!("Naledi {whose} {at}")))], 7)
}

/// What a filter said, and the rows that it wrote, if it wrote a whole stream.
pub fn filtered(command: &mut Command, input: &[u8]) -> (Said, Option<RecordBatch>) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A filter that refuses its settings reads nothing.
    _ = child.stdin.take().unwrap().write_all(input);
    let mut written = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut written).unwrap();
    let said = Said::from(child.wait_with_output().unwrap());
    let rows = (!written.is_empty()).then(|| {
        let stream = StreamReader::try_new(written.as_slice(), None).unwrap();
        let schema = stream.schema();
        let batches: Vec<RecordBatch> = stream.map(Result::unwrap).collect();
        concat_batches(&schema, &batches).unwrap()
    });
    (said, rows)
}

/// The texts of a column.
pub fn texts<'a>(rows: &'a RecordBatch, column: &str) -> Vec<Option<&'a str>> {
    rows.column_by_name(column).unwrap().as_string::<i32>().iter().collect()
}

/// The sum of a column of whole numbers.
pub fn sum(rows: &RecordBatch, column: &str) -> i64 {
    let numbers = rows.column_by_name(column).unwrap();
    assert_eq!(numbers.len(), rows.num_rows());
    numbers.as_primitive::<arrow::datatypes::Int64Type>().iter().flatten().sum()
}
