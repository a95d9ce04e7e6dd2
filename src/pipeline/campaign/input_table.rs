//! `[input]` of the campaign file: one declaration of its keys and of the flags that replace them.

use super::flags;
use crate::source::{Encoding, Format};
use clap::Args;
use merge::Merge;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// `[input]`.
#[derive(Args, Merge, Debug, Clone, Default, Serialize, Deserialize)]
#[merge(strategy = flags::over)]
#[serde(deny_unknown_fields, default)]
pub struct InputTable {
    /// Input files: CSV or JSON Lines (also .gz or .zst), .xlsx or .parquet; `-` is standard input
    #[arg(value_name = "INPUT")]
    #[merge(strategy = flags::list_over)]
    pub paths: Vec<PathBuf>,
    /// Column that identifies a row; copied to `subject` in the outputs
    #[arg(long, value_name = "COLUMN", help_heading = flags::INPUT)]
    pub id: Option<String>,
    /// The texts that mean null. Leading and trailing spaces are ignored, in these texts and in values.
    #[arg(skip)]
    pub null: Option<Vec<String>>,
    /// The texts that mean null in single columns; they replace `null` there.
    #[arg(skip)]
    #[merge(skip)]
    pub null_in: BTreeMap<String, Vec<String>>,
    #[arg(skip)]
    pub format: Option<Format>,
    /// Read only the first ROWS rows of each input; rows that were read before are still sent
    #[arg(long, value_name = "ROWS", help_heading = flags::INPUT)]
    #[serde(skip)]
    pub limit: Option<u64>,
    /// Send nothing unless the input has this many rows
    #[arg(long, value_name = "N|MIN..MAX", value_parser = row_range, help_heading = flags::INPUT)]
    #[serde(skip)]
    pub expect_rows: Option<(u64, u64)>,
    /// CSV delimiter [default: detected]
    #[arg(long, value_name = "CHAR", help_heading = flags::INPUT)]
    pub delimiter: Option<char>,
    /// Input encoding, such as utf-16le, windows-1250, iso-8859-2, gbk, shift_jis or big5 [default: utf-8, or utf-16 where
    /// it is detected]
    #[arg(long, help_heading = flags::INPUT)]
    pub encoding: Option<Encoding>,
    /// Read the first line of the input as a row, not as a header
    #[arg(long, help_heading = flags::INPUT)]
    #[merge(strategy = merge::bool::overwrite_false)]
    #[serde(skip)]
    pub no_header: bool,
    /// `false` if the input has no header line.
    #[arg(skip)]
    pub header: Option<bool>,
    /// Column names for an input without a header, comma-separated
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = flags::INPUT)]
    pub columns: Option<Vec<String>>,
    /// Line (or row of the sheet) that has the column names; the lines above it are not read [default: 1]
    #[arg(long, value_name = "N", help_heading = flags::INPUT)]
    pub header_row: Option<u32>,
    /// Do not read the first N lines (or rows of the sheet)
    #[arg(long, value_name = "N", help_heading = flags::INPUT)]
    pub skip_rows: Option<u32>,
    /// Do not read the last N rows
    #[arg(long, value_name = "N", help_heading = flags::INPUT)]
    pub skip_footer: Option<u32>,
    /// Sheet of the workbook to read [default: the only one with data]
    #[arg(long, value_name = "NAME", help_heading = flags::INPUT)]
    pub sheet: Option<String>,
    /// Do not read hidden rows of the workbook, such as those that a filter hides
    #[arg(long, help_heading = flags::INPUT)]
    #[merge(strategy = merge::bool::overwrite_false)]
    pub visible_only: bool,
    /// Folder that contains the files that rows name; nothing outside it is read
    #[arg(long, value_name = "DIR", help_heading = flags::INPUT)]
    pub files_root: Option<PathBuf>,
}

impl InputTable {
    /// Whether the input has a header line, as far as the user says so.
    pub fn has_header(&self) -> Option<bool> {
        if self.no_header { Some(false) } else { self.header }
    }
}

/// `N`, or `MIN..MAX`.
fn row_range(text: &str) -> Result<(u64, u64), String> {
    let number = |part: &str| part.trim().parse::<u64>().map_err(|_| format!("expected N or MIN..MAX, found `{text}`"));
    match text.split_once("..") {
        Some((least, most)) => Ok((number(least)?, number(most)?)),
        None => number(text).map(|exactly| (exactly, exactly)),
    }
}
