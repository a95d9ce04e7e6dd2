//! The asks of a ledger for the outputs, in input order: each with its row, and with its request and answer if it has
//! them. Only the rows of one split are in memory at a time.

use super::{
    IngestedRow, LedgerError, LedgerPart, Reading,
    amount::Amounts,
    log_pause::LogPause,
    reading::failure_of,
    rows::{RowReader, Values},
};
use crate::model::{Credits, Failure, IdempotencyKey, RequestId, Verdict, state::State};
use rusqlite::{OptionalExtension, Row};
use std::{borrow::Cow, collections::HashSet};

/// An ask, with its row and fate.
pub struct AskView<'a> {
    pub id: i64,
    /// Its split, and the index of its row there.
    pub place: (i64, u32),
    /// The check in the campaign; `None` for a row that could not be read.
    pub check_use: Option<i64>,
    pub source: &'a str,
    /// Its row, or the corrected row in its place.
    pub row: &'a IngestedRow,
    pub fate: AskFate,
    /// What the row expects of the answer, in JSON.
    pub expected: Option<String>,
    /// The numbers of the decisions that accepted all matches of its answer, in JSON.
    pub accepted: Option<String>,
}

/// The fate of an ask.
pub enum AskFate {
    Request(Box<RequestView>),
    Failure(Failure),
    Skipped(String),
}

/// A request, for the outputs.
pub struct RequestView {
    pub id: RequestId,
    pub state: State,
    pub key: IdempotencyKey,
    pub attempts: u32,
    /// The charge for its first ask, and 0 for all others, so that the sum of the column is the total charge.
    pub credits: Credits,
    /// Whether it was charged, whichever ask carries the credits.
    pub is_charged: bool,
    /// Whether this is its first ask; the others are duplicates.
    pub first: bool,
    pub possibly_charged: bool,
    pub first_armed_at_us: Option<i64>,
    /// The mapped fields as sent, in JSON.
    pub fields: String,
    pub failure: Option<Failure>,
    pub http_status: Option<u16>,
    /// The job that the service accepted it as, and when, in microseconds since 1970.
    pub job: Option<(String, i64)>,
    pub answer: Option<StoredAnswer>,
    /// It is in no part, because the current rules do not recognise its answer.
    pub unrecognised: bool,
    /// Its answer names the key of another request.
    pub crossed: bool,
    /// Its recorded verdict is not that of the rules with which its asks are published.
    pub judged_again: bool,
    /// Its ask is in a part.
    pub published: bool,
    /// The campaign that sent it, if this one uses its answer again.
    pub reused_from: Option<String>,
    /// The body that was sent, if it is answered.
    pub body: Vec<u8>,
}

/// An answer, for the outputs.
pub struct StoredAnswer {
    pub latency_ms: u64,
    pub requested_at_us: i64,
    pub completed_at_us: i64,
    pub request_id: Option<String>,
    pub verdict: Verdict,
    pub finding: String,
    /// The raw answer.
    pub body: Vec<u8>,
}

/// While a query runs, the log of a ledger that is written cannot be emptied, so the asks of a part are read by several.
const ASKS_AT_ONCE: usize = 2_000;
/// The same for a range of asks, of which a part may have few.
const ASKS_IN_RANGE: usize = 20_000;

/// The condition of the asks that failed.
const FAILED: &str = "ask.id IN (SELECT id FROM ask WHERE failure IS NOT NULL UNION ALL
                      SELECT ask.id FROM request CROSS JOIN ask ON ask.request = request.id
                      WHERE request.state = 11 AND request.state NOT IN (1, 10))";

impl Reading {
    /// The asks of a part, in input order. If its asks are at hand, no others are read: a duplicate may be far from the
    /// rest of its part.
    pub fn part_asks<E: From<LedgerError>>(
        &self,
        part: &LedgerPart,
        asks: Option<&[i64]>,
        mut each: impl FnMut(AskView<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        // Numbers and commas only.
        let listed = |asks: &[i64]| {
            let asks = serde_json::to_string(asks).expect("numbers");
            format!("ask.id IN (SELECT value FROM json_each('{asks}')) AND ask.part = {}", part.id)
        };
        let ranges = || (part.first_ask..=part.last_ask).step_by(ASKS_IN_RANGE);
        let between = |first: i64| {
            let last = part.last_ask.min(first.saturating_add(ASKS_IN_RANGE as i64 - 1));
            format!("ask.id BETWEEN {first} AND {last} AND ask.part = {}", part.id)
        };
        let mut pause = LogPause::of(self.path());
        let mut read = |which: String| {
            pause.wait();
            self.asks(&which, Values::Read, &mut each)
        };
        match asks {
            Some(asks) => asks.chunks(ASKS_AT_ONCE).map(listed).try_for_each(&mut read),
            None => ranges().map(between).try_for_each(&mut read),
        }
    }

    /// The asks of these splits, in input order.
    pub fn asks_of_splits<E: From<LedgerError>>(
        &self,
        splits: &[i64],
        each: impl FnMut(AskView<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let splits: Vec<String> = splits.iter().map(i64::to_string).collect();
        self.asks(&format!("ask.split IN ({})", splits.join(", ")), Values::Read, each)
    }

    /// The asks that failed, in input order.
    pub fn failed_asks<E: From<LedgerError>>(&self, each: impl FnMut(AskView<'_>) -> Result<(), E>) -> Result<(), E> {
        self.asks(FAILED, Values::Read, each)
    }

    /// The same without the values of their rows.
    pub fn failed_heads<E: From<LedgerError>>(&self, each: impl FnMut(AskView<'_>) -> Result<(), E>) -> Result<(), E> {
        self.asks(FAILED, Values::Skipped, each)
    }

    /// The rows of the asks that could not be mapped: the id of the source, that of the check in the campaign, and the
    /// number of the row.
    pub fn unmapped_rows(&self, mut each: impl FnMut(i64, i64, u64)) -> Result<(), LedgerError> {
        let sql = "SELECT split.source, ask.check_use, split.next_row_number - split.rows + ask.row_index
                   FROM ask JOIN split ON split.id = ask.split
                   WHERE ask.failure IS NOT NULL AND ask.check_use IS NOT NULL";
        let mut select = self.conn.prepare(sql)?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            each(row.get(0)?, row.get(1)?, row.amount(2)?);
        }
        Ok(())
    }

    /// The asks that are neither results, failures nor skipped, in input order, without the values of their rows.
    pub fn pending_asks<E: From<LedgerError>>(&self, each: impl FnMut(AskView<'_>) -> Result<(), E>) -> Result<(), E> {
        let is_pending = |state: &State| *state != State::Failed && *state != State::Answered;
        let states: Vec<State> = State::ALL.into_iter().filter(is_pending).collect();
        let pending = self.in_states(&states)?;
        let which = format!(
            "ask.id IN (SELECT ask.id FROM request CROSS JOIN ask ON ask.request = request.id WHERE {pending} UNION ALL
                        SELECT ask.id FROM unpublished CROSS JOIN ask USING (request) WHERE ask.part IS NULL)"
        );
        self.asks(&which, Values::Skipped, each)
    }

    /// What the first row of a request expects of the answer, as JSON. `key` is the key of any generation.
    pub fn expected_under(&self, key: &IdempotencyKey) -> Result<Option<String>, LedgerError> {
        let request = |column: &str| {
            let sql = format!("SELECT id FROM request WHERE {column} = ?1");
            self.conn.prepare_cached(&sql)?.query_row([key.as_bytes()], |row| row.get::<_, i64>(0)).optional()
        };
        // Only the first column has an index, and few requests have a later key.
        let first = request("first_key")?;
        let Some(request) = (if first.is_some() { first } else { request("key")? }) else { return Ok(None) };
        let sql = "SELECT expected FROM ask WHERE request = ?1 AND expected IS NOT NULL ORDER BY id LIMIT 1";
        Ok(self.conn.prepare_cached(sql)?.query_row([request], |row| row.get(0)).optional()?)
    }

    /// The asks that were skipped, in input order, without the values of their rows.
    pub fn skipped_asks<E: From<LedgerError>>(&self, each: impl FnMut(AskView<'_>) -> Result<(), E>) -> Result<(), E> {
        self.asks("ask.id IN (SELECT id FROM ask WHERE skipped IS NOT NULL)", Values::Skipped, each)
    }

    /// All asks in input order, including rows that could not be read.
    pub fn every_ask<E: From<LedgerError>>(&self, each: impl FnMut(AskView<'_>) -> Result<(), E>) -> Result<(), E> {
        self.asks("true", Values::Read, each)
    }

    /// All rows in input order, each with the name of its source, and whether it could be read. Only the rows of one split
    /// are in memory at a time.
    pub fn every_row<E: From<LedgerError>>(
        &self,
        mut each: impl FnMut(&str, &IngestedRow, bool) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = "SELECT split, row_index FROM ask WHERE failure IS NOT NULL AND check_use IS NULL ORDER BY id";
        let mut select = self.conn.prepare(sql).map_err(LedgerError::from)?;
        // Splits come in the same order.
        let mut unreadable =
            select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(LedgerError::from)?.peekable();
        let mut rows = RowReader::new(&self.conn, Values::Read);
        for split in self.split_ids()? {
            let mut of_split = HashSet::new();
            while let Some(found) = unreadable.next_if(|next| next.as_ref().map_or(true, |(of, _)| *of <= split)) {
                let (_, row_index): (i64, u32) = found.map_err(LedgerError::from)?;
                of_split.insert(row_index);
            }
            for index in 0..rows.rows_in(split)? {
                let (source, row) = rows.at((split, index))?;
                each(source, row, !of_split.contains(&index))?;
            }
        }
        Ok(())
    }

    /// The ids of the splits, in input order.
    pub(super) fn split_ids(&self) -> Result<Vec<i64>, LedgerError> {
        let mut select = self.conn.prepare("SELECT id FROM split ORDER BY id")?;
        Ok(select.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// The asks of a part, in input order, without the values of their rows.
    pub fn part_heads<E: From<LedgerError>>(
        &self,
        part: &LedgerPart,
        each: impl FnMut(AskView<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let range = format!("ask.id BETWEEN {} AND {} AND ask.part = {}", part.first_ask, part.last_ask, part.id);
        self.asks(&range, Values::Skipped, each)
    }

    fn asks<E: From<LedgerError>>(
        &self,
        which: &str,
        values: Values,
        mut each: impl FnMut(AskView<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let SideTables { corrected, accepted, unrecognised, crossed, judged_again, reused, job_id, accepted_at } =
            self.side_tables()?;
        let sql = format!(
            "SELECT ask.split, ask.row_index, ask.check_use, ask.failure, ask.skipped,
                    request.id, request.state, coalesce(request.key, request.first_key), request.attempts,
                    request.charged, request.possibly_charged, request.unproven, request.first_armed_at,
                    request.fields, request.failure, request.verdict, request.finding,
                    ask.id = request.first_ask,
                    coalesce(answer.http_status, (SELECT http_status FROM attempt WHERE attempt.request = request.id
                                                  AND number = request.attempts)),
                    answer.latency_ms, answer.requested_at, answer.completed_at, answer.request_id, answer.body, ask.id, ask.expected,
                    {unrecognised}, {crossed},
                    ask.part IS NOT NULL, iif(answer.request IS NULL, NULL, request.body),
                    {job_id}, {accepted_at}, {corrected}, {judged_again}, {accepted}, {reused}
             FROM ask LEFT JOIN request ON request.id = ask.request LEFT JOIN answer ON answer.request = request.id
             WHERE {which} ORDER BY ask.id"
        );
        let mut select = self.conn.prepare(&sql).map_err(LedgerError::from)?;
        let mut asks = select.query([]).map_err(LedgerError::from)?;
        let mut rows = RowReader::new(&self.conn, values);
        while let Some(row) = asks.next().map_err(LedgerError::from)? {
            let place = (row.get(0).map_err(LedgerError::from)?, row.get(1).map_err(LedgerError::from)?);
            let (source, ingested) = rows.at(place)?;
            let corrected: Option<String> = row.get(32).map_err(LedgerError::from)?;
            let corrected: Option<IngestedRow> = corrected
                .map(|text| serde_json::from_str(&text))
                .transpose()
                .map_err(|error| LedgerError::Damaged(format!("a corrected row cannot be read: {error}")))?;
            each(ask_view(self, row, source, (place, corrected.as_ref().unwrap_or(ingested)))?)?;
        }
        Ok(())
    }

    /// What a query of asks reads of tables that are empty in most ledgers. Nothing is looked for in an empty one.
    fn side_tables(&self) -> Result<SideTables, LedgerError> {
        let has_rows = |table: &str| -> Result<bool, LedgerError> {
            Ok(self.conn.prepare_cached(&format!("SELECT 1 FROM {table} LIMIT 1"))?.exists([])?)
        };
        let in_table = |table: &str, what: &str, otherwise: &'static str| -> Result<Cow<'static, str>, LedgerError> {
            let found = has_rows(table)?.then(|| format!("({what} FROM {table} WHERE {table}.request = request.id)"));
            Ok(found.map_or(Cow::Borrowed(otherwise), Cow::Owned))
        };
        let is_in = |table: &str| in_table(table, "SELECT count(*)", "0");
        let corrected = "(SELECT row FROM correction WHERE correction.ask = ask.id ORDER BY id DESC LIMIT 1)";
        let accepted = "(SELECT decisions FROM accepted WHERE accepted.ask = ask.id)";
        Ok(SideTables {
            corrected: if self.has_corrections()? { corrected } else { "NULL" },
            accepted: if has_rows("accepted")? { accepted } else { "NULL" },
            unrecognised: is_in("unrecognised")?,
            crossed: is_in("crossed")?,
            judged_again: is_in("judged_again")?,
            reused: in_table("reused", "SELECT campaign", "NULL")?,
            job_id: in_table("job", "SELECT job_id", "NULL")?,
            accepted_at: in_table("job", "SELECT accepted_at", "NULL")?,
        })
    }
}

/// Expressions of a query.
struct SideTables {
    corrected: &'static str,
    accepted: &'static str,
    unrecognised: Cow<'static, str>,
    crossed: Cow<'static, str>,
    judged_again: Cow<'static, str>,
    reused: Cow<'static, str>,
    job_id: Cow<'static, str>,
    accepted_at: Cow<'static, str>,
}

fn ask_view<'a>(
    reading: &Reading,
    row: &Row<'_>,
    source: &'a str,
    (place, ingested): ((i64, u32), &'a IngestedRow),
) -> Result<AskView<'a>, LedgerError> {
    let fate = match (row.get::<_, Option<String>>(3)?, row.get::<_, Option<String>>(4)?) {
        (Some(failure), _) => AskFate::Failure(failure_of(&failure)?),
        (None, Some(reason)) => AskFate::Skipped(reason),
        (None, None) => AskFate::Request(Box::new(request_view(reading, row)?)),
    };
    let (id, check_use, expected, accepted) = (row.get(24)?, row.get(2)?, row.get(25)?, row.get(34)?);
    Ok(AskView { id, place, check_use, source, row: ingested, fate, expected, accepted })
}

fn request_view(reading: &Reading, row: &Row<'_>) -> Result<RequestView, LedgerError> {
    let damaged = |what: &str| LedgerError::Damaged(format!("a request's {what} cannot be read"));
    let first: bool = row.get(17)?;
    let charged = row.credits(9)?;
    let credits = if first { charged } else { Credits::ZERO };
    let answer = match row.get::<_, Option<Vec<u8>>>(23)? {
        None => None,
        Some(compressed) => {
            let body = reading.answers.decompress(&reading.conn, &compressed)?;
            Some(StoredAnswer {
                latency_ms: row.amount(19)?,
                requested_at_us: row.get(20)?,
                completed_at_us: row.get(21)?,
                request_id: row.get(22)?,
                verdict: Verdict::from_word(&row.get::<_, String>(15)?).ok_or_else(|| damaged("verdict"))?,
                finding: row.get(16)?,
                body,
            })
        }
    };
    Ok(RequestView {
        id: RequestId(row.get(5)?),
        state: State::from_code(row.get(6)?).ok_or_else(|| damaged("state"))?,
        key: IdempotencyKey::from_slice(&row.get::<_, Vec<u8>>(7)?).ok_or_else(|| damaged("key"))?,
        attempts: row.get(8)?,
        credits,
        is_charged: charged > Credits::ZERO,
        first,
        possibly_charged: row.get::<_, bool>(10)? || row.get::<_, i64>(11)? > 0,
        first_armed_at_us: row.get(12)?,
        fields: row.get(13)?,
        failure: row.get::<_, Option<String>>(14)?.map(|text| failure_of(&text)).transpose()?,
        http_status: row.get(18)?,
        job: row.get::<_, Option<String>>(30)?.zip(row.get(31)?),
        answer,
        unrecognised: row.get(26)?,
        crossed: row.get(27)?,
        judged_again: row.get(33)?,
        published: row.get(28)?,
        reused_from: row.get(35)?,
        body: row.get::<_, Option<Vec<u8>>>(29)?.unwrap_or_default(),
    })
}
