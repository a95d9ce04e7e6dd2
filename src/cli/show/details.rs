//! The columns of a result as text, below the line of its row.

use crate::cli::{table::width_of_stdout, wrap};
use rescreen::{
    model::{clock::local_time, printable::printable},
    sink::TableCell,
};

/// What is below the line of a row begins here.
pub const INDENTATION: &str = "    ";
/// Between two columns. Values may contain commas.
pub const BETWEEN: &str = " · ";

/// A column with its value.
pub fn written(name: &str, cell: &TableCell) -> String {
    format!("{} {}", printable(name), printable(&text_of(cell)))
}

/// A cell as text.
pub fn text_of(cell: &TableCell) -> String {
    match cell {
        TableCell::Null => String::new(),
        TableCell::Text(text) | TableCell::Json(text) => text.clone(),
        TableCell::Integer(number) => number.to_string(),
        TableCell::Number(number) => number.to_string(),
        TableCell::Boolean(truth) => if *truth { "yes" } else { "no" }.to_owned(),
        TableCell::Date(day) => day.to_string(),
        TableCell::Timestamp(at_us) => local_time(*at_us),
    }
}

/// A text below the line of a row: wrapped on a terminal, and one line elsewhere.
pub fn paragraph(text: &str) -> Vec<String> {
    let text = format!("{INDENTATION}{text}");
    match width_of_stdout() {
        Some(width) => wrap::lines(&text, width),
        None => vec![text],
    }
}
