//! The comparison of two rounds on a terminal: the rounds, the counts of each check, and the first changed subjects.

use super::{Ended, Listing};
use crate::cli::{
    colour::Ink,
    show::details::{BETWEEN, paragraph, text_of},
    table::{self, Cell},
};
use rescreen::{
    model::printable::printable,
    pipeline::{
        compare::{Change, CheckComparison, CheckInRound, ComparedRound, Comparison, Difference, Outcome},
        wording::{counted, grouped},
    },
    sink::TableCell,
};
use std::{collections::BTreeMap, path::Path};

/// What is shown.
pub struct Shown<'a> {
    pub comparison: &'a Comparison,
    pub listing: &'a Listing,
    pub folders: [&'a Path; 2],
}

/// What differs between two results, by their ids.
type Differences = BTreeMap<(String, String), Vec<Difference>>;

/// The lines on standard output.
pub fn lines(shown: &Shown<'_>, differences: &Differences) -> Vec<String> {
    let Comparison { old, new, checks } = shown.comparison;
    let [old_folder, new_folder] = shown.folders;
    let mut lines = vec![round("old", old, old_folder), round("new", new, new_folder)];
    for check in checks {
        lines.push(String::new());
        lines.extend(of_check(check));
    }
    let rows: Vec<Vec<Cell>> = shown
        .listing
        .asks()
        .map(|ask| {
            let cells = [Cell::text(ask.change.as_str()), Cell::text(&ask.check), Cell::text(&ask.subject)];
            cells.into_iter().chain([ended(ask.old.as_ref()), ended(ask.new.as_ref())]).collect()
        })
        .collect();
    if !rows.is_empty() {
        lines.push(String::new());
        let mut table = table::lines(&["change", "check", "subject", "before", "now"], &rows, None).into_iter();
        lines.extend(table.next());
        for (head, ask) in table.zip(shown.listing.asks()) {
            lines.push(head);
            let found = ask.results().and_then(|pair| differences.get(&pair));
            found.into_iter().for_each(|found| lines.extend(below(ask.change, found)));
        }
    }
    let more = shown.listing.total - rows.len() as u64;
    if more > 0 {
        lines.push(format!("… and {} more; --limit N lists more, --to FILE writes all", grouped(more)));
    }
    lines
}

/// What differs, below the line of an ask.
fn below(change: Change, found: &[Difference]) -> Vec<String> {
    let value =
        |cell: &Option<TableCell>| cell.as_ref().map_or("–".to_owned(), |cell| printable(&text_of(cell)).into());
    let one = |one: &Difference| {
        let sent = if one.is_sent { "sent " } else { "" };
        format!("{sent}{} {} → {}", printable(&one.name), value(&one.old), value(&one.new))
    };
    match found {
        [] if change == Change::AnswerChanged => {
            paragraph("no column differs; the answers do, in their column `answer`")
        }
        [] => Vec::new(),
        found => paragraph(&found.iter().map(one).collect::<Vec<_>>().join(BETWEEN)),
    }
}

fn round(name: &str, round: &ComparedRound, folder: &Path) -> String {
    let invented = round.mode.invented_by().map_or("", |_| " (invented answers)");
    let complete = if round.complete { "" } else { " · not complete" };
    let campaign = printable(&round.campaign).into_owned();
    let folder = printable(&folder.display().to_string()).into_owned();
    format!("{name}   {campaign} · {}{invented}{complete} · {folder}", round.mode.as_str())
}

/// The counts of a check.
fn of_check(check: &CheckComparison) -> Vec<String> {
    let (old, new) = (&check.old, &check.new);
    let name = printable(&check.check);
    let mut lines = vec![format!("{name}: {} before, {} now", grouped(old.asks), grouped(new.asks))];
    if !old.versions.is_empty() || !new.versions.is_empty() {
        lines.push(format!("  {:<16}{} → {}", "list", versions(old), versions(new)));
    }
    let counts = Change::ALL.into_iter().filter(|change| check.count(*change) > 0);
    lines.extend(counts.map(|change| format!("  {:<16}{:>12}", change.as_str(), grouped(check.count(change)))));
    lines
}

/// The versions of the list that a round was answered with, the number of answers of each if there are several.
fn versions(round: &CheckInRound) -> String {
    let one = |(version, count): (&String, &u64)| match round.versions.len() {
        1 => printable(version).into_owned(),
        _ => format!("{} ({})", printable(version), grouped(*count)),
    };
    let all: Vec<String> = round.versions.iter().map(one).collect();
    if all.is_empty() { "none stated".to_owned() } else { all.join(", ") }
}

fn ended(ended: Option<&Ended>) -> Cell {
    let Some(ended) = ended else { return Cell::inked("–", Some(Ink::Faint)) };
    match ended.outcome {
        Outcome::Result(verdict) => Cell::inked(&format!("{verdict} {}", ended.word), Some(Ink::Verdict(verdict))),
        Outcome::Failure => Cell::inked(&format!("failed {}", ended.word), Some(Ink::Error)),
        other => Cell::text(&format!("{} {}", other.as_str(), ended.word)),
    }
}

/// What else the reader should know, for standard error.
pub fn notes(shown: &Shown<'_>) -> Vec<String> {
    let Comparison { old, new, checks } = shown.comparison;
    let mut notes = Vec::new();
    if shown.comparison.is_reversed() {
        notes.push("OLD was answered after NEW; swap them to see the changes in chronological order".to_owned());
    }
    for check in checks {
        let name = &check.check;
        if let Some(reason) = check.answers.reason() {
            notes.push(format!(
                "{name}: verdicts and findings are compared, answers are not: {reason}; `rescreen export -c FILE --to \
                 FOLDER` of both rounds, with the same campaign file, makes folders that can be compared"
            ));
        }
        if check.repeated_subjects > 0 {
            notes.push(format!(
                "{name}: {} more than once in a round: they are compared in input order",
                counted(check.repeated_subjects, "subject is", "subjects are")
            ));
        }
        let only = match (check.old.is_there(), check.new.is_there()) {
            (false, true) => Some(("new", "joined")),
            (true, false) => Some(("old", "left")),
            _ => None,
        };
        notes.extend(
            only.map(|(round, kind)| {
                format!("{name}: only the {round} round has this check, so all its subjects {kind}")
            }),
        );
        let without = |round: &str, count: u64| {
            let rows = counted(count, "row", "rows");
            (count > 0).then(|| format!("{name}: {rows} of the {round} round without a subject, not compared"))
        };
        notes.extend(
            [without("old", check.old.without_subject), without("new", check.new.without_subject)]
                .into_iter()
                .flatten(),
        );
    }
    for (name, round) in [("old", old), ("new", new)] {
        if round.unreadable > 0 {
            notes.push(format!(
                "{} of the {name} round could not be read, so a subject may wrongly count as missing from that round",
                counted(round.unreadable, "row", "rows")
            ));
        }
        if round.purged > 0 {
            notes.push(format!(
                "{} of the {name} round were purged, so their subjects wrongly count as missing from that round",
                counted(round.purged, "ask", "asks")
            ));
        }
    }
    notes
}
