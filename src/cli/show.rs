//! `rescreen show`: results and failures of a round as a table, or every row of one subject in all rounds. It reads what
//! was published, and sends nothing.

use super::{
    chosen::{self, Choice, Wanted},
    colour::Ink,
    json,
    output::{escaped_to_stdout, to_stderr},
    program::program,
    table::{self, Cell},
};
use clap::Args;
use rescreen::{
    Error,
    model::{
        ExitCode, FailureCode, Verdict, clock::local_time, nearest::hint, printable::printable, shell_words::quoted,
    },
    pipeline::{
        show::{RowFilter, SeenEnd, SeenRow, SeenRows, first_rows, rows_of_subject},
        wording::{counted, grouped},
    },
    sink::{Manifest, PublishedFolder, TableCell},
};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct ShowArgs {
    /// Output folder, name of a campaign, or a subject, whose rows of all campaigns in out/ are shown [default: the
    /// campaign of rescreen.toml, or the only one in out/]
    #[arg(value_name = "DIR|NAME|SUBJECT")]
    what: Option<String>,
    /// Only results with these verdicts, comma-separated: clear, adverse, review, not_found, data or unrecognised
    #[arg(long = "verdict", value_name = "VERDICTS", value_delimiter = ',', value_parser = verdict)]
    verdicts: Vec<Verdict>,
    /// Only failures
    #[arg(long, conflicts_with_all = ["verdicts", "codes"])]
    failures: bool,
    /// Only failures with these codes, comma-separated
    #[arg(long = "code", value_name = "CODES", value_delimiter = ',', value_parser = code)]
    codes: Vec<FailureCode>,
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
    let names = Verdict::ALL.map(Verdict::as_str);
    Verdict::from_word(text).ok_or_else(|| match text {
        "failed" => "a failure has no verdict; --failures shows the failures".to_owned(),
        _ => format!("expected one of {}, found `{text}`{}", names.join(", "), hint(text, names)),
    })
}

impl ShowArgs {
    fn filter(&self) -> RowFilter {
        let codes = if self.failures { FailureCode::ALL.to_vec() } else { self.codes.clone() };
        RowFilter { verdicts: self.verdicts.clone(), codes, checks: self.checks.clone() }
    }
}

fn code(text: &str) -> Result<FailureCode, String> {
    let names = FailureCode::ALL.map(FailureCode::as_str);
    let found = FailureCode::ALL.into_iter().find(|code| code.as_str() == text);
    found.ok_or_else(|| format!("expected one of {}, found `{text}`{}", names.join(", "), hint(text, names)))
}

pub fn show(args: &ShowArgs) -> Result<ExitCode, Error> {
    match chosen::wanted("show", args.what.as_deref())? {
        Wanted::Folder(folder) => of_folder(args, &folder),
        Wanted::Subject { subject, folders } => of_subject(args, &subject, &folders),
    }
}

fn of_folder(args: &ShowArgs, folder: &std::path::Path) -> Result<ExitCode, Error> {
    let folder = PublishedFolder::open(folder)?;
    let filter = args.filter();
    let seen = first_rows(&folder, &filter, args.limit)?;
    let manifest = folder.manifest();
    if args.json {
        let fields = serde_json::json!({
            "folder": folder.path().display().to_string(),
            "subject": null,
            "campaign": manifest.campaign,
            "mode": manifest.mode,
            "under_way": manifest.under_way,
            "total": seen.total,
            "rows": seen.rows.iter().map(as_json).collect::<Vec<_>>(),
        });
        json::print(&json::object(json::Format::Show, ExitCode::Complete, fields));
        return Ok(ExitCode::Complete);
    }
    let invented = manifest.mode.invented_by().map_or(String::new(), |_| " (invented answers)".to_owned());
    escaped_to_stdout(&format!("{} · {}{invented}", printable(&manifest.campaign), manifest.mode.as_str()));
    escaped_to_stdout(&totals(manifest));
    if filter.leaves_out() {
        escaped_to_stdout(&counted(seen.total, "row matches", "rows match"));
    }
    table_of(&seen).iter().for_each(|line| escaped_to_stdout(line));
    let more = seen.total - seen.rows.len() as u64;
    if more > 0 {
        escaped_to_stdout(&format!("… and {} more; --limit N shows more", grouped(more)));
    }
    if manifest.under_way {
        to_stderr(
            "a run was under way when this was published, so there may be more results by now; if it was killed, \
             `rescreen collect` publishes what it received",
        );
    }
    Ok(ExitCode::Complete)
}

/// The totals of all checks.
fn totals(manifest: &Manifest) -> String {
    let sum = |count: fn(&rescreen::sink::CheckTotals) -> u64| manifest.totals.iter().map(count).sum::<u64>();
    format!(
        "{}, {}, {} pending, {} skipped",
        counted(sum(|totals| totals.results), "result", "results"),
        counted(sum(|totals| totals.failures) + manifest.input.unreadable_rows, "failure", "failures"),
        grouped(sum(|totals| totals.pending)),
        grouped(sum(|totals| totals.skipped))
    )
}

fn table_of(seen: &SeenRows) -> Vec<String> {
    if seen.rows.is_empty() {
        return vec!["no row matches".to_owned()];
    }
    let row = |row: &SeenRow| {
        let details = match &row.end {
            SeenEnd::Failure { message, .. } => message.clone(),
            _ => row
                .columns
                .iter()
                .map(|(name, cell)| format!("{name} {}", text_of(cell)))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let [outcome, reason] = ended(&row.end);
        vec![
            Cell::text(&row.subject.clone().unwrap_or_else(|| format!("(row {} of {})", row.row_number, row.source))),
            Cell::text(row.check.as_deref().unwrap_or("(all checks)")),
            outcome,
            reason,
            Cell::text(&row.completed_at_us.map(local_time).unwrap_or_default()),
            Cell::text(&details),
        ]
    };
    let rows: Vec<Vec<Cell>> = seen.rows.iter().map(row).collect();
    let header = ["subject", "check", "verdict", "finding", "answered", "details"];
    [vec![String::new()], table::lines(&header, &rows, Some(5))].concat()
}

/// How a row ended, and why.
fn ended(end: &SeenEnd) -> [Cell; 2] {
    match end {
        SeenEnd::Result { verdict, finding } => {
            [Cell::inked(verdict, Verdict::from_word(verdict).map(Ink::Verdict)), Cell::text(finding)]
        }
        SeenEnd::Failure { code, .. } => [Cell::inked("failed", Some(Ink::Error)), Cell::text(code)],
        SeenEnd::Pending { reason } => [Cell::text("pending"), Cell::text(reason)],
        SeenEnd::Skipped { reason } => [Cell::text("skipped"), Cell::text(reason)],
    }
}

fn of_subject(args: &ShowArgs, subject: &str, paths: &[PathBuf]) -> Result<ExitCode, Error> {
    let folders = paths.iter().map(|path| PublishedFolder::open(path)).collect::<Result<Vec<_>, _>>()?;
    let mut rows = rows_of_subject(&folders, subject)?;
    if rows.is_empty() {
        // The name of a campaign that has published nothing yet is not a subject.
        let place = match chosen::choose("show", Some(Path::new(subject)), None) {
            Ok(Choice::One(chosen)) => Some(chosen.place),
            Ok(Choice::Rehearsal(folder)) => Some(folder),
            _ => None,
        };
        if let Some(place) = place.filter(|place| place.exists()) {
            let status = [program(), "status".to_owned(), place.display().to_string()];
            return Err(Error::Config(format!(
                "{} has no published results yet; its state: {}",
                place.display(),
                quoted(&status)
            )));
        }
        // The argument may be a person's number, so it is not repeated.
        return Err(Error::Config(format!(
            "expected an output folder, a campaign name or a subject: no folder and no campaign has this name, and \
             none of the {} has a row with this subject",
            counted(folders.len() as u64, "published campaign in out/", "published campaigns in out/")
        )));
    }
    let filter = args.filter();
    rows.retain(|row| filter.wants_row(row));
    let total = rows.len() as u64;
    // The last ones: an analyst asks what is known now.
    let shown = &rows[rows.len().saturating_sub(args.limit)..];
    if args.json {
        let fields = serde_json::json!({
            "folder": null,
            "subject": subject,
            "campaign": null,
            "mode": null,
            "under_way": null,
            "total": total,
            "rows": shown.iter().map(as_json).collect::<Vec<_>>(),
        });
        json::print(&json::object(json::Format::Show, ExitCode::Complete, fields));
        return Ok(ExitCode::Complete);
    }
    escaped_to_stdout(&format!(
        "{}: {}, in {} searched",
        printable(subject),
        counted(total, "row", "rows"),
        counted(folders.len() as u64, "campaign", "campaigns")
    ));
    let earlier = total - shown.len() as u64;
    if earlier > 0 {
        escaped_to_stdout(&format!("{} earlier; --limit N shows more", grouped(earlier)));
    }
    let header = ["answered", "campaign", "check", "verdict", "finding"];
    let heads: Vec<Vec<Cell>> = shown.iter().map(head).collect();
    let mut lines = table::lines(&header, &heads, None).into_iter();
    lines.next().into_iter().for_each(|line| escaped_to_stdout(&line));
    for (line, row) in lines.zip(shown) {
        escaped_to_stdout(&line);
        if let SeenEnd::Failure { message, .. } = &row.end {
            escaped_to_stdout(&format!("    {}", printable(message)));
        }
        for (name, cell) in &row.columns {
            escaped_to_stdout(&format!("    {}  {}", printable(name), printable(&text_of(cell))));
        }
    }
    Ok(ExitCode::Complete)
}

/// The line of a row, with the campaign marked if its answers are invented.
fn head(row: &SeenRow) -> Vec<Cell> {
    let mark = row.mode.invented_by().map_or(String::new(), |_| format!(" ({}, invented)", row.mode.as_str()));
    let [outcome, reason] = ended(&row.end);
    vec![
        Cell::text(&row.completed_at_us.map_or_else(|| "–".to_owned(), local_time)),
        Cell::text(&format!("{}{mark}", row.campaign)),
        Cell::text(row.check.as_deref().unwrap_or("(all checks)")),
        outcome,
        reason,
    ]
}

/// A cell as text.
fn text_of(cell: &TableCell) -> String {
    match cell {
        TableCell::Null => String::new(),
        TableCell::Text(text) | TableCell::Json(text) => text.clone(),
        TableCell::Integer(number) => number.to_string(),
        TableCell::Number(number) => number.to_string(),
        TableCell::Boolean(truth) => if *truth { "yes" } else { "no" }.to_owned(),
        TableCell::Date(day) => day.to_string(),
        TableCell::Timestamp(at_us) => local_time(*at_us),
    }
}

fn as_json(row: &SeenRow) -> Value {
    let (outcome, verdict, finding, code, reason, message) = match &row.end {
        SeenEnd::Result { verdict, finding } => ("result", Some(verdict), Some(finding), None, None, None),
        SeenEnd::Failure { code, message } => ("failure", None, None, Some(code), None, Some(message)),
        SeenEnd::Pending { reason } => ("pending", None, None, None, Some(reason), None),
        SeenEnd::Skipped { reason } => ("skipped", None, None, None, Some(reason), None),
    };
    let columns: Map<String, Value> = row.columns.iter().map(|(name, cell)| (name.clone(), value_of(cell))).collect();
    serde_json::json!({
        "campaign": row.campaign,
        "mode": row.mode,
        "check": row.check,
        "subject": row.subject,
        "outcome": outcome,
        "verdict": verdict,
        "finding": finding,
        "code": code,
        "reason": reason,
        "message": message,
        "completed_at": json::time(row.completed_at_us),
        "source": row.source,
        "row_number": row.row_number,
        "columns": columns,
    })
}

fn value_of(cell: &TableCell) -> Value {
    match cell {
        TableCell::Null => Value::Null,
        TableCell::Text(text) => text.as_str().into(),
        TableCell::Json(text) => serde_json::from_str(text).unwrap_or_default(),
        TableCell::Integer(number) => (*number).into(),
        TableCell::Number(number) => (*number).into(),
        TableCell::Boolean(truth) => (*truth).into(),
        TableCell::Date(day) => day.to_string().into(),
        TableCell::Timestamp(at_us) => json::time(*at_us),
    }
}
