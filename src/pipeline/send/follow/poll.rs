//! Polls one job: GET its state → read → judge → record. A poll costs no credits and never changes the job, so it may be
//! repeated.

use super::job_reading::{JobReading, lost, odd, read_job_reply};
use crate::{
    catalogue::JOB_ID,
    client::{Author, Classified, Exchange, JobNews, PushBack, ReplyKind, Said, classify, job_news},
    error::Error,
    ledger::{DueJob, Followed, JobReport},
    model::{Credits, Judgement, Permit, clock::ClockSample, credits::Amount, job_life::JobSign, state::State},
    pipeline::send::{
        context::{CheckContext, RunContext},
        gate::{PAUSE_KEPT_MAX, PUSH_BACK_MAX, close_gate, pause, pause_end},
        peer::note_peer,
    },
};
use std::{sync::Arc, time::Duration};

/// How a poll ended.
pub enum PollEnd {
    /// Not sent: the gate closed.
    GateClosed,
    /// The simulator answered a campaign of the real service, or the reverse.
    OtherSide(bool),
    Polled(Box<Polled>),
}

/// What the service said about a job, as it was recorded.
pub struct Polled {
    /// What the reply says, without the charge of another job.
    pub reply: Classified,
    pub sign: JobSign,
    /// What it made of the job.
    pub followed: Followed,
    /// The judgement on the result, if the request is answered.
    pub judgement: Option<Judgement>,
    /// The mode that the answer names, if it is not the mode that was sent.
    pub other_mode: Option<String>,
    /// The service asks for a pause that is longer than a run waits.
    pub pushed_back: Option<Duration>,
}

impl Polled {
    /// Whether the reply states a charge above zero.
    pub fn is_charge_stated(&self) -> bool {
        self.reply.charge.credits().is_some_and(|credits| credits > Credits::ZERO)
    }
}

/// Polls a job and records what the service says.
pub async fn poll(context: Arc<RunContext>, permit: Permit, job: DueJob) -> Result<(DueJob, PollEnd), Error> {
    let end = polled(&context, permit, &job).await?;
    Ok((job, end))
}

async fn polled(context: &RunContext, permit: Permit, job: &DueJob) -> Result<PollEnd, Error> {
    let missing = |what: &str| Error::Internal(format!("no {what} `{}` in this run", job.check));
    let check = context.checks.get(&job.check).ok_or_else(|| missing("check"))?;
    let spec = check.declaration.job.as_ref().ok_or_else(|| missing("[job] of the check"))?;
    if context.throttle.paused_until().is_some() {
        return Ok(PollEnd::GateClosed);
    }
    let path = spec.status.replacen(JOB_ID, &job.id.in_path(), 1);
    let exchange = context.client.get_with(permit, &path, check.auth).await;
    if let Ok(reply) = &exchange.reply
        && !note_peer(context, reply.simulated).await?
    {
        return Ok(PollEnd::OtherSide(reply.simulated));
    }
    Ok(PollEnd::Polled(Box::new(record(context, check, job, exchange).await?)))
}

/// Reads a reply, and records it in one commit. The pause that a 429 asks for is recorded before.
async fn record(context: &RunContext, check: &CheckContext, job: &DueJob, exchange: Exchange) -> Result<Polled, Error> {
    let spec = context.reply_spec(check);
    let said = Said::of(&exchange, context.clock.now().into());
    let news = job_news(&said, &job.id, &spec);
    let mut classified = classify(said, &spec);
    if let JobNews::OtherJob { .. } = news {
        // The other job's charge is booked when that job is polled.
        classified.charge = Amount::Absent;
    }
    let (now_us, compared) = (context.clock.now_us(), ClockSample::now(&context.clock));
    let reading = read_job_reply(check, job, (news, now_us), &classified);
    // The parsed answer takes many times the memory of its body, so it is dropped before the next await.
    classified.answer = None;
    let pause = classified.push_back.and_then(|push_back| pause(push_back, context.campaign.mode));
    // A 503 may be about this job alone, and so may a 429. It is polled again when the reply says.
    let is_of_all = classified.kind == ReplyKind::TooMany && !context.check_pauses.is_of_one_job();
    let is_answered = classified.author == Author::Service && !classified.kind.is_outage();
    if is_answered && classified.push_back.is_none() {
        context.check_pauses.poll_answered();
    }
    if let Some(pause) = pause.filter(|_| is_of_all) {
        close_gate(context, pause, classified.http_status);
        context.ledger.pause_until(pause_end(pause, now_us), now_us).await?;
    }
    let latency_ms = u64::try_from(exchange.latency.as_millis()).unwrap_or(u64::MAX);
    let body = exchange.reply.ok().and_then(|reply| reply.body).unwrap_or_default();
    let judgement = reading.judged.as_ref().map(|judged| judged.judgement.clone());
    let wait = pause.map(|pause| pause.min(PAUSE_KEPT_MAX));
    let report = JobReport { wait, ..report((check, job), &classified, &reading, body, (now_us, latency_ms)) };
    let has_server_time = report.server_offset_us.is_some();
    let followed = context.ledger.follow(report).await?;
    if has_server_time {
        context.clock_watch.compared(compared);
    }
    tracing::debug!(
        request = job.request.0,
        sign = ?reading.sign,
        status = classified.http_status,
        latency_ms,
        state = followed.state.as_str(),
        "job"
    );
    Ok(Polled {
        followed,
        sign: reading.sign,
        judgement: judgement.filter(|_| followed.state == State::Answered),
        other_mode: reading.judged.and_then(|judged| judged.other_mode),
        pushed_back: match classified.push_back {
            Some(PushBack::Stated(wait)) if wait > PUSH_BACK_MAX && is_of_all => Some(wait.min(PAUSE_KEPT_MAX)),
            _ => None,
        },
        reply: classified,
    })
}

/// What the ledger records of a reply, without the pause that it asks for.
fn report(
    (check, job): (&CheckContext, &DueJob),
    reply: &Classified,
    reading: &JobReading,
    body: Vec<u8>,
    (now_us, latency_ms): (i64, u64),
) -> JobReport {
    let answer = reading.judged.as_ref().map(|judged| judged.record(reply, job.accepted_at_us, body));
    JobReport {
        request: job.request,
        check: job.check.clone(),
        id: job.id.clone(),
        sign: reading.sign,
        wait: None,
        table: check.price,
        http_status: reply.http_status,
        heard: odd(reading, reply),
        latency_ms,
        now_us,
        stated: reply.charge.credits().unwrap_or_default(),
        answer,
        failure: reading.failure.clone().unwrap_or_else(|| lost(&job.id)),
        server_offset_us: reply.server_now_us.map(|server| server - now_us),
    }
}
