//! Notes about ingested values: how many of each kind, and where the first one is, so that the user can check it. Notes
//! are only counted; they do not affect keys or outputs.

use super::MappedSplit;
use crate::{
    mapping::Mapped,
    model::Note,
    pipeline::wording::{counted, grouped},
    source::RowShapes,
};
use std::collections::BTreeMap;

/// The counted notes, by kind, and what is remarkable about the rows of each input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notes {
    by_kind: BTreeMap<Note, Noted>,
    of_rows: Vec<String>,
}

/// The notes of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    pub count: u64,
    /// The input name and row number of the first note.
    pub source: String,
    pub row_number: u64,
}

impl Notes {
    /// Counts the notes of a split.
    pub fn add_split(&mut self, source: &str, parts: &MappedSplit) {
        let row_number = |place: u32| parts.rows.get(place as usize).map_or(0, |row| row.row_number);
        for (place, note) in &parts.notes {
            self.add(source, row_number(*place), &[*note]);
        }
        for (place, _, mapped) in &parts.asks {
            if let Mapped::Ask(ask) = mapped {
                self.add(source, row_number(*place), &ask.notes);
            }
        }
    }

    /// Counts the notes of one ask or one subject.
    pub fn add(&mut self, source: &str, row_number: u64, notes: &[Note]) {
        for note in notes {
            let first = || Noted { count: 0, source: source.to_owned(), row_number };
            let noted = self.by_kind.entry(*note).or_insert_with(first);
            noted.count += 1;
            if noted.source == source {
                // The subjects of a split are counted before its asks.
                noted.row_number = noted.row_number.min(row_number);
            }
        }
    }

    /// Adds what is remarkable about the rows of an input.
    pub fn add_line(&mut self, line: String) {
        self.of_rows.push(line);
    }

    /// Adds the notes of a later part of the input.
    pub fn join(&mut self, later: Notes) {
        self.of_rows.extend(later.of_rows);
        for (note, noted) in later.by_kind {
            let count = noted.count;
            self.by_kind.entry(note).or_insert(Noted { count: 0, ..noted }).count += count;
        }
    }

    /// Adds what is remarkable about the rows of an input that was read to its end.
    pub fn add_shapes(&mut self, source: &str, shapes: &RowShapes) {
        self.of_rows.extend(shapes.lines(source));
    }

    /// What is remarkable about the rows, one line for each thing.
    pub fn of_rows(&self) -> &[String] {
        &self.of_rows
    }

    pub fn iter(&self) -> impl Iterator<Item = (Note, &Noted)> {
        self.by_kind.iter().map(|(note, noted)| (*note, noted))
    }

    /// One line for each kind.
    pub fn lines(&self) -> Vec<String> {
        let line = |(note, noted): (Note, &Noted)| {
            let Noted { count, source, row_number } = noted;
            let values = counted(*count, "value", "values");
            format!("{values} with a note, the first in row {} of {source}: {note}", grouped(*row_number))
        };
        self.iter().map(line).chain(self.of_rows.iter().cloned()).collect()
    }
}
