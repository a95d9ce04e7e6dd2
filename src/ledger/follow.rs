//! Following jobs: which of them to ask for, and what the service said. What a reply means is decided by
//! [`job_life`](crate::model::job_life) in the transaction that records it.

use super::{
    Ledger, LedgerError, Reading, SeenPrice,
    amount::Amounts,
    answers::{self, AnswerRecord, Heard},
    arm::{moved, request_row},
    jobs::micros,
    settle::note_failure,
    store::Store,
    untold::untold,
};
use crate::model::{
    Credits, Failure, JobId, RequestId,
    job_life::{self, JobSign, JobStanding, JobStep},
    state::{Event, Hold, JobEnd, State},
    transitions::next,
};
use rusqlite::{OptionalExtension, params};
use std::time::Duration;

/// The most deliveries about jobs that no reply has named yet. Only the service can make one, so more are a mistake.
const EARLY_MAX: i64 = 100_000;

/// Added to the failure of a job that does not say what it cost.
const UNPROVEN: &str = "; it states no charge, so it may have been charged. Ask the service about it, then decide with \
                        `rescreen resolve`";

/// A job to ask for.
#[derive(Clone)]
pub struct DueJob {
    pub request: RequestId,
    /// The catalogue name of its check.
    pub check: String,
    pub id: JobId,
    pub accepted_at_us: i64,
    /// The body that was sent.
    pub body: Vec<u8>,
}

/// A job of the ledger, with or without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedJob {
    pub request: RequestId,
    /// What the request holds or was charged at most, if no reply states it.
    pub price: Credits,
    /// The catalogue name of its check.
    pub check: String,
    pub id: JobId,
    /// The fingerprint of the API key that it was sent under.
    pub scope: Option<String>,
}

/// How far the deliveries of an inbox were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryMark {
    /// The id of the inbox.
    pub inbox: String,
    /// The number of the last delivery that was read.
    pub number: i64,
}

/// Which jobs are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Those that are due at this time, in microseconds since 1970.
    At(i64),
    /// All that were last asked for before this time.
    AskedBefore(i64),
}

/// The jobs without a result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenJobs {
    pub count: u64,
    /// When the oldest was accepted, and when the first of them is to be asked for, in microseconds since 1970.
    pub oldest_us: Option<i64>,
    pub next_us: Option<i64>,
    /// The commonest replies in place of the state of a job; only of the jobs of all requests.
    pub odd: Vec<OddJobs>,
}

/// Jobs whose state the service does not tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OddJobs {
    /// What it said instead.
    pub heard: String,
    pub count: u64,
    /// The id of one of them.
    pub job: String,
}

/// What a reply said about a job.
#[derive(Clone)]
pub struct JobReport {
    pub request: RequestId,
    /// The catalogue name of its check.
    pub check: String,
    /// The job that was asked for.
    pub id: JobId,
    pub sign: JobSign,
    /// Do not ask again before this time has passed.
    pub wait: Option<Duration>,
    /// The price in the price table.
    pub table: Credits,
    pub http_status: Option<u16>,
    /// What the service said in place of the state of the job, safe to print.
    pub heard: Option<String>,
    pub latency_ms: u64,
    pub now_us: i64,
    /// The charge that the reply states, or zero.
    pub stated: Credits,
    /// The result of the reply. While the job is open, it is only used if the job would be lost.
    pub answer: Option<AnswerRecord>,
    /// The failure of its request, if this reply ends it without a result.
    pub failure: Failure,
    /// The service's clock minus ours, if the reply states the time.
    pub server_offset_us: Option<i64>,
}

/// A job after a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Followed {
    pub state: State,
    /// The price that was held.
    pub price: Credits,
    pub charged: Credits,
    /// The charge so far of a job that has not ended, if it is above what was held.
    pub so_far: Credits,
}

impl Followed {
    /// The charge, if it is above the price that was held.
    pub fn above_price(&self) -> Option<Credits> {
        Some(self.charged.max(self.so_far)).filter(|charge| *charge > self.price)
    }
}

impl Ledger {
    /// Records what the service says about a job, and moves its request if the job has ended.
    pub async fn follow(&self, report: JobReport) -> Result<Followed, LedgerError> {
        self.write(move |store| follow(store, &report)).await
    }

    /// Records deliveries up to the one that is marked. Each job they name is asked for next; a job that no reply has
    /// named yet is asked for as soon as one does.
    pub async fn note_deliveries(
        &self,
        jobs: Vec<JobId>,
        read_to: DeliveryMark,
        now_us: i64,
    ) -> Result<(), LedgerError> {
        self.write(move |store| {
            for id in jobs {
                let sql = "UPDATE job SET poll_at = min(poll_at, ?2) WHERE job_id = ?1";
                let known = store.conn.prepare_cached(sql)?.execute(params![id.as_str(), now_us])? > 0;
                if !known {
                    let sql =
                        "INSERT INTO early_delivery SELECT ?1, ?2 WHERE (SELECT count(*) FROM early_delivery) < ?3
                               ON CONFLICT DO NOTHING";
                    store.conn.prepare_cached(sql)?.execute(params![id.as_str(), now_us, EARLY_MAX])?;
                }
            }
            let sql = "INSERT OR REPLACE INTO inbox_read (id, inbox, number) VALUES (1, ?1, ?2)";
            store.conn.prepare_cached(sql)?.execute(params![read_to.inbox, read_to.number])?;
            Ok(())
        })
        .await
    }
}

fn follow(store: &mut Store, report: &JobReport) -> Result<Followed, LedgerError> {
    let mut row = request_row(store, report.request)?;
    store.sums.server_offset_us = report.server_offset_us.or(store.sums.server_offset_us);
    let standing = standing(store, report)?.filter(|_| row.standing.state == State::Submitted);
    let price = row.standing.price;
    let nothing = |state| Followed { state, price, charged: Credits::ZERO, so_far: Credits::ZERO };
    // A person may have decided about it meanwhile.
    let Some(standing) = standing else { return Ok(nothing(row.standing.state)) };
    if matches!(report.sign, JobSign::Open | JobSign::Ended(_)) {
        store.sums.jobs_known.insert(report.check.clone());
    }
    // An earlier reply may have stated more than this one.
    let so_far = charged_so_far(store, report)?;
    let sign = match report.sign {
        JobSign::Ended(JobEnd::Failed { charged: None }) if so_far == Credits::ZERO => report.sign,
        JobSign::Ended(JobEnd::Failed { charged }) => {
            JobSign::Ended(JobEnd::Failed { charged: charged.max(Some(so_far)) })
        }
        JobSign::Ended(JobEnd::Completed { stated }) => {
            JobSign::Ended(JobEnd::Completed { stated: stated.map(|stated| stated.max(so_far)) })
        }
        sign => sign,
    };
    let end = match job_life::next(&standing, sign) {
        JobStep::End(end) => end,
        JobStep::Ask { after, misses, is_miss } => {
            ask_later(store, report, after, (misses, is_miss))?;
            let step = next(&row.standing, Event::JobCharged { so_far })?;
            let Hold::Raise(so_far) = step.hold else { return Ok(nothing(State::Submitted)) };
            moved(store, &row, &step, None, None)?;
            return Ok(noted(store, report, Followed { so_far, ..nothing(State::Submitted) }));
        }
    };
    row.standing.least = report.table.min(row.standing.price);
    let step = next(&row.standing, Event::JobEnded(end))?;
    if let JobEnd::Completed { .. } = end {
        let missing = || LedgerError::Damaged("a completed job has no answer".to_owned());
        let JobReport { http_status, latency_ms, now_us, .. } = *report;
        let heard = Heard { http_status: http_status.unwrap_or_default(), latency_ms, now_us };
        let answer = report.answer.as_ref().ok_or_else(missing)?;
        let judgement = answers::keep(store, (report.request, &report.check), answer, heard)?;
        moved(store, &row, &step, None, Some(&judgement))?;
    } else {
        moved(store, &row, &step, None, None)?;
        let mut failure = report.failure.clone();
        if let JobEnd::Failed { charged: None } = end {
            failure.message.push_str(UNPROVEN);
        }
        note_failure(store, report.request, Some(&failure))?;
    }
    let charged = if let Hold::Charge(charged) = step.hold { charged } else { Credits::ZERO };
    Ok(noted(store, report, Followed { charged, ..nothing(step.state) }))
}

/// Records the price of the check, if the reply states more than what was held.
fn noted(store: &mut Store, report: &JobReport, followed: Followed) -> Followed {
    if let Some(price) = followed.above_price() {
        let (table, request) = (Some(report.table), Some(report.request));
        store.sums.note_price(&report.check, SeenPrice { price, table, request });
    }
    followed
}

/// What the ledger knows of a job; `None` if the request has another job by now.
fn standing(store: &Store, report: &JobReport) -> Result<Option<JobStanding>, LedgerError> {
    let sql = "SELECT accepted_at, accepted_at_server, misses, missed_at FROM job WHERE request = ?1 AND job_id = ?2";
    let found = store.conn.prepare_cached(sql)?.query_row(params![report.request.0, report.id.as_str()], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?, row.get::<_, u32>(2)?, row.get::<_, Option<i64>>(3)?))
    });
    let Some((accepted_us, accepted_server_us, misses, missed_us)) = found.optional()? else { return Ok(None) };
    let since = |now_us: i64, at_us: i64| {
        Duration::from_micros(u64::try_from(now_us.saturating_sub(at_us)).unwrap_or_default())
    };
    // A clock that was set must not end a job before its time. A job that was accepted in the future says nothing.
    let here = (accepted_us <= report.now_us).then(|| since(report.now_us, accepted_us));
    let there = accepted_server_us.zip(store.sums.server_offset_us);
    let there = there.map(|(at_us, offset)| since(report.now_us.saturating_add(offset), at_us));
    Ok(Some(JobStanding {
        age: here.into_iter().chain(there).min().unwrap_or_default(),
        misses,
        since_miss: missed_us.map(|at_us| since(report.now_us, at_us)),
        is_route_known: store.sums.jobs_known.contains(&report.check),
        has_result: report.answer.is_some(),
    }))
}

/// The largest charge that a reply about the job has stated, this one included.
fn charged_so_far(store: &Store, report: &JobReport) -> Result<Credits, LedgerError> {
    untold(store, report.request.0)?;
    let sql = "UPDATE job SET charged = max(charged, ?2) WHERE request = ?1 RETURNING charged";
    let values = params![report.request.0, report.stated.0 as i64];
    Ok(store.conn.prepare_cached(sql)?.query_row(values, |row| row.credits(0))?)
}

fn ask_later(
    store: &Store,
    report: &JobReport,
    after: Duration,
    (misses, is_miss): (u32, bool),
) -> Result<(), LedgerError> {
    let after = after.max(report.wait.unwrap_or_default());
    let ask_us = report.now_us.saturating_add(micros(after));
    let sql = "UPDATE job SET polled_at = ?2, poll_at = ?3, polls = polls + 1, misses = ?4, last_message = ?6,
                      missed_at = CASE WHEN ?5 THEN ?2 WHEN ?4 = 0 THEN NULL ELSE missed_at END
               WHERE request = ?1";
    let values = params![report.request.0, report.now_us, ask_us, misses, is_miss, report.heard];
    store.conn.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

impl Reading {
    /// The jobs to ask for, the longest due first. Only jobs of requests that were sent under the API key with this
    /// fingerprint.
    pub fn due_jobs(&self, scope: &str, due: Due, count: usize) -> Result<Vec<DueJob>, LedgerError> {
        let (is_due, time_us) = match due {
            Due::At(now_us) => ("poll_at <= ?1", now_us),
            Due::AskedBefore(time_us) => ("poll_at IS NOT NULL AND polled_at < ?1", time_us),
        };
        let mut select = self.conn.prepare_cached(&format!(
            "SELECT job.request, check_name, job_id, accepted_at, body FROM job JOIN request ON request.id = job.request
             WHERE {is_due} AND scope = ?2 ORDER BY poll_at LIMIT ?3"
        ))?;
        let found = select.query_map(params![time_us, scope, count as i64], |row| {
            let id: String = row.get(2)?;
            Ok((RequestId(row.get(0)?), row.get(1)?, JobId::new(&id), row.get(3)?, row.get(4)?))
        })?;
        let job = |(request, check, id, accepted_at_us, body): (_, _, Option<JobId>, _, _)| {
            let id = id.ok_or_else(|| LedgerError::Damaged("a job id is not plain".to_owned()))?;
            Ok(DueJob { request, check, id, accepted_at_us, body })
        };
        found.map(|row| row.map_err(LedgerError::from).and_then(job)).collect()
    }

    /// The jobs without a result whose requests were sent under the API key with this fingerprint; with `None`, of all
    /// requests.
    pub fn open_jobs(&self, scope: Option<&str>) -> Result<OpenJobs, LedgerError> {
        let mut select = self.conn.prepare_cached(
            "SELECT count(*), min(accepted_at), min(poll_at) FROM job JOIN request ON request.id = job.request
             WHERE poll_at IS NOT NULL AND (?1 IS NULL OR scope = ?1)",
        )?;
        let open = select.query_row([scope], |row| {
            let count = row.amount(0)?;
            Ok(OpenJobs { count, oldest_us: row.get(1)?, next_us: row.get(2)?, odd: Vec::new() })
        })?;
        Ok(open)
    }

    /// The commonest replies in place of the state of a job, each with the number of jobs and one of them.
    pub fn odd_jobs(&self, most: usize) -> Result<Vec<OddJobs>, LedgerError> {
        let mut select = self.conn.prepare_cached(
            "SELECT last_message, count(*), min(job_id) FROM job WHERE poll_at IS NOT NULL AND last_message IS NOT NULL
             GROUP BY last_message ORDER BY count(*) DESC, last_message LIMIT ?1",
        )?;
        let found = select.query_map([most as i64], |row| {
            Ok(OddJobs { heard: row.get(0)?, count: row.amount(1)?, job: row.get(2)? })
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// Jobs of the ledger in the order in which they were accepted: those with these ids, or all without a result.
    pub fn jobs_named(&self, ids: &[JobId]) -> Result<Vec<NamedJob>, LedgerError> {
        let sql = |which: &str| {
            format!(
                "SELECT check_name, job_id, scope, request.id, price FROM job JOIN request ON request.id = job.request
                 WHERE {which} ORDER BY accepted_at, job.request"
            )
        };
        let job = |row: &rusqlite::Row<'_>| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, RequestId(row.get(3)?), row.credits(4)?))
        };
        let mut found = Vec::new();
        if ids.is_empty() {
            found =
                self.conn.prepare_cached(&sql("poll_at IS NOT NULL"))?.query_map([], job)?.collect::<Result<_, _>>()?;
        }
        for id in ids {
            let mut select = self.conn.prepare_cached(&sql("job_id = ?1"))?;
            found.extend(select.query_map([id.as_str()], job)?.collect::<Result<Vec<_>, _>>()?);
        }
        let named = |(check, id, scope, request, price): (String, String, Option<String>, RequestId, Credits)| {
            let id = JobId::new(&id).ok_or_else(|| LedgerError::Damaged("a job id is not plain".to_owned()))?;
            Ok(NamedJob { request, price, check, id, scope })
        };
        found.into_iter().map(named).collect()
    }

    /// How far the deliveries were read; `None` if none was.
    pub fn deliveries_read(&self) -> Result<Option<DeliveryMark>, LedgerError> {
        let mark = |row: &rusqlite::Row<'_>| Ok(DeliveryMark { inbox: row.get(0)?, number: row.get(1)? });
        Ok(self.conn.query_row("SELECT inbox, number FROM inbox_read", [], mark).optional()?)
    }
}
