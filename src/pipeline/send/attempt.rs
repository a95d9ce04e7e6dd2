//! One attempt of one request: arm → gate → send → hear → judge → settle. What comes next is decided elsewhere.

use super::judge::{Judge, Judged};
use crate::{
    catalogue::Declaration,
    client::{Client, Delays, Exchange, Heard, PushBack, ReplySpec, calls_itself_a_failure, hear},
    error::Error,
    ledger::{AnswerRecord, ArmOrder, Armed, Ledger, Settled, Settlement},
    model::{
        Clock, Credits, Failure, FailureCode, Judgement, Mode, Permit, RequestId, Stage, Verdict,
        budget::{Account, Refusal},
        clock::{ClockWatch, Compared},
        planted::{Bug, planted},
        state::{IllegalMove, Outcome, State},
    },
    pipeline::campaign::Campaign,
    throttle::Throttle,
};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

/// A push-back longer than this stops the run instead of holding it.
pub const PUSH_BACK_MAX: Duration = Duration::from_secs(15 * 60);
/// A push-back is kept for later runs for this long at most.
pub const PAUSE_KEPT_MAX: Duration = Duration::from_secs(24 * 3_600);
/// A 429 that states no time pauses all sends this long.
pub const PUSH_BACK_UNSTATED: Duration = Duration::from_secs(5);

/// One thing the service sells, as a run uses it.
pub struct Sold {
    pub declaration: Declaration,
    pub judge: Judge,
    pub price: Credits,
    /// The route its requests are sent to.
    pub path: String,
    /// All routes of its declaration: what is in doubt is sent again to one of them, or not at all.
    pub routes: Arc<[String]>,
}

/// What all attempts of a run share.
pub struct Crew {
    pub ledger: Arc<Ledger>,
    pub client: Client,
    pub throttle: Arc<Throttle>,
    pub sold: BTreeMap<String, Sold>,
    pub campaign: Arc<Campaign>,
    /// Fingerprint of the API key.
    pub scope: String,
    /// Digest of what decides whether a stop would happen again.
    pub settings: String,
    pub clock: Clock,
    /// Whether this machine's clock can be trusted since the service last told the time: the age of a key is judged by both.
    pub clock_watch: Arc<ClockWatch>,
    /// Whether the simulator answers, once somebody answered.
    pub met: OnceLock<bool>,
}

/// A request on its way through a run.
pub struct Try {
    pub request: RequestId,
    /// The catalogue's name of its check.
    pub sold: String,
    /// Attempts used up in this run.
    pub attempts: u32,
    /// It may have been charged, and holds its price.
    pub in_doubt: bool,
    /// It was sent before: while new requests wait, it takes at most every second place.
    pub is_repeat: bool,
    /// What its last turn counted for: 1 for a new request, -1 for a repeat, 0 where no other kind waited.
    pub turn: i64,
    /// It was refused in this run while the account was in order.
    pub was_refused_alone: bool,
    /// Times in this run that it was pending.
    pub repeats: u32,
    /// 429s in a row in this run.
    pub push_backs: u32,
    /// 429s in a row, each after an answer to somebody else: the rate is fine, the refusal is cached under the key.
    pub cached: u32,
    pub answers_at_refusal: u64,
    pub delays: Delays,
}

impl Try {
    /// A request that was not sent before.
    pub fn new(request: RequestId, sold: String) -> Try {
        let delays = Delays::new(request.0.unsigned_abs() ^ 0x5eed);
        Try {
            request,
            sold,
            attempts: 0,
            in_doubt: false,
            is_repeat: false,
            turn: 0,
            was_refused_alone: false,
            repeats: 0,
            push_backs: 0,
            cached: 0,
            answers_at_refusal: 0,
            delays,
        }
    }

    /// A request that was sent by an earlier run.
    pub fn again(request: RequestId, sold: String, in_doubt: bool) -> Try {
        Try { in_doubt, is_repeat: true, ..Try::new(request, sold) }
    }
}

/// How an attempt ended.
pub enum Landed {
    /// Not sent: the budget refuses it.
    Refused(Refusal),
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
    pub alike: String,
    pub message: String,
    /// The other side answered: simulator for service, or the reverse.
    pub other_side: Option<bool>,
}

/// Makes one attempt. `shown` is what a lone request of the check was shown to cost, where that is less than its price.
pub async fn fly(
    crew: Arc<Crew>,
    permit: Permit,
    request: RequestId,
    name: String,
    shown: Option<Credits>,
) -> Result<Landed, Error> {
    let sold = crew.sold.get(&name).ok_or_else(|| Error::Internal(format!("no check `{name}` in this run")))?;
    if crew.clock_watch.has_moved() {
        return Ok(Landed::ClockMoved);
    }
    let order = ArmOrder {
        mode: crew.campaign.mode,
        request,
        check: name,
        price: sold.price,
        allowance: crew.campaign.allowance,
        scope: crew.scope.clone(),
        path: sold.path.clone(),
        routes: Arc::clone(&sold.routes),
        key_life_hours: sold.declaration.key_life_hours,
        now_us: crew.clock.now_us(),
    };
    let requested_at_us = order.now_us;
    let check = order.check.clone();
    let receipt = match crew.ledger.arm(order).await? {
        Armed::Ready(receipt) => receipt,
        Armed::Refused(refusal) => return Ok(Landed::Refused(refusal)),
        Armed::Quarantined => return Ok(Landed::Quarantined),
        Armed::NotBefore(until_us) => return Ok(Landed::NotBefore(until_us)),
        Armed::Withheld(reason) => return Ok(Landed::Withheld(reason)),
    };
    let attempt = receipt.attempt();
    let (sums, table) = (crew.ledger.sums(), sold.price);
    let (before, price) = (sums.account, sums.price_to_hold(&check, table));
    let mut sent = Sent { request, check, attempt, requested_at_us, before, table, price, shown, body: Map::new() };
    // A slow commit makes permits old: what waited together must not leave together.
    let permit = crew.throttle.renew(permit).await;
    // The commit may have taken long: the machine may have slept in it, or another reply may have closed the gate.
    let withheld = match &permit {
        _ if crew.clock_watch.has_moved() && !planted(Bug::SleptAfterCommit) => Some(Landed::ClockMoved),
        Some(_) if crew.throttle.paused_until().is_none() => None,
        _ => Some(Landed::GateClosed),
    };
    let (Some(permit), None) = (permit, &withheld) else {
        crew.ledger.settle(sent.settlement(Outcome::NotWritten, &crew.clock)).await?;
        return Ok(withheld.unwrap_or(Landed::GateClosed));
    };
    sent.body = serde_json::from_slice(receipt.body()).unwrap_or_default();
    let exchange = crew.client.send(permit, receipt).await;
    settle(&crew, sold, sent, exchange).await
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

async fn settle(crew: &Crew, sold: &Sold, sent: Sent, exchange: Exchange) -> Result<Landed, Error> {
    let service = &crew.campaign.service;
    let spec = ReplySpec {
        answer: &sold.declaration.answer,
        charge_pointer: service.charge_pointer.as_deref(),
        remaining_pointer: service.remaining_pointer.as_deref(),
        price: sold.price,
    };
    let other_side = match exchange.reply.as_ref().map(|reply| reply.simulated) {
        Ok(simulated) if !meet(crew, simulated).await? => Some(simulated),
        _ => None,
    };
    // The parsed answer takes many times the memory of its body: it is gone before anything is waited for.
    let mut heard = hear(&exchange, &spec, crew.clock.now().into());
    if other_side.is_some() {
        // A reply of the other side is not an answer to this campaign.
        heard.outcome = Outcome::Unknown;
    }
    let judged = judge(sold, &sent, &mut heard);
    let (now_us, compared) = (crew.clock.now_us(), Compared::now(&crew.clock));
    let pause = heard.push_back.and_then(|push_back| pause(push_back, crew.campaign.mode));
    let latency_ms = u64::try_from(exchange.latency.as_millis()).unwrap_or(u64::MAX);
    let body = exchange.reply.ok().and_then(|reply| reply.body).unwrap_or_default();
    let (answer, unreadable) = match &judged {
        _ if heard.outcome == Outcome::Unreadable => (None, Some(body)),
        Some(judged) => {
            let (requested_at_us, request_id) = (sent.requested_at_us, heard.request_id.clone());
            (Some(AnswerRecord { requested_at_us, request_id, judgement: judged.judgement.clone(), body }), None)
        }
        None => (None, None),
    };
    let refused = matches!(heard.outcome, Outcome::Refused | Outcome::ChargedRefusal { .. });
    let settlement = Settlement {
        http_status: heard.http_status,
        latency_ms,
        now_us,
        answer,
        unreadable,
        failure: refused.then(|| refusal(&heard)),
        remaining: heard.remaining,
        // A time that no run will live to see is a defect of the service, not a reason to wait for ever.
        pause_until_us: pause.map(|pause| now_us.saturating_add(micros(pause.min(PAUSE_KEPT_MAX)))),
        not_before_us: heard.repeat_after.map(|wait| now_us.saturating_add(micros(wait.min(PAUSE_KEPT_MAX)))),
        server_offset_us: heard.server_now_us.map(|server| server - now_us),
        ..sent.settlement(heard.outcome, &crew.clock)
    };
    if let Some(pause) = pause {
        crew.throttle.pause_until(tokio::time::Instant::now() + pause.min(PUSH_BACK_MAX));
    }
    let told = settlement.server_offset_us.is_some();
    let settled = crew.ledger.settle(settlement).await?;
    if told {
        crew.clock_watch.compared(compared);
    }
    tracing::debug!(
        request = sent.request.0,
        attempt = sent.attempt,
        outcome = heard.outcome.as_str(),
        status = heard.http_status,
        latency_ms,
        state = settled.state.as_str(),
        "attempt"
    );
    let code = heard.code.as_deref().unwrap_or("no code");
    let answered = judged.filter(|_| settled.state == State::Answered);
    Ok(Landed::Attempted(Box::new(Attempted {
        settled,
        outcome: heard.outcome,
        other_mode: answered.as_ref().and_then(|judged| judged.other_mode.clone()),
        judgement: answered.map(|judged| judged.judgement),
        http_status: heard.http_status,
        remaining: heard.remaining,
        stated: match heard.outcome {
            Outcome::Answered { stated } | Outcome::ChargedRefusal { stated } => stated,
            _ => None,
        },
        unreadable_amount: heard.unreadable_amount,
        push_back: heard.push_back,
        repeat_after: heard.repeat_after,
        alike: format!("HTTP {} {code}", heard.http_status.unwrap_or_default()),
        message: heard.message,
        other_side,
    })))
}

/// Judges an answer, and drops it. One that calls itself a failure and has nothing that a rule recognises is not believed before it
/// repeats.
fn judge(sold: &Sold, sent: &Sent, heard: &mut Heard) -> Option<Judged> {
    let answer = heard.answer.take()?;
    match heard.outcome {
        Outcome::Answered { stated } => {
            let judged = sold.judge.judge(&answer, &sent.body);
            let unrecognised = judged.judgement.verdict == Verdict::Unrecognised;
            if unrecognised && calls_itself_a_failure(&answer.value) && stated.unwrap_or_default() <= sent.price {
                heard.outcome = Outcome::Unconvincing;
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
pub async fn meet(crew: &Crew, simulated: bool) -> Result<bool, Error> {
    if let Some(met) = crew.met.get() {
        return Ok(*met == simulated);
    }
    let same = crew.ledger.meet(simulated).await?;
    if same {
        crew.met.get_or_init(|| simulated);
    }
    Ok(same)
}

fn refusal(heard: &Heard) -> Failure {
    let charge = match heard.outcome {
        Outcome::ChargedRefusal { stated: Some(credits) } => format!(" and charged {credits} credits"),
        Outcome::ChargedRefusal { stated: None } => " and may have charged for it".to_owned(),
        _ => String::new(),
    };
    Failure {
        stage: Stage::Send,
        code: FailureCode::Refused,
        message: format!("the service refused the request{charge}: {}", described(heard)),
    }
}

/// Status, code and message of a reply.
fn described(heard: &Heard) -> String {
    let status = heard.http_status.unwrap_or_default();
    let code = heard.code.as_deref().map(|code| format!(" {code}")).unwrap_or_default();
    format!("HTTP {status}{code}: {}", heard.message)
}

pub fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
