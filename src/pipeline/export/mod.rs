//! Export: new files from the ledger, judged by the current declarations. It reads the ledger, sends nothing and changes
//! nothing in it.
//!
//! | file | noun |
//! |---|---|
//! | `order` | what to export, and in which form |
//! | `place` | the folder being written |
//! | `selection` | which asks are kept |
//! | `standing` | the dataset of an ask |
//! | `table`, `datasets` | the rows of each dataset, as in the campaign |
//! | `part_files` | their files |
//! | `book` | their sheets, and the summary |
//! | `one_stream` | all rows as one stream of Arrow data |
//! | `wide` | the rows of the input, with what is known of each |
//! | `worklist` | the matches that a person has to decide about |
//! | `tally` | the counts of the campaign |
//! | `unread` | replies that could not be read as answers |

mod book;
mod datasets;
mod one_stream;
mod order;
mod part_files;
mod place;
mod selection;
mod standing;
mod table;
mod tally;
mod unread;
mod wide;
pub mod worklist;

pub use one_stream::Out;
pub use order::{ChangedSince, ExportContent, ExportFormat, ExportOrder, verdict_of};
pub use place::NewPlace;

use super::{
    campaign::{Campaign, mappings, read_file, recorded::campaign_of, result_layout::ResultLayout},
    publish::{acceptance::DecisionsInUse, manifest::input, project::Projector},
    status::open_ledger,
};
use crate::{
    decisions::Decisions,
    error::Error,
    ledger::Reading,
    model::Stop,
    sink::{
        self, CheckTotals, Dataset, InputTotals, MANIFEST_VERSION, Manifest, OutputMode, Part, WrittenFile,
        WrittenWorkbook,
    },
};
use book::{Book, Facts};
use datasets::{Datasets, Target, images_in};
use one_stream::OneStream;
use order::Form;
use part_files::PartFiles;
use selection::Selection;
use std::{path::Path, sync::Arc};
use table::Table;
use tally::Tally;
use wide::Wide;

/// A finished export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    pub campaign: String,
    pub mode: OutputMode,
    pub format: ExportFormat,
    /// The counts of the whole campaign.
    pub totals: Vec<CheckTotals>,
    /// Rows of the input that could not be read. Each is one failure.
    pub unreadable_rows: u64,
    /// What it is limited to, in words.
    pub limits: Option<String>,
    /// The number of rows in all files, without headers.
    pub rows: u64,
    /// Relative to the new folder; a new file has its own name.
    pub files: Vec<ExportedFile>,
    /// The number of texts that were too long for a cell of a workbook, and were cut.
    pub cut_cells: u64,
    /// The sheets of each table of a workbook that needs more than one.
    pub continued: Vec<Vec<String>>,
    /// Columns of the input were left out, because there were too many.
    pub columns_cut: bool,
    /// Results that need a person for another reason than their matches, and are not in a worklist.
    pub unexplained: u64,
    /// Results to review whose row has no subject, and that are not in a worklist.
    pub without_subject: u64,
}

/// A file of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFile {
    pub path: String,
    /// The inputs whose rows it has, if it has rows of the input.
    pub sources: Vec<String>,
    pub rows: u64,
    pub bytes: u64,
    /// Hexadecimal.
    pub sha256: String,
}

/// Exports a campaign. Asks `interrupted` before each row whether to stop; then nothing is left behind.
///
/// # Errors
/// The new name exists, the ledger cannot be read, a declaration does not fit the campaign, the order does not fit
/// together, writing fails, or it was interrupted.
pub fn export(order: &ExportOrder<'_>, interrupted: &dyn Fn() -> Option<Stop>) -> Result<Exported, Error> {
    let reading = open_ledger(order.place)?;
    let file = order.config.map(read_file).transpose()?;
    let base = order.config.and_then(Path::parent).unwrap_or(Path::new(""));
    let campaign = campaign_of(&reading, reading.path(), order.to, file.as_ref().map(|file| (file, base)))?;
    let form = order.form(campaign.format)?;
    reading.hold_still()?;
    let uses = reading.check_uses()?;
    let changed = order.changed_rows()?;
    let selection = Selection::of(order, &uses, changed)?;
    let place = NewPlace::begin(order.to, form.is_file)?;
    let is_simulated = campaign.service.simulate || reading.sums()?.simulated == Some(true);
    let source = Source {
        projector: Projector::new(&campaign, uses)?.with_all_columns(),
        mode: OutputMode::of(campaign.mode, is_simulated),
        decisions: match order.content {
            ExportContent::Unread => None,
            _ => DecisionsInUse::of(&campaign).now(&reading)?,
        },
        input: input(&reading)?,
        campaign: &campaign,
        reading: &reading,
        selection,
        order,
        form,
    };
    let exported = match order.content {
        ExportContent::Unread => source.unread(&place, interrupted)?,
        ExportContent::Wide => source.by_row(&place, interrupted)?,
        ExportContent::Worklist => source.worklist(&place, interrupted)?,
        ExportContent::Datasets => source.by_dataset(&place, interrupted)?,
    };
    match (form.is_file, exported.files.as_slice()) {
        (false, _) => place.end()?,
        (true, [only]) => place.end_with(&only.path)?,
        (true, files) => {
            return Err(Error::Config(format!(
                "--to {}: expected the name of a new folder, because the inputs have different columns and become {} \
                 files; name a folder, or use --format xlsx for one workbook",
                order.to.display(),
                files.len()
            )));
        }
    }
    Ok(exported)
}

/// Checks that the rows of all checks of a campaign fit into one stream.
///
/// # Errors
/// Two checks have a column with one name and different types, or one has a column that every row has.
pub fn check_stream(campaign: &Campaign) -> Result<(), Error> {
    let mut stream = OneStream::new(Box::new(std::io::sink()));
    for (id, one) in (0..).zip(&campaign.uses) {
        stream.add(Table::Results(id), Some(one.name()), ResultLayout::new(campaign, one)?.schema()?);
    }
    for (table, schema) in Table::of_all_checks() {
        stream.add(table, None, schema);
    }
    stream.check()
}

/// Writes every row of a campaign to one stream of Arrow data, in the order of the input. Asks `interrupted` before each row whether to
/// stop. Returns whether the input was read to its end; if not, the stream has no end mark.
///
/// # Errors
/// The ledger cannot be read, writing fails, or it was interrupted.
pub fn stream(campaign: &Campaign, out: Out, interrupted: &dyn Fn() -> Option<Stop>) -> Result<bool, Error> {
    let reading = &open_ledger(&campaign.out)?;
    reading.hold_still()?;
    let uses = reading.check_uses()?;
    let order = ExportOrder::of(reading.path(), reading.path());
    let selection = Selection::of(&order, &uses, None)?;
    let projector = Projector::new(campaign, uses)?;
    let is_simulated = campaign.service.simulate || reading.sums()?.simulated == Some(true);
    let mut datasets = Datasets {
        projector: &projector,
        selection: &selection,
        mode: OutputMode::of(campaign.mode, is_simulated),
        // Its run has just recorded what they say.
        decisions: None,
        tally: Tally::new(&projector),
        target: Target::Stream(Box::new(OneStream::new(out))),
        images: None,
        rows: 0,
    };
    datasets.every_row(reading, interrupted)?;
    let is_whole = input(reading)?.sources.iter().all(|source| source.complete);
    if let Target::Stream(stream) = datasets.target
        && is_whole
    {
        stream.finish()?;
    }
    Ok(is_whole)
}

/// What is exported.
struct Source<'a> {
    campaign: &'a Campaign,
    reading: &'a Reading,
    projector: Projector,
    selection: Selection<'a>,
    order: &'a ExportOrder<'a>,
    form: Form,
    mode: OutputMode,
    decisions: Option<Arc<Decisions>>,
    input: InputTotals,
}

/// The name of a workbook until it gets its own.
const BOOK: &str = "book.xlsx";

impl Source<'_> {
    fn by_dataset(&self, place: &NewPlace, interrupted: &dyn Fn() -> Option<Stop>) -> Result<Exported, Error> {
        let folder = place.folder();
        let target = match self.form.format {
            ExportFormat::Files(format) => Target::Files(PartFiles::new(folder, format, self.order.single)),
            ExportFormat::Xlsx => Target::Book(Box::new(Book::create(&folder.join(BOOK))?)),
        };
        let mut datasets = Datasets {
            projector: &self.projector,
            selection: &self.selection,
            mode: self.mode,
            decisions: self.decisions.as_deref(),
            tally: Tally::new(&self.projector),
            target,
            images: images_in(self.campaign.images, folder, self.form.is_file),
            rows: 0,
        };
        datasets.every_row(self.reading, interrupted)?;
        let Datasets { target, tally, rows, .. } = datasets;
        let totals = tally.totals(self.reading)?;
        match (target, self.form.format) {
            (Target::Files(files), ExportFormat::Files(format)) => {
                let manifest = self.manifest(files, format, totals, folder)?;
                manifest.write_atomically(folder)?;
                let parts = manifest.datasets.into_iter().flat_map(|dataset| dataset.parts);
                Ok(self.exported(manifest.totals, rows, parts.map(ExportedFile::from).collect()))
            }
            (Target::Book(book), _) => self.in_a_book(*book, totals, rows),
            (Target::Files(_) | Target::Stream(_), _) => {
                Err(Error::Internal("an export was written in another format".to_owned()))
            }
        }
    }

    fn by_row(&self, place: &NewPlace, interrupted: &dyn Fn() -> Option<Stop>) -> Result<Exported, Error> {
        let folder = place.folder().to_owned();
        let target = match self.form.format {
            ExportFormat::Files(format) => wide::Target::Files { folder, format },
            ExportFormat::Xlsx => wide::Target::Book(Box::new(Book::create(&folder.join(BOOK))?)),
        };
        let (projector, selection) = (&self.projector, &self.selection);
        let mut wide = Wide::begin(
            projector,
            selection,
            self.reading,
            (self.mode, self.decisions.as_deref()),
            target,
            interrupted,
        )?;
        wide.every_row(self.reading, interrupted)?;
        let (rows, columns_cut) = (wide.rows, wide.columns_cut);
        let (files, book, tally) = wide.finish()?;
        let totals = tally.totals(self.reading)?;
        let exported = match book {
            Some(book) => self.in_a_book(book, totals, rows)?,
            None => {
                let files = files.into_iter().map(|file| ExportedFile::of(file.path, file.sources, file.written));
                self.exported(totals, rows, files.collect())
            }
        };
        Ok(Exported { columns_cut, ..exported })
    }

    /// Finishes a workbook with its summary.
    fn in_a_book(&self, book: Book, totals: Vec<CheckTotals>, rows: u64) -> Result<Exported, Error> {
        let selected = self.order.selected();
        let written = book.finish(&Facts {
            campaign: self.projector.campaign(),
            mode: self.mode,
            input: &self.input,
            totals: &totals,
            selected: selected.as_ref(),
            last_answer_us: self.reading.last_answer_us()?,
        })?;
        let WrittenWorkbook { file, cut_cells, continued } = written;
        let files = vec![ExportedFile::of(BOOK.to_owned(), Vec::new(), file)];
        Ok(Exported { cut_cells, continued, ..self.exported(totals, rows, files) })
    }

    fn exported(&self, totals: Vec<CheckTotals>, rows: u64, files: Vec<ExportedFile>) -> Exported {
        Exported {
            campaign: self.projector.campaign().to_owned(),
            mode: self.mode,
            format: self.form.format,
            totals,
            unreadable_rows: self.input.unreadable_rows,
            limits: self.order.selected().map(|selected| book::limits(&selected)),
            rows,
            files,
            cut_cells: 0,
            continued: Vec::new(),
            columns_cut: false,
            unexplained: 0,
            without_subject: 0,
        }
    }

    fn manifest(
        &self,
        files: PartFiles,
        format: sink::FileFormat,
        totals: Vec<CheckTotals>,
        folder: &Path,
    ) -> Result<Manifest, Error> {
        let input = self.input.clone();
        let selected = self.order.selected();
        let is_read = !input.sources.is_empty() && input.sources.iter().all(|source| source.complete);
        let mut datasets = Vec::new();
        for (table, schema, parts) in files.finish()? {
            datasets.push(match table {
                Table::Results(check) => self.projector.check(Some(check))?.dataset(parts)?,
                _ => Dataset::of_all_checks(table.kind(), &schema, parts),
            });
        }
        let (images, images_unlisted) = sink::listed(&sink::image_files(folder));
        Ok(Manifest {
            manifest_version: MANIFEST_VERSION,
            program: concat!("rescreen ", env!("CARGO_PKG_VERSION")).to_owned(),
            campaign: self.projector.campaign().to_owned(),
            mode: self.mode,
            // An export with a limit does not have every row.
            complete: is_read && selected.is_none() && totals.iter().all(|totals| totals.pending == 0),
            under_way: false,
            format,
            datasets,
            files: Vec::new(),
            totals,
            input,
            declared: self.campaign.declared(),
            mappings: mappings::totals(self.reading)?,
            images,
            images_unlisted,
            ledger: None,
            selected,
        })
    }
}

impl ExportedFile {
    fn of(path: String, sources: Vec<String>, written: WrittenFile) -> ExportedFile {
        let WrittenFile { rows, bytes, sha256 } = written;
        ExportedFile { path, sources, rows, bytes, sha256 }
    }
}

impl From<Part> for ExportedFile {
    fn from(part: Part) -> ExportedFile {
        let Part { path, rows, bytes, sha256 } = part;
        ExportedFile { path, sources: Vec::new(), rows, bytes, sha256 }
    }
}
