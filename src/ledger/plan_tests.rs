//! How SQLite plans every statement of the ledger. A campaign can have millions of requests, so a statement that reads all
//! of them is listed here with a reason. The statements are taken from the source text, so that none can be forgotten.

use super::{
    attempts::EVERY_ATTEMPT, dictionary::MAKES_DICTIONARY, purge::LEAVES, reading::DATASET, request_row::COLUMNS,
    reread::IS_UNSENT, schema,
};
use rusqlite::Connection;
use std::{fs, path::Path};

/// The statements that read a whole table, by a part of their text.
const READ_ALL: [(&str, &str); 29] = [
    ("coalesce(max(id), 0) + 1 FROM ask", "only the last row is read"),
    ("SELECT id FROM request WHERE state = ?1", "not before the sums say that there are such requests"),
    ("SET revision = 1 WHERE revision = 0", "once for each charge book"),
    ("INTO untold (request) SELECT id FROM request", "once for each charge book and each failover of its server"),
    ("SELECT request, armed_at, outcome FROM attempt UNION ALL", "the report"),
    ("{DATASET} AS dataset", "evidence"),
    ("{LEAVES}", "a purge"),
    ("split, row_index FROM ask ORDER BY id", "a purge"),
    ("id NOT IN (SELECT request FROM purged_request)", "a purge"),
    ("answer.body, reused.campaign", "evidence"),
    ("iif(reused.request IS NULL, answer.request_id, NULL), job.job_id", "a comparison with a statement"),
    ("min(armed_at), max(armed_at)", "the report"),
    ("SELECT armed_at / ?1, count(*)", "the report"),
    ("SELECT armed_at, outcome IS ?1", "the report"),
    ("SELECT ask.check_use, answer.latency_ms, count(*)", "the report"),
    ("WHERE ask.id <> request.first_ask", "the report"),
    ("SELECT coalesce(ask.check_use, 0), request.state, count(*)", "the report"),
    ("{DATASET} AS place", "the last publication counts every ask"),
    ("count(skipped), count(part) FROM ask", "a recount"),
    ("coalesce(ask.failure, request.failure) ->> '$.code'", "a recount"),
    ("WHERE state = 10 AND (part IS NULL", "a recount"),
    ("FROM ask WHERE check_use IS", "a recount"),
    ("coalesce(sum(attempts), 0) FROM request", "a recount"),
    ("count(*) FROM request WHERE verdict", "a recount"),
    ("FROM request GROUP BY", "a recount, also after a run that was killed"),
    ("min(id), max(id) FROM ask GROUP BY split", "once for each input that changed"),
    ("DELETE FROM split", "once for each split that is gone from an input that changed"),
    ("ask.row_index = split.rows - 1", "once for each line that was completed after it was read"),
    ("armed_at > ?2 AND outcome IS NOT 'not_written'", "a check with a limit per hour has few requests"),
];

/// What format strings insert into statements. A statement is planned with each value that fits it.
const INSERTED: [(&str, &[&str]); 31] = [
    ("DATASET", &[DATASET]),
    ("LEAVES", &[LEAVES]),
    ("MAKES_DICTIONARY", &[MAKES_DICTIONARY]),
    ("shared", &["request IN (SELECT request FROM purged_ask WHERE purge = ?1)"]),
    ("stays", &["EXISTS (SELECT 1 FROM ask WHERE ask.request = request.id AND NOT ask.id = ?1)"]),
    ("", &["2"]),
    ("COLUMNS", &[COLUMNS]),
    ("IS_UNSENT", &[IS_UNSENT]),
    ("EVERY_ATTEMPT", &[EVERY_ATTEMPT]),
    ("accepted", &["(SELECT decisions FROM accepted WHERE accepted.ask = ask.id)"]),
    ("reused", &["(SELECT campaign FROM reused WHERE reused.request = request.id)"]),
    ("accepted_at", &["(SELECT accepted_at FROM job WHERE job.request = request.id)"]),
    ("asks", &["[1]"]),
    ("bytes", &["8"]),
    ("amount", &["held", "charged", "price"]),
    ("column", &["first_key", "key"]),
    ("corrected", &["(SELECT row FROM correction WHERE correction.ask = ask.id ORDER BY id DESC LIMIT 1)"]),
    ("crossed", &["(SELECT count(*) FROM crossed WHERE crossed.request = request.id)"]),
    ("is_due", &["poll_at <= ?1", "poll_at IS NOT NULL AND polled_at < ?1"]),
    ("is_meant", &["charged <> 0", "state = 2 AND state NOT IN (1, 10)"]),
    ("is_state", &["state = 2 AND state NOT IN (1, 10)"]),
    ("job_id", &["(SELECT job_id FROM job WHERE job.request = request.id)"]),
    ("judged_again", &["(SELECT count(*) FROM judged_again WHERE judged_again.request = request.id)"]),
    ("state", &["2"]),
    ("table", &["unrecognised", "crossed", "judged_again", "job", "attachment", "other_path", "upload", "part_rules"]),
    ("unrecognised", &["(SELECT count(*) FROM unrecognised WHERE unrecognised.request = request.id)"]),
    // What `Reading::in_states` makes.
    ("sought", &["request.state IN (2, 3) AND request.state NOT IN (1, 10)"]),
    ("doubts", &["request.state IN (2, 3) AND request.state NOT IN (1, 10)"]),
    ("undecided", &["request.state IN (2, 3, 4, 12) AND request.state NOT IN (1, 10)"]),
    ("pending", &["request.state IN (0, 2, 3, 4, 12) AND request.state NOT IN (1, 10)"]),
    ("which", &["ask.id BETWEEN 1 AND 5 AND ask.part = 3", "poll_at IS NOT NULL", "job_id = ?1"]),
];

/// Around a part of a statement, so that it can be planned: first as a condition.
const AROUND: [&str; 4] = [
    "SELECT 1 FROM ask LEFT JOIN request ON request.id = ask.request WHERE {part}",
    "SELECT * FROM {part}",
    "SELECT {part} FROM request WHERE id = ?1",
    "SELECT {part} FROM ask WHERE id = ?1",
];

/// The indexes that list only some of the rows.
const PARTIAL: [&str; 5] = ["ask_failed", "ask_skipped", "request_charged", "request_in_state", "request_waiting"];

#[test]
fn no_statement_reads_all_requests_asks_or_attempts_unless_it_is_listed() {
    let conn = Connection::open_in_memory().unwrap();
    schema::create(&conn).unwrap();
    let mut listed = READ_ALL.map(|_| false);
    let (mut statements, mut faults) = (0, Vec::new());
    for text in source_texts() {
        for statement in statements_in(&text) {
            statements += 1;
            let plans: Vec<Vec<String>> = filled(&statement).iter().filter_map(|sql| plan(&conn, sql)).collect();
            if plans.is_empty() {
                faults.push(format!("cannot be planned; is a value missing in INSERTED? {statement}"));
            }
            let Some(step) = plans.iter().flatten().find(|step| reads_all(step)) else { continue };
            match READ_ALL.iter().position(|(part, _)| statement.contains(part)) {
                Some(at) => listed[at] = true,
                None => faults.push(format!("{step}: {statement}")),
            }
        }
    }
    assert!(statements > 150, "only {statements} statements were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for ((part, _), is_found) in READ_ALL.iter().zip(listed) {
        assert!(is_found, "no statement with `{part}` reads a whole table any more; remove it from the list");
    }
}

#[test]
fn a_condition_that_no_index_has_is_found() {
    let conn = Connection::open_in_memory().unwrap();
    schema::create(&conn).unwrap();
    let is_found = |condition: &str| {
        let sql = format!("SELECT count(*) FROM request WHERE {condition}");
        plan(&conn, &sql).unwrap().iter().any(|step| reads_all(step))
    };
    assert!(is_found("state = 2") && is_found("state IN (2, 3) AND scope = ?1") && is_found("id > ?1"));
    assert!(!is_found("state = 2 AND state NOT IN (1, 10)") && !is_found("charged <> 0") && !is_found("id = ?1"));
}

/// Whether a step of a plan reads a whole table. The minimum of a column without an index is a search without an index.
fn reads_all(step: &str) -> bool {
    let mut words = step.split(' ');
    let (does, table) = (words.next(), words.next().unwrap_or_default());
    let is_partial = PARTIAL.iter().any(|index| step.contains(index));
    let is_bounded = step.contains(" USING ") && !step.contains("(rowid>?)");
    ["request", "ask", "attempt", "other"].contains(&table)
        && !is_partial
        && (does == Some("SCAN") || does == Some("SEARCH") && !is_bounded)
}

/// The steps of a plan; `None` if this is not a statement.
fn plan(conn: &Connection, sql: &str) -> Option<Vec<String>> {
    let mut explain = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).ok()?;
    let mut rows = explain.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get(3).unwrap());
    }
    Some(steps)
}

/// A statement with all values that are inserted into it.
fn filled(statement: &str) -> Vec<String> {
    let Some((before, rest)) = statement.split_once('{') else { return vec![statement.to_owned()] };
    let (name, after) = rest.split_once('}').unwrap_or((rest, ""));
    let values = INSERTED.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, values)| values);
    values.iter().flat_map(|value| filled(&format!("{before}{value}{after}"))).collect()
}

/// The statements in the texts of a file, and its parts of statements as statements.
fn statements_in(text: &str) -> Vec<String> {
    let is_statement = |sql: &str| {
        let verb = sql.split_whitespace().next().unwrap_or_default();
        ["SELECT", "UPDATE", "DELETE", "INSERT", "WITH"].contains(&verb)
    };
    let sql = text.split(';').map(|sql| sql.split_whitespace().collect::<Vec<_>>().join(" "));
    let (whole, parts): (Vec<String>, Vec<String>) =
        sql.filter(|sql| !sql.starts_with("CREATE")).partition(|sql| is_statement(sql));
    let parts = parts.into_iter().filter(|part| part.contains("SELECT "));
    // What is selected may be put before a `FROM` of another text.
    let whole = whole.into_iter().filter(|sql| !sql.starts_with("SELECT") || sql.contains(" FROM "));
    let conn = Connection::open_in_memory().unwrap();
    schema::create(&conn).unwrap();
    let around = |part: String| {
        let mut all = AROUND.map(|around| around.replace("{part}", &part));
        if part.starts_with('(') {
            // A part in brackets is a value or a table.
            all.reverse();
        }
        let fits = |sql: &String| filled(sql).iter().any(|sql| plan(&conn, sql).is_some());
        all.into_iter().find(fits).unwrap_or(part)
    };
    whole.chain(parts.map(around)).collect()
}

/// The texts in the source files of the ledger, without those of tests.
fn source_texts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ledger");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_source = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.ends_with(".rs") && !name.ends_with("tests.rs")
    };
    let mut texts = Vec::new();
    for path in files.filter(|path| is_source(path)) {
        let source = fs::read_to_string(path).unwrap();
        texts.extend(texts_in(source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default()));
    }
    texts
}

/// The texts between double quotes in Rust code.
fn texts_in(source: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        rest = match &rest[at..] {
            comment if comment.starts_with("//") => comment.find('\n').map_or("", |end| &comment[end..]),
            character if character.starts_with("'\"'") || character.starts_with("'\\\"'") => &character[3..],
            text if text.starts_with('"') => {
                let mut escaped = false;
                let end = text[1..].find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                let end = 1 + end.expect("each text ends");
                texts.push(text[1..end].replace("\\\n", "").replace("\\\"", "\""));
                &text[end + 1..]
            }
            other => &other[1..],
        };
    }
    texts
}
