//! Read: CSV and JSON lines, from a file or a stream, in splits. The room's one decision is what a record is: a row, or a
//! failure with its position. Values stay what they were (`0012`, `1.10`), nothing is repaired, and memory does not grow
//! with the input.
//!
//! | file | noun |
//! |---|---|
//! | `reader` | the source being read, split by split |
//! | `known` | what was read before, compared with what is there now |
//! | `input` | the raw bytes: offset, line, running digest, stalls |
//! | `layout` | format, delimiter, and what is refused at the door |
//! | `header` | the names of the columns |
//! | `delimited` | records of CSV |
//! | `lines` | records of JSON lines |
//! | `exact_json` | a JSON object without loss |
//! | `damage` | what is kept of a record that cannot be a row |

mod damage;
mod delimited;
mod error;
mod exact_json;
mod header;
mod input;
mod known;
mod layout;
mod lines;
mod reader;

pub use error::SourceError;
pub use known::{Checkpoint, Known};
pub use layout::Format;
pub use reader::{Origin, SourceOptions, SourceReader, Split};

/// Records of one split, at most.
pub const SPLIT_ROWS_MAX: usize = 1_000;
/// Bytes of input after which a split ends with the record under way.
pub const SPLIT_BYTES_MAX: u64 = 4 << 20;
/// How long a split of a slow stream waits for more records after its first.
pub const SPLIT_WAIT: std::time::Duration = std::time::Duration::from_secs(1);
/// Bytes of one CSV cell, or of one JSON value of a row, at most.
pub const FIELD_BYTES_MAX: usize = 1 << 20;
/// Raw bytes of one record without its line end, at most.
pub const ROW_BYTES_MAX: u64 = 16 << 20;
/// Columns of a source, at most.
pub const COLUMNS_MAX: usize = 1_024;
/// Lists and objects inside one another in a JSON row, the row itself counted, at most.
pub const JSON_DEPTH_MAX: usize = 64;

/// How the JSON library marks texts of its own. An object with such a name in it is read back as something else, from the
/// ledger and from the outputs, so no column may be called so.
const NAME_RESERVED: &str = "$serde_json::private::";

/// What a reader of records came to.
enum Step {
    Record(crate::model::Record),
    /// Nothing more before the deadline; what was read of the next record is kept.
    Stalled,
    /// The input is over.
    Ended,
}
