//! A workbook (.xlsx) being written: tables and pages as sheets. This module ensures that a spreadsheet program changes
//! no value. Text is a text cell, never a formula or a number, so that an identifier keeps its zeros and its digits.
//! Dates and timestamps are real dates.
//!
//! Rows of several tables come in any order, so each sheet is compressed into an unnamed temporary file of its own, and
//! the files are put together at the end. Memory does not grow with the rows, and every failed write is an error, not a
//! panic.
//!
//! | file | noun |
//! |---|---|
//! | `cells` | the XML of one cell |
//! | `sheet` | one sheet being written |
//! | `sheet_names` | names that spreadsheet programs accept |
//! | `package` | the fixed parts of the file, and how it is put together |

mod cells;
mod package;
mod sheet;
mod sheet_names;
#[cfg(test)]
mod workbook_tests;

pub use cells::CHARACTERS_MAX as CELL_CHARACTERS_MAX;

use super::{SinkError, TableCell, WrittenFile, new_file::create_folder, table::Column};
use crate::model::cell_ref::{COLUMNS_MAX, ROWS_MAX};
use sheet::{Packed, Sheet};
use sheet_names::SheetNames;
use std::path::{Path, PathBuf};

/// A sheet is continued on another one after this many bytes, so that no part of the file needs the format for large
/// files, which not every program reads.
const SHEET_BYTES_MAX: u64 = 2 << 30;

/// A workbook being written. If it is dropped before [`Workbook::finish`], it leaves nothing behind.
pub struct Workbook {
    path: PathBuf,
    /// The folder of the temporary files.
    folder: PathBuf,
    names: SheetNames,
    tables: Vec<Table>,
    rows_max: u32,
    rows: u64,
    cut: u64,
}

/// A table, or a page without a header. It has several sheets if it is too long for one.
struct Table {
    name: String,
    /// `None` for a page.
    header: Option<Vec<TableCell>>,
    full: Vec<Packed>,
    open: Sheet,
}

/// A finished workbook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenWorkbook {
    pub file: WrittenFile,
    /// The number of texts that were too long for a cell, and were cut.
    pub cut_cells: u64,
    /// The sheets of each table that has more than one.
    pub continued: Vec<Vec<String>>,
}

impl Workbook {
    /// Begins a workbook at `path`, where no file may exist. `reserved` are names of sheets that no other sheet gets.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn create(path: &Path, reserved: &[&str]) -> Result<Workbook, SinkError> {
        let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
        create_folder(&folder)?;
        Ok(Workbook {
            path: path.to_owned(),
            folder,
            names: SheetNames::with(reserved),
            tables: Vec::new(),
            rows_max: ROWS_MAX,
            rows: 0,
            cut: 0,
        })
    }

    /// Adds a sheet for a table: a header that stays in view, and a filter. Returns its number.
    ///
    /// # Errors
    /// A storage error, or more columns than a sheet can have.
    pub fn add_table(&mut self, name: &str, columns: &[Column]) -> Result<usize, SinkError> {
        let name = self.names.unique(name);
        self.table(name, columns)
    }

    /// Adds a sheet for a table under a reserved name. Returns its number.
    ///
    /// # Errors
    /// A storage error, or more columns than a sheet can have.
    pub fn add_reserved(&mut self, name: &str, columns: &[Column]) -> Result<usize, SinkError> {
        self.table(name.to_owned(), columns)
    }

    fn table(&mut self, name: String, columns: &[Column]) -> Result<usize, SinkError> {
        if columns.len() > COLUMNS_MAX as usize {
            let fault = format!("expected at most {COLUMNS_MAX} columns in a sheet, found {}", columns.len());
            return Err(SinkError::Row { path: self.path.clone(), fault });
        }
        self.add(name, Some(columns.iter().map(|column| TableCell::text(column.name.as_str())).collect()))
    }

    /// Adds a page: a sheet for lines of any cells, under a reserved name. Returns its number.
    ///
    /// # Errors
    /// A storage error.
    pub fn add_page(&mut self, name: &str) -> Result<usize, SinkError> {
        self.add(name.to_owned(), None)
    }

    fn add(&mut self, name: String, header: Option<Vec<TableCell>>) -> Result<usize, SinkError> {
        let open = Sheet::begin(name.clone(), &self.folder, header.as_deref()).map_err(|fault| self.failed(fault))?;
        self.tables.push(Table { name, header, full: Vec::new(), open });
        Ok(self.tables.len() - 1)
    }

    /// Adds a row to a table.
    ///
    /// # Errors
    /// A storage error.
    pub fn write_row(&mut self, table: usize, row: &[TableCell]) -> Result<(), SinkError> {
        self.rows += 1;
        self.line(table, row, false)
    }

    /// Adds a line to a page, in bold if it is a heading.
    ///
    /// # Errors
    /// A storage error.
    pub fn write_line(&mut self, page: usize, line: &[TableCell], is_heading: bool) -> Result<(), SinkError> {
        self.line(page, line, is_heading)
    }

    fn line(&mut self, table: usize, row: &[TableCell], is_heading: bool) -> Result<(), SinkError> {
        let written = self.tables[table].line(row, is_heading, self.rows_max, &mut self.names, &self.folder);
        self.cut += written.map_err(|fault| self.failed(fault))?;
        Ok(())
    }

    /// The number of texts that were cut so far.
    pub fn cut_cells(&self) -> u64 {
        self.cut
    }

    /// The sheets of each table that has more than one so far.
    pub fn continued(&self) -> Vec<Vec<String>> {
        self.tables.iter().filter(|table| !table.full.is_empty()).map(Table::sheets).collect()
    }

    /// Publishes the workbook under its name, complete and on disk.
    ///
    /// # Errors
    /// A storage error, or [`SinkError::NotOurs`] if another file has the name.
    pub fn finish(self) -> Result<WrittenWorkbook, SinkError> {
        let (rows, cut_cells, continued) = (self.rows, self.cut, self.continued());
        let failed = |fault| SinkError::Storage { path: self.path.clone(), step: "writing", fault };
        let mut packed = Vec::new();
        for table in self.tables {
            packed.extend(table.full);
            packed.push(table.open.finish().map_err(failed)?);
        }
        let whole = package::put_together(packed, &self.folder).map_err(failed)?;
        let file = package::publish(whole, &self.path)?;
        let file = WrittenFile { rows, bytes: file.bytes, sha256: file.sha256 };
        Ok(WrittenWorkbook { file, cut_cells, continued })
    }

    fn failed(&self, fault: std::io::Error) -> SinkError {
        SinkError::Storage { path: self.path.clone(), step: "writing", fault }
    }
}

impl Table {
    /// Adds a line, on a further sheet if this one is full. Returns how many of its texts were cut.
    fn line(
        &mut self,
        row: &[TableCell],
        is_heading: bool,
        rows_max: u32,
        names: &mut SheetNames,
        folder: &Path,
    ) -> std::io::Result<u64> {
        if self.open.rows() >= rows_max || self.open.bytes() >= SHEET_BYTES_MAX {
            let next = Sheet::begin(names.unique(&self.name), folder, self.header.as_deref())?;
            self.full.push(std::mem::replace(&mut self.open, next).finish()?);
        }
        self.open.line(row, is_heading)
    }

    fn sheets(&self) -> Vec<String> {
        self.full.iter().map(|sheet| sheet.name.clone()).chain([self.open.name().to_owned()]).collect()
    }
}
