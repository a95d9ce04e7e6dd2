//! `[input]` of the campaign file, as the user writes it.

use crate::source::{Encoding, Format};
use serde::Deserialize;
use std::{collections::BTreeMap, path::PathBuf};

/// `[input]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InputTable {
    /// Relative to the campaign file; `-` is standard input.
    pub paths: Vec<PathBuf>,
    /// The column that fills `subject`.
    pub id: Option<String>,
    /// The texts that mean null. Leading and trailing spaces are ignored, in these texts and in values.
    pub null: Option<Vec<String>>,
    /// The texts that mean null in single columns; they replace `null` there.
    pub null_in: BTreeMap<String, Vec<String>>,
    pub format: Option<Format>,
    pub delimiter: Option<char>,
    /// The text encoding, if it is neither UTF-8 nor UTF-16 with a byte order mark.
    pub encoding: Option<Encoding>,
    /// `false` if the input has no header line.
    pub header: Option<bool>,
    /// The column names for an input without a header line.
    pub columns: Option<Vec<String>>,
    /// The line, or the row of the sheet, that has the column names.
    pub header_row: Option<u32>,
    /// The number of lines, or of rows of the sheet, that are not read at its start.
    pub skip_rows: Option<u32>,
    /// The number of rows that are not read at its end.
    pub skip_footer: Option<u32>,
    /// The sheet of a spreadsheet.
    pub sheet: Option<String>,
    /// Hidden rows of a spreadsheet are not read, and hidden sheets only if `sheet` names them.
    pub visible_only: Option<bool>,
    /// The folder below which rows name files.
    pub files_root: Option<PathBuf>,
}
