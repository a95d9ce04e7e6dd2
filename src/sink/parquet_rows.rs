//! Rows as Parquet: the types of the columns whose names are in `datasets`. All settings of the writer are fixed, so that the same rows give the same bytes on every machine:
//! zstd level 3, and row groups of 16,384 rows or 32 MiB, which bounds memory however large the answers are.

use super::{
    Schema, TableCell,
    new_file::NewFile,
    table::{Column, Kind},
};
use arrow::{
    array::{
        ArrayRef, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, RecordBatch, StringBuilder,
        TimestampMicrosecondBuilder,
    },
    datatypes::{DataType, Field, SchemaRef, TimeUnit},
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
const BATCH_ROWS: usize = 1_024;
/// Each column has a compressor that grows with its largest page: small pages bound memory, small row groups do not.
const PAGE_BYTES: usize = 128 * 1024;
const BATCH_BYTES: usize = 4 << 20;
const ZSTD_LEVEL: i32 = 3;

/// A Parquet file being written.
pub(super) struct ParquetRows {
    writer: ArrowWriter<NewFile>,
    schema: SchemaRef,
    builders: Vec<Builder>,
    batch_rows: usize,
    batch_bytes: usize,
    row_group_bytes: usize,
}

impl ParquetRows {
    pub(super) fn new(file: NewFile, schema: &Schema) -> Result<ParquetRows, ParquetError> {
        let fields: Vec<Field> = schema.columns.iter().map(field).collect();
        let arrow_schema = Arc::new(arrow::datatypes::Schema::new(fields));
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
            .with_parquet_schema(with_json(schema, &ArrowSchemaConverter::new().convert(&arrow_schema)?)?);
        Ok(ParquetRows {
            writer: ArrowWriter::try_new_with_options(file, arrow_schema.clone(), options)?,
            builders: schema.columns.iter().map(|column| Builder::new(column.kind)).collect(),
            schema: arrow_schema,
            batch_rows: 0,
            batch_bytes: 0,
            row_group_bytes: 0,
        })
    }

    /// Adds a row that matches the schema.
    pub(super) fn write(&mut self, row: Vec<TableCell>) -> Result<(), ParquetError> {
        for (builder, cell) in self.builders.iter_mut().zip(row) {
            self.batch_bytes += builder.append(cell);
        }
        self.batch_rows += 1;
        if self.batch_rows == BATCH_ROWS || self.batch_bytes >= BATCH_BYTES {
            self.write_batch()?;
        }
        Ok(())
    }

    fn write_batch(&mut self) -> Result<(), ParquetError> {
        let arrays: Vec<ArrayRef> = self.builders.iter_mut().map(Builder::finish).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), arrays)?;
        self.writer.write(&batch)?;
        self.row_group_bytes += self.batch_bytes;
        (self.batch_rows, self.batch_bytes) = (0, 0);
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
        if self.batch_rows > 0 {
            self.write_batch()?;
        }
        self.writer.into_inner()
    }
}

fn field(column: &Column) -> Field {
    let data_type = match column.kind {
        Kind::Text | Kind::Json => DataType::Utf8,
        Kind::Integer => DataType::Int64,
        Kind::Number => DataType::Float64,
        Kind::Boolean => DataType::Boolean,
        Kind::Date => DataType::Date32,
        Kind::Timestamp => timestamp(),
    };
    Field::new(&column.name, data_type, column.nullable)
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

fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// The cells of one column of a batch.
enum Builder {
    Text(StringBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Boolean(BooleanBuilder),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
}

impl Builder {
    fn new(kind: Kind) -> Builder {
        match kind {
            Kind::Text | Kind::Json => Builder::Text(StringBuilder::new()),
            Kind::Integer => Builder::Integer(Int64Builder::new()),
            Kind::Number => Builder::Number(Float64Builder::new()),
            Kind::Boolean => Builder::Boolean(BooleanBuilder::new()),
            Kind::Date => Builder::Date(Date32Builder::new()),
            Kind::Timestamp => Builder::Timestamp(TimestampMicrosecondBuilder::new().with_data_type(timestamp())),
        }
    }

    /// Adds a cell, and returns its approximate size in memory.
    fn append(&mut self, cell: TableCell) -> usize {
        match (self, cell) {
            (Builder::Text(builder), TableCell::Text(text) | TableCell::Json(text)) => {
                builder.append_value(&text);
                return text.len() + 8;
            }
            (Builder::Text(builder), _) => builder.append_null(),
            (Builder::Integer(builder), TableCell::Integer(number)) => builder.append_value(number),
            (Builder::Integer(builder), _) => builder.append_null(),
            (Builder::Number(builder), TableCell::Number(number)) => builder.append_value(number),
            (Builder::Number(builder), _) => builder.append_null(),
            (Builder::Boolean(builder), TableCell::Boolean(truth)) => builder.append_value(truth),
            (Builder::Boolean(builder), _) => builder.append_null(),
            (Builder::Date(builder), TableCell::Date(day)) => builder.append_value(days_since_1970(day)),
            (Builder::Date(builder), _) => builder.append_null(),
            (Builder::Timestamp(builder), TableCell::Timestamp(at_us)) => builder.append_value(at_us),
            (Builder::Timestamp(builder), _) => builder.append_null(),
        }
        8
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Text(builder) => Arc::new(builder.finish()),
            Builder::Integer(builder) => Arc::new(builder.finish()),
            Builder::Number(builder) => Arc::new(builder.finish()),
            Builder::Boolean(builder) => Arc::new(builder.finish()),
            Builder::Date(builder) => Arc::new(builder.finish()),
            Builder::Timestamp(builder) => Arc::new(builder.finish()),
        }
    }
}

fn days_since_1970(day: jiff::civil::Date) -> i32 {
    let hours = day.duration_since(jiff::civil::date(1970, 1, 1)).as_hours();
    i32::try_from(hours / 24).expect("the years -9999 to 9999 have fewer than 2^31 days")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_count_from_1970_in_both_directions() {
        assert_eq!(days_since_1970(jiff::civil::date(1970, 1, 1)), 0);
        assert_eq!(days_since_1970(jiff::civil::date(1969, 12, 31)), -1);
        assert_eq!(days_since_1970(jiff::civil::date(2026, 11, 20)), 20_777);
    }
}
