//! The rows of a batch as JSON Lines, which the record readers then read like any other. A null is `null`. Whole numbers
//! and booleans stay what they are; a decimal is text with all its digits, a number of floating point has the shortest
//! digits that represent it, without an exponent. A date is `YYYY-MM-DD`, a time `HH:MM:SS`, a timestamp ISO 8601; one
//! without a time zone and at midnight is its date, as in spreadsheets. Lists and structures are JSON.
//!
//! Campaigns that have started identify their file by these bytes: changing the text of a value would make all of them
//! refuse their input.

use super::fault::ParquetFault;
use crate::{
    model::key::hex,
    source::{COLUMNS_MAX, ROW_BYTES_MAX, records::content::NoColumnValue},
};
use arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch},
    datatypes::{
        ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Decimal256Type, Fields, Float16Type, Float32Type,
        Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
        Time64MicrosecondType, Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
        TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use jiff::{
    SignedDuration, Span,
    civil::{Date, DateTime, Time, date},
};
use std::collections::HashMap;

/// Maximum bytes of a value of a fixed length. It is copied for each row.
const FIXED_BYTES_MAX: i32 = 64 << 10;

/// A column of the file.
pub struct TableColumn {
    pub name: String,
    /// The 16 bytes of a value are a UUID.
    pub is_uuid: bool,
}

/// Refuses columns with values that have no text.
pub fn check(fields: &Fields) -> Result<(), ParquetFault> {
    for field in fields {
        let found = unsupported(field.data_type());
        if let Some(found) = found {
            return Err(ParquetFault::Type { column: field.name().clone(), found });
        }
    }
    Ok(())
}

/// The type inside a type that is not supported.
fn unsupported(kind: &DataType) -> Option<String> {
    match kind {
        DataType::Null
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float16
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::BinaryView
        | DataType::Date32
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => None,
        DataType::FixedSizeBinary(length) if *length <= FIXED_BYTES_MAX => None,
        DataType::List(item) => unsupported(item.data_type()),
        DataType::Struct(fields) => fields.iter().find_map(|field| unsupported(field.data_type())),
        DataType::Map(entries, _) => unsupported(entries.data_type()),
        DataType::FixedSizeBinary(_) => Some("fixed bytes of more than 64 KiB".to_owned()),
        other => Some(format!("{other}").split('(').next().unwrap_or_default().to_lowercase()),
    }
}

/// The columns with these names, and whether their values are UUIDs. Their names must differ.
///
/// # Errors
/// There are none, too many, or two with one name.
pub fn columns(named: Vec<(&str, bool)>) -> Result<Vec<TableColumn>, ParquetFault> {
    if named.is_empty() {
        return Err(ParquetFault::NoColumns);
    }
    if named.len() > COLUMNS_MAX {
        return Err(ParquetFault::TooManyColumns { found: named.len() });
    }
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, (name, _)) in named.iter().enumerate() {
        if let Some(first) = places.insert(name, at) {
            return Err(ParquetFault::DuplicateColumn { first: first + 1, second: at + 1 });
        }
    }
    let column = |(name, is_uuid): (&str, bool)| TableColumn { name: name.to_owned(), is_uuid };
    Ok(named.into_iter().map(column).collect())
}

/// Writes the rows of batches.
pub struct RowText {
    /// The columns, each with its name as JSON and a colon.
    columns: Vec<(TableColumn, Vec<u8>)>,
}

impl RowText {
    pub fn new(columns: Vec<TableColumn>) -> RowText {
        let key = |name: &str| {
            let mut key = Vec::new();
            push_text(&mut key, name);
            key.push(b':');
            key
        };
        let columns = columns.into_iter().map(|column| {
            let key = key(&column.name);
            (column, key)
        });
        RowText { columns: columns.collect() }
    }

    /// Appends a row. The text of a row above the limit is cut; the record reader refuses it.
    pub fn push(&self, out: &mut Vec<u8>, batch: &RecordBatch, row: usize) {
        let start = out.len();
        let mut missing = None;
        out.push(b'{');
        for (at, ((column, key), array)) in self.columns.iter().zip(batch.columns()).enumerate() {
            if (out.len() - start) as u64 > ROW_BYTES_MAX {
                break;
            }
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(key);
            let pushed = if column.is_uuid { push_uuid(out, array, row) } else { push(out, array, row) };
            if let Err(reason) = pushed {
                missing = missing.or(Some((reason, &column.name)));
            }
        }
        out.push(b'}');
        if let Some((reason, column)) = missing {
            reason.mark(out, column);
        }
        out.push(b'\n');
    }
}

/// Appends a value as JSON. A value that has no text is appended as text for people, and its reason is returned.
fn push(out: &mut Vec<u8>, array: &ArrayRef, row: usize) -> Result<(), NoColumnValue> {
    if array.is_null(row) {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Null => out.extend_from_slice(b"null"),
        DataType::Boolean => out.extend_from_slice(if array.as_boolean().value(row) { b"true" } else { b"false" }),
        DataType::Int8 => push_plain(out, number::<Int8Type>(array, row)),
        DataType::Int16 => push_plain(out, number::<Int16Type>(array, row)),
        DataType::Int32 => push_plain(out, number::<Int32Type>(array, row)),
        DataType::Int64 => push_plain(out, number::<Int64Type>(array, row)),
        DataType::UInt8 => push_plain(out, number::<UInt8Type>(array, row)),
        DataType::UInt16 => push_plain(out, number::<UInt16Type>(array, row)),
        DataType::UInt32 => push_plain(out, number::<UInt32Type>(array, row)),
        DataType::UInt64 => push_plain(out, number::<UInt64Type>(array, row)),
        DataType::Float16 => return push_float(out, number::<Float16Type>(array, row).to_f32()),
        DataType::Float32 => return push_float(out, number::<Float32Type>(array, row)),
        DataType::Float64 => return push_float(out, number::<Float64Type>(array, row)),
        DataType::Utf8 => push_text(out, array.as_string::<i32>().value(row)),
        DataType::Utf8View => push_text(out, array.as_string_view().value(row)),
        DataType::Binary => return push_bytes(out, array.as_binary::<i32>().value(row)),
        DataType::BinaryView => return push_bytes(out, array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => push_text(out, &hex(array.as_fixed_size_binary().value(row))),
        DataType::Decimal128(..) => push_text(out, &array.as_primitive::<Decimal128Type>().value_as_string(row)),
        DataType::Decimal256(..) => push_text(out, &array.as_primitive::<Decimal256Type>().value_as_string(row)),
        DataType::Date32 => {
            let days = i64::from(number::<Date32Type>(array, row));
            return push_moment(out, date_after(days).map(|date| date.to_string()));
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            return push_moment(out, time_of(array, row).map(|time| time.to_string()));
        }
        DataType::Timestamp(unit, zone) => {
            return push_moment(out, moment_of(array, *unit, row).map(|at| moment_text(at, zone.is_some())));
        }
        DataType::List(_) => return push_list(out, &array.as_list::<i32>().value(row)),
        DataType::Struct(fields) => return push_struct(out, fields, array.as_struct().columns(), row),
        DataType::Map(..) => return push_map(out, &array.as_map().value(row)),
        // `check` has refused the others.
        _ => out.extend_from_slice(b"null"),
    }
    Ok(())
}

fn number<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

fn push_plain(out: &mut Vec<u8>, number: impl ToString) {
    out.extend_from_slice(number.to_string().as_bytes());
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    // Writing to memory does not fail, and text is always valid JSON text.
    _ = serde_json::to_writer(out, text);
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), NoColumnValue> {
    push_text(out, &String::from_utf8_lossy(bytes));
    std::str::from_utf8(bytes).map(drop).map_err(|_| NoColumnValue::Bytes)
}

/// The shortest digits that represent a number, without an exponent. Negative zero is 0.
fn push_float<T: std::fmt::Display + PartialEq + Default + Into<f64> + Copy>(
    out: &mut Vec<u8>,
    number: T,
) -> Result<(), NoColumnValue> {
    if !number.into().is_finite() {
        push_text(out, &number.to_string());
        return Err(NoColumnValue::NotFinite);
    }
    push_plain(out, if number == T::default() { T::default() } else { number });
    Ok(())
}

fn push_moment(out: &mut Vec<u8>, text: Option<String>) -> Result<(), NoColumnValue> {
    let Some(text) = text else {
        out.extend_from_slice(b"null");
        return Err(NoColumnValue::Date);
    };
    push_text(out, &text);
    Ok(())
}

fn push_uuid(out: &mut Vec<u8>, array: &ArrayRef, row: usize) -> Result<(), NoColumnValue> {
    let bytes = array.as_fixed_size_binary_opt().filter(|array| !array.is_null(row)).map(|array| array.value(row));
    match bytes.and_then(|bytes| uuid::Uuid::from_slice(bytes).ok()) {
        Some(uuid) => push_text(out, &uuid.hyphenated().to_string()),
        None => return push(out, array, row),
    }
    Ok(())
}

fn push_list(out: &mut Vec<u8>, items: &ArrayRef) -> Result<(), NoColumnValue> {
    let mut pushed = Ok(());
    out.push(b'[');
    for at in 0..items.len() {
        if at > 0 {
            out.push(b',');
        }
        pushed = pushed.and(push(out, items, at));
    }
    out.push(b']');
    pushed
}

fn push_struct(out: &mut Vec<u8>, fields: &Fields, columns: &[ArrayRef], row: usize) -> Result<(), NoColumnValue> {
    let mut pushed = Ok(());
    out.push(b'{');
    for (at, (field, column)) in fields.iter().zip(columns).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_text(out, field.name());
        out.push(b':');
        pushed = pushed.and(push(out, column, row));
    }
    out.push(b'}');
    pushed
}

/// The entries of a map as a list of objects with `key` and `value`: a key need not be text, and may be repeated.
fn push_map(out: &mut Vec<u8>, entries: &arrow::array::StructArray) -> Result<(), NoColumnValue> {
    let mut pushed = Ok(());
    out.push(b'[');
    for at in 0..entries.len() {
        out.extend_from_slice(if at > 0 { b",{" } else { b"{" });
        for (name, column) in ["key", "value"].into_iter().zip(entries.columns()) {
            if name == "value" {
                out.push(b',');
            }
            push_text(out, name);
            out.push(b':');
            pushed = pushed.and(push(out, column, at));
        }
        out.push(b'}');
    }
    out.push(b']');
    pushed
}

/// The date so many days after 1970-01-01, from year 1 to 9999.
fn date_after(days: i64) -> Option<Date> {
    let days = Span::new().try_days(days).ok()?;
    date(1970, 1, 1).checked_add(days).ok().filter(|date| date.year() >= 1)
}

fn time_of(array: &ArrayRef, row: usize) -> Option<Time> {
    let nanoseconds = match array.data_type() {
        DataType::Time32(TimeUnit::Second) => i64::from(number::<Time32SecondType>(array, row)) * 1_000_000_000,
        DataType::Time32(_) => i64::from(number::<Time32MillisecondType>(array, row)) * 1_000_000,
        DataType::Time64(TimeUnit::Microsecond) => number::<Time64MicrosecondType>(array, row).checked_mul(1_000)?,
        _ => number::<Time64NanosecondType>(array, row),
    };
    Time::midnight().checked_add(SignedDuration::from_nanos(nanoseconds)).ok().filter(|_| nanoseconds >= 0)
}

/// The local time, or the time in UTC, from year 1 to 9999.
fn moment_of(array: &ArrayRef, unit: TimeUnit, row: usize) -> Option<DateTime> {
    let since_1970 = match unit {
        TimeUnit::Second => SignedDuration::from_secs(number::<TimestampSecondType>(array, row)),
        TimeUnit::Millisecond => SignedDuration::from_millis(number::<TimestampMillisecondType>(array, row)),
        TimeUnit::Microsecond => SignedDuration::from_micros(number::<TimestampMicrosecondType>(array, row)),
        TimeUnit::Nanosecond => SignedDuration::from_nanos(number::<TimestampNanosecondType>(array, row)),
    };
    date(1970, 1, 1).at(0, 0, 0, 0).checked_add(since_1970).ok().filter(|at| at.year() >= 1)
}

/// The text of a time: with `Z` if it is an instant, and only the date if it is a local time at midnight.
fn moment_text(at: DateTime, is_instant: bool) -> String {
    match (is_instant, at.time() == Time::midnight()) {
        (true, _) => format!("{at}Z"),
        (false, true) => at.date().to_string(),
        (false, false) => at.to_string(),
    }
}
