//! The inputs of a campaign and their layout. This module rejects contradictory input settings before any input is
//! opened.

use super::file::CampaignFile;
use crate::{
    error::Error,
    files::Root,
    source::{Columns, Format, HeaderLine, SourceOptions},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// One input of a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// As the user named it.
    pub name: String,
    /// `None` is standard input.
    pub path: Option<PathBuf>,
}

/// The options that apply to all inputs, from the campaign file.
pub fn source_options(file: &CampaignFile) -> Result<SourceOptions, Error> {
    Ok(SourceOptions {
        format: file.input.format,
        delimiter: delimiter(file.input.delimiter)?,
        encoding: file.input.encoding,
        header: header(file)?,
        skip_lines: skip_lines(file)?,
        skip_footer: skip_footer(file)?,
        sheet: file.input.sheet.clone(),
        visible_only: file.input.visible_only,
        limit_rows: file.input.limit,
        split_rows: None,
        split_ends: Vec::new(),
    })
}

fn header(file: &CampaignFile) -> Result<HeaderLine, Error> {
    let refused = |fault: String| Err(Error::Config(format!("[input] {fault}")));
    let input = &file.input;
    if input.format == Some(Format::Jsonl) && (input.columns.is_some() || input.has_header() == Some(false)) {
        return refused(
            "header and columns apply to CSV and spreadsheets only; in JSON lines every object names its columns"
                .to_owned(),
        );
    }
    match (&input.columns, input.has_header()) {
        (None, None | Some(true)) => Ok(HeaderLine::First),
        (None, Some(false)) => Ok(HeaderLine::Missing),
        (Some(columns), Some(false)) => match Columns::new(columns) {
            Ok(columns) => Ok(HeaderLine::Named(columns)),
            Err(fault) => refused(format!("columns: {fault}")),
        },
        (Some(_), None | Some(true)) => refused(
            "columns: expected header = false (--no-header) as well: an input with a header line names its own \
             columns, and the header line would be read as a row"
                .to_owned(),
        ),
    }
}

/// The most lines before a table: the rows of a sheet.
const SKIPPED_LINES_MAX: u32 = 1_048_575;
/// The most rows at the end that are not read. So many are held in memory.
const SKIPPED_FOOTER_MAX: u32 = 1_000;

/// The number of lines before the table.
fn skip_lines(file: &CampaignFile) -> Result<u32, Error> {
    let refused = |fault: String| Err(Error::Config(format!("[input] {fault}")));
    let input = &file.input;
    let lines = match (input.header_row, input.skip_rows) {
        (None, None) => 0,
        (None, Some(lines)) => lines,
        (Some(0), None) => {
            return refused("header_row: expected the number of a line, from 1, found 0".to_owned());
        }
        (Some(_), None) if input.has_header() == Some(false) => {
            return refused(
                "header_row: expected an input with a header, found header = false (--no-header); use skip_rows for \
                 the lines before the first row"
                    .to_owned(),
            );
        }
        (Some(row), None) => row - 1,
        (Some(_), Some(_)) => {
            return refused(
                "header_row, skip_rows: expected one of them, found both; each says where the table begins".to_owned(),
            );
        }
    };
    if lines > SKIPPED_LINES_MAX {
        return refused(format!("header_row, skip_rows: expected at most {SKIPPED_LINES_MAX} lines, found {lines}"));
    }
    check_lines(file, lines > 0, "header_row and skip_rows").map(|()| lines)
}

/// The number of rows at the end that are not read.
fn skip_footer(file: &CampaignFile) -> Result<usize, Error> {
    let rows = file.input.skip_footer.unwrap_or_default();
    if rows > SKIPPED_FOOTER_MAX {
        let fault = format!("[input] skip_footer: expected at most {SKIPPED_FOOTER_MAX} rows, found {rows}");
        return Err(Error::Config(fault));
    }
    check_lines(file, rows > 0, "skip_footer").map(|()| rows as usize)
}

/// Refuses a setting about lines for input without a table.
fn check_lines(file: &CampaignFile, is_set: bool, what: &str) -> Result<(), Error> {
    if is_set && file.input.format == Some(Format::Jsonl) {
        return Err(Error::Config(format!(
            "[input] {what}: expected CSV or a spreadsheet, found format = \"jsonl\"; in JSON lines every line is a row"
        )));
    }
    Ok(())
}

/// The inputs; refuses one that is named twice.
pub fn inputs(file: &CampaignFile, base: &Path) -> Result<Vec<Input>, Error> {
    let paths = &file.input.paths;
    let whole = |path: &PathBuf| base.join(path).canonicalize().unwrap_or_else(|_| path.clone());
    let known: Vec<PathBuf> = paths.iter().map(whole).collect();
    if let Some((_, twice)) = paths.iter().enumerate().find(|(at, _)| known[..*at].contains(&known[*at])) {
        return Err(Error::Config(format!("input {} is named twice; name it once", twice.display())));
    }
    let input = |path: &PathBuf| Input {
        name: path.display().to_string(),
        path: (path.as_os_str() != "-").then(|| base.join(path)),
    };
    Ok(paths.iter().map(input).collect())
}

/// The folder below which rows name files, opened.
pub fn files_root(file: &CampaignFile, base: &Path) -> Result<Option<Arc<Root>>, Error> {
    let Some(path) = &file.input.files_root else { return Ok(None) };
    let opened = Root::open(&base.join(path));
    let root = opened
        .map_err(|error| Error::Config(format!("--files-root {} (or [input] files_root): {error}", path.display())))?;
    Ok(Some(Arc::new(root)))
}

fn delimiter(delimiter: Option<char>) -> Result<Option<u8>, Error> {
    delimiter
        .map(|c| match u8::try_from(c) {
            Ok(byte) if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(c, '"' | '\n' | '\r') => Ok(byte),
            _ => Err(Error::Config(format!("[input] delimiter: expected one character such as `;`, found `{c}`"))),
        })
        .transpose()
}
