//! Streams and files of Arrow IPC (`.arrow`, Feather 2), as JSON Lines for the record readers: one line per row, with the text that
//! the same values have in Parquet.
//!
//! A stream must end with its end mark: a program that was killed while it wrote leaves whole batches behind, and the rows after them
//! would be missed. A thread reads it, and contains a panic of the arrow crate: see `in_thread`.

use super::{
    bytes::{
        Bytes,
        in_thread::{self, Pieces},
    },
    parquet::{
        fault::ParquetFault,
        row_text::{self, RowText},
        table::{ColumnKinds, kinds},
    },
};
use crate::model::value_kind::ValueKind;
use arrow::{
    array::{ArrayRef, RecordBatch, RecordBatchOptions},
    compute::cast,
    datatypes::{DataType, Field, FieldRef, Schema, TimeUnit},
    error::ArrowError,
    ipc::reader::StreamReader,
};
use std::{
    cell::Cell,
    io::{self, BufReader, Read},
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
};

const CHUNK_BYTES: usize = 64 << 10;
/// What a stream begins with.
pub const STREAM_START: &[u8] = b"\xff\xff\xff\xff";
/// What a file begins with. A stream follows, and then an index.
pub const FILE_START: &[u8] = b"ARROW1\0\0";
/// What a file ends with.
const FILE_END: &[u8] = b"ARROW1";
/// Up to this many times eight bytes of a file are before its stream. Writers align to 8 or 64 bytes.
const PADDING_MAX: usize = 64;
/// The most bytes of one batch, with the dictionaries before it.
const BATCH_BYTES_MAX: u64 = 256 << 20;
/// The name of the extension type for UUIDs.
const UUID: &str = "arrow.uuid";

/// The most rows of one batch. A run-length encoding may claim any number.
const BATCH_ROWS_MAX: usize = 16 << 20;
/// How many rows are converted at once. A dictionary may repeat a long value, so a whole batch could fill the memory.
const PLAIN_ROWS: usize = 64;

/// Why a stream of Arrow data, or the rest of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ArrowFault {
    #[error("expected an intact stream of Arrow data, found one that is damaged; write it again")]
    Damaged,
    #[error(
        "the stream of Arrow data has no end mark: the program that writes it ended early, and rows may be missing"
    )]
    CutShort,
    #[error("expected Arrow data without compression, found some with {found}; write it without, or as Parquet")]
    Compression { found: &'static str },
    #[error("expected at most 256 MiB of Arrow data and 16,777,216 rows in a batch, found more; write smaller batches")]
    TooLarge,
    #[error("expected the end of the Arrow data after its end mark, found more: write all rows as one stream")]
    MoreAfterEnd,
    #[error(transparent)]
    Columns(ParquetFault),
    #[error("reading Arrow data failed: {0}")]
    Io(io::Error),
    /// The arrow crate panicked.
    #[error("the Arrow data cannot be decoded, so it is probably damaged; write it again")]
    BrokeOff,
}

/// The rows of a stream or a file as JSON Lines, and the types of its columns.
///
/// # Errors
/// It cannot be read, or has columns that are not supported.
pub fn open(bytes: Bytes, is_file: bool) -> Result<(Bytes, ColumnKinds), ArrowFault> {
    let known = Arc::new(Mutex::new(ColumnKinds::new()));
    let found = Arc::clone(&known);
    let read = move |pieces: &Pieces<ArrowFault>| read(bytes, is_file, pieces, &found);
    let rows = in_thread::open("arrow", || ArrowFault::BrokeOff, ArrowFault::Io, read)?;
    let kinds = std::mem::take(&mut *known.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((rows, kinds))
}

fn read(
    mut bytes: Bytes,
    is_file: bool,
    pieces: &Pieces<ArrowFault>,
    found: &Mutex<ColumnKinds>,
) -> Result<(), ArrowFault> {
    if is_file {
        bytes = stream_in_file(bytes).map_err(|_| ArrowFault::Damaged)?;
    }
    let watch = Watch::default();
    let watched = Watched { bytes: BufReader::with_capacity(CHUNK_BYTES, bytes), watch: watch.clone() };
    let mut stream = StreamReader::try_new(watched, None).map_err(|fault| fault_of(fault, &watch))?;
    let schema = plain_schema(&stream.schema());
    row_text::check(schema.fields()).map_err(ArrowFault::Columns)?;
    let names = schema.fields().iter().map(|field| (field.name().as_str(), field.extension_type_name() == Some(UUID)));
    let rows = RowText::new(row_text::columns(names.collect()).map_err(ArrowFault::Columns)?);
    *found.lock().unwrap_or_else(PoisonError::into_inner) = fixed_kinds(&schema);
    if !pieces.begin() {
        return Ok(());
    }
    let mut text = Vec::new();
    loop {
        watch.bytes.set(0);
        let Some(batch) = stream.next() else { break };
        let batch = batch.map_err(|fault| fault_of(fault, &watch))?;
        if batch.num_rows() > BATCH_ROWS_MAX {
            return Err(ArrowFault::TooLarge);
        }
        for first in (0..batch.num_rows()).step_by(PLAIN_ROWS) {
            let some = plain(batch.slice(first, PLAIN_ROWS.min(batch.num_rows() - first)), &schema)?;
            for row in 0..some.num_rows() {
                rows.push(&mut text, &some, row);
                if text.len() >= CHUNK_BYTES && !pieces.send(std::mem::take(&mut text)) {
                    return Ok(());
                }
            }
        }
        // The next batch may take long.
        if !pieces.send(std::mem::take(&mut text)) {
            return Ok(());
        }
    }
    // After an end mark, the stream reader reads nothing more.
    if watch.has_ended.get() {
        return Err(ArrowFault::CutShort);
    }
    watch.bytes.set(0);
    end(stream.get_mut(), is_file)
}

/// Checks what is behind the end mark: the index of a file, which ends as the file begins, and nothing in a stream.
fn end(rest: &mut Watched, is_file: bool) -> Result<(), ArrowFault> {
    let mut last = Vec::new();
    let mut chunk = [0; 4 << 10];
    loop {
        match rest.read(&mut chunk).map_err(ArrowFault::Io)? {
            0 => break,
            _ if !is_file => return Err(ArrowFault::MoreAfterEnd),
            count => {
                last.extend_from_slice(&chunk[..count]);
                last.drain(..last.len().saturating_sub(FILE_END.len()));
            }
        }
    }
    if is_file && last != FILE_END { Err(ArrowFault::CutShort) } else { Ok(()) }
}

/// The types of the columns. They do not depend on the values, so that every part of a table has the same.
fn fixed_kinds(schema: &Schema) -> ColumnKinds {
    let mut kinds = kinds(schema.fields());
    for field in schema.fields() {
        if !kinds.iter().any(|(name, _)| name == field.name()) {
            kinds.push((field.name().clone(), ValueKind::Text));
        }
    }
    kinds
}

/// The stream in a file. Zeros are between its first bytes and the stream.
fn stream_in_file(mut file: Bytes) -> io::Result<Bytes> {
    let mut next = [0; FILE_START.len()];
    file.read_exact(&mut next)?;
    for _ in 0..PADDING_MAX {
        file.read_exact(&mut next)?;
        if next.starts_with(STREAM_START) {
            return Ok(Box::new(io::Cursor::new(next).chain(file)));
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// What is known of the bytes that were read.
#[derive(Clone, Default)]
struct Watch {
    /// Since the last batch.
    bytes: Rc<Cell<u64>>,
    /// All bytes were read.
    has_ended: Rc<Cell<bool>>,
}

/// Bytes that are counted, up to the most that a batch may have.
struct Watched {
    bytes: BufReader<Bytes>,
    watch: Watch,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        let Watch { bytes, has_ended } = &self.watch;
        bytes.set(bytes.get().saturating_add(count as u64));
        if bytes.get() > BATCH_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if count == 0 && !buffer.is_empty() {
            has_ended.set(true);
        }
        Ok(count)
    }
}

/// The crate's own error is not repeated, because it may contain a value.
fn fault_of(fault: ArrowError, watch: &Watch) -> ArrowFault {
    let said = fault.to_string();
    match fault {
        _ if watch.bytes.get() > BATCH_BYTES_MAX => ArrowFault::TooLarge,
        _ if watch.has_ended.get() => ArrowFault::CutShort,
        ArrowError::IoError(_, fault) if fault.kind() != io::ErrorKind::UnexpectedEof => ArrowFault::Io(fault),
        _ if said.contains("lz4") => ArrowFault::Compression { found: "LZ4" },
        _ if said.contains("zstd") => ArrowFault::Compression { found: "zstd" },
        _ => ArrowFault::Damaged,
    }
}

/// The types whose values have a text.
fn plain_schema(schema: &Schema) -> Arc<Schema> {
    let fields: Vec<FieldRef> = schema.fields().iter().map(plain_field).collect();
    Arc::new(Schema::new(fields))
}

fn plain_field(field: &FieldRef) -> FieldRef {
    Arc::new(Field::clone(field).with_data_type(plain_type(field.data_type())))
}

/// A type with the same values that Parquet has, too.
fn plain_type(kind: &DataType) -> DataType {
    match kind {
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::RunEndEncoded(_, values) => plain_type(values.data_type()),
        DataType::LargeUtf8 => DataType::Utf8View,
        DataType::LargeBinary => DataType::BinaryView,
        DataType::Date64 => DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::List(item) | DataType::LargeList(item) => DataType::List(plain_field(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        other => other.clone(),
    }
}

/// A batch with these types.
fn plain(batch: RecordBatch, schema: &Arc<Schema>) -> Result<RecordBatch, ArrowFault> {
    let column = |(array, field): (&ArrayRef, &FieldRef)| match array.data_type() == field.data_type() {
        true => Ok(Arc::clone(array)),
        false => cast(array, field.data_type()),
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(column).collect::<Result<Vec<_>, _>>();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    columns
        .and_then(|columns| RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options))
        .map_err(|_| ArrowFault::Damaged)
}
