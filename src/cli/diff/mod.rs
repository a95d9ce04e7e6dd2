//! `rescreen diff`: what changed between two rounds. It reads what both have published, and sends nothing.

mod as_json;
mod file;
mod screen;

use super::{chosen, json, output, table_file::TableFile};
use clap::Args;
use rescreen::{
    Error,
    model::{ExitCode, nearest::hint},
    pipeline::{
        ExportFormat,
        compare::{AskInRound, Change, CompareOptions, ComparedAsk, Outcome, compare, differences},
        wording::counted,
    },
};
use std::path::PathBuf;

#[derive(Args)]
pub struct DiffArgs {
    /// The earlier round: its output folder, or the name of its campaign
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The later round
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Only this check; repeatable
    #[arg(long = "check", value_name = "NAME")]
    checks: Vec<String>,
    /// Only these kinds of change, comma-separated: new_match, cleared, verdict_changed, finding_changed, answer_changed,
    /// failed_now, failed_before, joined, left, not_answered or unchanged
    #[arg(long = "kind", value_name = "KINDS", value_delimiter = ',', value_parser = kind)]
    kinds: Vec<Change>,
    /// How many changed subjects to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Write one row for each subject and check into a new file: all but the unchanged ones
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Format of the file: parquet, jsonl, csv or xlsx [default: by the ending of its name]
    #[arg(long, value_name = "FORMAT", requires = "to")]
    format: Option<ExportFormat>,
    /// Write unchanged subjects into the file too
    #[arg(long, requires = "to")]
    all: bool,
    /// Compare rounds of different modes, such as sandbox and production
    #[arg(long)]
    across_modes: bool,
    /// Exit with code 1 if anything changed, or with --kind if there is any such change
    #[arg(long)]
    exit_code: bool,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

fn kind(text: &str) -> Result<Change, String> {
    let names = Change::ALL.map(Change::as_str);
    Change::from_word(text)
        .ok_or_else(|| format!("expected one of {}, found `{text}`{}", names.join(", "), hint(text, names)))
}

/// An ask that is shown.
pub struct Listed {
    pub check: String,
    pub subject: String,
    pub change: Change,
    pub old: Option<Ended>,
    pub new: Option<Ended>,
}

/// How an ask ended in a round.
pub struct Ended {
    pub outcome: Outcome,
    /// Finding, failure code or reason.
    pub word: String,
    result_id: String,
}

impl Listed {
    fn of(ask: &ComparedAsk<'_>) -> Listed {
        let ended =
            |ask: AskInRound<'_>| Ended { outcome: ask.outcome, word: ask.word.to_owned(), result_id: ask.result_id() };
        Listed {
            check: ask.check.to_owned(),
            subject: ask.subject.to_owned(),
            change: ask.change,
            old: ask.old.map(ended),
            new: ask.new.map(ended),
        }
    }
}

impl Listed {
    /// The `result_id` of both rows, if there are results to compare.
    pub fn results(&self) -> Option<(String, String)> {
        let is_result = |ended: &&Ended| matches!(ended.outcome, Outcome::Result(_));
        let id = |ended: Option<&Ended>| ended.filter(is_result).map(|ended| ended.result_id.clone());
        id(self.old.as_ref()).zip(id(self.new.as_ref()))
    }
}

/// The first asks of each kind, in the order of check names and subjects.
pub struct Listing {
    by_kind: Vec<(Change, Vec<Listed>)>,
    limit: usize,
    /// All asks of the listed kinds.
    pub total: u64,
}

impl Listing {
    fn new(kinds: &[Change], limit: usize) -> Listing {
        let is_listed = |kind: &Change| if kinds.is_empty() { kind.is_change() } else { kinds.contains(kind) };
        let by_kind = Change::ALL.into_iter().filter(is_listed).map(|kind| (kind, Vec::new())).collect();
        Listing { by_kind, limit, total: 0 }
    }

    fn add(&mut self, ask: &ComparedAsk<'_>) {
        if let Some((_, listed)) = self.by_kind.iter_mut().find(|(kind, _)| *kind == ask.change) {
            self.total += 1;
            if listed.len() < self.limit {
                listed.push(Listed::of(ask));
            }
        }
    }

    /// The listed asks, by kind: those that a person has to check come first.
    pub fn asks(&self) -> impl Iterator<Item = &Listed> {
        self.by_kind.iter().flat_map(|(_, listed)| listed).take(self.limit)
    }
}

pub fn diff(args: &DiffArgs) -> Result<ExitCode, Error> {
    let old = chosen::published("diff", &args.old)?;
    let new = chosen::published("diff", &args.new)?;
    let mut table = args.to.as_deref().map(|path| file::create(path, args.format)).transpose()?;
    let mut listing = Listing::new(&args.kinds, args.limit);
    let options = CompareOptions { across_modes: args.across_modes, checks: args.checks.clone() };
    let comparison = compare(&old, &new, &options, &mut |ask| {
        listing.add(ask);
        let is_written = (args.all || ask.change != Change::Unchanged)
            && (args.kinds.is_empty() || args.kinds.contains(&ask.change));
        match table.as_mut().filter(|_| is_written) {
            Some(table) => table.add(file::cells(ask)),
            None => Ok(()),
        }
    })?;
    let written = table.map(TableFile::finish).transpose()?;
    // Scripts know 1 from `diff` and `git diff`. Internal errors have the same number, and a message.
    let code = if args.exit_code && listing.total > 0 { ExitCode::Internal } else { ExitCode::Complete };
    let shown = screen::Shown { comparison: &comparison, listing: &listing, folders: [&old, &new] };
    if args.json {
        let fields = as_json::fields(&shown, args.to.as_deref().zip(written));
        json::print(&json::object(json::Format::Diff, code, fields));
    } else {
        let pairs: Vec<_> = listing.asks().filter_map(Listed::results).collect();
        let differences = differences([&old, &new], &pairs)?;
        screen::lines(&shown, &differences).iter().for_each(|line| output::escaped_to_stdout(line));
    }
    screen::notes(&shown).iter().for_each(|note| output::to_stderr(note));
    if let Some((path, rows)) = args.to.as_deref().zip(written) {
        output::to_stderr(&format!("{} written to {}", counted(rows, "row", "rows"), path.display()));
    }
    Ok(code)
}
