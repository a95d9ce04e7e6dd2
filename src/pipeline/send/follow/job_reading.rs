//! What a reply says about a job: a pure function of the reply, and the failure of a job that ends without a result.

use crate::{
    client::{Classified, JobNews, JsonBody},
    ledger::DueJob,
    model::{
        Credits, Failure, FailureCode, JobId, Stage,
        credits::Amount,
        job_life::{JobSign, LOST_AFTER},
        printable::printable_cut,
        state::JobEnd,
    },
    pipeline::{judge::Judged, send::context::CheckContext},
};

/// The longest text of the service that is kept of a reply about a job.
const MESSAGE_CHARACTERS_MAX: usize = 120;

/// What a reply says about a job.
pub(super) struct JobReading {
    pub(super) sign: JobSign,
    /// The result of the reply. While the sign does not end the job, it is only used if the job would be lost.
    pub(super) judged: Option<Judged>,
    /// Why the job failed; set if it did.
    pub(super) failure: Option<Failure>,
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
pub(super) fn read_job_reply(
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
pub(super) fn odd(reading: &JobReading, classified: &Classified) -> Option<String> {
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

pub(super) fn lost(id: &JobId) -> Failure {
    let hours = LOST_AFTER.as_secs() / 3_600;
    let message = format!(
        "the service does not know the job {id} any more, or has no result after {hours} hours; it may have been charged. \
         Ask the service about it, then decide with `rescreen resolve`"
    );
    Failure { stage: Stage::Send, code: FailureCode::JobLost, message }
}
