//! Telling the charge book what has become of requests: while a run sends, at its beginning what an earlier run did not tell, and
//! again everything if the book may have lost it.

use super::purse::{Purse, SharedMoney, locked};
use crate::{
    error::Error,
    ledger::Ledger,
    model::{RequestId, Stop, shared_budget::Seen, shared_request::Told},
};
use std::{convert::Infallible, time::Duration};

/// The most requests that are told at once.
const TOLD_MAX: usize = 64;
/// How often a worker tells that it is here. After a minute without a word, another one may take its partition.
const HERE_EVERY: Duration = Duration::from_secs(15);

impl Purse {
    /// Begins to keep what the book is to be told, and tells what an earlier run did not.
    ///
    /// # Errors
    /// The ledger belongs to another partition, or cannot be written.
    pub async fn enter(&self, ledger: &Ledger) -> Result<Result<(), Stop>, Error> {
        let Some(money) = &self.money else { return Ok(Ok(())) };
        ledger.share(money.partition().to_owned()).await?;
        self.tell(ledger).await
    }

    /// Tells what becomes of requests, and that the worker is here, as long as it is polled. What cannot be told is kept;
    /// the next claim finds out why.
    pub async fn keep_telling(&self, ledger: &Ledger) -> Infallible {
        let Some(money) = &self.money else { return std::future::pending().await };
        loop {
            let has_news = tokio::time::timeout(HERE_EVERY, self.news.notified()).await.is_ok();
            let told = match has_news {
                true => self.tell(ledger).await,
                false => self.check_in(money.as_ref(), ledger).await,
            };
            match told {
                Ok(Ok(())) => {}
                Ok(Err(stop)) => tracing::warn!("the charge book was not told: {stop}"),
                Err(error) => {
                    tracing::warn!("the charge book is not told any more: {error}");
                    return std::future::pending().await;
                }
            }
        }
    }

    /// Tells everything, and that this worker leaves.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub async fn leave(&self, ledger: &Ledger) -> Result<Result<(), Stop>, Error> {
        let Some(money) = &self.money else { return Ok(Ok(())) };
        if let Err(stop) = self.tell(ledger).await? {
            return Ok(Err(stop));
        }
        Ok(money.here(true).await)
    }

    /// Tells that this worker is here, and finds out whether the book has lost anything.
    async fn check_in(&self, money: &dyn SharedMoney, ledger: &Ledger) -> Result<Result<(), Stop>, Error> {
        let _turn = self.turn.lock().await;
        match self.seen(money, ledger).await? {
            Ok(_) => Ok(money.here(false).await),
            Err(stop) => Ok(Err(stop)),
        }
    }

    /// Tells what has become of requests.
    pub(super) async fn tell(&self, ledger: &Ledger) -> Result<Result<(), Stop>, Error> {
        let Some(money) = &self.money else { return Ok(Ok(())) };
        loop {
            // Others may claim in between.
            let _turn = self.turn.lock().await;
            match self.tell_some(money.as_ref(), ledger).await? {
                Ok(true) => {}
                Ok(false) => return Ok(Ok(())),
                Err(stop) => return Ok(Err(stop)),
            }
        }
    }

    /// The same, with the turn.
    pub(super) async fn tell_all(&self, money: &dyn SharedMoney, ledger: &Ledger) -> Result<Result<(), Stop>, Error> {
        loop {
            match self.tell_some(money, ledger).await? {
                Ok(true) => {}
                Ok(false) => return Ok(Ok(())),
                Err(stop) => return Ok(Err(stop)),
            }
        }
    }

    /// Tells some of what the book was not told. Returns whether there was any. Only with the turn.
    async fn tell_some(&self, money: &dyn SharedMoney, ledger: &Ledger) -> Result<Result<bool, Stop>, Error> {
        let except: Vec<RequestId> = locked(&self.claimed).iter().copied().collect();
        let untold = ledger.reading()?.untold(TOLD_MAX, &except)?;
        if untold.is_empty() {
            return Ok(Ok(false));
        }
        let changes = untold.iter().map(|one| one.change).collect();
        let told: Vec<Told> = untold.into_iter().filter_map(|one| one.told).collect();
        while !told.is_empty() {
            let seen = match money.seen().await {
                Ok(seen) => seen,
                Err(stop) => return Ok(Err(stop)),
            };
            if ledger.sums().book.as_ref() != Some(&seen.place) {
                // What is marked now includes what was to be told.
                ledger.tell_again(seen.place, except).await?;
                return Ok(Ok(true));
            }
            match money.tell(&seen, &told).await {
                Ok(true) => break,
                Ok(false) => {}
                Err(stop) => return Ok(Err(stop)),
            }
        }
        ledger.told(changes).await?;
        Ok(Ok(true))
    }

    /// What all partitions have used. In another place, the book is first told what it may have lost. Only with the turn.
    pub(super) async fn seen(&self, money: &dyn SharedMoney, ledger: &Ledger) -> Result<Result<Seen, Stop>, Error> {
        loop {
            let seen = match money.seen().await {
                Ok(seen) if ledger.sums().book.as_ref() == Some(&seen.place) => return Ok(Ok(seen)),
                Ok(seen) => seen,
                Err(stop) => return Ok(Err(stop)),
            };
            let claimed = locked(&self.claimed).iter().copied().collect();
            ledger.tell_again(seen.place, claimed).await?;
            if let Err(stop) = self.tell_all(money, ledger).await? {
                return Ok(Err(stop));
            }
        }
    }
}
