//! What to export, and in which form. This module decides what `--to` names: a new folder, or a new file if the name
//! has the extension of one. It refuses options that cannot be combined before anything is read.

use crate::{
    error::Error,
    ledger::CheckUseRow,
    model::{Verdict, nearest::hint},
    pipeline::compare::{ChangedRows, CompareOptions, changed_rows},
    sink::{FileFormat, OutputFormat, Selected},
};
use std::{collections::BTreeMap, fmt, path::Path, str::FromStr};

/// What to export, and where to.
pub struct ExportOrder<'a> {
    /// An output folder, or a ledger file.
    pub place: &'a Path,
    /// The new folder or file.
    pub to: &'a Path,
    /// A campaign file whose declarations judge the answers.
    pub config: Option<&'a Path>,
    /// The format, if it is not that of the campaign or of the name of the new file.
    pub format: Option<ExportFormat>,
    /// CSV begins with a byte order mark, for Excel.
    pub excel: bool,
    /// One file for each dataset.
    pub single: bool,
    pub content: ExportContent,
    /// Only results with these verdicts.
    pub verdicts: Vec<Verdict>,
    /// Only these checks.
    pub checks: Vec<String>,
    /// Only what changed since an earlier round.
    pub changed: Option<ChangedSince<'a>>,
}

/// What an export has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportContent {
    /// The datasets of the campaign.
    Datasets,
    /// The rows of the input, with what is known of each.
    Wide,
    /// The matches that a person has to decide about.
    Worklist,
    /// The replies that could not be read as answers, as they came.
    Unread,
}

/// Two rounds whose outputs are compared.
pub struct ChangedSince<'a> {
    /// The output folder of the earlier round.
    pub old: &'a Path,
    /// That of the campaign.
    pub new: &'a Path,
    /// The rounds may have different modes.
    pub across_modes: bool,
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Files with one table each.
    Files(FileFormat),
    /// One workbook.
    Xlsx,
}

impl ExportFormat {
    const ALL: [ExportFormat; 4] = [
        ExportFormat::Files(FileFormat::Parquet),
        ExportFormat::Files(FileFormat::Jsonl),
        ExportFormat::Files(FileFormat::Csv),
        ExportFormat::Xlsx,
    ];

    /// The name on the command line, and the extension of its files.
    pub fn as_str(self) -> &'static str {
        match self {
            ExportFormat::Files(format) => format.as_str(),
            ExportFormat::Xlsx => "xlsx",
        }
    }

    /// The format of a file with this name.
    pub fn of_name(path: &Path) -> Option<ExportFormat> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        ExportFormat::ALL.into_iter().find(|format| format.as_str() == extension)
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ExportFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<ExportFormat, String> {
        let names = ExportFormat::ALL.map(ExportFormat::as_str);
        ExportFormat::ALL
            .into_iter()
            .find(|format| format.as_str() == text)
            .ok_or_else(|| format!("expected `parquet`, `jsonl`, `csv` or `xlsx`, found `{text}`{}", hint(text, names)))
    }
}

/// The form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    pub format: ExportFormat,
    /// `--to` names a file, not a folder.
    pub is_file: bool,
}

impl<'a> ExportOrder<'a> {
    /// Everything, in the format of the campaign.
    pub fn of(place: &'a Path, to: &'a Path) -> ExportOrder<'a> {
        let (config, format, changed) = (None, None, None);
        let (verdicts, checks) = (Vec::new(), Vec::new());
        let (excel, single, content) = (false, false, ExportContent::Datasets);
        ExportOrder { place, to, config, format, excel, single, content, verdicts, checks, changed }
    }

    /// The form of the export of a campaign that publishes in `own`.
    ///
    /// # Errors
    /// The name, the format and the datasets do not fit together.
    pub fn form(&self, own: OutputFormat) -> Result<Form, Error> {
        if self.content == ExportContent::Unread {
            return Ok(Form { format: ExportFormat::Files(FileFormat::Jsonl), is_file: false });
        }
        let shown = self.to.display();
        let named = ExportFormat::of_name(self.to);
        let format = self.format.or(named).unwrap_or(ExportFormat::Files(own.into()));
        let refused = |what: String| Err(Error::Config(format!("--to {shown}: {what}")));
        match (named, format) {
            (Some(named), _) if named != format => {
                refused(format!("expected a name for the format {format}, found one that ends in .{named}"))
            }
            (None, _) if is_of_another_format(self.to) => refused(
                "expected the name of a new folder, or one that ends in .csv, .jsonl, .parquet or .xlsx, found one with \
                 the ending of another format"
                    .to_owned(),
            ),
            (None, ExportFormat::Xlsx) => {
                refused("expected the name of a new workbook, which ends in .xlsx".to_owned())
            }
            (Some(ExportFormat::Files(_)), _) if self.content == ExportContent::Datasets => refused(format!(
                "expected the name of a new folder, because results, failures, pending and skipped are files of their \
                 own, found one that ends in .{format}; name a folder, or use --wide or --worklist for one file"
            )),
            _ if self.excel && format != ExportFormat::Files(FileFormat::Csv) => Err(Error::Config(format!(
                "--excel: expected --format csv, or a name that ends in .csv, found the format {format}; a workbook \
                 (.xlsx) needs no mark"
            ))),
            _ if self.excel => Ok(Form { format: ExportFormat::Files(FileFormat::ExcelCsv), is_file: named.is_some() }),
            _ => Ok(Form { format, is_file: named.is_some() }),
        }
    }

    /// The numbers of the chosen checks in the ledger; `None` if all are exported.
    ///
    /// # Errors
    /// The campaign has no such check.
    pub fn chosen_checks(&self, known: &BTreeMap<i64, CheckUseRow>) -> Result<Option<Vec<i64>>, Error> {
        if self.checks.is_empty() {
            return Ok(None);
        }
        let number = |wanted: &String| {
            let found = known.iter().find(|(_, row)| row.name == *wanted);
            found.map(|(id, _)| *id).ok_or_else(|| {
                let names: Vec<&str> = known.values().map(|row| row.name.as_str()).collect();
                let listed = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                Error::Config(format!(
                    "--check: expected a check of the campaign ({listed}), found `{wanted}`{}",
                    hint(wanted, names.iter().copied())
                ))
            })
        };
        self.checks.iter().map(number).collect::<Result<_, _>>().map(Some)
    }

    /// The rows that changed since the earlier round, if the export is limited to them: those that `rescreen diff` names.
    ///
    /// # Errors
    /// The rounds cannot be compared.
    pub fn changed_rows(&self) -> Result<Option<ChangedRows>, Error> {
        let Some(ChangedSince { old, new, across_modes }) = &self.changed else { return Ok(None) };
        changed_rows(old, new, &CompareOptions { across_modes: *across_modes, checks: self.checks.clone() }).map(Some)
    }

    /// What the export is limited to, for the manifest; `None` if it is everything.
    pub fn selected(&self) -> Option<Selected> {
        let selected = Selected {
            verdicts: self.verdicts.clone(),
            checks: self.checks.clone(),
            changed_since: self.changed.as_ref().map(|changed| changed.old.display().to_string()),
        };
        (selected != Selected::default()).then_some(selected)
    }
}

/// Whether this is the name of a file in a format that an export does not write. Anything else may be a folder.
fn is_of_another_format(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    let others = ["txt", "tsv", "xls", "xlsm", "xlsb", "ods", "json", "ndjson", "gz", "zip", "html", "pdf"];
    extension.is_some_and(|extension| others.contains(&extension.as_str()))
}

/// The verdict with this name.
///
/// # Errors
/// The verdict does not exist; the error names the nearest one.
pub fn verdict_of(text: &str) -> Result<Verdict, String> {
    let text = text.trim();
    let names = Verdict::ALL.map(Verdict::as_str);
    Verdict::from_word(text).ok_or_else(|| {
        let listed = names.map(|name| format!("`{name}`")).join(", ");
        format!("expected one of {listed}, found `{text}`{}", hint(text, names))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(to: &str, format: Option<&str>, wide: bool) -> Result<(String, bool), String> {
        let format = format.map(|format| format.parse().unwrap());
        let content = if wide { ExportContent::Wide } else { ExportContent::Datasets };
        let order = ExportOrder { format, content, ..ExportOrder::of(Path::new(""), Path::new(to)) };
        let form = order.form(OutputFormat::Jsonl);
        form.map(|form| (form.format.to_string(), form.is_file)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_with_a_known_ending_is_a_file_and_any_other_a_folder() {
        assert_eq!(form("exported", None, false), Ok(("jsonl".into(), false)));
        assert_eq!(form("2026.11", Some("csv"), false), Ok(("csv".into(), false)));
        assert_eq!(form("rows.CSV", None, true), Ok(("csv".into(), true)));
        assert_eq!(form("book.xlsx", None, false), Ok(("xlsx".into(), true)));
        assert_eq!(form("book.xlsx", Some("xlsx"), true), Ok(("xlsx".into(), true)));
        assert_eq!(form("rows", Some("parquet"), true), Ok(("parquet".into(), false)));
    }

    #[test]
    fn what_does_not_fit_together_is_refused_with_what_to_do() {
        for (to, format, wide, expected) in [
            ("book", Some("xlsx"), false, "expected the name of a new workbook, which ends in .xlsx"),
            ("book.xlsx", Some("csv"), false, "expected a name for the format csv, found one that ends in .xlsx"),
            ("results.csv", None, false, "name a folder, or use --wide or --worklist for one file"),
            ("rows.TXT", None, true, "found one with the ending of another format"),
            ("rows.json", Some("jsonl"), true, "or one that ends in .csv, .jsonl, .parquet or .xlsx"),
        ] {
            let message = form(to, format, wide).unwrap_err();
            assert!(message.starts_with(&format!("--to {to}: ")) && message.contains(expected), "{message}");
        }
    }

    #[test]
    fn an_unknown_format_or_verdict_is_refused_with_the_nearest() {
        let fault = ExportFormat::from_str("xls").unwrap_err();
        assert_eq!(fault, "expected `parquet`, `jsonl`, `csv` or `xlsx`, found `xls`; did you mean `xlsx`?");
        let fault = verdict_of("revew").unwrap_err();
        assert!(fault.ends_with("found `revew`; did you mean `review`?"), "{fault}");
        assert_eq!(verdict_of(" not_found"), Ok(Verdict::NotFound));
    }
}
