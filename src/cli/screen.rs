//! The progress on a terminal: lines below the messages that are redrawn. Decides how many rows to erase, even if the
//! terminal became narrower and wrapped the lines that were drawn. It writes only while it holds its lock, so that
//! messages and progress never mix.

use std::{
    io::{self, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};
use terminal_size::{Height, Width, terminal_size_of};

/// The size of a terminal that does not tell it.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// A line to draw: its text, which may contain colours, and the number of its visible characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    pub width: usize,
}

/// The widths of the lines on the terminal.
static DRAWN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn drawn() -> MutexGuard<'static, Vec<usize>> {
    DRAWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The present size of the terminal on standard error.
pub fn size() -> Size {
    match terminal_size_of(io::stderr()) {
        Some((Width(columns), Height(rows))) if columns > 0 && rows > 0 => {
            Size { columns: columns.into(), rows: rows.into() }
        }
        _ => USUAL,
    }
}

/// Replaces the progress on the terminal by these lines.
pub fn draw(lines: &[Line]) {
    let mut drawn = drawn();
    let mut frame = erased(&drawn, size().columns);
    for line in lines {
        frame.push_str(&line.text);
        frame.push('\n');
    }
    *drawn = lines.iter().map(|line| line.width).collect();
    put(&frame);
}

/// Prints something where the progress was. The progress is drawn again below it.
pub fn above(print: impl FnOnce()) {
    let mut drawn = drawn();
    if !drawn.is_empty() {
        put(&erased(&drawn, size().columns));
        drawn.clear();
    }
    print();
}

/// One write, so that the terminal never shows half a frame. A closed terminal is not an error.
fn put(frame: &str) {
    let mut stderr = io::stderr().lock();
    drop(stderr.write_all(frame.as_bytes()).and_then(|()| stderr.flush()));
}

/// Moves the cursor to the first of these lines and erases them. A line that is wider than the terminal by now fills
/// several rows.
fn erased(widths: &[usize], columns: usize) -> String {
    let rows: usize = widths.iter().map(|width| width.div_ceil(columns.max(1)).max(1)).sum();
    if rows == 0 { String::new() } else { format!("\u{1b}[{rows}A\r\u{1b}[J") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_that_a_narrower_terminal_made_of_the_lines_are_erased() {
        assert_eq!(erased(&[], 80), "");
        assert_eq!(erased(&[0, 79], 80), "\u{1b}[2A\r\u{1b}[J");
        assert_eq!(erased(&[79, 60], 60), "\u{1b}[3A\r\u{1b}[J");
        assert_eq!(erased(&[80], 80), "\u{1b}[1A\r\u{1b}[J");
    }
}
