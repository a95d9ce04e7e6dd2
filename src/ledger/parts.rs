//! Parts: which asks a result file holds is durable before the file is written, so it can be written again byte for byte;
//! that it is whole is durable before the manifest names it.

use super::{Ledger, LedgerError, store::Store};
use rusqlite::params;
use std::collections::BTreeMap;

/// A result part of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub id: i64,
    /// The check in the campaign.
    pub check_use: i64,
    pub first_ask: i64,
    pub last_ask: i64,
    pub rows: u64,
    /// Relative to the output folder.
    pub path: String,
    /// Bytes and SHA-256 (hexadecimal), once the file is whole.
    pub written: Option<(u64, String)>,
}

/// How the next parts are cut.
#[derive(Debug, Clone)]
pub struct PartPlan {
    /// Rows a part holds at most.
    pub rows_max: u64,
    /// File name extension.
    pub extension: String,
    /// Names of the checks in the campaign by number: each has a folder of its own.
    pub folders: BTreeMap<i64, String>,
}

impl Ledger {
    /// Puts answered asks into new parts, up to `rows_max` of them; empty where nothing waits.
    pub fn cut_parts(&self, plan: PartPlan) -> Result<Vec<Part>, LedgerError> {
        self.write_blocking(move |store| cut(store, &plan))
    }

    /// Notes that a part's file is whole.
    pub fn part_written(&self, part: i64, bytes: u64, sha256: String) -> Result<(), LedgerError> {
        self.write_blocking(move |store| {
            let sql = "UPDATE part SET bytes = ?2, sha256 = ?3 WHERE id = ?1";
            store.conn.execute(sql, params![part, bytes as i64, sha256])?;
            Ok(())
        })
    }
}

fn cut(store: &mut Store, plan: &PartPlan) -> Result<Vec<Part>, LedgerError> {
    let mut by_check: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    let mut select = store.conn.prepare_cached(
        "SELECT ask.id, ask.check_use FROM unpublished JOIN ask ON ask.request = unpublished.request
         WHERE ask.part IS NULL ORDER BY unpublished.request LIMIT ?1",
    )?;
    let mut rows = select.query([plan.rows_max as i64])?;
    while let Some(row) = rows.next()? {
        by_check.entry(row.get(1)?).or_default().push(row.get(0)?);
    }
    drop(rows);
    drop(select);
    let mut parts = Vec::new();
    for (check_use, mut asks) in by_check {
        asks.sort_unstable();
        parts.push(record(store, plan, check_use, &asks)?);
    }
    store.conn.execute(
        "DELETE FROM unpublished WHERE NOT EXISTS
         (SELECT 1 FROM ask WHERE ask.request = unpublished.request AND ask.part IS NULL)",
        [],
    )?;
    Ok(parts)
}

fn record(store: &Store, plan: &PartPlan, check_use: i64, asks: &[i64]) -> Result<Part, LedgerError> {
    let unknown = || LedgerError::Damaged(format!("an ask belongs to check {check_use}, which the campaign lacks"));
    let folder = plan.folders.get(&check_use).ok_or_else(unknown)?;
    let (first_ask, last_ask) = (asks[0], asks[asks.len() - 1]);
    let id: i64 = store.conn.query_row("SELECT coalesce(max(id), 0) + 1 FROM part", [], |row| row.get(0))?;
    let path = format!("results/{folder}/part-{id:06}.{}", plan.extension);
    let rows = asks.len() as u64;
    store.conn.execute(
        "INSERT INTO part (id, check_use, first_ask, last_ask, rows, path) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![id, check_use, first_ask, last_ask, rows as i64, path],
    )?;
    let mut assign = store.conn.prepare_cached("UPDATE ask SET part = ?2 WHERE id = ?1")?;
    for ask in asks {
        assign.execute(params![ask, id])?;
    }
    Ok(Part { id, check_use, first_ask, last_ask, rows, path, written: None })
}
