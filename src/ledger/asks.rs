//! The asks of a ledger for the outputs, in input order: each with its row, and with its request and answer if it has
//! them. Only the rows of one split are in memory at a time.

use super::{
    IngestedRow, LedgerError, LedgerPart, Reading,
    compression::{ANSWER_BYTES_MAX, decompress},
    reading::failure_of,
    rows::{decompress_heads, decompress_rows},
};
use crate::model::{
    Credits, Failure, IdempotencyKey, RequestId, Verdict,
    planted::{Bug, planted},
    state::State,
};
use rusqlite::Row;

/// An ask, with its row and fate.
pub struct AskView<'a> {
    pub id: i64,
    /// The check in the campaign; `None` for a row that could not be read.
    pub check_use: Option<i64>,
    pub source: &'a str,
    pub row: &'a IngestedRow,
    pub fate: AskFate,
    /// What the row expects of the answer, in JSON.
    pub expected: Option<String>,
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
    /// Its ask is in a part.
    pub published: bool,
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

impl Reading {
    /// The asks of a part, in input order.
    pub fn part_asks<E: From<LedgerError>>(
        &self,
        part: &LedgerPart,
        each: impl FnMut(AskView<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let range = format!("ask.id BETWEEN {} AND {} AND ask.part = {}", part.first_ask, part.last_ask, part.id);
        self.asks(&range, decompress_rows, each)
    }

    /// The asks that failed, in input order.
    pub fn failed_asks<E: From<LedgerError>>(&self, each: impl FnMut(AskView<'_>) -> Result<(), E>) -> Result<(), E> {
        self.asks(
            "ask.id IN (SELECT id FROM ask WHERE failure IS NOT NULL UNION ALL
                        SELECT ask.id FROM request JOIN ask ON ask.request = request.id WHERE request.state = 11)",
            decompress_rows,
            each,
        )
    }

    /// The asks that are neither results, failures nor skipped, in input order, without the values of their rows.
    pub fn pending_asks<E: From<LedgerError>>(&self, each: impl FnMut(AskView<'_>) -> Result<(), E>) -> Result<(), E> {
        let states = if planted(Bug::AnsweredPending) { "0, 1, 2, 3, 4, 10, 12" } else { "0, 1, 2, 3, 4, 12" };
        let which = format!(
            "ask.id IN (SELECT ask.id FROM request JOIN ask ON ask.request = request.id
                        WHERE request.state IN ({states}) UNION ALL
                        SELECT ask.id FROM unpublished JOIN ask USING (request) WHERE ask.part IS NULL)"
        );
        self.asks(&which, decompress_heads, each)
    }

    /// The asks that were skipped, in input order, without the values of their rows.
    pub fn skipped_asks<E: From<LedgerError>>(&self, each: impl FnMut(AskView<'_>) -> Result<(), E>) -> Result<(), E> {
        self.asks("ask.id IN (SELECT id FROM ask WHERE skipped IS NOT NULL)", decompress_heads, each)
    }

    /// All asks in input order, including rows that could not be read.
    pub fn every_ask<E: From<LedgerError>>(&self, each: impl FnMut(AskView<'_>) -> Result<(), E>) -> Result<(), E> {
        self.asks("true", decompress_rows, each)
    }

    /// The asks of a part, in input order, without the values of their rows.
    pub fn part_heads<E: From<LedgerError>>(
        &self,
        part: &LedgerPart,
        each: impl FnMut(AskView<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let range = format!("ask.id BETWEEN {} AND {} AND ask.part = {}", part.first_ask, part.last_ask, part.id);
        self.asks(&range, decompress_heads, each)
    }

    fn asks<E: From<LedgerError>>(
        &self,
        which: &str,
        rows_of: fn(&[u8]) -> Result<Vec<IngestedRow>, LedgerError>,
        mut each: impl FnMut(AskView<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!(
            "SELECT ask.split, ask.row_index, ask.check_use, ask.failure, ask.skipped,
                    request.id, request.state, coalesce(request.key, request.first_key), request.attempts,
                    request.charged, request.possibly_charged, request.unproven, request.first_armed_at,
                    request.fields, request.failure, request.verdict, request.finding,
                    ask.id = request.first_ask,
                    coalesce(answer.http_status, (SELECT http_status FROM attempt WHERE attempt.request = request.id
                                                  AND number = request.attempts)),
                    answer.latency_ms, answer.requested_at, answer.completed_at, answer.request_id, answer.body, ask.id, ask.expected,
                    EXISTS (SELECT 1 FROM unrecognised WHERE unrecognised.request = request.id),
                    EXISTS (SELECT 1 FROM crossed WHERE crossed.request = request.id),
                    ask.part IS NOT NULL, iif(answer.request IS NULL, NULL, request.body),
                    (SELECT job_id FROM job WHERE job.request = request.id),
                    (SELECT accepted_at FROM job WHERE job.request = request.id)
             FROM ask LEFT JOIN request ON request.id = ask.request LEFT JOIN answer ON answer.request = request.id
             WHERE {which} ORDER BY ask.id"
        );
        let mut select = self.conn.prepare(&sql).map_err(LedgerError::from)?;
        let mut rows = select.query([]).map_err(LedgerError::from)?;
        let mut split = None;
        while let Some(row) = rows.next().map_err(LedgerError::from)? {
            let wanted: i64 = row.get(0).map_err(LedgerError::from)?;
            let (source, ingested) = match &split {
                Some((id, source, ingested)) if *id == wanted => (source, ingested),
                _ => {
                    let (source, ingested) = self.split(wanted, rows_of)?;
                    let (_, source, ingested) = split.insert((wanted, source, ingested));
                    (&*source, &*ingested)
                }
            };
            each(ask_view(row, source, ingested)?)?;
        }
        Ok(())
    }

    fn split(
        &self,
        split: i64,
        rows_of: fn(&[u8]) -> Result<Vec<IngestedRow>, LedgerError>,
    ) -> Result<(String, Vec<IngestedRow>), LedgerError> {
        let sql = "SELECT source.name, records FROM split JOIN source ON source.id = split.source WHERE split.id = ?1";
        let (source, block): (String, Vec<u8>) =
            self.conn.prepare_cached(sql)?.query_row([split], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((source, rows_of(&block)?))
    }
}

fn ask_view<'a>(row: &Row<'_>, source: &'a str, ingested: &'a [IngestedRow]) -> Result<AskView<'a>, LedgerError> {
    let row_index = row.get::<_, u32>(1)? as usize;
    let missing = || LedgerError::Damaged(format!("row {row_index} of a split is missing"));
    let fate = match (row.get::<_, Option<String>>(3)?, row.get::<_, Option<String>>(4)?) {
        (Some(failure), _) => AskFate::Failure(failure_of(&failure)?),
        (None, Some(reason)) => AskFate::Skipped(reason),
        (None, None) => AskFate::Request(Box::new(request_view(row)?)),
    };
    let (id, check_use, expected) = (row.get(24)?, row.get(2)?, row.get(25)?);
    Ok(AskView { id, check_use, source, row: ingested.get(row_index).ok_or_else(missing)?, fate, expected })
}

fn request_view(row: &Row<'_>) -> Result<RequestView, LedgerError> {
    let damaged = |what: &str| LedgerError::Damaged(format!("a request's {what} cannot be read"));
    let first: bool = row.get(17)?;
    let credits = if first { Credits(row.get::<_, i64>(9)?.unsigned_abs()) } else { Credits::ZERO };
    let answer = match row.get::<_, Option<Vec<u8>>>(23)? {
        None => None,
        Some(compressed) => {
            let body = decompress(&compressed, ANSWER_BYTES_MAX).map_err(|_| damaged("answer"))?;
            Some(StoredAnswer {
                latency_ms: row.get::<_, i64>(19)?.unsigned_abs(),
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
        published: row.get(28)?,
        body: row.get::<_, Option<Vec<u8>>>(29)?.unwrap_or_default(),
    })
}
