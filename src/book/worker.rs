//! One worker at one account of the book. A question that gets no answer is asked again on a new connection until it is
//! answered or a minute is over, which harms nothing: what is written is compared with what was read.

use super::{
    BOOK_VERSION, BookError,
    session::{Address, Session, answered},
};
use crate::model::{
    Halt, Rate, Stop,
    shared_account::{AccountState, PartitionName, Version},
};
use serde::Serialize;
use std::{
    sync::{
        Mutex as SyncMutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Mutex, OnceCell},
    time::Instant,
};
use tokio_postgres::{Client, Row, Transaction, types::ToSql};

/// How long a book may be away before a worker ends. A restart of the server takes seconds, a failover less than this.
const AWAY_MAX: Duration = Duration::from_secs(60);
const RETRY_FIRST: Duration = Duration::from_millis(200);
const RETRY_MAX: Duration = Duration::from_secs(5);
/// An account of the service, as the book names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountName {
    /// The origin of the service, such as `https://service.example`.
    pub origin: String,
    pub name: String,
}

/// Who uses the account.
#[derive(Debug, Clone)]
pub struct WorkerName {
    /// Its machine and process, such as `etl-7 process 4711`.
    pub name: String,
    /// The campaign that it runs. `None` for a command that only reads the balance.
    pub campaign: Option<String>,
}

/// A partition that this worker runs.
#[derive(Debug)]
pub(super) struct Partition {
    pub(super) id: i64,
    /// Random. Another worker writes another one.
    pub(super) token: String,
    pub(super) name: PartitionName,
}

/// A worker's place at its account.
pub struct Book {
    address: Address,
    pub(super) account: i64,
    pub(super) worker: WorkerName,
    /// The partition that it runs, if it runs one.
    pub(super) partition: Option<Partition>,
    rate: Rate,
    /// Its number, once it takes a slot for a campaign.
    number: OnceCell<i64>,
    /// A connection for the rate and one for the credits: a slot is valid for a short time, and waits for no other question.
    lines: [Mutex<Option<Session>>; 2],
    has_halted: AtomicBool,
    /// Another worker runs the partition.
    pub(super) is_overtaken: AtomicBool,
    /// The run ends soon.
    is_ending: AtomicBool,
    /// When it failed last, if it was away for a minute and has not answered since.
    gone: SyncMutex<Option<Instant>>,
}

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    Rate,
    Credits,
}

impl Book {
    /// Enters the book. The account is created by its first user.
    ///
    /// # Errors
    /// The book is absent, of another version or on an unfit server, or the account has another rate.
    pub async fn enter(
        address: Address,
        account: &AccountName,
        rate: Rate,
        worker: WorkerName,
    ) -> Result<Book, BookError> {
        let mut client = opened(&address).await?;
        if address.is_pooled(&client).await? {
            return Err(BookError::Unfit(
                "a pooler in front of it gives one session to several connections; connect to the server itself, or use \
                 session pooling"
                    .to_owned(),
            ));
        }
        let account = entered(&mut client, account, rate).await?;
        let lines = [Mutex::new(Some(Session::new(client))), Mutex::new(None)];
        let [has_halted, is_overtaken, is_ending] = [false; 3].map(AtomicBool::new);
        let (number, partition, gone) = (OnceCell::new(), None, SyncMutex::new(None));
        Ok(Book { address, account, worker, partition, rate, number, lines, has_halted, is_overtaken, is_ending, gone })
    }

    /// Reads the account. A halt is not shown to the worker that found its reason, nor to commands that send no requests of a
    /// campaign: a person needs them to find the reason.
    ///
    /// # Errors
    /// The book was away for a minute, or refuses, or the account has another rate by now.
    pub async fn read(&self) -> Result<AccountState, BookError> {
        if self.is_overtaken.load(Ordering::Relaxed) {
            return Err(self.overtaken_error());
        }
        let sql = "SELECT version, record, (extract(epoch FROM clock_timestamp()) * 1000000)::int8,
                   (extract(epoch FROM paused_until - clock_timestamp()) * 1000000)::int8, halt, timeline,
                   rescreen.timeline(), per_minute, per_minute_max
                   FROM rescreen.account WHERE id = $1";
        let rows = self.asked(Line::Rate, sql, &[&self.account]).await?;
        let row = rows.first().ok_or_else(account_is_gone)?;
        let known = (row.try_get::<_, i64>(7)?, row.try_get::<_, i64>(8)?);
        if known != columns(self.rate) {
            return Err(other_rate(self.rate, known));
        }
        let mut read = seen(row)?;
        if self.has_halted.load(Ordering::Relaxed) || self.worker.campaign.is_none() {
            read.halt = None;
        }
        Ok(read)
    }

    /// Writes the record of the rate, unless the account has another version by now. Returns whether it was written. If
    /// the answer is lost, the record may have been written, and is found to have another version.
    ///
    /// # Errors
    /// The book was away for a minute, or refuses.
    pub async fn write(&self, version: &Version, record: &[u8]) -> Result<bool, BookError> {
        let sql = "WITH here AS (UPDATE rescreen.worker SET seen_at = clock_timestamp()
                                 WHERE id = $4 AND seen_at < clock_timestamp() - interval '5 seconds')
                   UPDATE rescreen.account SET version = version + 1, record = $3, timeline = $5
                   WHERE id = $1 AND version = $2 AND rescreen.timeline() = $5 RETURNING id";
        let number = match &self.worker.campaign {
            Some(campaign) => Some(*self.number.get_or_try_init(|| self.registered(campaign)).await?),
            None => None,
        };
        let Version { number: version, timeline } = version;
        let written = self.asked(Line::Rate, sql, &[&self.account, version, &record, &number, timeline]).await?;
        Ok(!written.is_empty())
    }

    /// Adds the worker. If the answer is lost it may be added twice; the first one is taken for gone after a time.
    async fn registered(&self, campaign: &str) -> Result<i64, BookError> {
        let sql = "INSERT INTO rescreen.worker (account, name, campaign) VALUES ($1, $2, $3) RETURNING id";
        let rows = self.asked(Line::Rate, sql, &[&self.account, &self.worker.name, &campaign]).await?;
        Ok(rows.first().ok_or_else(account_is_gone)?.try_get(0)?)
    }

    /// Lets all workers of the account wait for this long. A longer pause stays.
    ///
    /// # Errors
    /// The book was away for a minute, or refuses.
    pub async fn pause(&self, pause: Duration) -> Result<(), BookError> {
        let sql = "UPDATE rescreen.account SET version = version + 1,
                   paused_until = greatest(paused_until, clock_timestamp() + make_interval(secs => $2)) WHERE id = $1";
        self.asked(Line::Rate, sql, &[&self.account, &pause.as_secs_f64()]).await?;
        Ok(())
    }

    /// Stops all other workers of the account until a person decides. The first reason stays.
    ///
    /// # Errors
    /// The book was away for a minute, or refuses.
    pub async fn halt(&self, reason: &Stop, at_us: i64) -> Result<(), BookError> {
        let halt = self.halt_for(reason, at_us);
        let sql = "WITH halted AS (UPDATE rescreen.account SET version = version + 1, halt = $2
                                   WHERE id = $1 AND halt IS NULL RETURNING id)
                   INSERT INTO rescreen.note (account, who, what, why) SELECT id, $3, 'halted', $4 FROM halted";
        self.asked(Line::Rate, sql, &[&self.account, &text_of(&halt)?, &halt.worker, &halt.message]).await?;
        self.has_halted();
        Ok(())
    }

    /// Records that this worker has halted the account. It ends by itself, and may still read the balance.
    pub(super) fn has_halted(&self) {
        self.has_halted.store(true, Ordering::Relaxed);
    }

    pub(super) fn halt_for(&self, reason: &Stop, at_us: i64) -> Halt {
        let (exit_code, worker) = (reason.exit_code() as u8, self.worker.name.clone());
        Halt { exit_code, message: reason.to_string(), worker, at_us }
    }

    /// The run ends soon: a question that gets no answer is not asked again.
    pub fn hurry(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// The worker has ended. A worker that is killed is taken for gone after a time.
    ///
    /// # Errors
    /// The book was away for a minute, or refuses.
    pub async fn leave(&self) -> Result<(), BookError> {
        let sql = "UPDATE rescreen.worker SET left_at = clock_timestamp() WHERE id = $1 AND left_at IS NULL";
        if let Some(number) = self.number.get() {
            self.asked(Line::Rate, sql, &[number]).await?;
        }
        Ok(())
    }

    /// Asks until there is an answer, or a minute is over. If the run ends soon, or a minute was over before, it asks once.
    pub(super) async fn asked(
        &self,
        line: Line,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, BookError> {
        let until = Instant::now() + AWAY_MAX;
        let mut current = self.lines[line as usize].lock().await;
        let mut wait = RETRY_FIRST;
        loop {
            if self.gone().is_some_and(|failed| failed.elapsed() < RETRY_MAX) {
                return Err(BookError::Away("it has not answered for a minute".to_owned()));
            }
            let answer = match current.take() {
                Some(mut session) => {
                    let answer = session.query(sql, values).await;
                    // A connection on which a question failed is not used again: its answer may still come.
                    *current = answer.is_ok().then_some(session);
                    answer
                }
                None => match self.address.connect().await {
                    Ok(client) => {
                        *current = Some(Session::new(client));
                        continue;
                    }
                    Err(error) => Err(error),
                },
            };
            match answer {
                Ok(rows) => {
                    *self.gone() = None;
                    return Ok(rows);
                }
                Err(error) if error.is_away() => {
                    let is_over = self.gone().is_some() || Instant::now() + wait > until;
                    if is_over || self.is_ending.load(Ordering::Relaxed) {
                        *self.gone() = Some(Instant::now());
                        return Err(error);
                    }
                    if wait == RETRY_FIRST {
                        tracing::warn!("{error}; nothing is sent until it does");
                    }
                    tokio::time::sleep(wait).await;
                    wait = wait.saturating_mul(2).min(RETRY_MAX);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn gone(&self) -> MutexGuard<'_, Option<Instant>> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A rate as the book keeps it.
fn columns(rate: Rate) -> (i64, i64) {
    (i64::from(rate.per_minute), i64::from(rate.per_minute_max))
}

fn other_rate(given: Rate, known: (i64, i64)) -> BookError {
    BookError::OtherRate { known: format!("{}, at most {} in any,", known.0, known.1), given: given.to_string() }
}

pub(super) fn account_is_gone() -> BookError {
    BookError::Refused("the account is not in it any more".to_owned())
}

/// A connection to the book, for a person.
pub(super) async fn opened(address: &Address) -> Result<Client, BookError> {
    let client = address.connect().await?;
    expect_version(&client).await?;
    Ok(client)
}

/// Refuses a book of another version.
async fn expect_version(client: &Client) -> Result<(), BookError> {
    let found: i32 = answered(client.query_one("SELECT version FROM rescreen.book", &[])).await?.try_get(0)?;
    if found == BOOK_VERSION { Ok(()) } else { Err(BookError::Version { found, expected: BOOK_VERSION }) }
}

/// The number of the account. One that is new gets this rate.
pub(super) async fn account_of(
    transaction: &Transaction<'_>,
    account: &AccountName,
    rate: Rate,
) -> Result<i64, BookError> {
    let (per_minute, per_minute_max) = columns(rate);
    let sql = "INSERT INTO rescreen.account (origin, name, per_minute, per_minute_max) VALUES ($1, $2, $3, $4)
               ON CONFLICT DO NOTHING";
    answered(transaction.execute(sql, &[&account.origin, &account.name, &per_minute, &per_minute_max])).await?;
    let sql = "SELECT id FROM rescreen.account WHERE origin = $1 AND name = $2";
    Ok(answered(transaction.query_one(sql, &[&account.origin, &account.name])).await?.try_get(0)?)
}

/// The number of the account. Its rate is changed if no worker uses it.
async fn entered(client: &mut Client, account: &AccountName, rate: Rate) -> Result<i64, BookError> {
    let (per_minute, per_minute_max) = columns(rate);
    let transaction = answered(client.transaction()).await?;
    let id = account_of(&transaction, account, rate).await?;
    // The longest pause that a run waits for is 15 minutes. A worker that only follows jobs may be silent for longer: it then
    // finds another rate, and ends.
    let sql = "SELECT per_minute, per_minute_max,
               (SELECT count(*) FROM rescreen.worker w WHERE w.account = a.id AND w.left_at IS NULL
                AND w.seen_at > clock_timestamp() - interval '20 minutes')
               FROM rescreen.account a WHERE id = $1 FOR NO KEY UPDATE";
    let row = answered(transaction.query_one(sql, &[&id])).await?;
    let workers: i64 = row.try_get(2)?;
    let known = (row.try_get::<_, i64>(0)?, row.try_get::<_, i64>(1)?);
    if known != (per_minute, per_minute_max) {
        if workers > 0 {
            return Err(other_rate(rate, known));
        }
        let sql =
            "UPDATE rescreen.account SET version = version + 1, per_minute = $2, per_minute_max = $3 WHERE id = $1";
        answered(transaction.execute(sql, &[&id, &per_minute, &per_minute_max])).await?;
    }
    answered(transaction.commit()).await?;
    Ok(id)
}

fn seen(row: &Row) -> Result<AccountState, BookError> {
    let halt: Option<String> = row.try_get(4)?;
    let written_on: Option<String> = row.try_get(5)?;
    let version = Version { number: row.try_get(0)?, timeline: row.try_get(6)? };
    let paused_us: Option<i64> = row.try_get(3)?;
    Ok(AccountState {
        // On another timeline the last commits may be lost.
        record: row.try_get::<_, Option<Vec<u8>>>(1)?.filter(|_| written_on.as_ref() == Some(&version.timeline)),
        version,
        now_us: row.try_get(2)?,
        paused: paused_us.and_then(|us| u64::try_from(us).ok()).filter(|us| *us > 0).map(Duration::from_micros),
        halt: halt.map(|text| halt_of(&text)),
    })
}

/// A value as the book keeps it.
pub(super) fn text_of(value: &impl Serialize) -> Result<String, BookError> {
    serde_json::to_string(value).map_err(|error| BookError::Refused(error.to_string()))
}

/// What a halt says. One that cannot be read halts all the same.
pub(super) fn halt_of(text: &str) -> Halt {
    serde_json::from_str(text).unwrap_or_else(|_| Halt {
        exit_code: 11,
        message: "the reason in the book cannot be read".to_owned(),
        worker: "another worker".to_owned(),
        at_us: 0,
    })
}
