//! Rows as Arrow record batches: the types of the columns, which Parquet and Arrow streams have in common.

use super::{
    Schema, TableCell,
    table::{Column, Kind},
};
use arrow::{
    array::{
        ArrayRef, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, RecordBatch, StringBuilder,
        TimestampMicrosecondBuilder,
    },
    datatypes::{DataType, Field, SchemaRef, TimeUnit},
    error::ArrowError,
};
use std::sync::Arc;

const BATCH_ROWS: usize = 1_024;
const BATCH_BYTES: usize = 4 << 20;

/// The batch being filled.
pub(super) struct RecordBatches {
    schema: SchemaRef,
    builders: Vec<Builder>,
    rows: usize,
    bytes: usize,
}

impl RecordBatches {
    pub(super) fn new(schema: &Schema) -> RecordBatches {
        let fields: Vec<Field> = schema.columns.iter().map(field).collect();
        RecordBatches {
            schema: Arc::new(arrow::datatypes::Schema::new(fields)),
            builders: schema.columns.iter().map(|column| Builder::new(column.kind)).collect(),
            rows: 0,
            bytes: 0,
        }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds a row that matches the schema. Returns whether the batch is full.
    pub(super) fn push(&mut self, row: Vec<TableCell>) -> bool {
        for (builder, cell) in self.builders.iter_mut().zip(row) {
            self.bytes += builder.append(cell);
        }
        self.rows += 1;
        self.rows == BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Its approximate size in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The batch, and begins the next one.
    ///
    /// # Errors
    /// A row did not match the schema.
    pub(super) fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        let arrays: Vec<ArrayRef> = self.builders.iter_mut().map(Builder::finish).collect();
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new(self.schema.clone(), arrays)
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
