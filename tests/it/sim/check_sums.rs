//! The sums of the checks, which progress and manifest show, say what the rows say: counted here with queries of its own.

use rescreen::{ledger::Sums, model::FailureCode};
use rusqlite::{Connection, Row};
use std::collections::BTreeMap;

/// The asks of one check, counted from the rows: how many there are, are skipped, have failed, are answered and are in a
/// part.
type Counts = [u64; 5];

/// What is wrong with the sums of the checks; `None` if nothing is.
pub fn wrong(ledger: &Connection) -> Option<String> {
    let text: String = ledger.query_row("SELECT sums FROM campaign", [], |row| row.get(0)).ok()?;
    let sums: Sums = serde_json::from_str(&text).expect("the ledger's sums are sums");
    let of_sums: BTreeMap<i64, Counts> = sums
        .checks
        .iter()
        .map(|(id, check)| (*id, [check.asks, check.skipped, check.failed(), check.answered(), check.published]))
        .collect();
    let rows = counted(ledger).expect("the ledger's asks");
    if of_sums != rows {
        return Some(format!("the sums of the checks are {of_sums:?}, the rows say {rows:?}"));
    }
    let charged: u64 = sums.checks.values().map(|check| check.charged.0).sum();
    if charged != sums.account.charged.0 {
        return Some(format!("the checks cost {charged}, {} are charged", sums.account.charged));
    }
    let codes = codes(ledger).expect("the ledger's failures");
    let of_sums: BTreeMap<String, u64> = sums
        .failures()
        .into_iter()
        .map(|(code, count): (FailureCode, u64)| (code.as_str().to_owned(), count))
        .collect();
    (of_sums != codes).then(|| format!("the sums count the failures {of_sums:?}, the rows say {codes:?}"))
}

fn counted(ledger: &Connection) -> rusqlite::Result<BTreeMap<i64, Counts>> {
    let mut select = ledger.prepare(
        "SELECT ifnull(check_use, 0), count(*), sum(skipped IS NOT NULL),
                sum(ask.failure IS NOT NULL OR ifnull(state, 0) = 11), sum(ifnull(state, 0) = 10), sum(part IS NOT NULL)
         FROM ask LEFT JOIN request ON ask.request = request.id GROUP BY check_use",
    )?;
    let count = |row: &Row<'_>, at: usize| row.get::<_, i64>(at).map(i64::unsigned_abs);
    let found = select.query_map([], |row| {
        Ok((row.get(0)?, [count(row, 1)?, count(row, 2)?, count(row, 3)?, count(row, 4)?, count(row, 5)?]))
    })?;
    found.collect()
}

fn codes(ledger: &Connection) -> rusqlite::Result<BTreeMap<String, u64>> {
    let mut select = ledger.prepare(
        "SELECT json_extract(ifnull(ask.failure, request.failure), '$.code'), count(*)
         FROM ask LEFT JOIN request ON ask.request = request.id
         WHERE ask.failure IS NOT NULL OR state = 11 GROUP BY 1",
    )?;
    let found = select.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
    found.collect()
}
