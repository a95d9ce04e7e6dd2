//! Records: turns the bytes of a source into rows, or into failures with their position.

pub mod content;
pub mod csv;
pub mod damaged;
pub mod header;
pub mod json_object;
pub mod jsonl;
pub mod shapes;

/// Ctrl-Z, the end-of-file character of DOS. Alone after the last line end it is not a row; anywhere else it is part of
/// a value.
pub const END_MARK: u8 = 0x1a;

/// The prefix of names that serde_json reserves. An object with such a name is read back as something else from the
/// ledger and the outputs, so no column may have such a name.
pub const NAME_RESERVED: &str = "$serde_json::private::";

/// The result of reading a record.
pub enum RecordStep {
    Record(crate::model::Record),
    /// No complete record before the deadline; the part that was read is kept.
    Stalled,
    /// The input has ended.
    Ended,
}
