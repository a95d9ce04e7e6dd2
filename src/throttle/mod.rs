//! The throttle: the rate limiter that every HTTP request passes. It decides when a request may be sent: not before the
//! account's rate allows it, and not before a push-back is over. Processes that use one account share its rate through
//! `bucket_file`, and machines through an `account` of a book; `pipeline/send/account_use.rs` decides with whom.
//!
//! Here, a request is any HTTP request, including repeats and the balance query.
//!
//! `governor` decides the pace (see `pace`), and `meter` applies it to a record. `governor` cannot wait in tokio's paused
//! time, so this module waits with tokio's sleep.

mod account;
#[cfg(test)]
mod account_tests;
mod bucket;
mod bucket_file;
mod meter;
mod pace;
mod record;
mod schedule;
#[cfg(test)]
mod shared_tests;
#[cfg(test)]
mod throttle_tests;

pub use crate::model::Rate;
pub use bucket::{Bucket, SharedAccount};
pub use bucket_file::BucketFile;

use crate::model::{Permit, Stop};
use account::{Asked, ask, locked};
use meter::{Meter, Turn};
use pace::Want;
use schedule::Schedule;
use std::{
    sync::{Arc, Mutex as SyncMutex, PoisonError},
    time::Duration,
};
use tokio::{sync::Mutex, task::JoinHandle, time::Instant};

/// A permit older than this is renewed before the request is sent, because the schedule's reserve covers no more.
pub const PERMIT_AGE_MAX: Duration = Duration::from_millis(200);
/// An old permit is renewed within this many periods, or given back.
const PERIODS_FOR_RENEWAL: u32 = 4;
/// If each slot comes too late for longer than this, the book is too far away.
const LATE_MAX: Duration = Duration::from_secs(60);
/// A push-back longer than this stops the run. A shorter one is waited for.
pub const PUSH_BACK_MAX: Duration = Duration::from_secs(15 * 60);
/// The reason of a pause that another worker was asked for.
const PAUSED_ELSEWHERE: &str = "the service asked another worker of this account to wait";

/// A question to the book that is under way, and when it was answered.
type Asking = JoinHandle<(Result<Asked, Stop>, Instant)>;

/// The questions to the book, one at a time.
#[derive(Default)]
struct Questions {
    under_way: Option<Asking>,
    /// Since when each slot came too late to be used.
    late_since: Option<Instant>,
}

/// The rate limiter of one API key.
pub struct Throttle {
    meter: Arc<SyncMutex<Meter>>,
    /// The book that knows the account's rate, if several machines share it.
    account: Option<Arc<dyn SharedAccount>>,
    /// Admits requests in the order of their arrival.
    turn: Mutex<Questions>,
    pause: SyncMutex<Option<Pause>>,
    renewal_max: Duration,
}

impl Throttle {
    /// A rate limiter for this rate.
    pub fn new(rate: Rate, bucket: Bucket) -> Throttle {
        let schedule = Schedule::of(rate);
        let renewal_max = schedule.period.saturating_mul(PERIODS_FOR_RENEWAL).saturating_add(PERMIT_AGE_MAX);
        let account = if let Bucket::Book(account) = &bucket { Some(Arc::clone(account)) } else { None };
        let meter = Arc::new(SyncMutex::new(Meter::new(schedule, bucket)));
        Throttle { meter, account, turn: Mutex::default(), pause: SyncMutex::new(None), renewal_max }
    }

    /// Waits for a slot in the schedule, and until no pause is active.
    ///
    /// # Errors
    /// Why nothing more is sent: the book cannot be reached, or says so.
    pub async fn admit(&self) -> Result<Permit, Stop> {
        let mut questions = self.turn.lock().await;
        loop {
            if let Some(until) = self.paused_until() {
                tokio::time::sleep_until(until).await;
                continue;
            }
            // The lock is not held while this waits.
            let admitted = locked(&self.meter).admit();
            let turn = match admitted {
                Some(turn) => turn,
                None => match self.ask(&mut questions.under_way).await? {
                    Asked::Turn(turn) => turn,
                    Asked::Paused(pause, until_us) if pause > PUSH_BACK_MAX => {
                        return Err(Stop::PushedBack { until_us });
                    }
                    Asked::Paused(pause, _) => {
                        tracing::info!("waiting {} s: {PAUSED_ELSEWHERE}", pause.as_secs());
                        self.pause_until(Instant::now() + pause, PAUSED_ELSEWHERE);
                        continue;
                    }
                },
            };
            match turn {
                Ok((slot, asked)) if self.account.is_some() && asked.elapsed() > PERMIT_AGE_MAX => {
                    let took = asked.elapsed();
                    self.give_back(slot).await;
                    if questions.late_since.get_or_insert(asked).elapsed() > LATE_MAX {
                        return Err(Stop::Book { fault: too_far(took), is_away: true });
                    }
                }
                Ok((slot, asked)) => {
                    questions.late_since = None;
                    return Ok(Permit::issue(slot, asked.elapsed()));
                }
                Err(wait) => tokio::time::sleep(wait).await,
            }
        }
    }

    /// The book's answer. The question goes on if its asker is dropped, so that no slot is lost.
    async fn ask(&self, asking: &mut Option<Asking>) -> Result<Asked, Stop> {
        let Some(account) = &self.account else { return Ok(Asked::Turn(Err(Duration::ZERO))) };
        loop {
            let question = asking.get_or_insert_with(|| {
                let (account, meter) = (Arc::clone(account), Arc::clone(&self.meter));
                tokio::spawn(async move { (ask(account, meter, Want::New).await, Instant::now()) })
            });
            let answer = question.await;
            *asking = None;
            match answer {
                // Nobody waited for it, and much may have happened since.
                Ok((answer, at)) if at.elapsed() > PERMIT_AGE_MAX => {
                    if let Ok(Asked::Turn(Ok((slot, _)))) = answer {
                        self.give_back(slot).await;
                    }
                }
                Ok((answer, _)) => return answer,
                Err(failed) => std::panic::resume_unwind(failed.into_panic()),
            }
        }
    }

    /// Renews a permit that has become too old, for example after a slow commit: requests that waited together must not
    /// be sent together, and they count when they are sent. `None` if that is not possible soon; then the permit is
    /// given back, and the request is not sent now.
    pub async fn renew(&self, mut permit: Permit) -> Option<Permit> {
        let until = Instant::now() + self.renewal_max;
        while permit.age() > PERMIT_AGE_MAX {
            match self.take(Want::Late(permit.slot())).await {
                Ok((slot, asked)) if asked.elapsed() > PERMIT_AGE_MAX && Instant::now() > until => {
                    self.give_back(slot).await;
                    return None;
                }
                Ok((slot, asked)) => permit = Permit::issue(slot, asked.elapsed()),
                Err(wait) if wait <= until.saturating_duration_since(Instant::now()) => tokio::time::sleep(wait).await,
                Err(_) => {
                    self.give_back(permit.slot()).await;
                    return None;
                }
            }
        }
        Some(permit)
    }

    /// If it cannot be given back it stays counted, which is the safe side.
    async fn give_back(&self, slot: u64) {
        let _counted = self.take(Want::Nothing(slot)).await;
    }

    async fn take(&self, want: Want) -> Turn {
        let taken = locked(&self.meter).take(want);
        match (taken, &self.account) {
            (Some(taken), _) => taken.map(|slot| (slot, Instant::now())),
            (None, Some(account)) => match ask(Arc::clone(account), Arc::clone(&self.meter), want).await {
                Ok(Asked::Turn(turn)) => turn,
                Ok(Asked::Paused(pause, _)) => Err(pause),
                Err(_) => Err(Duration::MAX),
            },
            (None, None) => Err(Duration::MAX),
        }
    }

    /// Lets all workers that share the account wait for this long, if it is shared beyond this machine. This returns at once:
    /// the reply that asks for the pause is recorded meanwhile.
    pub fn pause_all(&self, pause: Duration) {
        let Some(account) = self.account.clone() else { return };
        tokio::spawn(async move {
            if let Err(stop) = account.pause(pause).await {
                tracing::warn!("other workers were not told to wait: {stop}");
            }
        });
    }

    /// Stops all workers that share the account, if it is shared beyond this machine, until a person decides.
    pub async fn halt_all(&self, reason: &Stop, at_us: i64) {
        if let Some(account) = &self.account
            && let Err(stop) = account.halt(reason, at_us).await
        {
            tracing::warn!("other workers were not told to stop: {stop}");
        }
    }

    /// The run ends soon: nothing is asked of the book again and again any more.
    pub fn hurry(&self) {
        if let Some(account) = &self.account {
            account.hurry();
        }
    }

    /// This process sends nothing more.
    ///
    /// # Errors
    /// The book cannot be reached.
    pub async fn leave(&self) -> Result<(), Stop> {
        match &self.account {
            Some(account) => account.leave().await,
            None => Ok(()),
        }
    }

    /// Pauses all requests until `until`, unless they are already paused for longer.
    pub fn pause_until(&self, until: Instant, reason: &str) {
        let mut pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        if pause.as_ref().is_none_or(|known| known.until < until) {
            *pause = Some(Pause { until, reason: reason.to_owned() });
        }
    }

    /// The end of the pause; `None` if there is none. It is checked again just before each write.
    pub fn paused_until(&self) -> Option<Instant> {
        self.pause().map(|pause| pause.until)
    }

    /// The pause; `None` if there is none.
    pub fn pause(&self) -> Option<Pause> {
        let pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        pause.clone().filter(|pause| pause.until > Instant::now())
    }
}

/// What is wrong with a book that answers too late.
fn too_far(took: Duration) -> String {
    format!(
        "the charge book took {} ms to give a slot of the rate, which is valid for {} ms, and was as slow for a minute; use a \
         book that is nearer to this machine",
        took.as_millis(),
        PERMIT_AGE_MAX.as_millis()
    )
}

/// A time in which nothing is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    pub until: Instant,
    /// Why, to be shown.
    pub reason: String,
}
