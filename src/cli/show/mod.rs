//! `rescreen show`: results and failures of a round as a table, or every row of one subject in all rounds. It reads what
//! was published, and sends nothing.

mod as_json;
pub mod details;
mod rows;

use super::{
    chosen::{self, Choice, Meant},
    output::{escaped_to_stdout, to_stderr},
    program::program,
};
use clap::Args;
use rescreen::{
    Error,
    model::{ExitCode, FailureCode, Verdict, field::tidy, nearest::hint, printable::printable, shell_words::quoted},
    pipeline::{
        show::{RowFilter, Wanted, WantedEnd, first_rows, rows_of},
        verdict_of,
        wording::{ask_counts, counted, grouped},
    },
    sink::{AskCounts, DatasetKind, PublishedFolder},
};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct ShowArgs {
    /// Output folder, name of a campaign, or a subject, whose rows of all campaigns in out/ are shown [default: the
    /// campaign of rescreen.toml, or the only one in out/]
    #[arg(value_name = "DIR|NAME|SUBJECT")]
    what: Option<String>,
    /// Only this subject of the folder or campaign
    #[arg(value_name = "SUBJECT")]
    subject: Option<String>,
    /// Only the row with this number in its input, such as one without a subject
    #[arg(long = "row", value_name = "N", conflicts_with = "subject")]
    row_number: Option<u64>,
    /// Only results with these verdicts, comma-separated: clear, adverse, review, not_found, data or unrecognised
    #[arg(long = "verdict", value_name = "VERDICTS", value_delimiter = ',', value_parser = verdict)]
    verdicts: Vec<Verdict>,
    /// Only failures with these codes, comma-separated
    #[arg(long = "code", value_name = "CODES", value_delimiter = ',', value_parser = code)]
    codes: Vec<FailureCode>,
    /// Only failures
    #[arg(long)]
    failures: bool,
    /// Only what has no result yet
    #[arg(long)]
    pending: bool,
    /// Only what a condition left out
    #[arg(long)]
    skipped: bool,
    /// Only this check; repeatable
    #[arg(long = "check", value_name = "NAME")]
    checks: Vec<String>,
    /// How many rows to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

fn verdict(text: &str) -> Result<Verdict, String> {
    match text {
        "failed" => Err("a failure has no verdict; --failures shows the failures".to_owned()),
        _ => verdict_of(text),
    }
}

fn code(text: &str) -> Result<FailureCode, String> {
    let names = FailureCode::ALL.map(FailureCode::as_str);
    let found = FailureCode::ALL.into_iter().find(|code| code.as_str() == text);
    found.ok_or_else(|| format!("expected one of {}, found `{text}`{}", names.join(", "), hint(text, names)))
}

impl ShowArgs {
    fn filter(&self) -> RowFilter {
        let verdicts = self.verdicts.iter().copied().map(WantedEnd::Verdict);
        let codes = self.codes.iter().copied().map(WantedEnd::Code);
        let datasets = [
            (self.failures, DatasetKind::Failures),
            (self.pending, DatasetKind::Pending),
            (self.skipped, DatasetKind::Skipped),
        ];
        let datasets = datasets.into_iter().filter(|(is_wanted, _)| *is_wanted);
        let ends = verdicts.chain(codes).chain(datasets.map(|(_, kind)| WantedEnd::Any(kind)));
        RowFilter { ends: ends.collect(), checks: self.checks.clone() }
    }
}

pub fn show(args: &ShowArgs) -> Result<ExitCode, Error> {
    if let (Some(place), Some(subject)) = (&args.what, &args.subject) {
        let folder = chosen::published("show", Path::new(place))?;
        return looked_up(args, Wanted::Subject(&tidy(subject)), &[folder]);
    }
    match (chosen::meant("show", args.what.as_deref())?, args.row_number) {
        (Meant::Folder(folder), None) => of_folder(args, &folder),
        (Meant::Folder(folder), Some(number)) => looked_up(args, Wanted::RowNumber(number), &[folder]),
        (Meant::Subject { subject, folders }, None) => looked_up(args, Wanted::Subject(&tidy(&subject)), &folders),
        (Meant::Subject { subject, .. }, Some(_)) => {
            chosen::published("show", Path::new(&subject))?;
            Err(Error::Config("--row: expected the folder or campaign of the row, found a subject".to_owned()))
        }
    }
}

/// The first rows of a round.
fn of_folder(args: &ShowArgs, folder: &Path) -> Result<ExitCode, Error> {
    let folder = PublishedFolder::open(folder)?;
    let filter = args.filter();
    let seen = first_rows(&folder, &filter, args.limit)?;
    let manifest = folder.manifest();
    if args.json {
        as_json::print(Some(&folder), None, seen.total, &seen.rows);
        return Ok(ExitCode::Complete);
    }
    let invented = manifest.mode.invented_by().map_or(String::new(), |_| " (invented answers)".to_owned());
    escaped_to_stdout(&format!("{} · {}{invented}", printable(&manifest.campaign), manifest.mode.as_str()));
    escaped_to_stdout(&ask_counts(AskCounts::of(&manifest.totals, manifest.input.unreadable_rows)));
    if filter.leaves_out() {
        escaped_to_stdout(&counted(seen.total, "row matches", "rows match"));
    }
    if seen.total == 0 {
        escaped_to_stdout("no row matches");
    }
    let purged: u64 = manifest.totals.iter().map(|totals| totals.purged).sum();
    if purged > 0 {
        escaped_to_stdout(&format!("{} purged: see `rescreen status`", counted(purged, "ask was", "asks were")));
    }
    rows::of_round(&seen.rows).iter().for_each(|line| escaped_to_stdout(line));
    let more = seen.total - seen.rows.len() as u64;
    if more > 0 {
        escaped_to_stdout(&format!("… and {} more; --limit N shows more", grouped(more)));
    }
    if let Some(row) = seen.rows.iter().find(|row| row.subject.is_none()) {
        let number = row.row_number.to_string();
        let words = [&program(), "show", &folder.path().display().to_string(), "--row", &number].map(str::to_owned);
        to_stderr(&format!("a row without a subject is found by its number: `{}`", quoted(&words)));
    }
    if manifest.under_way {
        to_stderr(
            "a run was under way when this was published, so there may be more results by now; if it was killed, \
             `rescreen collect` publishes what it received",
        );
    }
    Ok(ExitCode::Complete)
}

/// Every row of a subject, or with a number.
fn looked_up(args: &ShowArgs, wanted: Wanted<'_>, paths: &[PathBuf]) -> Result<ExitCode, Error> {
    let folders = paths.iter().map(|path| PublishedFolder::open(path)).collect::<Result<Vec<_>, _>>()?;
    let mut rows = rows_of(&folders, wanted)?;
    if rows.is_empty() {
        return Err(nothing_found(args, wanted, &folders)?);
    }
    let filter = args.filter();
    rows.retain(|row| filter.wants_row(row));
    let total = rows.len() as u64;
    // The last ones: an analyst asks what is known now.
    let shown = &rows[rows.len().saturating_sub(args.limit)..];
    if args.json {
        let subject = match wanted {
            Wanted::Subject(subject) => Some(subject),
            _ => None,
        };
        // A subject is looked up in every campaign, unless one is named.
        let is_named = args.subject.is_some() || args.row_number.is_some();
        as_json::print(folders.first().filter(|_| is_named), subject, total, shown);
        return Ok(ExitCode::Complete);
    }
    let what = match wanted {
        Wanted::Subject(subject) => printable(subject).into_owned(),
        Wanted::RowNumber(number) => format!("row {number}"),
        Wanted::ZerosAside(_) | Wanted::ResultIds(_) => String::new(),
    };
    escaped_to_stdout(&format!(
        "{what}: {}, in {} searched",
        counted(total, "row", "rows"),
        counted(folders.len() as u64, "campaign", "campaigns")
    ));
    let earlier = total - shown.len() as u64;
    if earlier > 0 {
        escaped_to_stdout(&format!("{} earlier; --limit N shows more", grouped(earlier)));
    }
    rows::in_full(shown).iter().for_each(|line| escaped_to_stdout(line));
    Ok(ExitCode::Complete)
}

/// Why nothing was found. A subject may be a person's number, so it is not repeated.
///
/// # Errors
/// A part cannot be read.
fn nothing_found(args: &ShowArgs, wanted: Wanted<'_>, folders: &[PublishedFolder]) -> Result<Error, Error> {
    let zeros = match wanted {
        Wanted::Subject(subject) if !rows_of(folders, Wanted::ZerosAside(subject))?.is_empty() => {
            "; there is one with more or fewer zeros in front, which spreadsheet programs remove"
        }
        _ => "",
    };
    if let (Some(folder), true) = (folders.first(), args.subject.is_some() || args.row_number.is_some()) {
        let what = match wanted {
            Wanted::RowNumber(number) => format!("a row {number}"),
            _ => "a row with this subject".to_owned(),
        };
        return Ok(Error::Config(format!("{}: expected {what}, found none{zeros}", folder.path().display())));
    }
    // The name of a campaign that has published nothing yet is not a subject.
    let place = match chosen::choose("show", args.what.as_deref().map(Path::new), None) {
        Ok(Choice::One(chosen)) => Some(chosen.place),
        Ok(Choice::Rehearsal(folder)) => Some(folder),
        _ => None,
    };
    if let Some(place) = place.filter(|place| place.exists()) {
        let status = [program(), "status".to_owned(), place.display().to_string()];
        return Ok(Error::Config(format!(
            "{} has no published results yet; its state: {}",
            place.display(),
            quoted(&status)
        )));
    }
    Ok(Error::Config(format!(
        "expected an output folder, a campaign name or a subject: no folder and no campaign has this name, and none of \
         the {} has a row with this subject{zeros}",
        counted(folders.len() as u64, "published campaign in out/", "published campaigns in out/")
    )))
}
