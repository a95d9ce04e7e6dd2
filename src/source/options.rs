//! Where a source comes from, and what the user says about it.

use super::{bytes::encoding::Encoding, detect::Format, records::header::HeaderLine};
use std::{io::Read, path::PathBuf};

/// Where a source comes from.
pub enum Origin {
    /// A path; a pipe is read as a stream.
    File(PathBuf),
    Stdin,
    /// Any stream; it is read in a thread of its own.
    Reader(Box<dyn Read + Send>),
}

/// What the user says about a source.
#[derive(Debug, Clone, Default)]
pub struct SourceOptions {
    /// `None`: by the file's extension, else by the first byte that is not blank: `{` is JSON lines.
    pub format: Option<Format>,
    /// CSV only. `None`: what a first line `sep=;` says, tab for `.tsv`, else the most frequent of `,` `;` tab `|` in the
    /// first line; comma on a tie.
    pub delimiter: Option<u8>,
    /// `None`: UTF-16 where its mark (BOM) stands, else UTF-8.
    pub encoding: Option<Encoding>,
    /// Where the names of the columns come from; JSON lines have their own.
    pub header: HeaderLine,
    /// Spreadsheets only. `None`: the one sheet with data.
    pub sheet: Option<String>,
    /// Rows of this source, at most, over all runs.
    pub limit_rows: Option<u64>,
    /// Records of a split, at most. `None`: [`super::SPLIT_ROWS_MAX`].
    pub split_rows: Option<usize>,
}
