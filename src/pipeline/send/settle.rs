//! The reply to an attempt: read, classified, judged, told to the engine, and settled.

use super::{
    attempt_end::{Attempt, AttemptEnd, Heard},
    check_pauses::Waits,
    context::{CheckContext, RunContext},
    gate::{PUSH_BACK_MAX, close_gate, pause, pause_end},
    outgoing::Outgoing,
    peer::note_peer,
    refusal::refusal,
};
use crate::{
    client::{Author, Classified, Exchange, Said, classify},
    error::Error,
    ledger::{ArmOrder, CheckPause, Settlement},
    model::{
        clock::ClockSample,
        credits::Amount,
        state::{Outcome, State},
    },
    pipeline::judge::{
        Judged,
        echo::{Echo, echo},
    },
};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// Settles an attempt by its exchange. With an `order`, the exchange is that of a failed upload: the request was neither
/// armed nor sent.
pub(super) async fn settle(
    context: &RunContext,
    check: &CheckContext,
    outgoing: Outgoing,
    exchange: Exchange,
    order: Option<ArmOrder>,
    tell: &UnboundedSender<Heard>,
) -> Result<AttemptEnd, Error> {
    let other_side = match exchange.reply.as_ref().map(|reply| reply.simulated) {
        Ok(simulated) if !note_peer(context, simulated).await? => Some(simulated),
        _ => None,
    };
    // The parsed answer takes many times the memory of its body, so it is dropped before the next await.
    let mut reply = read(context, check, &exchange, (other_side.is_some(), order.is_some()));
    let mode_of_job = mode_of_job(&outgoing, &reply);
    let (now_us, compared) = (context.clock.now_us(), ClockSample::now(&context.clock));
    let judged = check.judge.judge_reply(&mut reply, &outgoing.body, outgoing.price, outgoing.attempt, now_us);
    let waits = waits(context, &outgoing.check, &reply);
    let latency_ms = u64::try_from(exchange.latency.as_millis()).unwrap_or(u64::MAX);
    context.latencies.record(latency_ms);
    let body = exchange.reply.ok().and_then(|reply| reply.body).unwrap_or_default();
    let check_pause = check_pause(context, &outgoing, &reply, waits, now_us);
    let settlement = Settlement {
        latency_ms,
        pause_until_us: of_all(waits).map(|pause| pause_end(pause, now_us)),
        check_pause,
        ..settlement(context, &outgoing, &mut reply, judged.as_ref(), body, now_us)
    };
    if let Some(pause) = of_all(waits) {
        close_gate(context, pause, reply.http_status);
    }
    let is_plain = waits.is_none() && other_side.is_none();
    // This fails only after the end of the run, which decides nothing more.
    tell.send(heard(context, &outgoing, &reply, judged.as_ref().filter(|_| is_plain))).ok();
    let has_server_time = settlement.server_offset_us.is_some();
    let settled = match order {
        None => context.ledger.settle(settlement).await?,
        Some(order) => match context.ledger.settle_unsent(order, settlement).await? {
            Ok(settled) => settled,
            Err(not_armed) => return Ok(not_armed.into()),
        },
    };
    context.purse.has_news();
    if has_server_time {
        context.clock_watch.compared(compared);
    }
    log(&outgoing, &reply, latency_ms, settled.state);
    let answered = judged.filter(|_| settled.state == State::Answered);
    Ok(AttemptEnd::Attempted(Box::new(Attempt {
        reply,
        settled,
        other_mode: mode_of_job.or_else(|| answered.as_ref()?.other_mode.clone()),
        judgement: answered.map(|judged| judged.judgement),
        waits,
        uploaded: outgoing.uploaded,
        other_side,
    })))
}

fn log(outgoing: &Outgoing, reply: &Classified, latency_ms: u64, state: State) {
    tracing::debug!(
        request = outgoing.request.0,
        attempt = outgoing.attempt,
        outcome = reply.outcome.as_str(),
        status = reply.http_status,
        latency_ms,
        state = state.as_str(),
        "attempt"
    );
}

/// What the ledger records of a reply, without the pause that it asks for. Takes the job that the reply names.
fn settlement(
    context: &RunContext,
    outgoing: &Outgoing,
    reply: &mut Classified,
    judged: Option<&Judged>,
    body: Vec<u8>,
    now_us: i64,
) -> Settlement {
    let (answer, unreadable) = match judged {
        _ if reply.outcome == Outcome::Unreadable => (None, Some(body)),
        Some(judged) => (Some(judged.record(reply, outgoing.requested_at_us, body)), None),
        None => (None, None),
    };
    Settlement {
        http_status: reply.http_status,
        now_us,
        answer,
        job: reply.job.take(),
        job_charged: reply.charge.credits().unwrap_or_default(),
        charge_unreadable: matches!(reply.charge, Amount::Unreadable(_)),
        unreadable,
        is_of_another: reply.author == Author::Another,
        failure: reply.outcome.is_refusal().then(|| refusal(reply)),
        remaining: reply.remaining,
        not_before_us: reply.repeat_after.map(|wait| pause_end(wait, now_us)),
        server_offset_us: reply.server_now_us.map(|server| server - now_us),
        ..outgoing.settlement(reply.outcome, &context.clock)
    }
}

/// What the reply says about a request that may not be this campaign's, or that was not sent.
fn read(
    context: &RunContext,
    check: &CheckContext,
    exchange: &Exchange,
    (is_of_other_side, is_unsent): (bool, bool),
) -> Classified {
    let said = Said::of(exchange, context.clock.now().into());
    let mut reply = classify(said, &context.reply_spec(check));
    if is_of_other_side {
        // A reply from the wrong side is not an answer for this campaign.
        reply.outcome = Outcome::Unknown;
    }
    if context.purse.is_shared() {
        // Other ledgers lower the balance, too. What they used is only compared where the account is read.
        reply.remaining = None;
    }
    // Whatever the reply to its upload means, the request itself was not sent.
    match reply.outcome {
        Outcome::Unknown if is_unsent => reply.outcome = Outcome::NotWritten,
        Outcome::Blocked if is_unsent => reply.outcome = Outcome::Unauthorised,
        _ => {}
    }
    reply
}

/// Who waits because of a reply.
fn waits(context: &RunContext, check: &str, reply: &Classified) -> Option<Waits> {
    let pause = pause(reply.push_back?, context.campaign.mode)?;
    Some(context.check_pauses.pushed_back(check, pause, PUSH_BACK_MAX, context.moment()))
}

/// How long all requests wait.
fn of_all(waits: Option<Waits>) -> Option<Duration> {
    if let Some(Waits::All(pause)) = waits { Some(pause) } else { None }
}

/// What a reply changes about the pause of its check.
fn check_pause(
    context: &RunContext,
    outgoing: &Outgoing,
    reply: &Classified,
    waits: Option<Waits>,
    now_us: i64,
) -> Option<CheckPause> {
    let is_of_service = reply.author == Author::Service && !reply.kind.is_outage();
    match waits {
        Some(Waits::All(_)) => None,
        Some(Waits::Check(pause)) => Some(CheckPause::Until(pause_end(pause, now_us))),
        None if is_of_service && reply.push_back.is_none() => {
            let is_over = context.check_pauses.answered(&outgoing.check, outgoing.sent_at);
            is_over.then_some(CheckPause::Over)
        }
        None => None,
    }
}

/// What is told before the reply is recorded. `judged` is set if nothing about the reply is odd.
fn heard(context: &RunContext, outgoing: &Outgoing, reply: &Classified, judged: Option<&Judged>) -> Heard {
    let is_recognised = judged.is_some_and(|judged| judged.is_recognised() && judged.other_mode.is_none());
    Heard {
        request: outgoing.request,
        outcome: reply.outcome,
        price: context.ledger.sums().price_to_hold(&outgoing.check, outgoing.table),
        remaining: reply.remaining,
        is_recognised: is_recognised && reply.unreadable_amount.is_none(),
    }
}

/// The mode that an accepted job names, if it is not the mode that was sent.
fn mode_of_job(outgoing: &Outgoing, reply: &Classified) -> Option<String> {
    let answer = reply.answer.as_ref().filter(|_| matches!(reply.outcome, Outcome::Accepted { .. }))?;
    if let Echo::OtherMode(mode) = echo(&answer.value, None, &outgoing.body) { Some(mode) } else { None }
}
