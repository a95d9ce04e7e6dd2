//! An export by row: every row of the input in the order in which it was read, its columns as they were read, then what
//! is known of it in each check. Only the rows of one split are in memory at a time.

mod columns;
mod known;

use super::{
    book::Book,
    selection::Selection,
    standing::{Standing, before_judging, judged},
    tally::Tally,
};
use crate::{
    decisions::Decisions,
    error::Error,
    ledger::{AskView, Reading},
    model::Stop,
    pipeline::publish::{project::Projector, row_rules::Judging},
    sink::{FileFormat, OutputMode, Schema, TableCell, TableWriter, WrittenFile},
};
use columns::InputColumns;
use known::{Known, KnownCheck, KnownColumns, KnownResult};
use std::{collections::BTreeMap, path::PathBuf};

/// Where the rows go.
pub enum Target {
    /// A folder, or a file if there is only one table.
    Files {
        folder: PathBuf,
        format: FileFormat,
    },
    Book(Box<Book>),
}

/// A table with the rows of some inputs.
pub struct WideTable {
    /// The inputs whose rows it has.
    pub sources: Vec<String>,
    columns: InputColumns,
    writer: Writer,
}

enum Writer {
    File {
        path: String,
        writer: Box<TableWriter>,
    },
    /// The number of its sheet.
    Sheet(usize),
}

/// A finished file.
pub struct WideFile {
    pub path: String,
    pub sources: Vec<String>,
    pub written: WrittenFile,
}

/// An export by row in progress.
pub struct Wide<'a> {
    projector: &'a Projector,
    selection: &'a Selection<'a>,
    mode: OutputMode,
    decisions: Option<&'a Decisions>,
    pub tally: Tally,
    target: Target,
    tables: Vec<WideTable>,
    /// The checks that have columns, by their number in the ledger.
    checks: BTreeMap<i64, usize>,
    known: KnownColumns,
    current: Option<CurrentRow>,
    /// The number of rows that were kept.
    pub rows: u64,
    /// Whether columns were left out, because there were too many.
    pub columns_cut: bool,
}

/// The row whose asks are being read.
struct CurrentRow {
    source: String,
    row_number: u64,
    table: usize,
    cells: Vec<TableCell>,
    known: Vec<Option<Known>>,
    is_kept: bool,
}

impl<'a> Wide<'a> {
    /// Reads the columns of all rows, and begins the tables.
    ///
    /// # Errors
    /// It was interrupted, the ledger cannot be read, or a file cannot be written.
    pub fn begin(
        projector: &'a Projector,
        selection: &'a Selection<'a>,
        reading: &Reading,
        (mode, decisions): (OutputMode, Option<&'a Decisions>),
        target: Target,
        interrupted: &dyn Fn() -> Option<Stop>,
    ) -> Result<Wide<'a>, Error> {
        let chosen = projector.checks().filter(|(id, _)| selection.has_check(Some(*id)));
        let (mut checks, mut known) = (BTreeMap::new(), Vec::new());
        for (id, check) in chosen {
            checks.insert(id, known.len());
            known.push(KnownCheck { name: check.name.clone(), columns: check.own_columns()? });
        }
        let known = KnownColumns { checks: known, has_changes: selection.changed().is_some() };
        let (tally, tables, current, rows) = (Tally::new(projector), Vec::new(), None, 0);
        let mut wide = Wide {
            projector,
            selection,
            mode,
            decisions,
            tally,
            target,
            tables,
            checks,
            known,
            current,
            rows,
            columns_cut: false,
        };
        let groups = alike(input_columns(projector, reading, interrupted)?);
        let is_only = groups.len() == 1;
        for (number, (sources, columns)) in (1..).zip(groups) {
            wide.columns_cut |= columns.is_cut;
            let schema = Schema { columns: wide.known.after(columns.columns()) };
            let name = if is_only { "rows".to_owned() } else { format!("rows-{number}") };
            let writer = match &mut wide.target {
                Target::Files { folder, format } => {
                    let path = format!("{name}.{}", format.extension());
                    let writer = Box::new(TableWriter::create(&folder.join(&path), *format, &schema)?);
                    Writer::File { path, writer }
                }
                Target::Book(book) => Writer::Sheet(book.workbook().add_table(&name, &schema.columns)?),
            };
            wide.tables.push(WideTable { sources, columns, writer });
        }
        Ok(wide)
    }

    /// Writes every row that is kept. Asks `interrupted` before each ask whether to stop.
    ///
    /// # Errors
    /// It was interrupted, the ledger cannot be read, or writing fails.
    pub fn every_row(&mut self, reading: &Reading, interrupted: &dyn Fn() -> Option<Stop>) -> Result<(), Error> {
        reading.every_ask(|ask| match interrupted() {
            Some(stop) => Err(Error::Stopped(stop)),
            None => self.ask(&self.projector.decided(self.mode, ask, self.decisions)?),
        })?;
        self.end_row()
    }

    fn ask(&mut self, ask: &AskView<'_>) -> Result<(), Error> {
        let is_same = |row: &CurrentRow| row.row_number == ask.row.row_number && row.source == ask.source;
        if !self.current.as_ref().is_some_and(is_same) {
            self.end_row()?;
            self.current = Some(self.begin_row(ask));
        }
        let (standing, result) = match before_judging(ask) {
            Ok(standing) => (standing, None),
            Err(request) => {
                let check = self.projector.check(ask.check_use)?;
                let rules = (&check.current, Judging::Anew);
                let row = self.projector.result_row(check, rules, self.mode, ask, &mut |_| {})?;
                let standing = judged(request, row.verdict);
                let cells = row.columns.into_iter().map(TableCell::from).collect();
                let result = KnownResult { finding: row.finding, completed_at_us: row.completed_at_us, cells };
                (standing, matches!(standing, Standing::Result(_)).then_some(result))
            }
        };
        self.tally.count(ask.check_use, &standing);
        let Some(row) = &mut self.current else { return Ok(()) };
        let result_id = || self.projector.result_id(self.mode, ask);
        row.is_kept |= self.selection.keeps(ask.check_use, &standing, result_id);
        let changed = self.selection.changed().and_then(|changed| changed.get(&result_id()));
        let known = Known { standing, result, changed };
        match ask.check_use {
            Some(check) => {
                if let Some(place) = self.checks.get(&check) {
                    row.known[*place] = Some(known);
                }
            }
            // A row that could not be read counts for all checks.
            None => row.known.fill(Some(known)),
        }
        Ok(())
    }

    fn begin_row(&self, ask: &AskView<'_>) -> CurrentRow {
        let of_source = |table: &WideTable| table.sources.iter().any(|source| source == ask.source);
        let table = self.tables.iter().position(of_source).unwrap_or_default();
        CurrentRow {
            source: ask.source.to_owned(),
            row_number: ask.row.row_number,
            table,
            cells: self.tables[table].columns.cells(&self.projector.shown_row(&ask.row.input)),
            known: vec![None; self.checks.len()],
            is_kept: false,
        }
    }

    fn end_row(&mut self) -> Result<(), Error> {
        let Some(row) = self.current.take().filter(|row| row.is_kept) else { return Ok(()) };
        let mut line = row.cells;
        line.extend(self.known.cells(row.known));
        line.push(TableCell::text(self.mode.as_str()));
        self.rows += 1;
        match (&mut self.tables[row.table].writer, &mut self.target) {
            (Writer::File { writer, .. }, _) => writer.write_row(line)?,
            (Writer::Sheet(number), Target::Book(book)) => book.workbook().write_row(*number, &line)?,
            (Writer::Sheet(_), Target::Files { .. }) => {}
        }
        Ok(())
    }

    /// Ends the files. A workbook is returned, to be finished with its summary.
    ///
    /// # Errors
    /// A storage error.
    pub fn finish(self) -> Result<(Vec<WideFile>, Option<Book>, Tally), Error> {
        let mut files = Vec::new();
        for table in self.tables {
            if let Writer::File { path, writer } = table.writer {
                files.push(WideFile { path, sources: table.sources, written: writer.finish()? });
            }
        }
        let book = match self.target {
            Target::Files { .. } => None,
            Target::Book(book) => Some(*book),
        };
        Ok((files, book, self.tally))
    }
}

/// The columns of one input.
#[derive(Default)]
struct Input {
    name: String,
    columns: InputColumns,
    /// The columns of rows that could not be read, such as one with too many cells. They come last.
    unreadable: InputColumns,
}

/// The columns of each input, in the order in which they were read.
fn input_columns(
    projector: &Projector,
    reading: &Reading,
    interrupted: &dyn Fn() -> Option<Stop>,
) -> Result<Vec<Input>, Error> {
    let mut inputs: Vec<Input> = Vec::new();
    reading.every_row(|source, row, is_readable| -> Result<(), Error> {
        if let Some(stop) = interrupted() {
            return Err(Error::Stopped(stop));
        }
        let at = inputs.iter().position(|input| input.name == source).unwrap_or_else(|| {
            inputs.push(Input { name: source.to_owned(), ..Input::default() });
            inputs.len() - 1
        });
        let columns = if is_readable { &mut inputs[at].columns } else { &mut inputs[at].unreadable };
        columns.note(&projector.shown_row(&row.input));
        Ok(())
    })?;
    // A corrected row may have a value of another type, or a column that no row had.
    reading.corrected_rows(|source, row| -> Result<(), Error> {
        if let Some(input) = inputs.iter_mut().find(|input| input.name == source) {
            input.columns.note(&projector.shown_row(&row.input));
        }
        Ok(())
    })?;
    Ok(inputs)
}

/// Inputs with the same columns share a table; otherwise each has its own. Without a row there is one table.
fn alike(inputs: Vec<Input>) -> Vec<(Vec<String>, InputColumns)> {
    let is_shared = inputs.iter().all(|input| input.columns.is_like(&inputs[0].columns));
    let groups: Vec<Vec<Input>> =
        if is_shared { vec![inputs] } else { inputs.into_iter().map(|input| vec![input]).collect() };
    let table = |group: Vec<Input>| {
        let mut columns = InputColumns::default();
        group.iter().for_each(|input| columns.join(&input.columns));
        group.iter().for_each(|input| columns.join(&input.unreadable));
        (group.into_iter().map(|input| input.name).collect(), columns)
    };
    groups.into_iter().map(table).collect()
}
