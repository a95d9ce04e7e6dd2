//! Reads a spreadsheet (.xlsx): chooses the sheet, and checks that it can be read. Nothing is guessed: the sheet is the
//! only one with data or the one that is named, and merged cells in the data and files above the limits of `preflight`
//! are refused.
//!
//! The cells are read one by one in a separate thread. Only the file's table of shared strings stays in memory; see
//! `preflight`. The thread also contains a panic in calamine; see `in_thread`.

use super::{
    csv_text::{SheetText, is_empty},
    fault::SheetFault,
    hidden::Hidden,
    preflight,
};
use crate::{
    model::cell_ref::{is_in_a_sheet, reference},
    source::{
        bytes::{
            Bytes,
            in_thread::{self, Pieces},
        },
        records::shapes::HiddenRows,
    },
};
use calamine::{DataRef, Dimensions, Reader, SheetType, SheetVisible, Xlsx};
use std::{
    fs::File,
    io::BufReader,
    sync::{Arc, OnceLock},
};

const CHUNK_BYTES: usize = 64 << 10;

/// What to do about merged cells.
const UNMERGE: &str = "unmerge the cells and fill every one";
/// The same for merged cells in the first row with data, which is often a title.
const ABOVE: &str = "if it is a title above the table, say which row has the column names with --header-row N (or \
                     [input] header_row); else unmerge the cells and fill every one";

type Book = Xlsx<BufReader<File>>;

/// Which rows of a workbook are read.
pub struct WantedSheet {
    pub name: Option<String>,
    /// The number of columns, if the user named them.
    pub columns: Option<usize>,
    /// The first rows of the sheet that are not read.
    pub skip: u32,
    /// Hidden rows are not read.
    pub visible_only: bool,
    /// The first row with data has the column names.
    pub has_header: bool,
}

/// The rows of a sheet as CSV. Rows that are not read become empty lines. The count of hidden rows is set at the end.
pub fn open(file: File, wanted: WantedSheet, hidden: Arc<OnceLock<HiddenRows>>) -> Result<Bytes, SheetFault> {
    in_thread::open(
        "sheet",
        || SheetFault::BrokeOff,
        SheetFault::Io,
        move |pieces| read(file, &wanted, &hidden, pieces),
    )
}

fn read(
    mut file: File,
    wanted: &WantedSheet,
    count: &OnceLock<HiddenRows>,
    pieces: &Pieces<SheetFault>,
) -> Result<(), SheetFault> {
    let WantedSheet { columns, skip, visible_only, .. } = *wanted;
    preflight::check(&mut file)?;
    let mut again = file.try_clone().map_err(SheetFault::Io)?;
    let mut book = Xlsx::new(BufReader::new(file))?;
    let (name, extent) = chosen(&mut book, wanted.name.as_deref(), skip, visible_only)?;
    // calamine has read what it needs of the workbook; it seeks before it reads a sheet.
    let hidden = match Hidden::of(&mut again, &name) {
        Err(fault) if visible_only => return Err(fault),
        found => found.unwrap_or_default(),
    };
    let header = if wanted.has_header { Some(extent.row) } else { None };
    let mut counts = HiddenRows { by_filter: hidden.has_filter, left_out: visible_only, ..HiddenRows::default() };
    let mut counted = None;
    let width = columns.and_then(|columns| u32::try_from(columns).ok()).unwrap_or(extent.width);
    let inside = |merged: &&Dimensions| merged.end.0 >= extent.row && merged.start.1 < width;
    if let Some(merged) = book.merge_cells_by_sheet_name(&name)?.iter().find(inside) {
        let range = format!("{}:{}", reference(merged.start), reference(merged.end));
        let advice = if merged.start.0 == extent.row && skip == 0 { ABOVE } else { UNMERGE };
        return Err(SheetFault::Merged { sheet: name, range, advice });
    }
    if !pieces.begin() {
        return Ok(());
    }
    let is_1904 = book.has_1904_epoch();
    let mut cells = book.worksheet_cells_reader(&name)?;
    let mut text = SheetText::new(width);
    while let Some(cell) = cells.next_cell_with_formula_metadata()? {
        if cell.pos.0 < skip || is_empty(&cell.value, cell.formula.is_some()) {
            continue;
        }
        check_position(cell.pos)?;
        let row = cell.pos.0;
        let is_hidden = Some(row) != header && hidden.has(row);
        if counted != Some(row) && Some(row) != header {
            counted = Some(row);
            counts.of += 1;
            counts.hidden += u64::from(is_hidden);
        }
        if is_hidden && visible_only {
            continue;
        }
        if !text.cell(cell.pos, &cell.value, is_1904) {
            return Err(SheetFault::OutOfOrder { row: cell.pos.0 + 1 });
        }
        if text.bytes.len() >= CHUNK_BYTES && !pieces.send(std::mem::take(&mut text.bytes)) {
            return Ok(());
        }
    }
    text.end_row();
    // Before the end of the text, which the reader of the count waits for.
    _ = count.set(counts);
    pieces.send(text.bytes);
    Ok(())
}

/// The first rows of a sheet as CSV, whatever is merged in them. Nothing below them is read.
///
/// # Errors
/// The workbook cannot be read, or has no such sheet.
pub fn start(mut file: File, wanted: Option<&str>, rows: u32) -> Result<String, SheetFault> {
    preflight::check(&mut file)?;
    let mut book = Xlsx::new(BufReader::new(file))?;
    let (name, extent) = chosen(&mut book, wanted, 0, false)?;
    let is_1904 = book.has_1904_epoch();
    let mut cells = book.worksheet_cells_reader(&name)?;
    let mut kept: Vec<((u32, u32), DataRef<'_>)> = Vec::new();
    while let Some(cell) = cells.next_cell_with_formula_metadata()? {
        check_position(cell.pos)?;
        if cell.pos.0 >= extent.row.saturating_add(rows) {
            break;
        }
        if !is_empty(&cell.value, cell.formula.is_some()) {
            kept.push((cell.pos, cell.value));
        }
    }
    let width = kept.iter().map(|((_, column), _)| column + 1).max().unwrap_or_default();
    let mut text = SheetText::new(width);
    for (place, value) in &kept {
        if !text.cell(*place, value, is_1904) {
            return Err(SheetFault::OutOfOrder { row: place.0 + 1 });
        }
    }
    text.end_row();
    Ok(String::from_utf8_lossy(&text.bytes).into_owned())
}

/// The first row with data, from 0, and its number of cells up to the last one with data.
struct Extent {
    row: u32,
    width: u32,
}

/// The sheet to read, and where its data begins.
fn chosen(
    book: &mut Book,
    wanted: Option<&str>,
    skip: u32,
    visible_only: bool,
) -> Result<(String, Extent), SheetFault> {
    let no_data = || if skip > 0 { SheetFault::NoDataBelow { row: skip + 1 } } else { SheetFault::NoData };
    let is_sheet = |sheet: &&calamine::Sheet| sheet.typ == SheetType::WorkSheet;
    let sheets: Vec<(String, bool)> = book
        .sheets_metadata()
        .iter()
        .filter(is_sheet)
        .map(|sheet| (sheet.name.clone(), sheet.visible != SheetVisible::Visible))
        .collect();
    let names: Vec<String> = sheets.iter().map(|(name, _)| name.clone()).collect();
    if let Some(wanted) = wanted {
        let fold = |name: &str| name.trim().to_lowercase();
        let exact = names.iter().find(|name| *name == wanted);
        let Some(name) = exact.or_else(|| names.iter().find(|name| fold(name) == fold(wanted))).cloned() else {
            return Err(SheetFault::UnknownSheet { wanted: wanted.to_owned(), names });
        };
        return extent(book, &name, skip)?.map(|extent| (name, extent)).ok_or_else(no_data);
    }
    let mut filled = Vec::new();
    let readable = sheets.iter().filter(|(_, is_hidden)| !(*is_hidden && visible_only));
    for (name, _) in readable {
        if let Some(extent) = extent(book, name, skip)? {
            filled.push((name.clone(), extent));
        }
    }
    match filled.pop() {
        None => Err(no_data()),
        Some(only) if filled.is_empty() => Ok(only),
        Some(last) => {
            let is_hidden = |name: &String| sheets.iter().any(|(one, is_hidden)| one == name && *is_hidden);
            let shown = |name: String| if is_hidden(&name) { format!("{name}, which is hidden") } else { name };
            let names = filled.into_iter().chain([last]).map(|(name, _)| shown(name)).collect();
            Err(SheetFault::ManySheets { names })
        }
    }
}

/// The extent of a sheet below its first rows.
fn extent(book: &mut Book, name: &str, skip: u32) -> Result<Option<Extent>, SheetFault> {
    let mut cells = book.worksheet_cells_reader(name)?;
    let mut found: Option<Extent> = None;
    while let Some(cell) = cells.next_cell_with_formula_metadata()? {
        check_position(cell.pos)?;
        let (row, column) = cell.pos;
        if found.as_ref().is_some_and(|found| found.row != row) {
            break;
        }
        if row >= skip && !is_empty(&cell.value, cell.formula.is_some()) {
            found = Some(Extent { row, width: column + 1 });
        }
    }
    Ok(found)
}

/// Refuses a position outside a sheet: calamine counts on from the last reference in the file, and each empty row
/// before a cell becomes a line of CSV.
fn check_position(position: (u32, u32)) -> Result<(), SheetFault> {
    is_in_a_sheet(position).then_some(()).ok_or(SheetFault::Damaged { what: "content (a cell outside the sheet)" })
}
