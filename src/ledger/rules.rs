//! The rules by which answers are read and judged, and what they say about answers that are already recorded. Rules are
//! kept as JSON, which the ledger does not interpret. A change of the rules never changes a request, a charge or a part:
//! it decides only whether an answer that is in no part yet is recognised, and how many rows of the existing parts would
//! be judged differently.

use super::{Ledger, LedgerError, LedgerPart, Reading, amount::Amounts, store::Store};
use crate::model::RequestId;
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Rules as they are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RulesRow {
    pub id: i64,
    /// The catalogue name of the check.
    pub check: String,
    /// JSON.
    pub text: String,
}

/// An answer that the current rules have not judged yet.
pub struct AnswerToJudge {
    pub request: RequestId,
    /// The catalogue name of the check.
    pub check: String,
    /// The body that was sent.
    pub body: Vec<u8>,
    /// The raw answer.
    pub answer: Vec<u8>,
    /// When the answer came, in microseconds since 1970.
    pub completed_at_us: i64,
}

impl Ledger {
    /// Makes these the current rules of a check, and returns their id. If they were not the current ones, every answer
    /// of the check that is in no part yet must be judged again.
    pub async fn use_rules(&self, check: String, text: String) -> Result<i64, LedgerError> {
        self.write(move |store| use_rules(store, &check, &text)).await
    }

    /// Records whether the current rules recognise these answers.
    pub fn judged(&self, answers: Vec<(RequestId, bool)>) -> Result<(), LedgerError> {
        self.write_blocking(move |store| {
            for (RequestId(request), is_recognised) in answers {
                let sql = if is_recognised {
                    "DELETE FROM unrecognised WHERE request = ?1"
                } else {
                    "INSERT OR IGNORE INTO unrecognised VALUES (?1)"
                };
                store.conn.prepare_cached(sql)?.execute([request])?;
                store.conn.prepare_cached("DELETE FROM unjudged WHERE request = ?1")?.execute([request])?;
                store.conn.prepare_cached("INSERT OR IGNORE INTO judged_again VALUES (?1)")?.execute([request])?;
            }
            Ok(())
        })
    }

    /// Records how many rows of a part these rules judge differently.
    pub fn compared(&self, part: i64, rules: i64, differing: u64) -> Result<(), LedgerError> {
        self.write_blocking(move |store| {
            let sql = "INSERT OR REPLACE INTO compared (part, rules, differing) VALUES (?1, ?2, ?3)";
            store.conn.prepare_cached(sql)?.execute(params![part, rules, differing as i64])?;
            Ok(())
        })
    }
}

fn use_rules(store: &mut Store, check: &str, text: &str) -> Result<i64, LedgerError> {
    let digest: [u8; 32] = Sha256::digest(text).into();
    let sql = "SELECT id FROM rules WHERE check_name = ?1 AND digest = ?2";
    let known: Option<i64> = store.conn.query_row(sql, params![check, digest], |row| row.get(0)).optional()?;
    let rules = match known {
        Some(rules) => rules,
        None => {
            let sql = "INSERT INTO rules (check_name, digest, text) VALUES (?1, ?2, ?3)";
            store.conn.execute(sql, params![check, digest, text])?;
            store.conn.last_insert_rowid()
        }
    };
    if current(&store.conn)?.get(check) == Some(&rules) {
        return Ok(rules);
    }
    let sql = "INSERT OR REPLACE INTO current_rules (check_name, rules) VALUES (?1, ?2)";
    store.conn.execute(sql, params![check, rules])?;
    let sql = "INSERT OR IGNORE INTO unjudged SELECT unpublished.request FROM unpublished
               CROSS JOIN request ON request.id = unpublished.request WHERE request.check_name = ?1";
    store.conn.execute(sql, [check])?;
    Ok(rules)
}

/// The id of the current rules of each check, by catalogue name.
fn current(conn: &Connection) -> Result<BTreeMap<String, i64>, LedgerError> {
    let mut select = conn.prepare_cached("SELECT check_name, rules FROM current_rules")?;
    let found = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

impl Reading {
    /// The current rules of each check, by catalogue name. A check that no run of this release has used has none.
    pub fn current_rules(&self) -> Result<BTreeMap<String, RulesRow>, LedgerError> {
        let ids = current(&self.conn)?;
        ids.into_iter().map(|(check, id)| Ok((check, self.rules(id)?))).collect()
    }

    /// Rules by their id.
    ///
    /// # Errors
    /// There are none with this id.
    pub fn rules(&self, id: i64) -> Result<RulesRow, LedgerError> {
        let sql = "SELECT check_name, text FROM rules WHERE id = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok(RulesRow { id, check: row.get(0)?, text: row.get(1)? });
        let found = self.conn.prepare_cached(sql)?.query_row([id], read).optional()?;
        found.ok_or_else(|| LedgerError::Damaged(format!("its rules {id} are missing")))
    }

    /// Gives up to `count` answers that the current rules have not judged yet to `each`, one at a time.
    pub fn to_judge<E: From<LedgerError>>(
        &self,
        count: usize,
        mut each: impl FnMut(AnswerToJudge) -> Result<(), E>,
    ) -> Result<(), E> {
        let read = || -> Result<Vec<i64>, LedgerError> {
            let mut select = self.conn.prepare_cached("SELECT request FROM unjudged ORDER BY request LIMIT ?1")?;
            let found = select.query_map([count as i64], |row| row.get(0))?;
            Ok(found.collect::<Result<_, _>>()?)
        };
        for request in read()? {
            each(self.answer_to_judge(request)?)?;
        }
        Ok(())
    }

    fn answer_to_judge(&self, request: i64) -> Result<AnswerToJudge, LedgerError> {
        let sql = "SELECT request.check_name, request.body, answer.body, answer.completed_at FROM request
                   JOIN answer ON answer.request = request.id WHERE request.id = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get::<_, Vec<u8>>(2)?, row.get(3)?));
        let (check, body, compressed, completed_at_us) = self.conn.prepare_cached(sql)?.query_row([request], read)?;
        let answer = self.answers.decompress(&self.conn, &compressed)?;
        Ok(AnswerToJudge { request: RequestId(request), check, body, answer, completed_at_us })
    }

    /// The number of asks in no part because the current rules do not recognise their answer.
    pub fn unrecognised(&self) -> Result<u64, LedgerError> {
        let sql = "SELECT count(*) FROM unrecognised CROSS JOIN ask ON ask.request = unrecognised.request
                   WHERE ask.part IS NULL";
        Ok(self.conn.query_row(sql, [], |row| row.amount(0))?)
    }

    /// The parts that were made with other rules than the current ones, and were not compared with them yet. Each comes
    /// with the id of the current rules of its check.
    pub fn parts_to_compare(&self) -> Result<Vec<(LedgerPart, i64)>, LedgerError> {
        let (current, checks) = (current(&self.conn)?, self.check_uses()?);
        let mut select = self.conn.prepare("SELECT part, rules FROM compared")?;
        let found = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let compared: BTreeMap<i64, i64> = found.collect::<Result<_, _>>()?;
        let parts = self.parts()?.into_iter().filter_map(|part| {
            let rules = *current.get(&checks.get(&part.check_use)?.check)?;
            let is_known = part.rules == Some(rules) || compared.get(&part.id) == Some(&rules);
            (!is_known && part.written.is_some()).then_some((part, rules))
        });
        Ok(parts.collect())
    }

    /// The number of published rows that the current rules judge differently, as far as parts were compared.
    pub fn judged_differently(&self) -> Result<u64, LedgerError> {
        let sql = "SELECT coalesce(sum(compared.differing), 0) FROM compared
                   JOIN part ON part.id = compared.part JOIN check_use ON check_use.id = part.check_use
                   JOIN current_rules ON current_rules.check_name = check_use.check_name
                   LEFT JOIN part_rules ON part_rules.part = part.id
                   WHERE compared.rules = current_rules.rules AND part_rules.rules IS NOT current_rules.rules";
        Ok(self.conn.query_row(sql, [], |row| row.amount(0))?)
    }
}
