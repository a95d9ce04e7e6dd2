//! The examination of a ledger without writing to it: whether its pages are intact and its rows add up to its sums, and
//! what was sent lately. A run may be writing it meanwhile.

use super::{LedgerError, Reading, recount::matches};
use rusqlite::params;
use std::time::Duration;

impl Reading {
    /// Examines the ledger. Returns the number of its requests.
    ///
    /// # Errors
    /// It is damaged, or cannot be read.
    pub fn examine(&self) -> Result<u64, LedgerError> {
        self.hold_still()?;
        let found: String = self.conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if found != "ok" {
            return Err(LedgerError::Damaged(format!("its pages: {found}")).at(self.path()));
        }
        let sums = self.sums()?;
        // A run that was killed may leave older sums. The next run counts them again from the rows.
        if !matches(&self.conn, &sums, true)? {
            tracing::info!("the sums of the ledger do not match its rows; the next run counts them again");
        }
        self.read_kept()?;
        Ok(sums.requests())
    }

    /// Reads all that is compressed: its bytes may differ in pages that are intact.
    fn read_kept(&self) -> Result<(), LedgerError> {
        let mut select = self.conn.prepare("SELECT body FROM answer")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            self.answers.decompress(&self.conn, row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?)?;
        }
        let mut select = self.conn.prepare("SELECT id FROM split")?;
        let splits = select.query_map([], |row| row.get(0))?;
        splits.into_iter().try_for_each(|split| self.rows_of_split(split?).map(drop))?;
        self.unread_replies(|_| Ok(()))
    }

    /// How long ago each request of a check was sent in the last hour.
    pub fn sent_in_last_hour(&self, check: &str, now_us: i64) -> Result<Vec<Duration>, LedgerError> {
        const HOUR_US: i64 = 3_600_000_000;
        let sql = "SELECT armed_at FROM attempt JOIN request ON request.id = attempt.request
                   WHERE check_name = ?1 AND armed_at > ?2 AND outcome IS NOT 'not_written' LIMIT 100000";
        let mut select = self.conn.prepare_cached(sql)?;
        let found = select.query_map(params![check, now_us.saturating_sub(HOUR_US)], |row| row.get::<_, i64>(0))?;
        let ago = |at: i64| Duration::from_micros(u64::try_from(now_us.saturating_sub(at)).unwrap_or_default());
        found.map(|at| Ok(ago(at?))).collect()
    }
}
