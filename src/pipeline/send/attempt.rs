//! One attempt of one request: arm → gate → send → hear → judge → settle. What comes next is decided elsewhere.

use super::context::{CheckContext, RunContext};
use super::judge::Judged;
use crate::{
    client::{Classified, Exchange, PushBack, ReplySpec, calls_itself_a_failure, classify},
    error::Error,
    ledger::{AnswerRecord, ArmOrder, Armed, Settled, Settlement},
    model::{
        Clock, Credits, Failure, FailureCode, Judgement, Mode, Permit, RequestId, Stage, Verdict,
        budget::{Account, BudgetRefusal},
        clock::ClockSample,
        planted::{Bug, planted},
        state::{IllegalMove, Outcome, State},
    },
};
use serde_json::{Map, Value};
use std::{sync::Arc, time::Duration};

/// A push-back longer than this stops the run instead of holding it.
pub const PUSH_BACK_MAX: Duration = Duration::from_secs(15 * 60);
/// A push-back is kept for later runs for this long at most.
pub const PAUSE_KEPT_MAX: Duration = Duration::from_secs(24 * 3_600);
/// A 429 that states no time pauses all sends this long.
pub const PUSH_BACK_UNSTATED: Duration = Duration::from_secs(5);

/// How an attempt ended.
pub enum AttemptEnd {
    /// Not sent: the budget refuses it.
    Refused(BudgetRefusal),
    /// Not sent: its key's life is over.
    Quarantined,
    /// Not sent: it may not be.
    Withheld(IllegalMove),
    /// Not sent: the gate closed between arming and the write.
    GateClosed,
    /// Not sent: the service has to tell the time first.
    ClockMoved,
    /// Not sent: the service asked not to repeat it before this moment, in microseconds since 1970.
    NotBefore(i64),
    Attempted(Box<Attempted>),
}

/// An attempt that was made.
pub struct Attempted {
    pub settled: Settled,
    pub outcome: Outcome,
    pub judgement: Option<Judgement>,
    pub http_status: Option<u16>,
    pub remaining: Option<Credits>,
    /// What the reply states that it cost.
    pub stated: Option<Credits>,
    /// What stands where an amount of credits was expected and cannot be one.
    pub unreadable_amount: Option<String>,
    pub push_back: Option<PushBack>,
    /// When this request may come again, where the reply says so.
    pub repeat_after: Option<Duration>,
    /// The answer says that it was made in this mode, which is not the one that was sent.
    pub other_mode: Option<String>,
    /// What refusals alike have in common: status and code, never the service's free text.
    pub same_refusals: String,
    pub message: String,
    /// The other side answered: simulator for service, or the reverse.
    pub other_side: Option<bool>,
}

/// Makes one attempt. `shown` is what a lone request of the check was shown to cost, where that is less than its price.
pub async fn attempt(
    context: Arc<RunContext>,
    permit: Permit,
    request: RequestId,
    name: String,
    shown: Option<Credits>,
) -> Result<AttemptEnd, Error> {
    let check = context.checks.get(&name).ok_or_else(|| Error::Internal(format!("no check `{name}` in this run")))?;
    if context.clock_watch.has_moved() {
        return Ok(AttemptEnd::ClockMoved);
    }
    let order = ArmOrder {
        mode: context.campaign.mode,
        request,
        check: name.clone(),
        price: check.price,
        allowance: context.campaign.allowance,
        scope: context.scope.clone(),
        path: check.path.clone(),
        routes: Arc::clone(&check.routes),
        key_life_hours: check.declaration.key_life_hours,
        now_us: context.clock.now_us(),
    };
    let requested_at_us = order.now_us;
    let receipt = match context.ledger.arm(order).await? {
        Armed::Ready(receipt) => receipt,
        Armed::Refused(refusal) => return Ok(AttemptEnd::Refused(refusal)),
        Armed::Quarantined => return Ok(AttemptEnd::Quarantined),
        Armed::NotBefore(until_us) => return Ok(AttemptEnd::NotBefore(until_us)),
        Armed::Withheld(reason) => return Ok(AttemptEnd::Withheld(reason)),
    };
    let attempt = receipt.attempt();
    let (sums, table) = (context.ledger.sums(), check.price);
    let (before, price) = (sums.account, sums.price_to_hold(&name, table));
    let mut sent =
        Sent { request, check: name, attempt, requested_at_us, before, table, price, shown, body: Map::new() };
    // A slow commit makes permits old: what waited together must not leave together.
    let permit = context.throttle.renew(permit).await;
    // The commit may have taken long: the machine may have slept in it, or another reply may have closed the gate.
    let withheld = match &permit {
        _ if context.clock_watch.has_moved() && !planted(Bug::SleptAfterCommit) => Some(AttemptEnd::ClockMoved),
        Some(_) if context.throttle.paused_until().is_none() => None,
        _ => Some(AttemptEnd::GateClosed),
    };
    let (Some(permit), None) = (permit, &withheld) else {
        context.ledger.settle(sent.settlement(Outcome::NotWritten, &context.clock)).await?;
        return Ok(withheld.unwrap_or(AttemptEnd::GateClosed));
    };
    sent.body = serde_json::from_slice(receipt.body()).unwrap_or_default();
    let exchange = context.client.send(permit, receipt).await;
    settle(&context, check, sent, exchange).await
}

/// What was sent, as far as settling needs it.
struct Sent {
    request: RequestId,
    check: String,
    attempt: u32,
    requested_at_us: i64,
    /// The account when it was armed.
    before: Account,
    /// What the price table says of its check.
    table: Credits,
    /// What is held for it: the table's price, or more where more was seen.
    price: Credits,
    /// What the check was shown to cost, where that is less.
    shown: Option<Credits>,
    /// The members of the body: an answer echoes some of them.
    body: Map<String, Value>,
}

impl Sent {
    /// A settlement that knows of the attempt and nothing of a reply.
    fn settlement(&self, outcome: Outcome, clock: &Clock) -> Settlement {
        Settlement {
            request: self.request,
            check: self.check.clone(),
            attempt: self.attempt,
            outcome,
            table: self.table,
            shown: self.shown,
            http_status: None,
            latency_ms: 0,
            now_us: clock.now_us(),
            answer: None,
            unreadable: None,
            failure: None,
            remaining: None,
            before: self.before,
            pause_until_us: None,
            not_before_us: None,
            server_offset_us: None,
        }
    }
}

async fn settle(
    context: &RunContext,
    check: &CheckContext,
    sent: Sent,
    exchange: Exchange,
) -> Result<AttemptEnd, Error> {
    let service = &context.campaign.service;
    let spec = ReplySpec {
        answer: &check.declaration.answer,
        charge_pointer: service.charge_pointer.as_deref(),
        remaining_pointer: service.remaining_pointer.as_deref(),
        price: check.price,
    };
    let other_side = match exchange.reply.as_ref().map(|reply| reply.simulated) {
        Ok(simulated) if !note_peer(context, simulated).await? => Some(simulated),
        _ => None,
    };
    // The parsed answer takes many times the memory of its body: it is gone before anything is waited for.
    let mut classified = classify(&exchange, &spec, context.clock.now().into());
    if other_side.is_some() {
        // A reply of the other side is not an answer to this campaign.
        classified.outcome = Outcome::Unknown;
    }
    let judged = judge(check, &sent, &mut classified);
    let (now_us, compared) = (context.clock.now_us(), ClockSample::now(&context.clock));
    let pause = classified.push_back.and_then(|push_back| pause(push_back, context.campaign.mode));
    let latency_ms = u64::try_from(exchange.latency.as_millis()).unwrap_or(u64::MAX);
    let body = exchange.reply.ok().and_then(|reply| reply.body).unwrap_or_default();
    let (answer, unreadable) = match &judged {
        _ if classified.outcome == Outcome::Unreadable => (None, Some(body)),
        Some(judged) => {
            let (requested_at_us, request_id) = (sent.requested_at_us, classified.request_id.clone());
            (Some(AnswerRecord { requested_at_us, request_id, judgement: judged.judgement.clone(), body }), None)
        }
        None => (None, None),
    };
    let refused = matches!(classified.outcome, Outcome::Refused | Outcome::ChargedRefusal { .. });
    let settlement = Settlement {
        http_status: classified.http_status,
        latency_ms,
        now_us,
        answer,
        unreadable,
        failure: refused.then(|| refusal(&classified)),
        remaining: classified.remaining,
        // A time that no run will live to see is a defect of the service, not a reason to wait for ever.
        pause_until_us: pause.map(|pause| now_us.saturating_add(micros(pause.min(PAUSE_KEPT_MAX)))),
        not_before_us: classified.repeat_after.map(|wait| now_us.saturating_add(micros(wait.min(PAUSE_KEPT_MAX)))),
        server_offset_us: classified.server_now_us.map(|server| server - now_us),
        ..sent.settlement(classified.outcome, &context.clock)
    };
    if let Some(pause) = pause {
        context.throttle.pause_until(tokio::time::Instant::now() + pause.min(PUSH_BACK_MAX));
    }
    let told = settlement.server_offset_us.is_some();
    let settled = context.ledger.settle(settlement).await?;
    if told {
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
    let code = classified.code.as_deref().unwrap_or("no code");
    let answered = judged.filter(|_| settled.state == State::Answered);
    Ok(AttemptEnd::Attempted(Box::new(Attempted {
        settled,
        outcome: classified.outcome,
        other_mode: answered.as_ref().and_then(|judged| judged.other_mode.clone()),
        judgement: answered.map(|judged| judged.judgement),
        http_status: classified.http_status,
        remaining: classified.remaining,
        stated: match classified.outcome {
            Outcome::Answered { stated } | Outcome::ChargedRefusal { stated } => stated,
            _ => None,
        },
        unreadable_amount: classified.unreadable_amount,
        push_back: classified.push_back,
        repeat_after: classified.repeat_after,
        same_refusals: format!("HTTP {} {code}", classified.http_status.unwrap_or_default()),
        message: classified.message,
        other_side,
    })))
}

/// Judges an answer, and drops it. One that calls itself a failure and has nothing that a rule recognises is not believed before it
/// repeats.
fn judge(check: &CheckContext, sent: &Sent, classified: &mut Classified) -> Option<Judged> {
    let answer = classified.answer.take()?;
    match classified.outcome {
        Outcome::Answered { stated } => {
            let judged = check.judge.judge(&answer, &sent.body);
            let unrecognised = judged.judgement.verdict == Verdict::Unrecognised;
            if unrecognised && calls_itself_a_failure(&answer.value) && stated.unwrap_or_default() <= sent.price {
                classified.outcome = Outcome::Unconvincing;
            }
            Some(judged)
        }
        Outcome::Unconvincing => Some(Judged { judgement: Judgement::unrecognised(), other_mode: None }),
        _ => None,
    }
}

/// How long a push-back closes the gate for all; in sandbox a 429 without a time is the repeat cooldown of one payload.
fn pause(push_back: PushBack, mode: Mode) -> Option<Duration> {
    match (push_back, mode) {
        (PushBack::Stated(wait), _) => Some(wait),
        (PushBack::Unstated, Mode::Production) => Some(PUSH_BACK_UNSTATED),
        (PushBack::Unstated, Mode::Sandbox) => None,
    }
}

/// Notes who answers; `false` where it is not who answered before.
pub async fn note_peer(context: &RunContext, simulated: bool) -> Result<bool, Error> {
    if let Some(peer) = context.peer.get() {
        return Ok(*peer == simulated);
    }
    let same = context.ledger.note_peer(simulated).await?;
    if same {
        context.peer.get_or_init(|| simulated);
    }
    Ok(same)
}

fn refusal(classified: &Classified) -> Failure {
    let charge = match classified.outcome {
        Outcome::ChargedRefusal { stated: Some(credits) } => format!(" and charged {credits} credits"),
        Outcome::ChargedRefusal { stated: None } => " and may have charged for it".to_owned(),
        _ => String::new(),
    };
    Failure {
        stage: Stage::Send,
        code: FailureCode::Refused,
        message: format!("the service refused the request{charge}: {}", described(classified)),
    }
}

/// Status, code and message of a reply.
fn described(classified: &Classified) -> String {
    let status = classified.http_status.unwrap_or_default();
    let code = classified.code.as_deref().map(|code| format!(" {code}")).unwrap_or_default();
    format!("HTTP {status}{code}: {}", classified.message)
}

pub fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
