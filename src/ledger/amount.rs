//! Amounts and counts, as the ledger stores them: SQLite has signed numbers only, and the file is untrusted data. This
//! module decides that a negative amount is damage. It is never read as a positive one.

use crate::model::Credits;
use rusqlite::{Row, types::Type};

/// Reads columns that are never negative.
pub(super) trait Amounts {
    /// A count, or another number that is not negative.
    fn amount(&self, column: usize) -> rusqlite::Result<u64>;

    /// Credits.
    fn credits(&self, column: usize) -> rusqlite::Result<Credits> {
        self.amount(column).map(Credits)
    }

    /// A number that may be absent.
    fn amount_if_any(&self, column: usize) -> rusqlite::Result<Option<u64>>;
}

impl Amounts for Row<'_> {
    fn amount(&self, column: usize) -> rusqlite::Result<u64> {
        positive(self, column, self.get(column)?)
    }

    fn amount_if_any(&self, column: usize) -> rusqlite::Result<Option<u64>> {
        self.get::<_, Option<i64>>(column)?.map(|found| positive(self, column, found)).transpose()
    }
}

fn positive(row: &Row<'_>, column: usize, found: i64) -> rusqlite::Result<u64> {
    u64::try_from(found).map_err(|_| {
        let name = row.as_ref().column_name(column).unwrap_or_default().to_owned();
        rusqlite::Error::FromSqlConversionFailure(column, Type::Integer, Box::new(Negative { name, found }))
    })
}

/// A negative number in a column that has none.
#[derive(Debug, thiserror::Error)]
#[error("`{name}`: expected 0 or more, found {found}")]
struct Negative {
    name: String,
    found: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::LedgerError;
    use rusqlite::Connection;
    use std::path::Path;

    #[test]
    fn a_negative_amount_is_damage_and_its_column_is_named() {
        let conn = Connection::open_in_memory().unwrap();
        let read = |held: i64| conn.query_row("SELECT ?1 AS held", [held], |row| row.credits(0));
        for held in [0, 7, i64::MAX] {
            assert_eq!(read(held), Ok(Credits(held as u64)));
        }
        for held in [-1, i64::MIN] {
            let error = LedgerError::from(read(held).unwrap_err()).at(Path::new("out/ledger.sqlite"));
            let message = error.to_string();
            assert!(error.is_loss(), "{message}");
            for part in
                [&format!("`held`: expected 0 or more, found {held}"), "out/ledger.sqlite is damaged", "restore"]
            {
                assert!(message.contains(part), "{message}");
            }
        }
    }
}
