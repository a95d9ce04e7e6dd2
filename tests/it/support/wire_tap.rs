//! Compares messages on the wire with attempts in the ledger, for every run of every world: nothing below the program
//! repeats a request, and nothing is sent that was not recorded. An attempt that is proven not written was not sent.

use rusqlite::Connection;
use std::path::Path;

/// Counts the checks that arrived, whatever their reply.
pub type Arrivals = Box<dyn Fn() -> u64 + Send + Sync>;

/// How the two counts must relate. An exception has its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    Equal,
    /// A message may be lost on its way: no more arrive than are recorded.
    AtMost(&'static str),
}

/// Both counts at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    pub arrived: u64,
    pub noted: u64,
}

impl Counted {
    /// Both counts grew by the same number since then.
    #[track_caller]
    pub fn grew_equally_since(self, before: Counted, counts: Counts) {
        let (arrived, noted) = (self.arrived - before.arrived, self.noted - before.noted);
        let fits = match counts {
            Counts::Equal => arrived == noted,
            Counts::AtMost(_) => arrived <= noted,
        };
        assert!(fits, "{arrived} checks arrived, {noted} attempts of this run are in the ledger ({counts:?})");
    }
}

/// Counts the attempts of a ledger that may have been sent. A first attempt in flight is a request that is armed.
pub const MAY_BE_SENT: &str = "(SELECT count(*) FROM attempt WHERE outcome IS NULL OR outcome <> 'not_written')
    + (SELECT count(*) FROM request WHERE state = 1 AND attempts = 1
       AND NOT EXISTS (SELECT 1 FROM attempt WHERE request = request.id))";

/// Attempts of a ledger that may have been sent; 0 where there is no ledger.
pub fn noted(ledger: &Path) -> u64 {
    if !ledger.exists() {
        return 0;
    }
    let ledger = Connection::open(ledger).unwrap();
    // A ledger of another schema, or of none, has no attempts of ours.
    ledger.query_row(&format!("SELECT {MAY_BE_SENT}"), [], |row| row.get::<_, i64>(0)).unwrap_or(0).unsigned_abs()
}

#[test]
#[should_panic(expected = "3 checks arrived, 2 attempts")]
fn a_check_sent_twice_for_one_attempt_is_found() {
    let before = Counted { arrived: 5, noted: 7 };
    Counted { arrived: 8, noted: 9 }.grew_equally_since(before, Counts::AtMost("a reason"));
}

#[test]
#[should_panic(expected = "1 checks arrived, 2 attempts")]
fn an_attempt_that_was_never_sent_is_found() {
    Counted { arrived: 1, noted: 2 }.grew_equally_since(Counted { arrived: 0, noted: 0 }, Counts::Equal);
}
