//! Parts: the asks of a result file are recorded before the file is written, so that it can be written again byte for
//! byte. That the file is complete is recorded before the manifest names it.

use super::{CheckUseRow, Ledger, LedgerError, store::Store};
use crate::model::Verdict;
use rusqlite::params;
use std::collections::BTreeMap;

/// A result part of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerPart {
    pub id: i64,
    /// The check in the campaign.
    pub check_use: i64,
    pub first_ask: i64,
    pub last_ask: i64,
    pub rows: u64,
    /// The path, relative to the output folder.
    pub path: String,
    /// Size in bytes and SHA-256 (hexadecimal), once the file is complete.
    pub written: Option<(u64, String)>,
    /// The same of the file with its answers, if they are a dataset of their own.
    pub answers: Option<(u64, String)>,
    /// The rules it was made with.
    pub rules: Option<i64>,
}

/// The files of a part once they are complete: size in bytes and SHA-256 (hexadecimal) of each.
#[derive(Debug, Clone)]
pub struct PartFiles {
    pub results: (u64, String),
    /// The file with its answers, if they are a dataset of their own.
    pub answers: Option<(u64, String)>,
}

impl LedgerPart {
    /// The path of the file with its answers, relative to the output folder.
    pub fn answers_path(&self) -> String {
        answers_path(&self.path)
    }

    /// Checks that [`record`] could have made this part for that check. The ledger is untrusted data, so its text must
    /// not decide where files are written.
    pub(super) fn check(&self, check: Option<&CheckUseRow>) -> Result<(), LedgerError> {
        let damaged = |what: &str| Err(LedgerError::Damaged(format!("part {} {what}", self.id)));
        let Some(check) = check else { return damaged("belongs to a check that the campaign does not have") };
        let is_its_path = |extension: &&str| self.path == part_path(&check.name, self.id, extension);
        if !EXTENSIONS.iter().any(is_its_path) {
            return damaged("has a path that does not match its number and check");
        }
        let asks = self.last_ask.checked_sub(self.first_ask).and_then(|asks| u64::try_from(asks).ok());
        match asks {
            Some(asks) if self.first_ask > 0 && (1..=asks.saturating_add(1)).contains(&self.rows) => Ok(()),
            _ => damaged("counts rows that it cannot have"),
        }
    }
}

/// The file extensions of the result formats.
const EXTENSIONS: [&str; 2] = ["parquet", "jsonl"];

/// The path of a part in its output folder.
fn part_path(check: &str, id: i64, extension: &str) -> String {
    format!("results/{check}/part-{id:06}.{extension}")
}

/// The path of the file with the answers of a part, by that of the part.
fn answers_path(part: &str) -> String {
    format!("answers/{}", part.strip_prefix("results/").unwrap_or(part))
}

/// The paths that the files of a part may have, whatever its format.
pub(super) fn paths_of(check: &str, id: i64) -> Vec<String> {
    let of_format = |extension| {
        let path = part_path(check, id, extension);
        [answers_path(&path), path]
    };
    EXTENSIONS.into_iter().flat_map(of_format).collect()
}

/// How to make the next parts.
#[derive(Debug, Clone)]
pub struct PartPlan {
    /// The maximum number of rows in a part.
    pub rows_max: u64,
    /// The file extension.
    pub extension: String,
    /// The folder names of the checks, by their id in the campaign.
    pub folders: BTreeMap<i64, String>,
    /// The current rules of the checks, by their id in the campaign.
    pub rules: BTreeMap<i64, i64>,
    /// Whether answers that no rule recognises become results.
    pub accept_unrecognised: bool,
}

impl Ledger {
    /// Assigns up to `rows_max` answered asks to new parts. Returns each part with its asks in order, and no parts if no
    /// ask waits.
    pub fn cut_parts(&self, plan: PartPlan) -> Result<Vec<(LedgerPart, Vec<i64>)>, LedgerError> {
        self.write_blocking(move |store| cut(store, &plan))
    }

    /// Records that the files of a part are complete, and its rows by verdict. `answers` are the same rows by the verdict of
    /// their answer alone.
    pub fn part_written(
        &self,
        part: i64,
        files: PartFiles,
        verdicts: BTreeMap<Verdict, u64>,
        answers: BTreeMap<Verdict, u64>,
    ) -> Result<(), LedgerError> {
        let counts: BTreeMap<&str, u64> = verdicts.iter().map(|(verdict, count)| (verdict.as_str(), *count)).collect();
        let text = serde_json::to_string(&counts).expect("verdict names and counts");
        self.write_blocking(move |store| {
            let sql = "SELECT check_use, bytes IS NULL FROM part WHERE id = ?1";
            let (check_use, is_new) = store.conn.query_row(sql, [part], |row| Ok((row.get(0)?, row.get(1)?)))?;
            if is_new {
                store.sums.check(check_use).republish(&answers, &verdicts);
            }
            let sql = "UPDATE part SET bytes = ?2, sha256 = ?3, verdicts = ?4 WHERE id = ?1";
            let (bytes, sha256) = files.results;
            store.conn.execute(sql, params![part, bytes as i64, sha256, text])?;
            if let Some((bytes, sha256)) = files.answers {
                let sql = "INSERT OR REPLACE INTO answers_of_part (part, bytes, sha256) VALUES (?1, ?2, ?3)";
                store.conn.execute(sql, params![part, bytes as i64, sha256])?;
            }
            Ok(())
        })
    }
}

fn cut(store: &mut Store, plan: &PartPlan) -> Result<Vec<(LedgerPart, Vec<i64>)>, LedgerError> {
    let mut by_check: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    // `CROSS JOIN` keeps the order of the tables: SQLite would read every ask to sort nothing.
    let mut select = store.conn.prepare_cached(
        "SELECT ask.id, ask.check_use FROM unpublished CROSS JOIN ask ON ask.request = unpublished.request
         WHERE ask.part IS NULL
           AND NOT EXISTS (SELECT 1 FROM unjudged WHERE unjudged.request = unpublished.request)
           AND (?2 OR NOT EXISTS (SELECT 1 FROM unrecognised WHERE unrecognised.request = unpublished.request))
         ORDER BY unpublished.request LIMIT ?1",
    )?;
    let mut rows = select.query(params![plan.rows_max as i64, plan.accept_unrecognised])?;
    while let Some(row) = rows.next()? {
        by_check.entry(row.get(1)?).or_default().push(row.get(0)?);
    }
    drop(rows);
    drop(select);
    let mut parts = Vec::new();
    for (check_use, mut asks) in by_check {
        asks.sort_unstable();
        parts.push((record(store, plan, check_use, &asks)?, asks));
    }
    store.conn.execute(
        "DELETE FROM unpublished WHERE NOT EXISTS
         (SELECT 1 FROM ask WHERE ask.request = unpublished.request AND ask.part IS NULL)",
        [],
    )?;
    store.conn.execute("DELETE FROM unrecognised WHERE request NOT IN (SELECT request FROM unpublished)", [])?;
    Ok(parts)
}

fn record(store: &mut Store, plan: &PartPlan, check_use: i64, asks: &[i64]) -> Result<LedgerPart, LedgerError> {
    let unknown =
        || LedgerError::Damaged(format!("an ask belongs to check {check_use}, which the campaign does not have"));
    let folder = plan.folders.get(&check_use).ok_or_else(unknown)?;
    let (first_ask, last_ask) = (asks[0], asks[asks.len() - 1]);
    let id: i64 = store.conn.query_row("SELECT coalesce(max(id), 0) + 1 FROM part", [], |row| row.get(0))?;
    let path = part_path(folder, id, &plan.extension);
    let rows = asks.len() as u64;
    store.conn.execute(
        "INSERT INTO part (id, check_use, first_ask, last_ask, rows, path) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![id, check_use, first_ask, last_ask, rows as i64, path],
    )?;
    let rules = plan.rules.get(&check_use).copied();
    if let Some(rules) = rules {
        store.conn.execute("INSERT INTO part_rules (part, rules) VALUES (?1, ?2)", params![id, rules])?;
    }
    assign(store, asks, id)?;
    store.sums.check(Some(check_use)).published += rows;
    Ok(LedgerPart { id, check_use, first_ask, last_ask, rows, path, written: None, answers: None, rules })
}

fn assign(store: &Store, asks: &[i64], part: i64) -> Result<(), LedgerError> {
    let mut assign = store.conn.prepare_cached("UPDATE ask SET part = ?2 WHERE id = ?1")?;
    for ask in asks {
        assign.execute(params![ask, part])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_the_program_could_not_have_recorded_is_damage() {
        let check = CheckUseRow { name: "aml".to_owned(), check: "aml-screening".to_owned(), layout: "{}".to_owned() };
        let good = LedgerPart {
            id: 7,
            check_use: 1,
            first_ask: 3,
            last_ask: 5,
            rows: 3,
            path: "results/aml/part-000007.jsonl".to_owned(),
            written: None,
            answers: None,
            rules: None,
        };
        let one = LedgerPart { first_ask: 5, rows: 1, ..good.clone() };
        assert!(good.check(Some(&check)).is_ok() && one.check(Some(&check)).is_ok());
        assert!(good.check(None).is_err(), "no such check");
        let path = |path: &str| LedgerPart { path: path.to_owned(), ..good.clone() };
        for bad in [
            path("results/aml/part-000008.jsonl"),
            path("results/other/part-000007.jsonl"),
            path("results/aml/part-000007.sh"),
            path("../part-000007.jsonl"),
            LedgerPart { rows: 4, ..good.clone() },
            LedgerPart { rows: 0, ..good.clone() },
            LedgerPart { first_ask: 6, ..good.clone() },
            LedgerPart { first_ask: 0, ..good.clone() },
            LedgerPart { first_ask: i64::MIN, ..good.clone() },
        ] {
            assert!(matches!(bad.check(Some(&check)), Err(LedgerError::Damaged(_))), "{bad:?}");
        }
    }
}
