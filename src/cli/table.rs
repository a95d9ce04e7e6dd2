//! A table that fits a terminal: columns are as wide as their cells; if there is no room for all, one that the caller names
//! is cut first, and then the widest ones. Without a terminal nothing is cut, so that a pipe gets every character. Cells are escaped here, so that what a row contains cannot move
//! the cursor.

use super::{
    colour::{self, Ink, painted},
    screen,
    wrap::{PAGE, cut_line},
};
use comfy_table::{ContentArrangement, Table, presets};
use rescreen::model::printable::printable;
use std::io::{self, IsTerminal};
use terminal_size::{Width, terminal_size_of};
use unicode_width::UnicodeWidthStr;

/// No column is cut to less than this.
const COLUMN_MIN: usize = 8;
const GAP: usize = 2;

/// A cell: its text, and its colour on a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    text: String,
    ink: Option<Ink>,
}

impl Cell {
    pub fn text(text: &str) -> Cell {
        Cell { text: printable(text).into_owned(), ink: None }
    }

    pub fn inked(text: &str, ink: Option<Ink>) -> Cell {
        Cell { ink, ..Cell::text(text) }
    }
}

/// The width to fit a table of standard output into; `None` without a terminal.
pub fn width_of_stdout() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let known = terminal_size_of(io::stdout()).map(|(Width(columns), _)| usize::from(columns));
    Some(known.filter(|columns| *columns > 0).unwrap_or_else(|| screen::size().columns))
}

/// The columns of a page on standard output.
pub fn page_of_stdout() -> usize {
    width_of_stdout().unwrap_or(PAGE).min(PAGE)
}

/// A table whose cells are wrapped, as wide as a page.
pub fn of_page(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.to_vec());
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(page_of_stdout()).unwrap_or(u16::MAX));
    table
}

/// The lines of a table on standard output. `details` is the column that is cut first.
pub fn lines(header: &[&str], rows: &[Vec<Cell>], details: Option<usize>) -> Vec<String> {
    fitted(header, rows, width_of_stdout(), details, colour::on_stdout())
}

fn fitted(
    header: &[&str],
    rows: &[Vec<Cell>],
    width: Option<usize>,
    details: Option<usize>,
    is_coloured: bool,
) -> Vec<String> {
    let header: Vec<Cell> = header.iter().map(|name| Cell::inked(name, Some(Ink::Faint))).collect();
    let all: Vec<&Vec<Cell>> = std::iter::once(&header).chain(rows).collect();
    let widest = |column: usize| all.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.width()).max();
    let mut widths: Vec<usize> = (0..header.len()).map(|column| widest(column).unwrap_or_default()).collect();
    if let Some(width) = width {
        shrink(&mut widths, width, details);
    }
    all.iter().map(|row| line(row, &widths, is_coloured)).collect()
}

/// Narrows the column of details, and then the widest ones, until all fit.
fn shrink(widths: &mut [usize], width: usize, details: Option<usize>) {
    let room = width.saturating_sub(GAP * widths.len().saturating_sub(1));
    let excess = widths.iter().sum::<usize>().saturating_sub(room);
    if let Some(details) = details.and_then(|column| widths.get_mut(column)) {
        *details -= excess.min(details.saturating_sub(COLUMN_MIN));
    }
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max_by_key(|width| **width).filter(|width| **width > COLUMN_MIN) else {
            return;
        };
        *widest -= 1;
    }
}

fn line(row: &[Cell], widths: &[usize], is_coloured: bool) -> String {
    let mut line = String::new();
    for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
        let text = cut_line(&cell.text, *width);
        let padding = " ".repeat(width.saturating_sub(text.width()));
        let shown = cell.ink.map_or_else(|| text.clone(), |ink| painted(&text, ink, is_coloured));
        line.push_str(&shown);
        if at + 1 < widths.len() {
            line.push_str(&padding);
            line.push_str(&" ".repeat(GAP));
        }
    }
    line.truncate(line.trim_end_matches(' ').len());
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<Cell>> {
        vec![
            vec![Cell::text("C-1"), Cell::text("7"), Cell::text("a long text that is cut")],
            vec![Cell::text("名前\u{1b}[2J"), Cell::text("1,200"), Cell::text("")],
        ]
    }

    #[test]
    fn without_a_terminal_nothing_is_cut_and_control_characters_are_visible() {
        let lines = fitted(&["subject", "rows", "note"], &rows(), None, None, false);
        assert_eq!(
            lines,
            ["subject        rows   note", "C-1            7      a long text that is cut", r"名前\u{1b}[2J  1,200",]
        );
    }

    #[test]
    fn on_a_narrow_terminal_the_widest_columns_are_cut() {
        let lines = fitted(&["subject", "rows", "note"], &rows(), Some(30), None, false);
        assert!(lines.iter().all(|line| line.width() <= 30), "{lines:#?}");
        assert!(lines[1].contains("  a long") && lines[1].ends_with('…'), "{lines:#?}");
        let lines = fitted(&["subject", "rows", "note"], &rows(), Some(36), Some(2), false);
        assert!(lines[1].ends_with("a long text t…") && lines[2].contains(r"名前\u{1b}[2J"), "{lines:#?}");
        assert!(fitted(&["a"], &rows(), Some(3), None, false)[1] == "C-1");
    }

    #[test]
    fn wide_characters_are_never_cut_in_half() {
        assert_eq!(
            (cut_line("名前名前", 5), cut_line("名前", 4), cut_line("ab", 1)),
            ("名前…".to_owned(), "名前".to_owned(), "…".to_owned())
        );
    }

    #[test]
    fn colours_take_no_room() {
        let cell = Cell::inked("clear", Some(Ink::Verdict(rescreen::model::Verdict::Clear)));
        let lines = fitted(&["verdict", "x"], &[vec![cell, Cell::text("y")]], None, None, true);
        assert_eq!(lines[1], "\u{1b}[32mclear\u{1b}[0m    y");
    }
}
