//! Finds the table in the first lines of a text: its delimiter, the line with which it begins, whether that line is a
//! header, and the rows below it that are not data. These are pure functions over text; nothing is read here.

use crate::model::column_name::{looks_like_a_name, looks_like_data};
use std::collections::{HashMap, HashSet};

/// The delimiters that are tried, in order of preference.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// The most records of a text that are compared.
const RECORDS_MAX: usize = 200;
/// A table begins in one of the first records, or it is not searched for.
const TITLES_MAX: usize = 30;
/// The most rows of a footer.
const FOOTER_MAX: usize = 5;
/// A cell above this length is not a name of a column.
const NAME_CHARACTERS_MAX: usize = 200;

/// Words with which a row below a table begins.
const FOOTER_WORDS: [&str; 14] = [
    "total",
    "totals",
    "grand total",
    "sub total",
    "subtotal",
    "sum",
    "end of",
    "count",
    "number of",
    "records",
    "source:",
    "note:",
    "printed",
    "generated",
];

/// A record of a text: the physical line on which it begins, from 1, and its cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRecord {
    pub line: u64,
    pub cells: Vec<String>,
}

impl RawRecord {
    fn filled(&self) -> usize {
        self.cells.iter().filter(|cell| !cell.trim().is_empty()).count()
    }
}

/// Whether the first record of a table has the names of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderGuess {
    Header,
    /// Nothing speaks for a header or against it. The program reads one by default.
    Undecided,
    Row,
}

/// Where the table of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    pub delimiter: u8,
    /// The physical line of its first record, from 1.
    pub first_line: u64,
    pub header: HeaderGuess,
}

/// Finds the table of a text. `fixed` is a delimiter that is already known, `is_known` whether a text is the name of a
/// column that a check could use. `is_whole` says that the text ends where the input ends.
pub fn find(text: &str, fixed: Option<u8>, is_whole: bool, is_known: &dyn Fn(&str) -> bool) -> Table {
    let delimiter = fixed.unwrap_or_else(|| delimiter(text, is_whole));
    let records = records(text, delimiter, is_whole);
    let width = width(&records).unwrap_or(1);
    let begin = begin(&records, width, is_known);
    let header = header(&records[begin.min(records.len())..], is_known);
    let first_line = records.get(begin).filter(|_| begin > 0).map_or(1, |record| record.line);
    Table { delimiter, first_line, header }
}

/// The delimiter with which most records have the same number of cells.
fn delimiter(text: &str, is_whole: bool) -> u8 {
    let share = |delimiter: u8| {
        let records = records(text, delimiter, is_whole);
        let width = width(&records).unwrap_or(1);
        let like = records.iter().filter(|record| record.cells.len() == width).count();
        if width == 1 { (0, 0) } else { (like * 1_000 / records.len().max(1), width) }
    };
    let shares = DELIMITERS.map(share);
    let best = (0..DELIMITERS.len()).rev().max_by_key(|at| shares[*at]).unwrap_or_default();
    if shares[best].0 == 0 { b',' } else { DELIMITERS[best] }
}

/// The number of cells that most records have; of two as frequent ones the larger.
fn width(records: &[RawRecord]) -> Option<usize> {
    let mut counts: HashMap<usize, usize> = HashMap::new();
    records.iter().for_each(|record| *counts.entry(record.cells.len()).or_default() += 1);
    counts.into_iter().max_by_key(|(width, count)| (*count, *width)).map(|(width, _)| width)
}

/// The index of the first record of the table. Records before it are titles: they have few cells, and the table begins
/// with a header.
fn begin(records: &[RawRecord], width: usize, is_known: &dyn Fn(&str) -> bool) -> usize {
    if width < 2 {
        return 0;
    }
    let mut filled: Vec<usize> =
        records.iter().filter(|record| record.cells.len() == width).map(RawRecord::filled).collect();
    filled.sort_unstable();
    let typical = filled.get(filled.len() / 2).copied().unwrap_or_default();
    let is_full = |record: &RawRecord| record.cells.len() == width && record.filled() >= (typical * 3 / 5).max(2);
    let Some(at) = records.iter().take(TITLES_MAX).position(is_full) else { return 0 };
    let is_title = |record: &RawRecord| record.cells.len() != width || record.filled() <= (width / 3).max(1);
    let is_table = records[..at].iter().all(is_title) && header(&records[at..], is_known) != HeaderGuess::Row;
    if is_table { at } else { 0 }
}

/// Whether the first of these records has the names of the columns: its cells differ in shape from those below.
fn header(records: &[RawRecord], is_known: &dyn Fn(&str) -> bool) -> HeaderGuess {
    let Some((first, below)) = records.split_first() else { return HeaderGuess::Undecided };
    let (mut for_header, mut for_row) = (0, 0);
    let mut names = HashSet::new();
    for (at, cell) in first.cells.iter().enumerate() {
        let cell = cell.trim();
        if cell.is_empty() {
            continue;
        }
        if is_known(cell) {
            for_header += 2;
        }
        if !names.insert(cell) || looks_like_data(cell) || cell.chars().count() > NAME_CHARACTERS_MAX {
            for_row += 1;
        }
        let values: Vec<&str> = below
            .iter()
            .filter(|record| record.cells.len() == first.cells.len())
            .map(|record| record.cells[at].trim())
            .filter(|value| !value.is_empty())
            .collect();
        let Some(shape) = common_shape(&values) else { continue };
        match shape {
            Shape::Word if values.contains(&cell) => for_row += 1,
            Shape::Word => {}
            shape if shape == Shape::of(cell) => for_row += 1,
            _ => for_header += 1,
        }
    }
    match (for_header, for_row) {
        (for_header, for_row) if for_header == for_row => HeaderGuess::Undecided,
        (for_header, for_row) if for_header > for_row => HeaderGuess::Header,
        _ => HeaderGuess::Row,
    }
}

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Number,
    /// Letters and digits.
    Code,
    Address,
    Word,
}

impl Shape {
    fn of(value: &str) -> Shape {
        let digits = value.bytes().filter(u8::is_ascii_digit).count();
        let letters = value.chars().filter(|c| c.is_alphabetic()).count();
        match (digits, letters) {
            _ if value.contains('@') => Shape::Address,
            (0, _) => Shape::Word,
            (_, 0) => Shape::Number,
            // A name may end in a digit, such as `address2`.
            (1, _) if looks_like_a_name(value) => Shape::Word,
            _ => Shape::Code,
        }
    }
}

/// The shape of four in five of these values.
fn common_shape(values: &[&str]) -> Option<Shape> {
    let shapes = [Shape::Number, Shape::Code, Shape::Address, Shape::Word];
    let count = |shape: Shape| values.iter().filter(|value| Shape::of(value) == shape).count();
    shapes.into_iter().find(|shape| !values.is_empty() && count(*shape) * 5 >= values.len() * 4)
}

/// How many of the last records are not rows: empty ones, and those that begin with a word such as `Total` and have few
/// cells.
pub fn footer_rows(records: &[RawRecord], width: usize) -> usize {
    let is_footer = |record: &&RawRecord| {
        let filled = record.filled();
        let first = record.cells.iter().map(|cell| cell.trim().to_lowercase()).find(|cell| !cell.is_empty());
        let Some(first) = first else { return width > 1 };
        let begins =
            |word: &str| first.strip_prefix(word).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()));
        let is_word = FOOTER_WORDS.contains(&first.trim_end_matches(':'));
        let is_sparse = filled * 2 <= width || record.cells.len() != width;
        let is_short = is_word && filled < width || is_sparse && FOOTER_WORDS.into_iter().any(begins);
        width > 1 && is_short
    };
    let rows = records.iter().rev().take_while(is_footer).count();
    if rows > FOOTER_MAX || rows == records.len() { 0 } else { rows }
}

/// The records of a text, with their lines. A record that the end of the text may have cut is left out.
pub fn records(text: &str, delimiter: u8, is_whole: bool) -> Vec<RawRecord> {
    let mut records = Vec::new();
    let (mut line, mut begun) = (1, 1);
    let (mut cells, mut cell): (Vec<String>, String) = (Vec::new(), String::new());
    let (mut quoted, mut was_quoted) = (false, false);
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        if records.len() >= RECORDS_MAX {
            return records;
        }
        let is_end = matches!(c, '\n' | '\r');
        if c == '\r' && letters.peek() == Some(&'\n') {
            letters.next();
        }
        line += u64::from(is_end);
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            _ if quoted => cell.push(c),
            '"' if cell.is_empty() && !was_quoted => (quoted, was_quoted) = (true, true),
            c if c == char::from(delimiter) => {
                cells.push(std::mem::take(&mut cell));
                was_quoted = false;
            }
            _ if is_end => {
                if !cells.is_empty() || !cell.is_empty() || was_quoted {
                    cells.push(std::mem::take(&mut cell));
                    records.push(RawRecord { line: begun, cells: std::mem::take(&mut cells) });
                }
                was_quoted = false;
            }
            c => cell.push(c),
        }
        if is_end && !quoted {
            begun = line;
        }
    }
    if is_whole && (!cells.is_empty() || !cell.is_empty()) {
        cells.push(cell);
        records.push(RawRecord { line: begun, cells });
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (char, u64, HeaderGuess) {
        let is_known = |name: &str| name == "surname";
        let table = find(text, None, true, &is_known);
        (char::from(table.delimiter), table.first_line, table.header)
    }

    #[test]
    fn a_header_differs_in_shape_from_the_rows_below_it() {
        for (text, header) in [
            ("no,name\n1,Thandi\n2,Anele\n", HeaderGuess::Header),
            ("1,Thandi\n2,Anele\n3,Zola\n", HeaderGuess::Row),
            ("Thandi,za\nAnele,zm\n", HeaderGuess::Undecided),
            ("Thandi,za\nAnele,za\n", HeaderGuess::Row),
            ("surname,where\nNkosi,za\nDube,zm\n", HeaderGuess::Header),
            ("a@b.example,x\nc@d.example,y\n", HeaderGuess::Row),
            ("code,address2\nA1B2,12 Long Street\n", HeaderGuess::Header),
            ("", HeaderGuess::Undecided),
        ] {
            assert_eq!(found(text).2, header, "{text:?}");
        }
    }

    #[test]
    fn the_table_begins_below_its_titles() {
        let rows = "no;name;country\n1;Thandi;za\n2;Anele;zm\n3;Zola;bw\n";
        assert_eq!(found(rows), (';', 1, HeaderGuess::Header));
        assert_eq!(found(&format!("Customers, 2026\n\n{rows}")), (';', 3, HeaderGuess::Header));
        assert_eq!(found(&format!("Customers;;\n;;\n{rows}")), (';', 3, HeaderGuess::Header));
        assert_eq!(found(&format!("\"Customers\nof the branch\";;\n{rows}")), (';', 3, HeaderGuess::Header));
        // A first row with few values is a row.
        assert_eq!(found("1;;\n2;Anele;zm\n3;Zola;bw\n"), (';', 1, HeaderGuess::Row));
    }

    #[test]
    fn the_delimiter_gives_most_records_the_same_number_of_cells() {
        assert_eq!(found("name;amount\nA;1,50\nB;2,50\n").0, ';');
        assert_eq!(found("Report, one, two, three\nno\tname\n1\tA\n2\tB\n").0, '\t');
        assert_eq!(found("no|name\n1|\"A|B\"\n").0, '|');
        assert_eq!(found("name\nThandi\nAnele\n").0, ',');
    }

    #[test]
    fn rows_that_begin_with_total_are_a_footer() {
        let rows = |text: &str| footer_rows(&records(text, b',', true), 4);
        assert_eq!(rows("1,A,x,5\n2,B,y,6\nTotal,,,11\n"), 1);
        assert_eq!(rows("1,A,x,5\n2,B,y,6\n,,,\nGrand total,,,11\nPrinted by the branch\n"), 3);
        assert_eq!(rows("1,A,x,5\nTotal:,2,,11\n"), 1);
        assert_eq!(rows("1,A,x,5\nTotal Energies,B,y,6\n"), 0, "a full row is a row");
        assert_eq!(rows("1,A,x,5\nTotal Energies,B,y,\n"), 0, "a name that begins with the word");
        assert_eq!(rows("Total,,,1\n"), 0, "all of it");
        assert_eq!(rows("1,A,x,5\nTotally,,,6\n"), 0);
    }

    #[test]
    fn a_record_that_was_cut_is_left_out() {
        let lines = |text: &str, is_whole| records(text, b',', is_whole).iter().map(|one| one.line).collect::<Vec<_>>();
        assert_eq!(lines("a,b\r\n\"x\r\ny\",2\n\nc,d", true), [1, 2, 5]);
        assert_eq!(lines("a,b\r\n\"x\r\ny\",2\n\nc,d", false), [1, 2]);
    }
}
