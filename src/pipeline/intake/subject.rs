//! The subject of a row: the value of the `id` column, which every output repeats. It is cleaned like a value that is
//! sent, so that subjects can be joined with the user's own tables.

use crate::model::{Note, Row, field::visible::clean};

/// The subject, and notes on what was changed in it; `None` if there is no `id` column, or nothing or more than one
/// value in it.
pub fn subject(row: &Row, id: Option<&str>) -> Option<(String, Vec<Note>)> {
    let text = row.get(id?)?.to_text()?;
    let cleaned = clean(&text);
    (!cleaned.text.is_empty()).then(|| (cleaned.text.into_owned(), cleaned.notes))
}
