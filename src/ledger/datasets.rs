//! The versions of the service's list that answers name. A campaign that takes days may be answered with several.

use super::LedgerError;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The maximum number of versions of one check that are kept apart. Later answers count with the last one.
const VERSIONS_MAX: usize = 32;

/// A version of the service's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetSeen {
    pub version: String,
    /// The number of answers that were made with it.
    pub answers: u64,
    /// When the first and the last of them came, in microseconds since 1970.
    pub first_us: i64,
    pub last_us: i64,
}

/// Counts the versions of each check from the answers.
pub(super) fn recounted(conn: &Connection) -> Result<BTreeMap<String, Vec<DatasetSeen>>, LedgerError> {
    let mut select = conn.prepare(
        "SELECT check_name, version, completed_at FROM dataset_of_answer
         JOIN answer USING (request) JOIN request ON request.id = request
         ORDER BY completed_at, request",
    )?;
    let mut rows = select.query([])?;
    let mut found: BTreeMap<String, Vec<DatasetSeen>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let (check, version): (String, String) = (row.get(0)?, row.get(1)?);
        note(found.entry(check).or_default(), &version, row.get(2)?);
    }
    Ok(found)
}

/// Notes an answer that was made with this version.
pub(super) fn note(seen: &mut Vec<DatasetSeen>, version: &str, now_us: i64) {
    let at = match seen.iter().position(|one| one.version == version) {
        Some(at) => at,
        None if seen.len() >= VERSIONS_MAX => seen.len() - 1,
        None => {
            seen.push(DatasetSeen { version: version.to_owned(), answers: 0, first_us: now_us, last_us: now_us });
            seen.len() - 1
        }
    };
    seen[at].answers += 1;
    seen[at].last_us = seen[at].last_us.max(now_us);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_counted_in_the_order_of_their_first_answer_and_limited() {
        let mut seen = Vec::new();
        for (version, now_us) in [("a", 1), ("b", 2), ("a", 3)] {
            note(&mut seen, version, now_us);
        }
        let counts: Vec<_> =
            seen.iter().map(|one| (one.version.as_str(), one.answers, one.first_us, one.last_us)).collect();
        assert_eq!(counts, [("a", 2, 1, 3), ("b", 1, 2, 2)]);
        (0..100).for_each(|number| note(&mut seen, &number.to_string(), 9));
        assert_eq!((seen.len(), seen.iter().map(|one| one.answers).sum::<u64>()), (VERSIONS_MAX, 103));
    }
}
