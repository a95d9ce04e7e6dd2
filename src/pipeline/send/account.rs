//! Reads the account (`GET /my_credits`): at the start, when the balance drifts, and to probe a service that stopped
//! answering. If the account cannot be read, the run stops.

use super::{
    account_use::{AccountUse, account_use},
    context::RunContext,
    earlier_stop::paused_until,
    gate::{PUSH_BACK_MAX, PUSH_BACK_UNSTATED, close_gate, pause_end},
    peer::note_peer,
};
use crate::{
    client::{Balance, BalanceReply, Client, Delays, NotAnswered, PushBack, Said, balance_reply},
    error::Error,
    ledger::Sums,
    model::{Clock, Credits, Stop, budget::Account, clock::ClockSample},
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

/// What follows from one attempt to read the account.
enum AfterQuery {
    Read(Balance),
    Stop(Stop),
    /// The service asks to pause all sends for this long.
    Pause {
        wait: Duration,
        message: String,
    },
    Again {
        message: String,
    },
    /// A reply that is not the service's.
    OfAnother {
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
        // Asked before the permit is taken, which is soon too old. What others use meanwhile only explains a fall.
        let account = match context.purse.account(&context.ledger).await? {
            Ok(account) => account,
            Err(stop) => return Ok(Break(stop)),
        };
        let permit = match context.throttle.admit().await {
            Ok(permit) => permit,
            Err(stop) => return Ok(Break(stop)),
        };
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
        let said = Said::of(&exchange, context.clock.now().into());
        match after_query(&said, pointer, context.clock.now()) {
            AfterQuery::Read(balance) => {
                let read = note(context, said.server_now_us(), balance.credits, (before, account)).await?;
                let credits = balance.credits;
                return Ok(read.map_continue(|unexplained_fall| BalanceRead { balance: credits, unexplained_fall }));
            }
            AfterQuery::Stop(stop) => {
                if let Stop::PushedBack { until_us } = stop {
                    let now_us = context.clock.now_us();
                    context.ledger.pause_until(until_us, now_us).await?;
                    let left_us = u64::try_from(until_us.saturating_sub(now_us)).unwrap_or_default();
                    context.throttle.pause_all(Duration::from_micros(left_us));
                }
                return Ok(Break(stop));
            }
            AfterQuery::Pause { wait, message } => {
                last = message;
                let now_us = context.clock.now_us();
                context.ledger.pause_until(pause_end(wait, now_us), now_us).await?;
                close_gate(context, wait, said.status());
            }
            AfterQuery::Again { message } => {
                last = message;
                tokio::time::sleep(delays.next_delay()).await;
            }
            AfterQuery::OfAnother { found } => {
                of_another += 1;
                if of_another == OF_ANOTHER_MAX {
                    return Ok(Break(Stop::NotTheService { found }));
                }
                tokio::time::sleep(delays.next_delay()).await;
            }
        }
    }
    Ok(Break(Stop::Unavailable { message: last }))
}

/// Records a balance. Returns how far it is below what is explained: by this ledger, or by all ledgers of a shared account.
async fn note(
    context: &RunContext,
    server_now_us: Option<i64>,
    credits: Credits,
    (before, account): (Arc<Sums>, Option<Account>),
) -> Result<ControlFlow<Stop, Credits>, Error> {
    let (now_us, compared) = (context.clock.now_us(), ClockSample::now(&context.clock));
    let shared_fall = match account {
        None => None,
        Some(account) => match context.purse.balance(&account, credits, now_us).await {
            Ok(fell) => Some(fell),
            Err(stop) => return Ok(Break(stop)),
        },
    };
    let offset = server_now_us.map(|server_us| server_us - now_us);
    let fell = context.ledger.balance(credits, (before, shared_fall), now_us, offset).await?;
    // Also if the reply has no date: the service would not state it the next time either.
    context.clock_watch.compared(compared);
    Ok(Continue(fell))
}

/// Decides what follows from a reply.
fn after_query(said: &Said<'_>, pointer: Option<&str>, now: Timestamp) -> AfterQuery {
    let misrouted = |status, location| {
        AfterQuery::Stop(Stop::Misrouted { status, path: Balance::PATH.to_owned(), check: None, location })
    };
    let message = |what: &str| format!("GET {} answered {what}", Balance::PATH);
    let not_answered = match balance_reply(said, pointer) {
        BalanceReply::Balance(balance) => return AfterQuery::Read(balance),
        BalanceReply::Unreadable => return AfterQuery::Stop(Stop::BalanceUnreadable),
        BalanceReply::Misrouted { status } => return misrouted(status, None),
        BalanceReply::NotAnswered(not_answered) => not_answered,
    };
    match not_answered {
        // Trying again would fail the same way, and the connection may be intercepted.
        NotAnswered::Untrusted { host, fault } => AfterQuery::Stop(Stop::Untrusted { host, fault }),
        NotAnswered::Unauthorised { status } => AfterQuery::Stop(Stop::Unauthorised { status }),
        NotAnswered::Redirect { status, location } => misrouted(status, location),
        NotAnswered::PushedBack(PushBack::Stated(wait)) if wait > PUSH_BACK_MAX => {
            AfterQuery::Stop(Stop::PushedBack { until_us: pause_end(wait, now.as_microsecond()) })
        }
        NotAnswered::PushedBack(push_back) => {
            let status = said.status().unwrap_or_default();
            let wait = push_back.wait_or(PUSH_BACK_UNSTATED);
            AfterQuery::Pause { wait, message: message(&format!("HTTP {status}")) }
        }
        NotAnswered::OfAnother { status } => {
            AfterQuery::OfAnother { found: format!("HTTP {status} to GET {}", Balance::PATH) }
        }
        NotAnswered::Unavailable { message: fault } if said.status().is_none() => AfterQuery::Again { message: fault },
        NotAnswered::Unavailable { message: fault } => AfterQuery::Again { message: message(&fault) },
    }
}

/// Reads the balance once without a ledger, for `rescreen plan` and `rescreen credits`.
pub async fn balance_alone(service: &Service, clock: Clock) -> Result<Credits, Error> {
    let url =
        service.settings.url.clone().ok_or_else(|| Error::Config("no service is named: --service URL".to_owned()))?;
    let api_key = service.api_key()?;
    let client = Client::new(&service.client_settings(url, api_key.clone())?)?;
    let AccountUse { bucket, .. } = account_use(service, &api_key, Bucket::Full, clock, None).await?;
    let throttle = Throttle::new(service.pace(), bucket);
    let permit = throttle.admit().await.map_err(Error::Stopped)?;
    let exchange = client.get(permit, Balance::PATH).await;
    let pointer = service.settings.balance_pointer.as_deref();
    let stop = match after_query(&Said::of(&exchange, clock.now().into()), pointer, clock.now()) {
        AfterQuery::Read(balance) => return Ok(balance.credits),
        AfterQuery::Stop(stop) => stop,
        AfterQuery::OfAnother { found } => Stop::NotTheService { found },
        AfterQuery::Pause { message, .. } | AfterQuery::Again { message } => Stop::Unavailable { message },
    };
    Err(Error::Stopped(stop))
}
