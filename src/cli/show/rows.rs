//! Rows on a terminal: a line for how each ended, and the rest below it.

use super::details::{BETWEEN, INDENTATION, paragraph, text_of, written};
use crate::cli::{
    colour::Ink,
    table::{self, Cell},
};
use rescreen::{
    model::{
        Verdict,
        clock::{local_time, local_zone},
        printable::printable,
    },
    pipeline::show::{SeenEnd, SeenRow},
    sink::TableCell,
};
use std::collections::BTreeMap;

/// Rows of one round, in the order of its input. What all results of a check have in common comes last.
pub fn of_round(rows: &[SeenRow]) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let common = columns_of_all(rows);
    let heads: Vec<Vec<Cell>> = rows
        .iter()
        .map(|row| {
            let subject = row.subject.clone();
            let subject = subject.unwrap_or_else(|| format!("(row {} of {})", row.row_number, row.source));
            let [outcome, reason] = ended(&row.end);
            vec![Cell::text(&subject), check(row), outcome, reason, answered(row)]
        })
        .collect();
    let header = ["subject", "check", "verdict", "finding", &answered_at()];
    let mut lines = vec![String::new()];
    let mut table = table::lines(&header, &heads, None).into_iter();
    lines.extend(table.next());
    for (head, row) in table.zip(rows) {
        lines.push(head);
        let of_all = row.check.as_deref().and_then(|check| common.get(check));
        let is_own = |column: &&(String, TableCell)| of_all.is_none_or(|all| !all.contains(column));
        let columns = row.columns.iter().filter(is_own).map(|(name, cell)| written(name, cell));
        let sent: Vec<String> =
            row.sent_fields().iter().map(|(name, value)| format!("{} {}", printable(name), printable(value))).collect();
        let sent = (!sent.is_empty()).then(|| format!("sent: {}", sent.join(BETWEEN)));
        let below = [message(row), sent, Some(columns.collect::<Vec<_>>().join(BETWEEN))];
        below.into_iter().flatten().filter(|text| !text.is_empty()).for_each(|text| lines.extend(paragraph(&text)));
    }
    for (check, columns) in common.iter().filter(|(_, columns)| !columns.is_empty()) {
        let columns: Vec<String> = columns.iter().map(|(name, cell)| written(name, cell)).collect();
        lines.push(format!("each of these results of {}:", printable(check)));
        lines.extend(paragraph(&columns.join(BETWEEN)));
    }
    lines
}

/// The columns that have the same value in all these results of a check, if there are several.
fn columns_of_all(rows: &[SeenRow]) -> BTreeMap<&str, Vec<&(String, TableCell)>> {
    let mut by_check: BTreeMap<&str, Vec<&SeenRow>> = BTreeMap::new();
    for row in rows.iter().filter(|row| matches!(row.end, SeenEnd::Result { .. })) {
        by_check.entry(row.check.as_deref().unwrap_or_default()).or_default().push(row);
    }
    by_check.into_iter().map(|(check, rows)| (check, equal_columns(&rows))).collect()
}

fn equal_columns<'a>(rows: &[&'a SeenRow]) -> Vec<&'a (String, TableCell)> {
    match rows {
        [first, others @ ..] if !others.is_empty() => {
            first.columns.iter().filter(|column| others.iter().all(|row| row.columns.contains(column))).collect()
        }
        _ => Vec::new(),
    }
}

/// Rows of one subject, with a line for each value.
pub fn in_full(rows: &[SeenRow]) -> Vec<String> {
    let heads: Vec<Vec<Cell>> = rows
        .iter()
        .map(|row| {
            let mark = row.mode.invented_by().map_or("", |_| " (invented)");
            let [outcome, reason] = ended(&row.end);
            vec![answered(row), Cell::text(&format!("{}{mark}", row.campaign)), check(row), outcome, reason]
        })
        .collect();
    let header = [answered_at().as_str(), "campaign", "check", "verdict", "finding"].map(str::to_owned);
    let mut table = table::lines(&header.each_ref().map(String::as_str), &heads, None).into_iter();
    let mut lines: Vec<String> = table.next().into_iter().collect();
    for (head, row) in table.zip(rows) {
        lines.push(head);
        message(row).into_iter().for_each(|message| lines.extend(paragraph(&message)));
        let mut add = |what: &str, text: &str| lines.push(format!("{INDENTATION}{what}  {}", printable(text)));
        add("row", &format!("{} of {}", row.row_number, row.source));
        row.sent_fields().iter().for_each(|(name, value)| add(&format!("sent {}", printable(name)), value));
        row.columns.iter().for_each(|(name, cell)| add(&printable(name), &text_of(cell)));
    }
    lines
}

fn check(row: &SeenRow) -> Cell {
    Cell::text(row.check.as_deref().unwrap_or("(all checks)"))
}

/// The header of the times, with the time zone.
fn answered_at() -> String {
    format!("answered ({})", local_zone())
}

fn answered(row: &SeenRow) -> Cell {
    Cell::text(&row.completed_at_us.map_or_else(|| "–".to_owned(), local_time))
}

fn message(row: &SeenRow) -> Option<String> {
    match &row.end {
        SeenEnd::Failure { message, .. } => Some(printable(message).into_owned()),
        _ => None,
    }
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
