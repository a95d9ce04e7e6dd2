//! The reply to an attempt: read, classified, judged, told to the engine, and settled.

use super::{
    attempt_end::{Attempt, AttemptEnd, Heard},
    check_pauses::Waits,
    context::{CheckContext, RunContext},
    gate::{PUSH_BACK_MAX, close_gate, pause, pause_end},
    peer::note_peer,
    refusal::refusal,
};
use crate::{
    client::{Author, Classified, Exchange, Said, classify},
    error::Error,
    ledger::{AnswerRecord, ArmOrder, CheckPause, Settlement},
    model::{
        Clock, Credits, RequestId,
        budget::Account,
        clock::ClockSample,
        credits::Amount,
        state::{Outcome, State},
    },
    pipeline::judge::echo::{Echo, echo},
};
use serde_json::{Map, Value};
use tokio::{sync::mpsc::UnboundedSender, time::Instant};

/// The data of a sent request that settling needs.
pub(super) struct Sent {
    pub(super) request: RequestId,
    pub(super) check: String,
    pub(super) attempt: u32,
    pub(super) requested_at_us: i64,
    /// When it, or its upload, was written.
    pub(super) sent_at: Instant,
    /// The account when the request was armed.
    pub(super) before: Account,
    /// The price of the check in the price table.
    pub(super) table: Credits,
    /// The credits that a job of the check holds.
    pub(super) job_hold: Credits,
    /// The held price: the table price, or a higher price that was seen or that a job holds.
    pub(super) price: Credits,
    /// What the check costs, if that is less.
    pub(super) lower: Option<Credits>,
    /// Its document was uploaded just now.
    pub(super) uploaded: bool,
    /// The members of the body. An answer echoes some of them.
    pub(super) body: Map<String, Value>,
}

impl Sent {
    /// A settlement of the attempt, without the fields of a reply.
    pub(super) fn settlement(&self, outcome: Outcome, clock: &Clock) -> Settlement {
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
pub(super) async fn settle(
    context: &RunContext,
    check: &CheckContext,
    sent: Sent,
    exchange: Exchange,
    order: Option<ArmOrder>,
    tell: &UnboundedSender<Heard>,
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
    let is_recognised = waits.is_none()
        && other_side.is_none()
        && classified.unreadable_amount.is_none()
        && judged.as_ref().is_some_and(|judged| judged.is_recognised() && judged.other_mode.is_none());
    let Classified { outcome, remaining, .. } = classified;
    // What a job would hold is not the price of an answer.
    let price = context.ledger.sums().price_to_hold(&sent.check, sent.table);
    // This fails only after the end of the run, which decides nothing more.
    tell.send(Heard { request: sent.request, outcome, price, remaining, is_recognised }).ok();
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
    let answered = judged.filter(|_| settled.state == State::Answered);
    Ok(AttemptEnd::Attempted(Box::new(Attempt {
        reply: classified,
        settled,
        other_mode: mode_of_job.or_else(|| answered.as_ref()?.other_mode.clone()),
        judgement: answered.map(|judged| judged.judgement),
        waits,
        uploaded: sent.uploaded,
        other_side,
    })))
}

/// The mode that an accepted job names, if it is not the mode that was sent.
fn mode_of_job(sent: &Sent, classified: &Classified) -> Option<String> {
    let answer = classified.answer.as_ref().filter(|_| matches!(classified.outcome, Outcome::Accepted { .. }))?;
    if let Echo::OtherMode(mode) = echo(&answer.value, None, &sent.body) { Some(mode) } else { None }
}
