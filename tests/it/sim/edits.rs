//! What a person does to the files of a campaign between two lives, and how it is undone.

use super::life::Edit;
use rescreen::ledger::Reading;
use std::{fs, path::Path};

/// Edits the files in `folder`, if a life has read them before. Returns how to undo it.
pub fn edited(folder: &Path, edit: Edit) -> Option<Box<dyn FnOnce()>> {
    if edit == Edit::None {
        return None;
    }
    let reading = Reading::find(&folder.join("out/ledger.sqlite")).ok().flatten()?;
    // Nothing is fixed before the first row is ingested.
    let source = reading.sources().ok()?.into_iter().find(|source| !source.ends.is_empty())?;
    if matches!(edit, Edit::Format | Edit::Mode | Edit::Checks) {
        return Some(Box::new(|| {}));
    }
    // Rows that were never sent may change.
    let sent = sent_rows(&reading, source.id);
    let at = *sent.get(sent.len() / 2)?;
    let path = folder.join(&source.name);
    let bytes = fs::read(&path).expect("a book that was read");
    let mut edited = bytes.clone();
    match edit {
        Edit::InputChanged => edited[at] ^= 1,
        Edit::InputCut => edited.truncate(at),
        Edit::None | Edit::Format | Edit::Mode | Edit::Checks => return None,
    }
    fs::write(&path, edited).expect("the folder is writable");
    Some(Box::new(move || fs::write(&path, bytes).expect("the folder is writable")))
}

/// Where the rows of a source begin that were sent, in bytes.
fn sent_rows(reading: &Reading, source: i64) -> Vec<usize> {
    let splits = reading.splits_from(source, 1).expect("a ledger can be read");
    let rows = splits.iter().flat_map(|split| reading.read_rows(split).expect("a ledger can be read"));
    rows.filter(|row| row.was_sent).map(|row| row.row.byte_offset as usize).collect()
}
