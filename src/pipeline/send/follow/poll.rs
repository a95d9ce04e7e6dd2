//! Polls one job: GET its state → read → judge → record. A poll costs no credits and never changes the job, so it may be
//! repeated.

use crate::{
    catalogue::JOB_ID,
    client::{Classified, Exchange, JobNews, JsonBody, PushBack, ReplyKind, Said, classify, job_news},
    error::Error,
    ledger::{AnswerRecord, DueJob, Followed, JobReport},
    model::{
        Credits, Failure, FailureCode, JobId, Judgement, Permit, Stage,
        clock::ClockSample,
        credits::Amount,
        job_life::JobSign,
        printable::printable_cut,
        state::{JobEnd, State},
    },
    pipeline::{
        judge::Judged,
        send::{
            context::{CheckContext, RunContext},
            gate::{PAUSE_KEPT_MAX, PUSH_BACK_MAX, close_gate, pause, pause_end},
            peer::note_peer,
        },
    },
};
use std::{sync::Arc, time::Duration};

/// The longest text of the service that is kept of a reply about a job.
const MESSAGE_CHARACTERS_MAX: usize = 120;

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
    let no_check = || Error::Internal(format!("no check `{}` in this run", job.check));
    let check = context.checks.get(&job.check).ok_or_else(no_check)?;
    let spec = check.declaration.job.as_ref().ok_or_else(no_check)?;
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

/// Reads a reply, and records it in one commit.
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
    // A 503 may be about this job alone. It is polled again when the reply says.
    let is_of_all = classified.kind == ReplyKind::TooMany;
    if let Some(pause) = pause.filter(|_| is_of_all) {
        close_gate(context, pause.min(PUSH_BACK_MAX), classified.http_status);
        context.ledger.pause_until(pause_end(pause, now_us), now_us).await?;
    }
    let latency_ms = u64::try_from(exchange.latency.as_millis()).unwrap_or(u64::MAX);
    let body = exchange.reply.ok().and_then(|reply| reply.body).unwrap_or_default();
    let judgement = reading.judged.as_ref().map(|judged| judged.judgement.clone());
    let answer = reading.judged.as_ref().map(|judged| AnswerRecord {
        requested_at_us: job.accepted_at_us,
        request_id: classified.request_id.clone(),
        judgement: judged.judgement.clone(),
        dataset: judged.dataset.clone(),
        body,
    });
    let server_offset_us = classified.server_now_us.map(|server| server - now_us);
    let report = JobReport {
        request: job.request,
        check: job.check.clone(),
        id: job.id.clone(),
        sign: reading.sign,
        wait: pause.map(|pause| pause.min(PAUSE_KEPT_MAX)),
        table: check.price,
        http_status: classified.http_status,
        heard: odd(&reading, &classified),
        latency_ms,
        now_us,
        stated: classified.charge.credits().unwrap_or_default(),
        answer,
        failure: Some(reading.failure.unwrap_or_else(|| lost(&job.id))),
        server_offset_us,
    };
    let followed = context.ledger.follow(report).await?;
    if server_offset_us.is_some() {
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

/// What a reply says about a job.
struct JobReading {
    sign: JobSign,
    /// The result of the reply. While the sign does not end the job, it is only used if the job would be lost.
    judged: Option<Judged>,
    failure: Option<Failure>,
    /// Why the reply says nothing reliable about the job.
    unclear: Option<String>,
}

impl JobReading {
    fn of(sign: JobSign, judged: Option<Judged>) -> JobReading {
        JobReading { sign, judged, failure: None, unclear: None }
    }

    fn unclear(why: String, judged: Option<Judged>) -> JobReading {
        JobReading { unclear: Some(why), ..JobReading::of(JobSign::Unclear, judged) }
    }
}

/// Reads what a reply says about a job, and judges its result. The news comes with its time.
fn read_job_reply(
    check: &CheckContext,
    job: &DueJob,
    (news, now_us): (JobNews, i64),
    classified: &Classified,
) -> JobReading {
    let judge = |answer: &JsonBody| {
        let sent = serde_json::from_slice(&job.body).unwrap_or_default();
        check.judge.judge(answer, &sent, now_us)
    };
    let judged = |result: Option<Box<JsonBody>>| result.map(|result| judge(&result));
    // A status reply may state its own cost, which is zero.
    let stated = classified.charge.credits().filter(|credits| *credits > Credits::ZERO);
    let completed = |judged| JobReading::of(JobSign::Ended(JobEnd::Completed { stated }), Some(judged));
    match news {
        JobNews::Refused => JobReading::of(JobSign::Refused, None),
        JobNews::Unheard => JobReading::of(JobSign::Unheard, None),
        JobNews::Open { result } => JobReading::of(JobSign::Open, judged(result)),
        JobNews::NotFound => JobReading::of(JobSign::NotFound, None),
        JobNews::OtherJob { named } => {
            JobReading::unclear(format!("it is about another job: expected {}, found {named}", job.id), None)
        }
        JobNews::Unclear { why, result } => JobReading::unclear(why, judged(result)),
        JobNews::Completed { result, is_said } => match judge(&result) {
            judged if is_said || judged.is_recognised() => completed(judged),
            judged => JobReading::unclear(
                "it has no known state, and no rule recognises its content".to_owned(),
                Some(judged),
            ),
        },
        JobNews::Failed { result, code, message } => match judged(result) {
            Some(judged) if judged.is_recognised() => completed(judged),
            // The word may be a finding. With an error, or a charge of zero, the content is not a result.
            Some(judged) if code.is_none() && classified.charge != Amount::Credits(Credits::ZERO) => completed(judged),
            _ => failed(check, code.as_deref(), &message, &classified.charge),
        },
    }
}

/// A job that ended without a result. Only a stated charge of zero proves that it was not charged.
fn failed(check: &CheckContext, code: Option<&str>, message: &str, charge: &Amount) -> JobReading {
    let charged = match charge {
        Amount::Credits(credits) => Some(*credits),
        // Booked at the price that is held, and the run stops.
        Amount::Unreadable(_) => Some(check.price.max(check.job_hold)),
        Amount::Absent => None,
    };
    let reason = [code.unwrap_or_default(), message].map(str::trim).join(" ");
    let reason = if reason.trim().is_empty() { "it gave no reason" } else { reason.trim() };
    let message = format!("the service ended the job without a result: {reason}");
    let failure = Failure { stage: Stage::Send, code: FailureCode::JobFailed, message };
    JobReading { failure: Some(failure), ..JobReading::of(JobSign::Ended(JobEnd::Failed { charged }), None) }
}

/// What the service says in place of the state of a job, for the person who waits for it.
fn odd(reading: &JobReading, classified: &Classified) -> Option<String> {
    let is_named = classified.message.starts_with("HTTP ");
    let status = classified.http_status.filter(|_| !is_named).map(|status| format!("HTTP {status}: "));
    match reading.sign {
        JobSign::Open | JobSign::Ended(_) => None,
        JobSign::Unclear => reading.unclear.clone(),
        JobSign::NotFound => Some("the service does not know it".to_owned()),
        JobSign::Refused | JobSign::Unheard => Some(format!(
            "{}{}",
            status.unwrap_or_default(),
            printable_cut(&classified.message, MESSAGE_CHARACTERS_MAX)
        )),
    }
}

fn lost(id: &JobId) -> Failure {
    let message = format!(
        "the service does not know the job {id} any more, or has no result after 72 hours; it may have been charged. \
         Ask the service about it, then decide with `rescreen resolve`"
    );
    Failure { stage: Stage::Send, code: FailureCode::JobLost, message }
}
