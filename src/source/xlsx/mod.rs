//! Spreadsheets: validated before calamine reads them, and read as the CSV text of one sheet.

pub mod csv_text;
pub mod fault;
pub mod hidden;
pub mod preflight;
pub mod workbook;
