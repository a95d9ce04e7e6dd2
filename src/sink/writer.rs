//! A table being written: rows go in, and a file appears complete. The formats decide its bytes.

use super::{
    FileFormat, Schema, SinkError, TableCell,
    csv_rows::CsvRows,
    jsonl_rows::JsonlRows,
    new_file::{NewFile, create_folder},
    parquet_rows::ParquetRows,
};
use std::{
    io::Write,
    path::{Path, PathBuf},
};

/// A table being written. If it is dropped before [`TableWriter::finish`], it leaves nothing behind.
pub struct TableWriter {
    path: PathBuf,
    schema: Schema,
    rows: u64,
    format: RowWriter,
}

enum RowWriter {
    Parquet(Box<ParquetRows>),
    Jsonl(Box<JsonlRows<NewFile>>),
    Csv(Box<CsvRows<NewFile>>),
}

/// A finished table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    pub rows: u64,
    pub bytes: u64,
    /// Hexadecimal.
    pub sha256: String,
}

impl TableWriter {
    /// Begins a table at `path`, where no file may exist. Missing folders are created.
    pub fn create(path: &Path, format: impl Into<FileFormat>, schema: &Schema) -> Result<TableWriter, SinkError> {
        if let Some(folder) = path.parent() {
            create_folder(folder)?;
        }
        let file = NewFile::create_new(path)?;
        let failed = |fault| SinkError::Storage { path: path.to_owned(), step: "writing", fault };
        let format = format.into();
        let for_excel = format == FileFormat::ExcelCsv;
        let format = match format {
            FileFormat::Parquet => RowWriter::Parquet(Box::new(
                ParquetRows::new(file, schema).map_err(|fault| SinkError::Parquet { path: path.to_owned(), fault })?,
            )),
            FileFormat::Jsonl => RowWriter::Jsonl(Box::new(JsonlRows::new(file, schema))),
            FileFormat::Csv | FileFormat::ExcelCsv => {
                RowWriter::Csv(Box::new(CsvRows::new(file, schema, for_excel).map_err(failed)?))
            }
        };
        Ok(TableWriter { path: path.to_owned(), schema: schema.clone(), rows: 0, format })
    }

    /// Adds a row: one cell for each column of the schema.
    pub fn write_row(&mut self, row: Vec<TableCell>) -> Result<(), SinkError> {
        self.schema.admit(&row).map_err(|fault| SinkError::Row { path: self.path.clone(), fault })?;
        let failed = |fault| SinkError::Storage { path: self.path.clone(), step: "writing", fault };
        match &mut self.format {
            RowWriter::Parquet(rows) => {
                rows.write(row).map_err(|fault| SinkError::Parquet { path: self.path.clone(), fault })?;
            }
            RowWriter::Jsonl(rows) => rows.write(&row).map_err(failed)?,
            RowWriter::Csv(rows) => rows.write(&row).map_err(failed)?,
        }
        self.rows += 1;
        Ok(())
    }

    /// Publishes the table under its name, complete and on disk.
    ///
    /// # Errors
    /// A storage error, or [`SinkError::NotOurs`] if another file has the name.
    pub fn finish(self) -> Result<WrittenFile, SinkError> {
        let file = match self.format {
            RowWriter::Parquet(rows) => {
                rows.finish().map_err(|fault| SinkError::Parquet { path: self.path.clone(), fault })?
            }
            RowWriter::Jsonl(rows) => rows.finish(),
            RowWriter::Csv(rows) => {
                rows.finish().map_err(|fault| SinkError::Storage { path: self.path.clone(), step: "writing", fault })?
            }
        };
        let published = file.publish()?;
        Ok(WrittenFile { rows: self.rows, bytes: published.bytes, sha256: published.sha256 })
    }
}

/// Writes a file that only its owner can read, and that appears complete. No other file may have its name.
///
/// # Errors
/// A storage error, or [`SinkError::NotOurs`] if another file has the name.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<WrittenFile, SinkError> {
    let mut file = NewFile::create_new(path)?;
    file.write_all(bytes).map_err(|fault| SinkError::Storage { path: path.to_owned(), step: "writing", fault })?;
    let published = file.publish()?;
    Ok(WrittenFile { rows: 0, bytes: published.bytes, sha256: published.sha256 })
}
