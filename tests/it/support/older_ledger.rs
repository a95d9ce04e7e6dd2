//! Makes a ledger of an earlier version out of a current one, which holds no data that the version did not know.

use rusqlite::Connection;

/// What each version added, newest first, and how it is taken away.
const TAKEN_AWAY: [(i64, &str); 3] = [
    (
        10,
        "DROP TABLE dictionary; DROP TABLE judged_again; DROP INDEX request_in_state; DROP INDEX request_waiting;
         CREATE INDEX request_unanswered ON request (state, id) WHERE state <> 10;
         CREATE INDEX request_sent_before ON request (state, last_attempt) WHERE state <> 10 AND attempts > 0;
         INSERT INTO attempt (request, number, generation, armed_at)
         SELECT id, attempts, generation, first_armed_at FROM request WHERE state = 1 ON CONFLICT DO NOTHING;",
    ),
    (9, "DROP TABLE answers_of_part; DROP TABLE correction;"),
    (8, "DROP TABLE run;"),
];

/// Gives a ledger the schema of this version, which is 7 or later.
pub fn downgrade(ledger: &Connection, version: i64) {
    for (_, sql) in TAKEN_AWAY.iter().filter(|(added_by, _)| *added_by > version) {
        ledger.execute_batch(sql).unwrap();
    }
    ledger.pragma_update(None, "user_version", version).unwrap();
}
