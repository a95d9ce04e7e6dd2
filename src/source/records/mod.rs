//! Records: how the bytes of a source become rows, or failures with their position.

pub mod content;
pub mod csv;
pub mod damaged;
pub mod header;
pub mod json_object;
pub mod jsonl;

/// Ctrl-Z, with which DOS ends a text: alone behind the last line end it is no row; anywhere else it is part of a value.
pub const END_MARK: u8 = 0x1a;

/// How the JSON library marks texts of its own. An object with such a name in it is read back as something else, from the
/// ledger and from the outputs, so no column may be called so.
pub const NAME_RESERVED: &str = "$serde_json::private::";

/// What a reader of records came to.
pub enum RecordStep {
    Record(crate::model::Record),
    /// Nothing more before the deadline; what was read of the next record is kept.
    Stalled,
    /// The input is over.
    Ended,
}
