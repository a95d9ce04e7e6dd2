//! Where a source comes from, and the user's options for it.

use super::{bytes::encoding::Encoding, detect::Format, records::header::HeaderLine};
use std::{io::Read, path::PathBuf};

/// Where a source comes from.
pub enum Origin {
    /// A path; a pipe is read as a stream.
    File(PathBuf),
    Stdin,
    /// Any stream; it is read in its own thread.
    Reader(Box<dyn Read + Send>),
}

/// The user's options for a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceOptions {
    /// `None`: by the file's extension, else by the first byte that is not whitespace: `{` means JSON Lines.
    pub format: Option<Format>,
    /// CSV only. `None`: the delimiter of a first line `sep=;`, tab for `.tsv`, else the most frequent of `,` `;` tab
    /// `|` in the first line; comma on a tie.
    pub delimiter: Option<u8>,
    /// `None`: UTF-16 if there is a byte order mark (BOM) for it, else UTF-8.
    pub encoding: Option<Encoding>,
    /// Where the column names come from. JSON Lines has its own.
    pub header: HeaderLine,
    /// CSV and spreadsheets only: the number of lines, or of rows of the sheet, before the header, or before the first
    /// row if there is no header. They are not read.
    pub skip_lines: u32,
    /// CSV and spreadsheets only: the number of records at the end that are not read.
    pub skip_footer: usize,
    /// Spreadsheets only. `None`: the one sheet with data.
    pub sheet: Option<String>,
    /// Spreadsheets only: hidden rows are not read, and hidden sheets only if they are named.
    pub visible_only: bool,
    /// Maximum rows of this source, over all runs.
    pub limit_rows: Option<u64>,
    /// Maximum records in a split. `None`: [`super::SPLIT_ROWS_MAX`].
    pub split_rows: Option<usize>,
    /// Where the splits of an earlier reading ended, as the number of the row after each. Splits of these rows end there
    /// again, whatever their size.
    pub split_ends: Vec<u64>,
}
