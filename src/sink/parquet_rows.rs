//! Rows as Parquet: the types of the columns whose names are in `datasets`. All settings of the writer are fixed, so that the same rows give the same bytes on every machine:
//! zstd level 3, and row groups of 16,384 rows or 32 MiB, which bounds memory however large the answers are.

use super::{
    Schema, TableCell,
    new_file::NewFile,
    record_batches::RecordBatches,
    table::{Column, Kind},
};
use parquet::{
    arrow::{
        ArrowSchemaConverter,
        arrow_writer::{ArrowWriter, ArrowWriterOptions},
    },
    basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType, ZstdLevel},
    errors::ParquetError,
    file::properties::{WriterProperties, WriterVersion},
    schema::types::{SchemaDescriptor, Type},
};
use std::sync::Arc;

const ROW_GROUP_ROWS: usize = 16_384;
const ROW_GROUP_BYTES: usize = 32 << 20;
/// Each column has a compressor that grows with its largest page: small pages bound memory, small row groups do not.
const PAGE_BYTES: usize = 128 * 1024;
const ZSTD_LEVEL: i32 = 3;

/// A Parquet file being written.
pub(super) struct ParquetRows {
    writer: ArrowWriter<NewFile>,
    batches: RecordBatches,
    row_group_bytes: usize,
}

impl ParquetRows {
    pub(super) fn new(file: NewFile, schema: &Schema) -> Result<ParquetRows, ParquetError> {
        let batches = RecordBatches::new(schema);
        let properties = WriterProperties::builder()
            .set_created_by("rescreen".to_owned())
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .set_data_page_size_limit(PAGE_BYTES)
            .set_dictionary_page_size_limit(PAGE_BYTES)
            .build();
        let options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_parquet_schema(with_json(schema, &ArrowSchemaConverter::new().convert(batches.schema())?)?);
        Ok(ParquetRows {
            writer: ArrowWriter::try_new_with_options(file, Arc::clone(batches.schema()), options)?,
            batches,
            row_group_bytes: 0,
        })
    }

    /// Adds a row that matches the schema.
    pub(super) fn write(&mut self, row: Vec<TableCell>) -> Result<(), ParquetError> {
        if self.batches.push(row) {
            self.write_batch()?;
        }
        Ok(())
    }

    fn write_batch(&mut self) -> Result<(), ParquetError> {
        self.row_group_bytes += self.batches.bytes();
        self.writer.write(&self.batches.take()?)?;
        if self.row_group_bytes >= ROW_GROUP_BYTES {
            self.writer.flush()?;
        }
        if self.writer.in_progress_rows() == 0 {
            self.row_group_bytes = 0;
        }
        Ok(())
    }

    /// Writes the remaining rows and the footer.
    pub(super) fn finish(mut self) -> Result<NewFile, ParquetError> {
        if !self.batches.is_empty() {
            self.write_batch()?;
        }
        self.writer.into_inner()
    }
}

/// The Parquet schema with the logical type JSON for the columns that hold JSON. The Arrow schema in the file calls them
/// text: readers that do not know Arrow's extension type for JSON refuse it or warn, and all of them read the logical type.
fn with_json(schema: &Schema, parquet: &SchemaDescriptor) -> Result<SchemaDescriptor, ParquetError> {
    let root = parquet.root_schema();
    let column = |(column, field): (&Column, &Arc<Type>)| {
        if column.kind != Kind::Json {
            return Ok(Arc::clone(field));
        }
        let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder(&column.name, PhysicalType::BYTE_ARRAY)
            .with_repetition(repetition)
            .with_logical_type(Some(LogicalType::Json))
            .with_converted_type(ConvertedType::JSON);
        field.build().map(Arc::new)
    };
    let fields = schema.columns.iter().zip(root.get_fields()).map(column).collect::<Result<Vec<_>, _>>()?;
    let root = Type::group_type_builder(root.name()).with_fields(fields).build()?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
}
