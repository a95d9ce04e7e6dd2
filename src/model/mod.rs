//! The pure core: the data types of the project and the decisions about them. Nothing here reads files or sockets, and
//! the time comes from a clock that is passed in, so every rule can be tested by calling a function.

pub mod budget;
pub mod checkpoint;
pub mod clock;
pub mod column_name;
pub mod credits;
pub mod exit_code;
pub mod failure;
pub mod fault_point;
pub mod field;
pub mod file_name;
pub mod json_values;
pub mod key;
pub mod mode;
pub mod nearest;
pub mod note;
pub mod planted;
mod planted_moves;
pub mod printable;
pub mod reply_text;
pub mod request;
pub mod rng;
pub mod row;
pub mod state;
pub mod stop;
pub mod transitions;
pub mod verdict;
pub mod witness;

pub use checkpoint::Checkpoint;
pub use clock::Clock;
pub use credits::Credits;
pub use exit_code::ExitCode;
pub use failure::{Failure, FailureCode, Stage};
pub use key::{IdempotencyKey, KeyMaker, KeySecret};
pub use mode::Mode;
pub use note::Note;
pub use request::{CanonicalRequest, SIMULATOR_MARKER};
pub use row::{Position, Record, Row};
pub use stop::Stop;
pub use verdict::{Judgement, Verdict};
pub use witness::{Permit, Receipt, RequestId};
