//! Rows as an Arrow IPC stream, for programs that read it while it is written.

use super::{Schema, SinkError, TableCell, record_batches::RecordBatches};
use arrow::{error::ArrowError, ipc::writer::StreamWriter};
use std::{io::Write, path::PathBuf};

/// A stream being written.
pub struct ArrowRows<W: Write> {
    writer: StreamWriter<W>,
    batches: RecordBatches,
    schema: Schema,
    /// What the stream is called in errors.
    name: PathBuf,
}

impl<W: Write> ArrowRows<W> {
    /// Begins a stream. The reader gets the schema at once.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(out: W, schema: Schema, name: &str) -> Result<ArrowRows<W>, SinkError> {
        let (batches, name) = (RecordBatches::new(&schema), PathBuf::from(name));
        let begun = StreamWriter::try_new(out, batches.schema());
        let mut writer = begun.map_err(|fault| storage(&name, fault))?;
        writer.flush().map_err(|fault| storage(&name, fault))?;
        Ok(ArrowRows { writer, batches, schema, name })
    }

    /// Adds a row: one cell for each column of the schema.
    ///
    /// # Errors
    /// The row does not match the schema, or cannot be written.
    pub fn write(&mut self, row: Vec<TableCell>) -> Result<(), SinkError> {
        self.schema.admit(&row).map_err(|fault| SinkError::Row { path: self.name.clone(), fault })?;
        if self.batches.push(row) { self.write_batch() } else { Ok(()) }
    }

    /// Writes the remaining rows and the end mark.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn finish(mut self) -> Result<(), SinkError> {
        if !self.batches.is_empty() {
            self.write_batch()?;
        }
        self.writer.finish().and_then(|()| self.writer.flush()).map_err(|fault| storage(&self.name, fault))
    }

    fn write_batch(&mut self) -> Result<(), SinkError> {
        let written = self.batches.take().and_then(|batch| self.writer.write(&batch));
        written.map_err(|fault| storage(&self.name, fault))
    }
}

fn storage(name: &std::path::Path, fault: ArrowError) -> SinkError {
    let fault = match fault {
        ArrowError::IoError(_, fault) => fault,
        fault => std::io::Error::other(fault.to_string()),
    };
    SinkError::Storage { path: name.to_owned(), step: "writing", fault }
}
