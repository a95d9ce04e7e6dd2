//! The rows of an export by dataset: the same columns as in the campaign. The rows of all datasets come in input order, and
//! each goes to its file or sheet.

use super::{
    book::Book,
    one_stream::OneStream,
    part_files::PartFiles,
    selection::Selection,
    standing::{Standing, before_judging, judged},
    table::Table,
    tally::Tally,
};
use crate::{
    decisions::Decisions,
    error::Error,
    ledger::{AskView, Reading},
    model::Stop,
    pipeline::publish::{hidden::Image, project::Projector, row_rules::Judging},
    sink::{self, ImageOutput, OutputMode, Schema, TableCell},
};
use std::path::Path;

/// Where the rows go.
pub enum Target {
    Files(PartFiles),
    Book(Box<Book>),
    Stream(Box<OneStream>),
}

impl Target {
    fn write(&mut self, table: Table, row: Vec<TableCell>) -> Result<(), Error> {
        match self {
            Target::Files(files) => files.write(table, row),
            Target::Book(book) => book.write(table, &row),
            Target::Stream(stream) => stream.write(table, row),
        }
    }

    fn add(&mut self, table: Table, name: Option<&str>, schema: Schema) -> Result<(), Error> {
        match self {
            Target::Files(files) => {
                files.add(table, name, schema);
                Ok(())
            }
            Target::Book(book) => book.add(table, name.unwrap_or(table.kind().as_str()), schema),
            Target::Stream(stream) => {
                stream.add(table, name, schema);
                Ok(())
            }
        }
    }
}

/// An export by dataset in progress.
pub struct Datasets<'a> {
    pub projector: &'a Projector,
    pub selection: &'a Selection<'a>,
    pub mode: OutputMode,
    /// The decisions of today, if there are any.
    pub decisions: Option<&'a Decisions>,
    pub tally: Tally,
    pub target: Target,
    /// The folder for the images of answers, if they are files.
    pub images: Option<&'a Path>,
    /// The number of rows that were kept.
    pub rows: u64,
}

impl Datasets<'_> {
    /// Writes every row that is kept. Asks `interrupted` before each row whether to stop.
    ///
    /// # Errors
    /// It was interrupted, the ledger cannot be read, or writing fails.
    pub fn every_row(&mut self, reading: &Reading, interrupted: &dyn Fn() -> Option<Stop>) -> Result<(), Error> {
        self.begin()?;
        reading.every_ask(|ask| match interrupted() {
            Some(stop) => Err(Error::Stopped(stop)),
            None => self.row(&self.projector.decided(self.mode, ask, self.decisions)?),
        })
    }

    /// The datasets that are not limited away.
    fn begin(&mut self) -> Result<(), Error> {
        for (id, check) in self.projector.checks() {
            if self.selection.has_check(Some(id)) {
                self.target.add(Table::Results(id), Some(&check.name), check.schema()?)?;
            }
        }
        if self.selection.has_every_standing() {
            for (table, schema) in Table::of_all_checks() {
                self.target.add(table, None, schema)?;
            }
        }
        Ok(())
    }

    fn row(&mut self, ask: &AskView<'_>) -> Result<(), Error> {
        let (projector, mode) = (self.projector, self.mode);
        let (standing, table, cells) = match before_judging(ask) {
            Ok(standing) if !self.keeps(ask, &standing) => {
                self.tally.count(ask.check_use, &standing);
                return Ok(());
            }
            Ok(Standing::Skipped) => (Standing::Skipped, Table::Skipped, projector.skipped_row(mode, ask)?),
            Ok(standing @ Standing::Pending(_)) => (standing, Table::Pending, projector.pending_row(mode, ask, false)?),
            Ok(standing) => (standing, Table::Failures, projector.failure_row(mode, ask)?),
            Err(request) => {
                let check = projector.check(ask.check_use)?;
                let mut images = Vec::new();
                let each: &mut dyn FnMut(Image) = &mut |image| images.push(image);
                let row = projector.result_row(check, (&check.current, Judging::Anew), mode, ask, each)?;
                let standing = judged(request, row.verdict);
                match standing {
                    _ if !self.keeps(ask, &standing) => {
                        self.tally.count(ask.check_use, &standing);
                        return Ok(());
                    }
                    Standing::Result(_) => {
                        if let Some(folder) = self.images {
                            for image in &images {
                                sink::write_image(folder, &image.sha256, image.extension, &image.bytes)?;
                            }
                        }
                        (standing, Table::Results(ask.check_use.unwrap_or_default()), row.into_cells(check.form()))
                    }
                    _ => (standing, Table::Pending, projector.pending_row(mode, ask, true)?),
                }
            }
        };
        self.tally.count(ask.check_use, &standing);
        self.rows += 1;
        self.target.write(table, cells)
    }

    fn keeps(&self, ask: &AskView<'_>, standing: &Standing) -> bool {
        self.selection.keeps(ask.check_use, standing, || self.projector.result_id(self.mode, ask))
    }
}

/// The folder for the images of answers, if they are files of the export.
pub fn images_in(images: ImageOutput, folder: &Path, is_file: bool) -> Option<&Path> {
    (images == ImageOutput::Files && !is_file).then_some(folder)
}
