//! A file with one table that a command writes on request (`--to FILE`), in the format of its name.

use rescreen::{
    Error, files,
    pipeline::ExportFormat,
    sink::{FileFormat, Schema, TableCell, TableWriter, Workbook},
};
use std::path::Path;

/// The file being written. It appears under its name when it is complete.
pub enum TableFile {
    Table(TableWriter),
    /// A workbook with one sheet, and its rows so far.
    Book {
        workbook: Box<Workbook>,
        sheet: usize,
        rows: u64,
    },
}

impl TableFile {
    /// Begins a file, which gets its name when it is complete. An existing one is not replaced.
    ///
    /// # Errors
    /// The name cannot be that of a new file, or it says no format.
    pub fn create(path: &Path, format: Option<ExportFormat>, sheet: &str, schema: Schema) -> Result<TableFile, Error> {
        let shown = path.display();
        let folder = files::folder_of(path).to_owned();
        let refused = match () {
            () if path.file_name().is_none() || path.as_os_str() == "-" => "expected the name of a new file".to_owned(),
            () if std::fs::symlink_metadata(path).is_ok() => {
                "a file with this name exists and is not replaced; remove it, or name another file".to_owned()
            }
            () if !folder.is_dir() => {
                format!("expected a file in an existing folder, found no folder {}", folder.display())
            }
            () => match format.or_else(|| by_extension(path)) {
                Some(ExportFormat::Files(format)) => {
                    return Ok(TableFile::Table(TableWriter::create(path, format, &schema)?));
                }
                Some(ExportFormat::Xlsx) => {
                    let mut workbook = Box::new(Workbook::create(path, &[])?);
                    let sheet = workbook.add_table(sheet, &schema.columns)?;
                    return Ok(TableFile::Book { workbook, sheet, rows: 0 });
                }
                None => "expected a name that ends in .parquet, .jsonl, .csv or .xlsx, or --format".to_owned(),
            },
        };
        Err(Error::Config(format!("--to {shown}: {refused}")))
    }

    /// Writes a row.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, cells: Vec<TableCell>) -> Result<(), Error> {
        match self {
            TableFile::Table(table) => table.write_row(cells)?,
            TableFile::Book { workbook, sheet, rows } => {
                workbook.write_row(*sheet, &cells)?;
                *rows += 1;
            }
        }
        Ok(())
    }

    /// Publishes the file, and returns the number of its rows.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self) -> Result<u64, Error> {
        match self {
            TableFile::Table(table) => Ok(table.finish()?.rows),
            TableFile::Book { workbook, rows, .. } => workbook.finish().map(|_| rows).map_err(Error::from),
        }
    }
}

/// The format that the ending of a name stands for.
fn by_extension(path: &Path) -> Option<ExportFormat> {
    match path.extension() {
        Some(extension) if extension == "ndjson" => Some(ExportFormat::Files(FileFormat::Jsonl)),
        _ => ExportFormat::of_name(path),
    }
}
