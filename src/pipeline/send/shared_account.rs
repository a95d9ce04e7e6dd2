//! The account of a charge book, as the throttle and a run use it.

use super::purse::SharedMoney;
use crate::{
    book::{AccountName, Address, Book, BookError, WorkerName},
    model::{
        Rate, Stop,
        budget::BalanceReading,
        shared_account::{AccountState, LedgerName, Version},
        shared_budget::{Stated, Totals},
    },
    throttle::{Bucket, SharedAccount},
};
use futures::{FutureExt, future::BoxFuture};
use std::{sync::Arc, time::Duration};

/// Enters the book at this address, for a ledger or only to ask for the balance.
///
/// # Errors
/// The book cannot be used, or says another rate.
pub async fn enter(
    address: Address,
    account: &AccountName,
    rate: Rate,
    ledger: Option<LedgerName>,
) -> Result<(Bucket, Option<Arc<dyn SharedMoney>>), BookError> {
    let worker = WorkerName { name: worker_name(), campaign: ledger.as_ref().map(|ledger| ledger.campaign.clone()) };
    let book = Arc::new(Book::enter(address, account, rate, worker).await?);
    let money =
        ledger.map(|ledger| -> Arc<dyn SharedMoney> { Arc::new(LedgerOfBook { book: Arc::clone(&book), ledger }) });
    Ok((Bucket::Book(book), money))
}

/// The machine and the process.
fn worker_name() -> String {
    format!("{} process {}", machine(), std::process::id())
}

#[cfg(unix)]
fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn machine() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "a machine".to_owned())
}

impl SharedAccount for Book {
    fn read(&self) -> BoxFuture<'_, Result<AccountState, Stop>> {
        async { Book::read(self).await.map_err(stop) }.boxed()
    }

    fn write(&self, version: Version, record: Vec<u8>) -> BoxFuture<'_, Result<bool, Stop>> {
        async move { Book::write(self, &version, &record).await.map_err(stop) }.boxed()
    }

    fn pause(&self, pause: Duration) -> BoxFuture<'_, Result<(), Stop>> {
        async move { Book::pause(self, pause).await.map_err(stop) }.boxed()
    }

    fn halt<'a>(&'a self, reason: &'a Stop, at_us: i64) -> BoxFuture<'a, Result<(), Stop>> {
        async move { Book::halt(self, reason, at_us).await.map_err(stop) }.boxed()
    }

    fn hurry(&self) {
        Book::hurry(self);
    }

    fn leave(&self) -> BoxFuture<'_, Result<(), Stop>> {
        async { Book::leave(self).await.map_err(stop) }.boxed()
    }
}

/// A ledger that states its credits in the book.
struct LedgerOfBook {
    book: Arc<Book>,
    ledger: LedgerName,
}

impl SharedMoney for LedgerOfBook {
    fn stated(&self) -> BoxFuture<'_, Result<Stated, Stop>> {
        async { self.book.stated(&self.ledger).await.map_err(stop) }.boxed()
    }

    fn state<'a>(&'a self, seen: &'a Stated, own: Totals) -> BoxFuture<'a, Result<bool, Stop>> {
        async move { self.book.state(&self.ledger, seen, own).await.map_err(stop) }.boxed()
    }

    fn balance<'a>(
        &'a self,
        seen: &'a Stated,
        reading: BalanceReading,
        halt: Option<&'a Stop>,
    ) -> BoxFuture<'a, Result<bool, Stop>> {
        async move { self.book.balance(seen, &reading, halt).await.map_err(stop) }.boxed()
    }
}

fn stop(error: BookError) -> Stop {
    Stop::Book { fault: error.to_string(), is_away: error.is_away() }
}
