//! Notes about ingested values: how many of each kind, and where the first one is, so that the user can check it. Notes
//! are only counted; they do not affect keys or outputs.

use super::MappedSplit;
use crate::{
    mapping::Mapped,
    model::Note,
    pipeline::wording::{counted, grouped},
};
use std::collections::BTreeMap;

/// The counted notes, by kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notes(BTreeMap<Note, Noted>);

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
            let noted = self.0.entry(*note).or_insert_with(first);
            noted.count += 1;
            if noted.source == source {
                // The subjects of a split are counted before its asks.
                noted.row_number = noted.row_number.min(row_number);
            }
        }
    }

    /// Adds the notes of a later part of the input.
    pub fn join(&mut self, later: Notes) {
        for (note, noted) in later.0 {
            let count = noted.count;
            self.0.entry(note).or_insert(Noted { count: 0, ..noted }).count += count;
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (Note, &Noted)> {
        self.0.iter().map(|(note, noted)| (*note, noted))
    }

    /// One line for each kind.
    pub fn lines(&self) -> Vec<String> {
        let line = |(note, noted): (Note, &Noted)| {
            let Noted { count, source, row_number } = noted;
            let values = counted(*count, "value", "values");
            format!("{values} with a note, the first in row {} of {source}: {note}", grouped(*row_number))
        };
        self.iter().map(line).collect()
    }
}
