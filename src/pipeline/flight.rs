//! One attempt of one request: arm → gate → send → hear → judge → settle. What comes next is decided elsewhere.

use super::{campaign::Campaign, judge::Judge};
use crate::{
    catalogue::Declaration,
    client::{Client, Delays, Exchange, Heard, PushBack, hear},
    error::Error,
    ledger::{AnswerRecord, ArmOrder, Armed, Ledger, Settled, Settlement},
    model::{
        Clock, Credits, Failure, FailureCode, Judgement, Mode, Permit, RequestId, Stage,
        budget::Refusal,
        clock::Compared,
        planted::{Bug, planted},
        state::{IllegalMove, Outcome},
    },
    throttle::Throttle,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

/// A push-back longer than this stops the run instead of holding it.
pub const PUSH_BACK_MAX: Duration = Duration::from_secs(15 * 60);
/// A push-back is kept for later runs for this long at most.
pub const PAUSE_KEPT_MAX: Duration = Duration::from_secs(24 * 3_600);
/// A 429 that states no time pauses all sends this long.
const PUSH_BACK_UNSTATED: Duration = Duration::from_secs(5);

/// One thing the service sells, as a run uses it.
pub struct Sold {
    pub declaration: Declaration,
    pub judge: Judge,
    pub price: Credits,
    pub path: String,
}

/// What all attempts of a run share.
pub struct Crew {
    pub ledger: Arc<Ledger>,
    pub client: Client,
    pub throttle: Throttle,
    pub sold: BTreeMap<String, Sold>,
    pub campaign: Arc<Campaign>,
    /// Fingerprint of the API key.
    pub scope: String,
    pub clock: Clock,
    /// The clock when the service last told the time: the age of a key is judged by both.
    pub compared: Mutex<Option<Compared>>,
    /// Whether the simulator answers, once somebody answered.
    pub met: OnceLock<bool>,
}

impl Crew {
    /// The service has told the time, at that moment, and the ledger knows of it.
    pub fn has_compared(&self, compared: Compared) {
        *self.compared.lock().unwrap_or_else(PoisonError::into_inner) = Some(compared);
    }

    /// Whether our clock was set, or the machine slept, since the service told the time. In sandbox nobody asks for it.
    fn clock_has_moved(&self) -> bool {
        let compared = *self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = self.campaign.mode == Mode::Production && !planted(Bug::ClockTrusted);
        watched && compared.is_some_and(|compared| compared.has_moved(&self.clock))
    }
}

/// A request on its way through a run.
pub struct Try {
    pub request: RequestId,
    /// The catalogue's name of its check.
    pub sold: String,
    /// Attempts used up in this run.
    pub attempts: u32,
    /// It may have been charged: it holds its price and is settled before anything new is begun.
    pub in_doubt: bool,
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
    pub fn new(request: RequestId, sold: String, in_doubt: bool) -> Try {
        let delays = Delays::new(request.0.unsigned_abs() ^ 0x5eed);
        Try {
            request,
            sold,
            attempts: 0,
            in_doubt,
            repeats: 0,
            push_backs: 0,
            cached: 0,
            answers_at_refusal: 0,
            delays,
        }
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
    Attempted(Box<Attempted>),
}

/// An attempt that was made.
pub struct Attempted {
    pub settled: Settled,
    pub outcome: Outcome,
    pub judgement: Option<Judgement>,
    pub http_status: Option<u16>,
    pub remaining: Option<Credits>,
    /// The reply states what it cost.
    pub stated: bool,
    pub push_back: Option<PushBack>,
    /// What refusals alike have in common: status and code, never the service's free text.
    pub alike: String,
    pub message: String,
    /// The other side answered: simulator for service, or the reverse.
    pub other_side: Option<bool>,
}

/// Makes one attempt.
pub async fn fly(crew: Arc<Crew>, permit: Permit, request: RequestId, name: String) -> Result<Landed, Error> {
    let sold = crew.sold.get(&name).ok_or_else(|| Error::Internal(format!("no check `{name}` in this run")))?;
    if crew.clock_has_moved() {
        return Ok(Landed::ClockMoved);
    }
    let order = ArmOrder {
        mode: crew.campaign.mode,
        request,
        price: sold.price,
        allowance: crew.campaign.allowance,
        scope: crew.scope.clone(),
        path: sold.path.clone(),
        key_life_hours: sold.declaration.key_life_hours,
        now_us: crew.clock.now_us(),
    };
    let requested_at_us = order.now_us;
    let receipt = match crew.ledger.arm(order).await? {
        Armed::Ready(receipt) => receipt,
        Armed::Refused(refusal) => return Ok(Landed::Refused(refusal)),
        Armed::Quarantined => return Ok(Landed::Quarantined),
        Armed::Withheld(reason) => return Ok(Landed::Withheld(reason)),
    };
    let attempt = receipt.attempt();
    if crew.throttle.paused_until().is_some() {
        crew.ledger.settle(not_written(request, attempt, &crew.clock)).await?;
        return Ok(Landed::GateClosed);
    }
    let exchange = crew.client.send(permit, receipt).await;
    let heard = hear(&exchange, &sold.declaration.answer, crew.clock.now().into());
    settle(&crew, sold, Sent { request, attempt, requested_at_us }, exchange, heard).await
}

/// What was sent, as far as settling needs it.
struct Sent {
    request: RequestId,
    attempt: u32,
    requested_at_us: i64,
}

async fn settle(crew: &Crew, sold: &Sold, sent: Sent, exchange: Exchange, mut heard: Heard) -> Result<Landed, Error> {
    let other_side = match heard.simulated {
        Some(simulated) if !meet(crew, simulated).await? => Some(simulated),
        _ => None,
    };
    if other_side.is_some() {
        // An answer of the other side is no answer to this campaign.
        heard.outcome = Outcome::Unknown;
    }
    let judgement = match (&heard.outcome, &heard.answer) {
        (Outcome::Answered { .. }, Some(answer)) => Some(sold.judge.judge(answer)),
        _ => None,
    };
    let (now_us, compared) = (crew.clock.now_us(), Compared::now(&crew.clock));
    let pause = heard.push_back.and_then(|push_back| pause(push_back, crew.campaign.mode));
    let latency_ms = u64::try_from(exchange.latency.as_millis()).unwrap_or(u64::MAX);
    let body = exchange.reply.ok().and_then(|reply| reply.body).unwrap_or_default();
    let answer = judgement.clone().map(|judgement| AnswerRecord {
        requested_at_us: sent.requested_at_us,
        request_id: heard.request_id.clone(),
        judgement,
        body,
    });
    let settlement = Settlement {
        request: sent.request,
        attempt: sent.attempt,
        outcome: heard.outcome,
        http_status: heard.http_status,
        latency_ms,
        now_us,
        answer,
        failure: (heard.outcome == Outcome::Refused).then(|| refusal(&heard)),
        // A time that no run will live to see is a defect of the service, not a reason to stand still for ever.
        pause_until_us: pause.map(|pause| now_us.saturating_add(micros(pause.min(PAUSE_KEPT_MAX)))),
        server_offset_us: heard.server_now_us.map(|server| server - now_us),
    };
    if let Some(pause) = pause {
        crew.throttle.pause_until(tokio::time::Instant::now() + pause.min(PUSH_BACK_MAX));
    }
    let told = settlement.server_offset_us.is_some();
    let settled = crew.ledger.settle(settlement).await?;
    if told {
        crew.has_compared(compared);
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
    Ok(Landed::Attempted(Box::new(Attempted {
        settled,
        outcome: heard.outcome,
        judgement,
        http_status: heard.http_status,
        remaining: heard.remaining,
        stated: matches!(heard.outcome, Outcome::Answered { stated: Some(_) }),
        push_back: heard.push_back,
        alike: format!("HTTP {} {code}", heard.http_status.unwrap_or_default()),
        message: heard.message,
        other_side,
    })))
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

fn not_written(request: RequestId, attempt: u32, clock: &Clock) -> Settlement {
    Settlement {
        request,
        attempt,
        outcome: Outcome::NotWritten,
        http_status: None,
        latency_ms: 0,
        now_us: clock.now_us(),
        answer: None,
        failure: None,
        pause_until_us: None,
        server_offset_us: None,
    }
}

fn refusal(heard: &Heard) -> Failure {
    let status = heard.http_status.unwrap_or_default();
    let code = heard.code.as_deref().map(|code| format!(" {code}")).unwrap_or_default();
    Failure {
        stage: Stage::Send,
        code: FailureCode::Refused,
        message: format!("the service refused the request: HTTP {status}{code}: {}", heard.message),
    }
}

pub fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
