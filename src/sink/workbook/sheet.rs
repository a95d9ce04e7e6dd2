//! One sheet being written: XML, compressed into an unnamed temporary file. The first rows wait in memory until the
//! widths of the columns are known.

use super::cells::push_cell;
use crate::{model::cell_ref::reference, sink::TableCell};
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

/// The widths of the columns are measured on at most this many rows, and this many bytes.
const MEASURED_ROWS: u32 = 200;
const MEASURED_BYTES: usize = 1 << 20;
const WIDTH_MIN: usize = 8;
const WIDTH_MAX: usize = 60;
/// A column has room for a little more than its text, and for the button of the filter.
const WIDTH_MORE: usize = 3;
/// More takes much longer and saves little.
const COMPRESSION: i64 = 3;

const BEGIN: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n\
    <worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><sheetViews>";
/// The first row stays in view.
const FROZEN: &str = "<sheetView workbookViewId=\"0\"><pane ySplit=\"1\" topLeftCell=\"A2\" activePane=\"bottomLeft\" \
    state=\"frozen\"/><selection pane=\"bottomLeft\"/></sheetView>";
const NOT_FROZEN: &str = "<sheetView workbookViewId=\"0\"/>";

/// A sheet being written.
pub struct Sheet {
    name: String,
    xml: ZipWriter<BufWriter<File>>,
    has_header: bool,
    rows: u32,
    columns: u32,
    bytes: u64,
    /// The widths of the columns so far, until they are written.
    widths: Option<Vec<usize>>,
    buffer: Vec<u8>,
}

/// A finished sheet.
pub struct Packed {
    pub name: String,
    /// An archive with one member: the XML.
    pub archive: File,
    /// The cells under the filter, such as `$A$1:$C$7`.
    pub filtered: Option<String>,
}

/// How each member of the file is compressed. It has no date, so that the same rows give the same bytes.
pub fn member() -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(COMPRESSION))
        .last_modified_time(DateTime::default())
}

impl Sheet {
    /// Begins a sheet, with a header if it is one of a table.
    pub fn begin(name: String, folder: &Path, header: Option<&[TableCell]>) -> io::Result<Sheet> {
        let file = tempfile::tempfile_in(folder)?;
        let mut xml = ZipWriter::new(BufWriter::with_capacity(64 << 10, file));
        xml.start_file("sheet.xml", member())?;
        let (rows, columns, bytes, has_header) = (0, 0, 0, header.is_some());
        let mut sheet =
            Sheet { name, xml, has_header, rows, columns, bytes, widths: Some(Vec::new()), buffer: Vec::new() };
        if let Some(header) = header {
            sheet.line(header, true)?;
        }
        Ok(sheet)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rows so far, with the header.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The size of the XML so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a line. Returns how many of its texts were cut.
    pub fn line(&mut self, row: &[TableCell], is_heading: bool) -> io::Result<u64> {
        let (begins, mut cut) = (self.buffer.len(), 0);
        write!(self.buffer, "<row r=\"{}\">", self.rows + 1)?;
        for (column, cell) in (0_u32..).zip(row) {
            let taken = push_cell(&mut self.buffer, (self.rows, column), cell, is_heading);
            cut += u64::from(taken.is_cut);
            if let Some(widths) = &mut self.widths {
                if widths.len() <= column as usize {
                    widths.push(0);
                }
                widths[column as usize] = widths[column as usize].max(taken.width);
            }
        }
        self.buffer.extend_from_slice(b"</row>");
        self.rows += 1;
        self.columns = self.columns.max(u32::try_from(row.len()).unwrap_or(u32::MAX));
        self.bytes += (self.buffer.len() - begins) as u64;
        if self.widths.is_none() || self.rows > MEASURED_ROWS || self.buffer.len() > MEASURED_BYTES {
            self.flush()?;
        }
        Ok(cut)
    }

    /// Writes what waits in memory, after the beginning of the sheet if that is not written yet.
    fn flush(&mut self) -> io::Result<()> {
        if let Some(widths) = self.widths.take() {
            let view = if self.has_header { FROZEN } else { NOT_FROZEN };
            let mut begin = format!("{BEGIN}{view}</sheetViews>");
            if !widths.is_empty() {
                begin.push_str("<cols>");
                for (width, number) in widths.iter().zip(1..) {
                    let width = (width + WIDTH_MORE).clamp(WIDTH_MIN, WIDTH_MAX);
                    begin.push_str(&format!(
                        "<col min=\"{number}\" max=\"{number}\" width=\"{width}\" customWidth=\"1\"/>"
                    ));
                }
                begin.push_str("</cols>");
            }
            begin.push_str("<sheetData>");
            self.xml.write_all(begin.as_bytes())?;
        }
        self.xml.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Ends the sheet.
    pub fn finish(mut self) -> io::Result<Packed> {
        self.flush()?;
        let last = (self.rows.saturating_sub(1), self.columns.saturating_sub(1));
        let corner = reference(last);
        let mut end = "</sheetData>".to_owned();
        if self.has_header {
            end.push_str(&format!("<autoFilter ref=\"A1:{corner}\"/>"));
        }
        // Without this, a spreadsheet program shows a warning at each number that is stored as text.
        if self.rows > 0 && self.columns > 0 {
            end.push_str(&format!(
                "<ignoredErrors><ignoredError sqref=\"A1:{corner}\" numberStoredAsText=\"1\"/></ignoredErrors>"
            ));
        }
        end.push_str("</worksheet>");
        self.xml.write_all(end.as_bytes())?;
        let archive = self.xml.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        let letters = corner.trim_end_matches(|c: char| c.is_ascii_digit());
        let filtered = self.has_header.then(|| format!("$A$1:${letters}${}", self.rows));
        Ok(Packed { name: self.name, archive, filtered })
    }
}
