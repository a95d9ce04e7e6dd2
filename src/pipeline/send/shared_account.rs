//! The account of a charge book, as the throttle and a run use it.

use super::purse::SharedMoney;
use crate::{
    book::{AccountName, Address, Book, BookError, WorkerName},
    model::{
        IdempotencyKey, Rate, Stop,
        budget::BalanceReading,
        shared_account::{AccountState, PartitionName, Version},
        shared_budget::Seen,
        shared_partition::PartitionOutputs,
        shared_request::{Line, Told},
    },
    throttle::{Bucket, SharedAccount},
};
use futures::{FutureExt, future::BoxFuture};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// How long a worker waits for the place of one that may have been killed. It is free after a minute without a word.
const PLACE_MAX: Duration = Duration::from_secs(75);
const PLACE_EVERY: Duration = Duration::from_secs(3);

/// Enters the book at this address, for a partition of a campaign or only to ask for the balance. `waits` says to wait as long as
/// another worker runs the partition.
///
/// # Errors
/// The book cannot be used, says another rate, or another worker runs the partition.
pub async fn enter(
    address: Address,
    account: &AccountName,
    rate: Rate,
    partition: Option<PartitionName>,
    waits: bool,
) -> Result<(Bucket, Option<Arc<dyn SharedMoney>>), BookError> {
    let worker =
        WorkerName { name: worker_name(), campaign: partition.as_ref().map(|partition| partition.campaign.clone()) };
    let mut book = Book::enter(address, account, rate, worker).await?;
    let Some(partition) = partition else { return Ok((Bucket::Book(Arc::new(book)), None)) };
    let name = partition.partition.clone();
    enter_partition(&mut book, partition, waits).await?;
    let book = Arc::new(book);
    let money: Arc<dyn SharedMoney> = Arc::new(PartitionOfBook { book: Arc::clone(&book), name });
    Ok((Bucket::Book(book), Some(money)))
}

async fn enter_partition(book: &mut Book, partition: PartitionName, waits: bool) -> Result<(), BookError> {
    let until = (!waits).then(|| Instant::now() + PLACE_MAX);
    let mut is_noted = false;
    loop {
        match book.enter_partition(partition.clone()).await {
            Err(BookError::Running { partition, worker }) if until.is_none_or(|until| Instant::now() < until) => {
                if !is_noted {
                    let so_long =
                        if waits { "until it has ended" } else { "for up to a minute, in case it was killed" };
                    tracing::warn!("{worker} runs {partition}; waiting {so_long}");
                    is_noted = true;
                }
                tokio::time::sleep(PLACE_EVERY).await;
            }
            entered => return entered,
        }
    }
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

/// A partition of a campaign in the book.
struct PartitionOfBook {
    book: Arc<Book>,
    name: String,
}

impl SharedMoney for PartitionOfBook {
    fn partition(&self) -> &str {
        &self.name
    }

    fn seen(&self) -> BoxFuture<'_, Result<Seen, Stop>> {
        async { self.book.seen().await.map_err(stop) }.boxed()
    }

    fn claim<'a>(&'a self, seen: &'a Seen, told: &'a Told) -> BoxFuture<'a, Result<bool, Stop>> {
        async move { self.book.claim(seen, told).await.map_err(stop) }.boxed()
    }

    fn tell<'a>(&'a self, seen: &'a Seen, told: &'a [Told]) -> BoxFuture<'a, Result<bool, Stop>> {
        async move { self.book.tell(seen, told).await.map_err(stop) }.boxed()
    }

    fn lines<'a>(&'a self, keys: &'a [IdempotencyKey], with_answers: bool) -> BoxFuture<'a, Result<Vec<Line>, Stop>> {
        async move { self.book.lines(keys, with_answers).await.map_err(stop) }.boxed()
    }

    fn balance<'a>(
        &'a self,
        seen: &'a Seen,
        reading: BalanceReading,
        halt: Option<&'a Stop>,
    ) -> BoxFuture<'a, Result<bool, Stop>> {
        async move { self.book.balance(seen, &reading, halt).await.map_err(stop) }.boxed()
    }

    fn here(&self, leaves: bool) -> BoxFuture<'_, Result<(), Stop>> {
        async move {
            let told = if leaves { self.book.leave_partition().await } else { self.book.here().await };
            told.map_err(stop)
        }
        .boxed()
    }

    fn published<'a>(&'a self, outputs: &'a PartitionOutputs) -> BoxFuture<'a, Result<(), Stop>> {
        async move { self.book.published(outputs).await.map_err(stop) }.boxed()
    }
}

fn stop(error: BookError) -> Stop {
    Stop::Book { fault: error.to_string(), is_away: error.is_away() }
}
