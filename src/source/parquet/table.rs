//! Opens a Parquet file: decides which files are refused, and reads the row groups one after the other. At most 64 rows
//! of each column are in memory, and the pages they are on; see `pages`.
//!
//! A thread reads the file. It also contains a panic in the parquet crate: see `in_thread`.

use super::{
    compression,
    fault::ParquetFault,
    footer,
    pages::{Group, Shared},
    row_text::{self, RowText, TableColumn},
};
use crate::{
    model::value_kind::ValueKind,
    source::bytes::{
        Bytes,
        in_thread::{self, Pieces},
    },
};
use arrow::{
    array::RecordBatch,
    datatypes::{DataType, Field, FieldRef, Fields, TimeUnit},
};
use parquet::{
    arrow::{
        FieldLevels, ProjectionMask,
        arrow_reader::{ParquetRecordBatchReader, RowGroups},
        parquet_to_arrow_field_levels, parquet_to_arrow_schema,
    },
    basic::{LogicalType, Type as PhysicalType},
    file::metadata::{ParquetMetaData, ParquetMetaDataReader},
    schema::types::Type,
};
use std::{
    fs::File,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Mutex, PoisonError},
};

const BATCH_ROWS: usize = 64;
const CHUNK_BYTES: usize = 64 << 10;

// The parquet crate's own error is not repeated, because it may contain a value.
const DAMAGED_FOOTER: ParquetFault = ParquetFault::Damaged { what: "footer" };

/// The columns of a file that have one of our types, by name.
pub type ColumnKinds = Vec<(String, ValueKind)>;

/// The rows of a file as JSON Lines, and the types of its columns.
pub fn open(file: File) -> Result<(Bytes, ColumnKinds), ParquetFault> {
    let kinds = Arc::new(Mutex::new(ColumnKinds::new()));
    let found = Arc::clone(&kinds);
    let read = move |pieces: &Pieces<ParquetFault>| read(file, pieces, &found);
    let rows = in_thread::open("parquet", || ParquetFault::BrokeOff, ParquetFault::Io, read)?;
    let kinds = std::mem::take(&mut *kinds.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((rows, kinds))
}

/// The types of the columns. A decimal number is text, so that it keeps its digits, and so is everything without a type of
/// ours. Unsigned numbers of 64 bits may be too large: their values decide.
pub fn kinds(fields: &Fields) -> ColumnKinds {
    let kind = |field: &FieldRef| {
        let kind = match field.data_type() {
            DataType::Null | DataType::UInt64 => return None,
            DataType::Boolean => ValueKind::Boolean,
            kind if kind.is_integer() => ValueKind::Integer,
            kind if kind.is_floating() => ValueKind::Number,
            _ => ValueKind::Text,
        };
        Some((field.name().clone(), kind))
    };
    fields.iter().filter_map(kind).collect()
}

/// The rows of a file in batches of at most 64 rows, with the columns of these names that it has, in the order of the
/// file. `each` says whether it wants more.
///
/// # Errors
/// The file cannot be read.
pub fn batches(file: File, names: &[&str], each: &mut dyn FnMut(&RecordBatch) -> bool) -> Result<(), ParquetFault> {
    Table::open(file, Some(names))?.each_batch(each)
}

fn read(file: File, pieces: &Pieces<ParquetFault>, found: &Mutex<ColumnKinds>) -> Result<(), ParquetFault> {
    let mut table = Table::open(file, None)?;
    *found.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut table.kinds);
    if !pieces.begin() {
        return Ok(());
    }
    let (rows, mut text) = (RowText::new(std::mem::take(&mut table.columns)), Vec::new());
    let mut is_wanted = true;
    table.each_batch(&mut |batch| {
        for row in 0..batch.num_rows() {
            rows.push(&mut text, batch, row);
            if text.len() >= CHUNK_BYTES && !pieces.send(std::mem::take(&mut text)) {
                is_wanted = false;
                break;
            }
        }
        is_wanted
    })?;
    if is_wanted {
        pieces.send(text);
    }
    Ok(())
}

/// A file whose footer was checked.
struct Table {
    metadata: Arc<ParquetMetaData>,
    levels: FieldLevels,
    columns: Vec<TableColumn>,
    kinds: ColumnKinds,
    shared: Arc<Shared>,
}

impl Table {
    /// `names` are the columns to read; `None` means all.
    fn open(mut file: File, names: Option<&[&str]>) -> Result<Table, ParquetFault> {
        footer::check(&mut file)?;
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&file);
        let metadata = Arc::new(metadata.map_err(|_| DAMAGED_FOOTER)?);
        let descriptor = metadata.file_metadata().schema_descr_ptr();
        let schema = parquet_to_arrow_schema(&descriptor, None).map_err(|_| DAMAGED_FOOTER)?;
        let columns = columns(descriptor.root_schema())?;
        row_text::check(schema.fields())?;
        check_groups(&metadata)?;
        let hint = views(schema.fields(), descriptor.root_schema());
        let mask = names.map_or_else(ProjectionMask::all, |names| {
            let is_named = |(_, column): &(usize, &TableColumn)| names.contains(&column.name.as_str());
            let places = columns.iter().enumerate().filter(is_named).map(|(place, _)| place);
            ProjectionMask::roots(&descriptor, places)
        });
        let levels = parquet_to_arrow_field_levels(&descriptor, mask, Some(&hint));
        let levels = levels.map_err(|_| DAMAGED_FOOTER)?;
        let shared = Arc::new(Shared::new(file)?);
        let kinds = kinds(schema.fields());
        Ok(Table { metadata, levels, columns, kinds, shared })
    }

    /// Hands out the batches of all row groups, until `each` wants no more.
    fn each_batch(&self, each: &mut dyn FnMut(&RecordBatch) -> bool) -> Result<(), ParquetFault> {
        for index in 0..self.metadata.num_row_groups() {
            let shared = Arc::clone(&self.shared);
            let group = Group { metadata: Arc::clone(&self.metadata), index, shared };
            let expected = group.num_rows();
            // Its columns need not have pages.
            if expected == 0 {
                continue;
            }
            let batches =
                contained(|| ParquetRecordBatchReader::try_new_with_row_groups(&self.levels, &group, BATCH_ROWS, None));
            let mut batches = batches?.map_err(|_| self.shared.fault())?;
            let mut found = 0;
            loop {
                self.shared.begin_batch();
                let Some(batch) = contained(|| batches.next())? else { break };
                let batch = batch.map_err(|_| self.shared.fault())?;
                if !each(&batch) {
                    return Ok(());
                }
                found += batch.num_rows();
            }
            if found != expected {
                return Err(ParquetFault::Damaged { what: "number of rows" });
            }
        }
        Ok(())
    }
}

/// What a call of the parquet crate returns. The crate panics at some damaged pages.
fn contained<T>(call: impl FnOnce() -> T) -> Result<T, ParquetFault> {
    panic::catch_unwind(AssertUnwindSafe(call)).map_err(|_| ParquetFault::BrokeOff)
}

/// The columns of a file.
fn columns(root: &Type) -> Result<Vec<TableColumn>, ParquetFault> {
    let is_uuid = |field: &Type| field.get_basic_info().logical_type_ref() == Some(&LogicalType::Uuid);
    row_text::columns(root.get_fields().iter().map(|field| (field.name(), is_uuid(field))).collect())
}

/// Refuses compressions that are not supported, and row counts that no file has.
fn check_groups(metadata: &ParquetMetaData) -> Result<(), ParquetFault> {
    for group in metadata.row_groups() {
        if group.num_rows() < 0 {
            return Err(DAMAGED_FOOTER);
        }
        group.columns().iter().try_for_each(|column| compression::check(column.compression()))?;
    }
    Ok(())
}

/// The types to read the columns as. Text and bytes are not copied for each row, and the old format of timestamps has
/// years that do not fit into nanoseconds.
fn views(fields: &Fields, root: &Type) -> Fields {
    let viewed = |(field, column): (&FieldRef, &Arc<Type>)| {
        let is_old_timestamp = column.is_primitive() && column.get_physical_type() == PhysicalType::INT96;
        if is_old_timestamp && matches!(field.data_type(), DataType::Timestamp(..)) {
            return retyped(field, DataType::Timestamp(TimeUnit::Microsecond, None));
        }
        retyped(field, view(field.data_type()))
    };
    fields.iter().zip(root.get_fields()).map(viewed).collect()
}

fn view(kind: &DataType) -> DataType {
    match kind {
        DataType::Utf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
        DataType::List(item) => DataType::List(retyped(item, view(item.data_type()))),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| retyped(field, view(field.data_type()))).collect())
        }
        other => other.clone(),
    }
}

fn retyped(field: &FieldRef, kind: DataType) -> FieldRef {
    Arc::new(Field::clone(field).with_data_type(kind))
}
