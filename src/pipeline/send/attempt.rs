//! One attempt of one request: arm → gate → send → classify → judge → settle. [`super::next_step`] decides what comes
//! next.

use super::check_pauses::Waits;
use super::context::{CheckContext, RunContext};
use super::file_body::{FileBody, FileFault};
use super::gate::{PUSH_BACK_MAX, close_gate, pause, pause_end};
use super::make_ready::{Made, make_ready};
use super::{peer::note_peer, refusal::refusal};
use crate::{
    client::{Author, Classified, Exchange, PushBack, ReplyKind, Said, classify},
    error::Error,
    ledger::{AnswerRecord, ArmOrder, CheckPause, NotArmed, Settled, Settlement},
    model::{
        Clock, Credits, Judgement, Permit, RequestId,
        budget::{Account, BudgetRefusal},
        clock::ClockSample,
        credits::Amount,
        planted::{Bug, planted},
        state::{IllegalMove, Outcome, State},
    },
    pipeline::judge::echo::{Echo, echo},
};
use serde_json::{Map, Value};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::time::Instant;

/// How an attempt ended.
pub enum AttemptEnd {
    /// Not sent: the budget refuses it.
    Refused(BudgetRefusal),
    /// Not sent: its key has expired.
    Quarantined,
    /// Not sent: the declaration of its check changed, and makes other bodies.
    OtherBody(String),
    /// Not sent: sending it is not allowed.
    Withheld(IllegalMove),
    /// Not sent: the gate closed after arming and before the write.
    GateClosed,
    /// Not sent: the clock may be wrong, and is first compared with the service's.
    ClockMoved,
    /// Not sent: the service asked not to repeat it before this time, in microseconds since 1970.
    NotBefore(i64),
    /// Not sent: one of its files is not what it was when its row was read.
    FileChanged(FileFault),
    /// Not sent: its upload has expired, and the old one was sent under its key.
    UploadExpired,
    /// Not sent: the reply to its upload cannot be followed.
    UploadUnusable(String),
    /// Not sent: its upload, which should be free, was charged this much. It is booked.
    UploadCharged(Credits),
    /// Not sent: the other side answered its upload.
    OtherSide(bool),
    Attempted(Box<Attempted>),
}

/// An attempt that was made.
pub struct Attempted {
    pub settled: Settled,
    pub outcome: Outcome,
    pub kind: ReplyKind,
    /// Who wrote the reply.
    pub author: Author,
    pub judgement: Option<Judgement>,
    pub http_status: Option<u16>,
    pub remaining: Option<Credits>,
    /// The charge that the reply states.
    pub stated: Option<Credits>,
    /// The value found where an amount of credits was expected, if it is not a valid amount.
    pub unreadable_amount: Option<String>,
    /// Where a redirect leads.
    pub location: Option<String>,
    pub push_back: Option<PushBack>,
    /// Who waits because of it.
    pub waits: Option<Waits>,
    /// How long to wait before repeating this request, if the reply says so.
    pub repeat_after: Option<Duration>,
    /// Why no job can be followed, although the reply says that the answer comes later.
    pub job_fault: Option<String>,
    /// The mode that the answer names, if it is not the mode that was sent.
    pub other_mode: Option<String>,
    /// Status and code, by which identical refusals are recognised. It never contains free text of the service.
    pub same_refusals: String,
    /// The service's code, if the reply has one.
    pub code: String,
    pub message: String,
    /// The words of the reply itself.
    pub words: String,
    /// Its document was uploaded just before.
    pub uploaded: bool,
    /// Whether the reply is simulated, if it came from the wrong side: the simulator instead of the service, or the
    /// reverse.
    pub other_side: Option<bool>,
}

/// Makes one attempt. `lower` is what the check costs, if that is less than its price.
pub async fn attempt(
    context: Arc<RunContext>,
    permit: Permit,
    request: RequestId,
    name: String,
    lower: Option<Credits>,
) -> Result<AttemptEnd, Error> {
    let check = context.checks.get(&name).ok_or_else(|| Error::Internal(format!("no check `{name}` in this run")))?;
    if context.clock_watch.has_moved() {
        return Ok(AttemptEnd::ClockMoved);
    }
    let price = context.ledger.sums().price_to_hold(&name, check.price).max(check.job_hold);
    let ready = match make_ready(&context, permit, request, check, price).await? {
        Made::Plain(permit) => Ok((permit, None)),
        Made::Ready(permit, file_body) => Ok((permit, Some(file_body))),
        Made::NotUploaded(exchange) => Err(exchange),
        Made::Changed(fault) => return Ok(AttemptEnd::FileChanged(fault)),
        Made::Expired => return Ok(AttemptEnd::UploadExpired),
        Made::Unusable(fault) => return Ok(AttemptEnd::UploadUnusable(fault)),
        Made::Charged(credits) => return Ok(AttemptEnd::UploadCharged(credits)),
        Made::Refused(refusal) => return Ok(AttemptEnd::Refused(refusal)),
        Made::OtherSide(simulated) => return Ok(AttemptEnd::OtherSide(simulated)),
        Made::GateClosed => return Ok(AttemptEnd::GateClosed),
    };
    let order = ArmOrder {
        mode: context.campaign.mode,
        request,
        check: name.clone(),
        price: check.price,
        job_hold: check.job_hold,
        allowance: context.campaign.allowance,
        scope: context.scope.clone(),
        path: check.path.clone(),
        routes: Arc::clone(&check.routes),
        shape: Arc::clone(&check.shape),
        key_life_hours: check.declaration.key_life_hours,
        now_us: context.clock.now_us(),
    };
    let mut sent = Sent {
        request,
        check: name,
        attempt: 0,
        requested_at_us: order.now_us,
        sent_at: Instant::now(),
        before: context.ledger.sums().account,
        table: check.price,
        job_hold: check.job_hold,
        price,
        lower,
        uploaded: false,
        body: Map::new(),
    };
    let (permit, mut file_body) = match ready {
        Ok(ready) => ready,
        // The request itself is not sent. Its failed upload is recorded as an attempt, so that it is counted, paced and
        // judged like any other.
        Err(exchange) => return settle(&context, check, sent, *exchange, Some(order)).await,
    };
    let receipt = match context.ledger.arm(order).await? {
        Ok(receipt) => receipt,
        Err(not_armed) => return Ok(not_armed.into()),
    };
    let sums = context.ledger.sums();
    (sent.attempt, sent.before) = (receipt.attempt(), sums.account);
    sent.price = sums.price_to_hold(&sent.check, check.price).max(check.job_hold);
    // The hold takes the place of the room that the upload needed.
    sent.uploaded = file_body.as_mut().and_then(|body| body.uploaded.take()).is_some();
    // Permits age during a slow commit. Without renewal, requests that waited together would be sent together.
    let permit = context.throttle.renew(permit).await;
    // Checked after the commit, which may have taken long: the machine may have slept, or another reply may have closed
    // the gate.
    let withheld = match &permit {
        _ if context.clock_watch.has_moved() && !planted(Bug::SleptAfterCommit) => Some(AttemptEnd::ClockMoved),
        // An upload may have waited for the rate between its steps.
        _ if context.key_in_question.load(Ordering::Relaxed) => Some(AttemptEnd::GateClosed),
        Some(_) if context.throttle.paused_until().is_none() && !context.check_pauses.is_paused(&sent.check) => None,
        _ => Some(AttemptEnd::GateClosed),
    };
    let (Some(permit), None) = (permit, &withheld) else {
        context.ledger.take_back(sent.settlement(Outcome::NotWritten, &context.clock)).await?;
        return Ok(withheld.unwrap_or(AttemptEnd::GateClosed));
    };
    let mut room = None;
    let receipt = match file_body {
        None => {
            sent.body = serde_json::from_slice(receipt.body()).unwrap_or_default();
            receipt
        }
        Some(file_body) if file_body.key == receipt.key() => {
            let FileBody { form, members, room: of_body, .. } = *file_body;
            (sent.body, room) = (members, Some(of_body));
            receipt.filled(form.body, form.content_type)
        }
        Some(_) => return Err(Error::Internal("a body was made for another key".to_owned())),
    };
    sent.sent_at = Instant::now();
    let exchange = context.client.send(permit, receipt, check.auth).await;
    drop(room);
    settle(&context, check, sent, exchange, None).await
}

impl From<NotArmed> for AttemptEnd {
    fn from(not_armed: NotArmed) -> AttemptEnd {
        match not_armed {
            NotArmed::Refused(refusal) => AttemptEnd::Refused(refusal),
            NotArmed::Quarantined => AttemptEnd::Quarantined,
            NotArmed::OtherBody(differs) => AttemptEnd::OtherBody(differs),
            NotArmed::NotBefore(until_us) => AttemptEnd::NotBefore(until_us),
            NotArmed::Withheld(reason) => AttemptEnd::Withheld(reason),
        }
    }
}

/// The data of a sent request that settling needs.
struct Sent {
    request: RequestId,
    check: String,
    attempt: u32,
    requested_at_us: i64,
    /// When it, or its upload, was written.
    sent_at: Instant,
    /// The account when the request was armed.
    before: Account,
    /// The price of the check in the price table.
    table: Credits,
    /// The credits that a job of the check holds.
    job_hold: Credits,
    /// The held price: the table price, or a higher price that was seen or that a job holds.
    price: Credits,
    /// What the check costs, if that is less.
    lower: Option<Credits>,
    /// Its document was uploaded just now.
    uploaded: bool,
    /// The members of the body. An answer echoes some of them.
    body: Map<String, Value>,
}

impl Sent {
    /// A settlement of the attempt, without the fields of a reply.
    fn settlement(&self, outcome: Outcome, clock: &Clock) -> Settlement {
        Settlement {
            request: self.request,
            check: self.check.clone(),
            attempt: self.attempt,
            outcome,
            table: self.table,
            lower: self.lower,
            http_status: None,
            latency_ms: 0,
            now_us: clock.now_us(),
            answer: None,
            job: None,
            job_charged: Credits::ZERO,
            states_charge: false,
            job_hold: self.job_hold,
            unreadable: None,
            failure: None,
            remaining: None,
            before: self.before,
            pause_until_us: None,
            check_pause: None,
            not_before_us: None,
            server_offset_us: None,
        }
    }
}

/// Settles an attempt by its exchange. With an `order`, the exchange is that of a failed upload: the request was neither
/// armed nor sent.
async fn settle(
    context: &RunContext,
    check: &CheckContext,
    sent: Sent,
    exchange: Exchange,
    order: Option<ArmOrder>,
) -> Result<AttemptEnd, Error> {
    let other_side = match exchange.reply.as_ref().map(|reply| reply.simulated) {
        Ok(simulated) if !note_peer(context, simulated).await? => Some(simulated),
        _ => None,
    };
    // The parsed answer takes many times the memory of its body, so it is dropped before the next await.
    let said = Said::of(&exchange, context.clock.now().into());
    let mut classified = classify(said, &context.reply_spec(check));
    if other_side.is_some() {
        // A reply from the wrong side is not an answer for this campaign.
        classified.outcome = Outcome::Unknown;
    }
    if order.is_some() && classified.outcome == Outcome::Unknown {
        // Whatever the reply to its upload means, the request itself was not sent.
        classified.outcome = Outcome::NotWritten;
    }
    let mode_of_job = mode_of_job(&sent, &classified);
    let (now_us, compared) = (context.clock.now_us(), ClockSample::now(&context.clock));
    let judged = check.judge.judge_reply(&mut classified, &sent.body, sent.price, sent.attempt, now_us);
    let pause = classified.push_back.and_then(|push_back| pause(push_back, context.campaign.mode));
    let waits = pause.map(|pause| context.check_pauses.refused(&sent.check, pause, PUSH_BACK_MAX));
    let is_of_service = classified.author == Author::Service && !classified.kind.is_outage();
    let (of_all, of_check) = match waits {
        Some(Waits::All(pause)) => (Some(pause), None),
        Some(Waits::Check(pause)) => (None, Some(CheckPause::Until(pause_end(pause, now_us)))),
        None if is_of_service && classified.push_back.is_none() => {
            let is_over = context.check_pauses.answered(&sent.check, sent.sent_at);
            (None, is_over.then_some(CheckPause::Over))
        }
        None => (None, None),
    };
    let latency_ms = u64::try_from(exchange.latency.as_millis()).unwrap_or(u64::MAX);
    context.latencies.record(latency_ms);
    let body = exchange.reply.ok().and_then(|reply| reply.body).unwrap_or_default();
    let (answer, unreadable) = match &judged {
        _ if classified.outcome == Outcome::Unreadable => (None, Some(body)),
        Some(judged) => {
            let (requested_at_us, request_id) = (sent.requested_at_us, classified.request_id.clone());
            let (judgement, dataset) = (judged.judgement.clone(), judged.dataset.clone());
            (Some(AnswerRecord { requested_at_us, request_id, judgement, dataset, body }), None)
        }
        None => (None, None),
    };
    let settlement = Settlement {
        http_status: classified.http_status,
        latency_ms,
        now_us,
        answer,
        job: classified.job.take(),
        job_charged: classified.charge.credits().unwrap_or_default(),
        states_charge: matches!(classified.charge, Amount::Unreadable(_)),
        unreadable,
        failure: classified.outcome.is_refusal().then(|| refusal(&classified)),
        remaining: classified.remaining,
        pause_until_us: of_all.map(|pause| pause_end(pause, now_us)),
        check_pause: of_check,
        not_before_us: classified.repeat_after.map(|wait| pause_end(wait, now_us)),
        server_offset_us: classified.server_now_us.map(|server| server - now_us),
        ..sent.settlement(classified.outcome, &context.clock)
    };
    if let Some(pause) = of_all {
        close_gate(context, pause.min(PUSH_BACK_MAX), classified.http_status);
    }
    let has_server_time = settlement.server_offset_us.is_some();
    let settled = match order {
        None => context.ledger.settle(settlement).await?,
        Some(order) => match context.ledger.settle_unsent(order, settlement).await? {
            Ok(settled) => settled,
            Err(not_armed) => return Ok(not_armed.into()),
        },
    };
    if has_server_time {
        context.clock_watch.compared(compared);
    }
    tracing::debug!(
        request = sent.request.0,
        attempt = sent.attempt,
        outcome = classified.outcome.as_str(),
        status = classified.http_status,
        latency_ms,
        state = settled.state.as_str(),
        "attempt"
    );
    let code = classified.code.unwrap_or_default();
    let same_code = if code.is_empty() { "no code" } else { &code };
    let answered = judged.filter(|_| settled.state == State::Answered);
    Ok(AttemptEnd::Attempted(Box::new(Attempted {
        settled,
        outcome: classified.outcome,
        kind: classified.kind,
        author: classified.author,
        other_mode: mode_of_job.or_else(|| answered.as_ref()?.other_mode.clone()),
        judgement: answered.map(|judged| judged.judgement),
        http_status: classified.http_status,
        remaining: classified.remaining,
        stated: match classified.outcome {
            Outcome::Answered { stated } | Outcome::ChargedRefusal { stated } => stated,
            _ => None,
        },
        unreadable_amount: classified.unreadable_amount,
        location: classified.location,
        push_back: classified.push_back,
        waits,
        repeat_after: classified.repeat_after,
        job_fault: classified.job_fault,
        same_refusals: format!("HTTP {} {same_code}", classified.http_status.unwrap_or_default()),
        code,
        message: classified.message,
        words: classified.words,
        uploaded: sent.uploaded,
        other_side,
    })))
}

/// The mode that an accepted job names, if it is not the mode that was sent.
fn mode_of_job(sent: &Sent, classified: &Classified) -> Option<String> {
    let answer = classified.answer.as_ref().filter(|_| matches!(classified.outcome, Outcome::Accepted { .. }))?;
    if let Echo::OtherMode(mode) = echo(&answer.value, None, &sent.body) { Some(mode) } else { None }
}
