//! Reads the account (`GET /my_credits`): at the start, when the balance drifts, and to probe a service that stopped
//! answering. If the account cannot be read, the run stops.

use super::{
    bucket::bucket,
    context::RunContext,
    earlier_stop::paused_until,
    gate::{PAUSE_KEPT_MAX, PUSH_BACK_MAX, PUSH_BACK_UNSTATED, close_gate, micros},
    peer::note_peer,
};
use crate::{
    client::{
        Author, Balance, Client, Delays, Exchange, RetryAfter, TransportFault, balance_in, json_body, retry_after,
    },
    error::Error,
    ledger::Sums,
    model::{
        Clock, Credits, Stop,
        clock::ClockSample,
        planted::{Bug, planted},
        printable::printable,
    },
    pipeline::campaign::service::Service,
    throttle::{Bucket, Throttle},
};
use jiff::Timestamp;
use std::{
    ops::ControlFlow::{self, Break, Continue},
    sync::Arc,
    time::Duration,
};

/// The maximum number of attempts of one reading.
const TRIES_MAX: u32 = 6;

/// After this many replies that are not the service's, the URL is not that of the service.
const OF_ANOTHER_MAX: u32 = 3;

/// The result of one attempt to read the account.
enum BalanceReply {
    Balance(Balance),
    Stop(Stop),
    /// The service asks to pause all sends for this long.
    PushedBack {
        wait: Duration,
        message: String,
    },
    Again {
        wait: Duration,
        message: String,
    },
    /// A reply that is not the service's.
    OfAnother {
        wait: Duration,
        found: String,
    },
}

/// A balance that was read and recorded in the ledger.
#[derive(Debug, Clone, Copy)]
pub struct BalanceRead {
    pub balance: Credits,
    /// How far the balance is below what our own requests explain.
    pub unexplained_fall: Credits,
}

/// Reads the balance and records it in the ledger. It breaks if the run must stop.
pub async fn read_balance(context: &RunContext) -> Result<ControlFlow<Stop, BalanceRead>, Error> {
    let mut delays = Delays::new(context.clock.now_us().unsigned_abs());
    let (mut last, mut of_another) = (String::new(), 0);
    for _ in 0..TRIES_MAX {
        let ungated =
            planted(Bug::BalanceBesideGate).then(|| Throttle::new(context.campaign.service.pace(), Bucket::Full));
        let permit = ungated.as_ref().unwrap_or(&context.throttle).admit().await;
        let before = context.ledger.sums();
        // The gate opens after at most 15 minutes, and the service may have asked for a longer pause meanwhile.
        if let Some(until_us) = paused_until(&before, context.clock.now_us()) {
            return Ok(Break(Stop::PushedBack { until_us }));
        }
        let exchange = context.client.get(permit, Balance::PATH).await;
        if let Ok(reply) = &exchange.reply
            && !note_peer(context, reply.simulated).await?
        {
            return Ok(Break(Stop::OtherSide { simulated: reply.simulated }));
        }
        let pointer = context.campaign.service.settings.balance_pointer.as_deref();
        match classify_balance(&exchange, pointer, context.clock.now(), &mut delays) {
            BalanceReply::Balance(balance) => {
                let unexplained_fall = note(context, &exchange, balance.credits, before).await?;
                return Ok(Continue(BalanceRead { balance: balance.credits, unexplained_fall }));
            }
            BalanceReply::Stop(stop) => {
                if let Stop::PushedBack { until_us } = stop {
                    let now_us = context.clock.now_us();
                    context.ledger.pause_until(until_us, now_us).await?;
                }
                return Ok(Break(stop));
            }
            BalanceReply::PushedBack { wait, message } => {
                last = message;
                let now_us = context.clock.now_us();
                context.ledger.pause_until(now_us.saturating_add(micros(wait)), now_us).await?;
                close_gate(context, wait, exchange.reply.as_ref().ok().map(|reply| reply.status));
            }
            BalanceReply::Again { wait, message } => {
                last = message;
                tokio::time::sleep(wait).await;
            }
            BalanceReply::OfAnother { wait, found } => {
                of_another += 1;
                if of_another == OF_ANOTHER_MAX {
                    return Ok(Break(Stop::NotTheService { found }));
                }
                tokio::time::sleep(wait).await;
            }
        }
    }
    Ok(Break(Stop::Unavailable { message: last }))
}

async fn note(
    context: &RunContext,
    exchange: &Exchange,
    credits: Credits,
    before: Arc<Sums>,
) -> Result<Credits, Error> {
    let (now_us, compared) = (context.clock.now_us(), ClockSample::now(&context.clock));
    let date = exchange.reply.as_ref().ok().and_then(|reply| reply.date.as_deref());
    let server = date.and_then(|date| httpdate::parse_http_date(date.trim()).ok());
    let offset = server.and_then(|at| jiff::Timestamp::try_from(at).ok()).map(|at| at.as_microsecond() - now_us);
    let fell = context.ledger.balance(credits, before, now_us, offset).await?;
    // Also if the reply has no date: the service would not state it the next time either.
    context.clock_watch.compared(compared);
    Ok(fell)
}

/// Classifies the exchange of one attempt.
fn classify_balance(exchange: &Exchange, pointer: Option<&str>, now: Timestamp, delays: &mut Delays) -> BalanceReply {
    let reply = match &exchange.reply {
        Ok(reply) => reply,
        // Trying again would fail the same way, and the connection may be intercepted.
        Err(TransportFault::Untrusted { host, fault }) => {
            return BalanceReply::Stop(Stop::Untrusted { host: host.clone(), fault: fault.clone() });
        }
        Err(TransportFault::NotWritten(message) | TransportFault::Unknown(message)) => {
            return BalanceReply::Again { wait: delays.next_delay(), message: message.clone() };
        }
    };
    let found = format!("HTTP {} to GET {}", reply.status, Balance::PATH);
    let another = |delays: &mut Delays| BalanceReply::OfAnother { wait: delays.next_delay(), found };
    let message = format!("GET {} answered HTTP {}", Balance::PATH, reply.status);
    match reply.status {
        200..300 => match reply.body.as_deref().and_then(|body| balance_in(body, pointer)) {
            Some(balance) => BalanceReply::Balance(balance),
            None if reply.body.as_deref().and_then(json_body).is_some() => BalanceReply::Stop(Stop::BalanceUnreadable),
            None if reply.body.is_some() => another(delays),
            None => {
                let fault = reply.undecoded.as_deref().unwrap_or("cut off");
                BalanceReply::Again { wait: delays.next_delay(), message: format!("{message}, {fault}") }
            }
        },
        401 | 403 if Author::of_reply(reply) == Author::Another => another(delays),
        401 | 403 => BalanceReply::Stop(Stop::Unauthorised { status: reply.status }),
        429 | 503 => match retry_after(reply.retry_after.as_deref(), reply.date.as_deref(), now.into()) {
            RetryAfter::Wait(wait) if wait > PUSH_BACK_MAX => {
                let kept = micros(wait.min(PAUSE_KEPT_MAX));
                BalanceReply::Stop(Stop::PushedBack { until_us: now.as_microsecond().saturating_add(kept) })
            }
            RetryAfter::Wait(wait) => BalanceReply::PushedBack { wait, message },
            RetryAfter::Unstated if reply.status == 429 => {
                BalanceReply::PushedBack { wait: PUSH_BACK_UNSTATED, message }
            }
            RetryAfter::Unstated => BalanceReply::Again { wait: delays.next_delay(), message },
        },
        300..=399 | 404 | 405 => BalanceReply::Stop(Stop::Misrouted {
            status: reply.status,
            path: Balance::PATH.to_owned(),
            check: None,
            location: reply.location.as_deref().map(|text| printable(text).into_owned()),
        }),
        _ => BalanceReply::Again { wait: delays.next_delay(), message },
    }
}

/// Reads the balance once without a ledger, for `rescreen plan` and `rescreen credits`.
pub async fn balance_alone(service: &Service, clock: Clock) -> Result<Credits, Error> {
    let url =
        service.settings.url.clone().ok_or_else(|| Error::Config("no service is named: --service URL".to_owned()))?;
    let api_key = service.api_key()?;
    let client = Client::new(&service.client_settings(url, api_key.clone())?)?;
    let (bucket, _) = bucket(service, &api_key, Bucket::Full, clock);
    let throttle = Throttle::new(service.pace(), bucket);
    let exchange = client.get(throttle.admit().await, Balance::PATH).await;
    let mut delays = Delays::new(0);
    let pointer = service.settings.balance_pointer.as_deref();
    let stop = match classify_balance(&exchange, pointer, clock.now(), &mut delays) {
        BalanceReply::Balance(balance) => return Ok(balance.credits),
        BalanceReply::Stop(stop) => stop,
        BalanceReply::OfAnother { found, .. } => Stop::NotTheService { found },
        BalanceReply::PushedBack { message, .. } | BalanceReply::Again { message, .. } => Stop::Unavailable { message },
    };
    Err(Error::Stopped(stop))
}
