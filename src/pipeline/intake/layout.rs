//! The layout of a source, as the ledger records it: what a later run must know to read on in the same way. It decides
//! which settings of the input may not change.

use crate::{
    error::Error,
    ledger::{LedgerError, SourceView},
    source::{Encoding, Format, KnownSource, SourceOptions},
};
use serde::{Deserialize, Serialize};

/// The layout of a source, as the ledger records it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SourceLayout {
    pub format: Format,
    pub delimiter: Option<u8>,
    /// The header of a CSV file, or the keys of the first object of JSON lines.
    pub columns: Vec<String>,
    /// The encoding that the user specified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub visible_only: bool,
    /// The lines before the table that are not read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skip_lines: u32,
    /// The rows at the end that are not read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skip_footer: usize,
}

fn is_zero<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}

impl SourceLayout {
    /// The layout of an input that is read for the first time.
    pub fn new(format: Format, delimiter: Option<u8>, columns: Vec<String>, given: &SourceOptions) -> SourceLayout {
        SourceLayout {
            format,
            delimiter,
            columns,
            encoding: given.encoding,
            sheet: given.sheet.clone(),
            visible_only: given.visible_only,
            skip_lines: given.skip_lines,
            skip_footer: given.skip_footer,
        }
    }

    /// As the ledger stores it.
    pub fn to_text(&self) -> Result<String, Error> {
        serde_json::to_string(self).map_err(|error| Error::Internal(error.to_string()))
    }

    /// The error for an input that is now read with another encoding or sheet than before, which may be why it seems
    /// changed.
    pub fn read_differently(&self, name: &str, now: &SourceOptions) -> Option<Error> {
        let shown = |given: Option<String>| given.map_or("none".to_owned(), |given| format!("`{given}`"));
        let [was, is] = [self.encoding, now.encoding].map(|given| shown(given.map(|given| given.to_string())));
        let encoding = (was != is).then(|| format!("with encoding {was}, but encoding {is} is given now"));
        let [was, is] = [&self.sheet, &now.sheet].map(|given| shown(given.clone()));
        let sheet = (was != is).then(|| format!("with sheet {was}, but sheet {is} is given now"));
        let [was, is] = [self.visible_only, now.visible_only];
        let rows = (was != is).then(|| format!("with visible_only = {was}, but visible_only = {is} is given now"));
        encoding.or(sheet).or(rows).map(|what| begun_differently(name, &what))
    }

    /// The error for an input whose first or last lines are skipped in another way than before.
    pub fn skips_differently(&self, name: &str, now: &SourceOptions) -> Option<Error> {
        let (was, is) = ((self.skip_lines, self.skip_footer), (now.skip_lines, now.skip_footer));
        let what = |(lines, footer): (u32, usize)| format!("skip_rows = {lines} and skip_footer = {footer}");
        let text = || format!("with {}, but {} are given now (header_row = 1 is skip_rows = 0)", what(was), what(is));
        (was != is).then(|| begun_differently(name, &text()))
    }
}

fn begun_differently(name: &str, what: &str) -> Error {
    Error::Config(format!(
        "{name} was started {what}: use the same as before; put rows that failed into a separate file and check them in \
         a new campaign"
    ))
}

/// The layout in a ledger.
///
/// # Errors
/// It cannot be read.
pub fn layout_of(text: &str) -> Result<SourceLayout, Error> {
    serde_json::from_str(text).map_err(|error| LedgerError::Damaged(format!("a source's layout: {error}")).into())
}

/// What the ledger recorded about a source, in the form the reader needs; `None` if nothing of it was read.
pub fn remembered(source: &SourceView) -> Result<Option<KnownSource>, Error> {
    let Some(layout) = source.layout.as_deref().map(layout_of).transpose()? else { return Ok(None) };
    Ok(Some(KnownSource {
        header: (layout.format == Format::Csv).then_some(layout.columns),
        format: layout.format,
        delimiter: layout.delimiter,
        checkpoints: source.ends.clone(),
    }))
}
