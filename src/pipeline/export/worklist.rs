//! The worklist: the matches that a person has to decide about, one row for each, with two empty columns for the decision and the
//! reason. `rescreen decide` reads it back. This module decides what a person sees of a match.

use super::{
    BOOK, Book, ExportFormat, Exported, ExportedFile, Source,
    place::NewPlace,
    selection::Selection,
    standing::{Standing, before_judging, judged},
    tally::Tally,
};
use crate::{
    catalogue::{ColumnKind, ColumnSpec, Match},
    decisions::{Decisions, Known, Word},
    error::Error,
    ledger::AskView,
    model::{Stop, Verdict},
    pipeline::publish::{
        acceptance::Decidable,
        project::{Projected, Projector},
        row_rules::Judging,
    },
    sink::{self, Column, ColumnOf, Kind, OutputMode, ResultRow, Schema, TableCell, TableWriter},
};
use serde_json::Value;
use std::collections::HashSet;

/// The name of the table: a file or a sheet.
pub const WORKLIST: &str = "worklist";

/// The columns that `rescreen decide` reads. The first two are for the person.
pub const DECISION: &str = "decision";
pub const WHY: &str = "why";
pub const SUBJECT: &str = "subject";
pub const LAST_DECISION: &str = "last_decision";
pub const MATCH_DIGEST: &str = "match_digest";
pub const RESULT_ID: &str = "result_id";

/// A row: a match of a result.
struct Item<'a> {
    result: &'a ResultRow<'a>,
    subject: &'a str,
    one: &'a Match,
    state: State,
    last: Option<Known>,
    shown: TableCell,
}

/// What was decided about a match before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing.
    New,
    /// Something, but the match has changed since.
    Changed,
    /// That it is not accepted.
    NotAccepted,
}

impl State {
    /// `None` if the match was accepted as it is.
    fn of(known: Option<Known>, one: &Match) -> Option<State> {
        match known {
            None => Some(State::New),
            Some(known) if !known.is_about(&one.digest) => Some(State::Changed),
            Some(Known { word: Word::NotAccepted, .. }) => Some(State::NotAccepted),
            Some(Known { word: Word::Accepted, .. }) => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            State::New => "new",
            State::Changed => "changed",
            State::NotAccepted => "not_accepted",
        }
    }
}

type Cell = fn(&Item<'_>) -> TableCell;

/// The columns before those of the match, and those after the carried columns.
const BEFORE: [ColumnOf<Cell>; 6] = [
    ColumnOf::nullable(DECISION, Kind::Text, |_| TableCell::Null),
    ColumnOf::nullable(WHY, Kind::Text, |_| TableCell::Null),
    ColumnOf::full(SUBJECT, Kind::Text, |item| TableCell::text(item.subject)),
    ColumnOf::full("check_name", Kind::Text, |item| TableCell::or_null(item.result.head.check_name, TableCell::text)),
    ColumnOf::full("finding", Kind::Text, |item| TableCell::text(&item.result.finding)),
    ColumnOf::full("state", Kind::Text, |item| TableCell::text(item.state.as_str())),
];
const AFTER: [ColumnOf<Cell>; 9] = [
    ColumnOf::full("sent", Kind::Json, |item| TableCell::json(&*item.result.sent)),
    ColumnOf::nullable("match", Kind::Json, |item| item.shown.clone()),
    ColumnOf::full("completed_at", Kind::Timestamp, |item| TableCell::Timestamp(item.result.completed_at_us)),
    ColumnOf::full("campaign", Kind::Text, |item| TableCell::text(item.result.head.campaign)),
    ColumnOf::full("mode", Kind::Text, |item| TableCell::text(item.result.head.mode.as_str())),
    ColumnOf::nullable(LAST_DECISION, Kind::Integer, |item| {
        TableCell::or_null(item.last, |known| TableCell::integer(known.number))
    }),
    ColumnOf::full("match_id", Kind::Text, |item| TableCell::text(&item.one.id)),
    ColumnOf::full(MATCH_DIGEST, Kind::Text, |item| TableCell::text(&item.one.digest)),
    ColumnOf::full(RESULT_ID, Kind::Text, |item| {
        let head = &item.result.head;
        TableCell::Text(sink::result_id(head.campaign, head.mode, head.check_name, head.source, head.row_number))
    }),
];

/// The columns of the worklist of a campaign.
struct Columns {
    /// The columns of the matches of all chosen checks, each with its type.
    of_match: Vec<ColumnSpec>,
    schema: Schema,
}

impl Columns {
    fn of(chosen: &[&Projected]) -> Result<Columns, Error> {
        let mut of_match: Vec<ColumnSpec> = Vec::new();
        for column in chosen.iter().flat_map(|check| check.current.match_columns()) {
            match of_match.iter_mut().find(|known| known.name == column.name) {
                // Any value has a text.
                Some(known) if known.kind != column.kind => known.kind = ColumnKind::Text,
                Some(_) => {}
                None => of_match.push(column.clone()),
            }
        }
        let own = |columns: &[ColumnOf<Cell>]| columns.iter().map(ColumnOf::column).collect::<Vec<Column>>();
        let mut columns = own(&BEFORE);
        columns.extend(of_match.iter().map(|column| Column {
            name: column.name.clone(),
            kind: sink::kind_of(column.kind),
            nullable: true,
        }));
        let after = own(&AFTER);
        let taken = |name: &str, columns: &[Column]| columns.iter().chain(&after).any(|column| column.name == name);
        if let Some(check) = chosen.first() {
            for mut column in check.carried_columns()? {
                while taken(&column.name, &columns) {
                    column.name = format!("input_{}", column.name);
                }
                columns.push(column);
            }
        }
        columns.extend(after.iter().cloned());
        Ok(Columns { of_match, schema: Schema { columns } })
    }

    fn cells(&self, check: &Projected, item: &Item<'_>, entry: Option<&Value>) -> Vec<TableCell> {
        let own = |columns: &[ColumnOf<Cell>]| columns.iter().map(|column| (column.cell)(item)).collect::<Vec<_>>();
        let mut cells = own(&BEFORE);
        cells.extend(self.of_match.iter().map(|column| {
            let declared = check.current.match_columns().find(|declared| declared.name == column.name);
            let value = declared
                .zip(entry)
                .map(|(declared, entry)| ColumnSpec { kind: column.kind, ..declared.clone() }.read(entry));
            value.map_or(TableCell::Null, TableCell::from)
        }));
        cells.extend(item.result.carried.iter().cloned());
        cells.extend(own(&AFTER));
        cells
    }
}

/// Where the rows go.
enum Writer {
    File { path: String, writer: Box<TableWriter> },
    Sheet { number: usize, book: Box<Book> },
}

/// A worklist in progress.
struct Worklist<'a> {
    projector: &'a Projector,
    selection: &'a Selection<'a>,
    mode: OutputMode,
    decisions: Option<&'a Decisions>,
    columns: Columns,
    writer: Writer,
    tally: Tally,
    /// The matches that have a row. Two rows of the input may be about the same subject and ask the same.
    listed: HashSet<[u8; 16]>,
    rows: u64,
    unexplained: u64,
    /// Results whose row has no subject.
    without_subject: u64,
}

impl Source<'_> {
    /// Exports the worklist.
    ///
    /// # Errors
    /// No row has a subject, the ledger cannot be read, writing fails, or it was interrupted.
    pub(super) fn worklist(&self, place: &NewPlace, interrupted: &dyn Fn() -> Option<Stop>) -> Result<Exported, Error> {
        let chosen = self.projector.checks().filter(|(id, _)| self.selection.has_check(Some(*id)));
        let chosen: Vec<&Projected> = chosen.map(|(_, check)| check).collect();
        let columns = Columns::of(&chosen)?;
        let writer = match self.form.format {
            ExportFormat::Files(format) => {
                let path = format!("{WORKLIST}.{}", format.extension());
                let writer = Box::new(TableWriter::create(&place.folder().join(&path), format, &columns.schema)?);
                Writer::File { path, writer }
            }
            ExportFormat::Xlsx => {
                let mut book = Box::new(Book::create(&place.folder().join(BOOK))?);
                let number = book.workbook().add_table(WORKLIST, &columns.schema.columns)?;
                Writer::Sheet { number, book }
            }
        };
        let mut worklist = Worklist {
            projector: &self.projector,
            selection: &self.selection,
            mode: self.mode,
            decisions: self.decisions.as_deref(),
            columns,
            writer,
            tally: Tally::new(&self.projector),
            listed: HashSet::new(),
            rows: 0,
            unexplained: 0,
            without_subject: 0,
        };
        self.reading.every_ask(|ask| match interrupted() {
            Some(stop) => Err(Error::Stopped(stop)),
            None => worklist.ask(&self.projector.decided(self.mode, ask, worklist.decisions)?),
        })?;
        let Worklist { writer, tally, rows, unexplained, without_subject, listed, .. } = worklist;
        if without_subject > 0 && listed.is_empty() && !self.has_subjects()? {
            return Err(Error::Config(
                "a decision is about a subject, and no row has one: name the column that identifies a row with [input] id (or \
                 --id) in the next round"
                    .to_owned(),
            ));
        }
        let totals = tally.totals(self.reading)?;
        let exported = match writer {
            Writer::Sheet { book, .. } => self.in_a_book(*book, totals, rows)?,
            Writer::File { path, writer } => {
                self.exported(totals, rows, vec![ExportedFile::of(path, Vec::new(), writer.finish()?)])
            }
        };
        Ok(Exported { unexplained, without_subject, ..exported })
    }

    /// Whether any row has a subject.
    fn has_subjects(&self) -> Result<bool, Error> {
        let mut found = false;
        self.reading.every_row(|_, row, _| -> Result<(), Error> {
            found |= row.subject.is_some();
            Ok(())
        })?;
        Ok(found)
    }
}

impl Worklist<'_> {
    fn ask(&mut self, ask: &AskView<'_>) -> Result<(), Error> {
        let request = match before_judging(ask) {
            Ok(standing) => {
                self.tally.count(ask.check_use, &standing);
                return Ok(());
            }
            Err(request) => request,
        };
        let check = self.projector.check(ask.check_use)?;
        let result = self.projector.result_row(check, (&check.current, Judging::Anew), self.mode, ask, &mut |_| {})?;
        let standing = judged(request, result.verdict);
        self.tally.count(ask.check_use, &standing);
        let result_id = || self.projector.result_id(self.mode, ask);
        let is_kept = self.selection.keeps(ask.check_use, &standing, result_id);
        if standing != Standing::Result(Verdict::Review) || !is_kept {
            return Ok(());
        }
        match self.projector.decidable(None, self.mode, ask)?.filter(|_| ask.accepted.is_none()) {
            Some(decidable) => self.matches(check, &result, &decidable),
            None => {
                self.unexplained += 1;
                Ok(())
            }
        }
    }

    /// The rows of the matches of one result that were not accepted before.
    fn matches(&mut self, check: &Projected, result: &ResultRow<'_>, decidable: &Decidable<'_>) -> Result<(), Error> {
        // As the outputs show them: without images.
        let shown = serde_json::from_str(&result.answer).ok().and_then(|answer| check.current.matches_in(&answer));
        let shown = shown.filter(|shown| shown.len() == decidable.matches.len()).unwrap_or_default();
        for (at, one) in decidable.matches.iter().enumerate() {
            let Some(about) = decidable.about(one) else {
                self.without_subject += 1;
                return Ok(());
            };
            let last = self.decisions.and_then(|known| known.about(about));
            let Some(state) = State::of(last, one) else { continue };
            if !self.listed.insert(about.key()) {
                continue;
            }
            let entries = shown.get(at).map(|shown: &Match| shown.entries.as_slice()).unwrap_or_default();
            let text = match entries {
                [] => TableCell::Null,
                [only] => TableCell::json(only.to_string()),
                several => TableCell::json(Value::from(several.to_vec()).to_string()),
            };
            let item = Item { result, subject: about.subject, one, state, last, shown: text };
            let cells = self.columns.cells(check, &item, entries.first());
            self.rows += 1;
            match &mut self.writer {
                Writer::File { writer, .. } => writer.write_row(cells)?,
                Writer::Sheet { number, book } => book.workbook().write_row(*number, &cells)?,
            }
        }
        Ok(())
    }
}
