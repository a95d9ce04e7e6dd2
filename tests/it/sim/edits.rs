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
    // Before anything is sent, an input may change.
    if reading.sums().ok()?.attempts == 0 {
        return None;
    }
    let read = source.ends.last()?.end_offset as usize;
    let path = folder.join(&source.name);
    let bytes = fs::read(&path).expect("a book that was read");
    let mut edited = bytes.clone();
    match edit {
        Edit::InputChanged => edited[read / 2] ^= 1,
        Edit::InputCut => edited.truncate(read / 2),
        Edit::None | Edit::Format | Edit::Mode | Edit::Checks => return None,
    }
    fs::write(&path, edited).expect("the folder is writable");
    Some(Box::new(move || fs::write(&path, bytes).expect("the folder is writable")))
}
