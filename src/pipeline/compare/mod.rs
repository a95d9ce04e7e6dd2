//! What changed between two rounds, from what both have published: by subject and check name. The ledgers are not needed,
//! and nothing is sent.
//!
//! | file | contents |
//! |---|---|
//! | `comparison` | two rounds, check by check |
//! | `change` | the kinds of change, and which kind a pair of asks has |
//! | `round` | a round being read |
//! | `differences` | what differs between two results |
//! | `side` | the asks of one check in one round, and their partners |
//! | `answers` | whether the answers of a check can be compared |
//! | `changed_rows` | the rows of the new round that changed, by their ids |

mod answers;
mod change;
mod changed_rows;
mod comparison;
mod differences;
mod round;
mod side;

pub use answers::AnswersCompared;
pub use change::{Change, Outcome};
pub use changed_rows::{ChangedRow, ChangedRows, changed_rows};
pub use comparison::{
    AskInRound, CheckComparison, CheckInRound, CompareOptions, ComparedAsk, ComparedRound, Comparison, compare,
};
pub use differences::{Difference, differences};
