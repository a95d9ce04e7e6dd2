//! The credits and the requests that the partitions of campaigns share through a charge book. What a request will hold is claimed
//! before it is armed, so that all partitions together keep the limit and the balance, and each content is sent by one of them.
//! What has become of requests is told later. Without a book, the ledger alone decides.

use crate::{
    error::Error,
    ledger::{Adoption, ArmOrder, Ledger},
    model::{
        Credits, IdempotencyKey, RequestId, Stop,
        budget::{Account, BalanceReading, BudgetRefusal},
        shared_budget::Seen,
        shared_partition::PartitionOutputs,
        shared_request::{Known, Line, LineStep, Owner, Told, line_step},
        state::State,
    },
};
use futures::future::BoxFuture;
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError},
};
use tokio::sync::{Mutex, Notify};

/// The most answers that are read from the book at once.
const ANSWERS_MAX: usize = 16;
/// A partition of a campaign in a book.
pub trait SharedMoney: Send + Sync {
    /// The name of the partition.
    fn partition(&self) -> &str;

    /// What all partitions have used.
    ///
    /// # Errors
    /// The book cannot be reached, or another worker runs the partition.
    fn seen(&self) -> BoxFuture<'_, Result<Seen, Stop>>;

    /// Claims the line of a request, unless a partition has claimed more since, or the line says more than this. Returns whether
    /// it was written.
    ///
    /// # Errors
    /// The book cannot be reached. The line may have been written.
    fn claim<'a>(&'a self, seen: &'a Seen, told: &'a Told) -> BoxFuture<'a, Result<bool, Stop>>;

    /// Tells what has become of requests. Returns whether it was written: not if this partition has written since.
    ///
    /// # Errors
    /// The book cannot be reached. It may have been written.
    fn tell<'a>(&'a self, seen: &'a Seen, told: &'a [Told]) -> BoxFuture<'a, Result<bool, Stop>>;

    /// The lines of these keys, with their bodies and answers or without.
    ///
    /// # Errors
    /// The book cannot be reached.
    fn lines<'a>(&'a self, keys: &'a [IdempotencyKey], with_answers: bool) -> BoxFuture<'a, Result<Vec<Line>, Stop>>;

    /// Records a reading of the balance, unless a partition holds more since, and stops all other workers if there is a
    /// reason. Returns whether it was written.
    ///
    /// # Errors
    /// The book cannot be reached. The reading may have been written.
    fn balance<'a>(
        &'a self,
        seen: &'a Seen,
        reading: BalanceReading,
        halt: Option<&'a Stop>,
    ) -> BoxFuture<'a, Result<bool, Stop>>;

    /// Tells that this worker is here, or that it leaves.
    ///
    /// # Errors
    /// The book cannot be reached, or another worker runs the partition.
    fn here(&self, leaves: bool) -> BoxFuture<'_, Result<(), Stop>>;

    /// Tells what the partition has published. If another worker runs it by now, nothing is written.
    ///
    /// # Errors
    /// The book cannot be reached.
    fn published<'a>(&'a self, outputs: &'a PartitionOutputs) -> BoxFuture<'a, Result<(), Stop>>;
}

/// What a run may spend beside other partitions.
pub struct Purse {
    pub(super) money: Option<Arc<dyn SharedMoney>>,
    /// Requests that are claimed and not armed yet. What their ledger says is not told.
    pub(super) claimed: Arc<SyncMutex<BTreeSet<RequestId>>>,
    /// Requests whose claim was given up. Before they are claimed again, that is told.
    given_up: SyncMutex<BTreeSet<RequestId>>,
    /// One claim or telling at a time.
    pub(super) turn: Mutex<()>,
    /// Something has become of a request.
    pub(super) news: Notify,
}

/// A claimed line, until the ledger has armed its request.
pub struct Claimed {
    pub request: RequestId,
    claimed: Arc<SyncMutex<BTreeSet<RequestId>>>,
    /// What it may hold beyond what it holds now.
    pub room: Credits,
}

impl Claimed {
    fn new(request: RequestId, claimed: &Arc<SyncMutex<BTreeSet<RequestId>>>, room: Credits) -> Claimed {
        locked(claimed).insert(request);
        Claimed { request, claimed: Arc::clone(claimed), room }
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        locked(&self.claimed).remove(&self.request);
    }
}

/// Why a line was not claimed.
pub enum NotClaimed {
    /// The limit or the balance has no room.
    Refused(BudgetRefusal),
    /// The book knows more of the request than the ledger did. Now the ledger has it in this state.
    Adopted(State),
    /// Another partition has sent it and has no answer yet, or what the book says of it cannot be taken.
    Elsewhere { is_running: bool },
    /// The book cannot be reached.
    Closed(Stop),
}

impl From<Stop> for NotClaimed {
    fn from(stop: Stop) -> NotClaimed {
        NotClaimed::Closed(stop)
    }
}

impl Purse {
    pub fn new(money: Option<Arc<dyn SharedMoney>>) -> Purse {
        Purse {
            money,
            claimed: Arc::default(),
            given_up: SyncMutex::default(),
            turn: Mutex::new(()),
            news: Notify::new(),
        }
    }

    /// The book, if there is one.
    pub fn book(&self) -> Option<&dyn SharedMoney> {
        self.money.as_deref()
    }

    /// Whether other partitions use the account.
    pub fn is_shared(&self) -> bool {
        self.money.is_some()
    }

    /// Claims the line of a request that is about to be armed; `None` if the ledger is alone.
    pub async fn claim(&self, ledger: &Ledger, order: &ArmOrder) -> Result<Result<Option<Claimed>, NotClaimed>, Error> {
        let Some(money) = &self.money else { return Ok(Ok(None)) };
        let _turn = self.turn.lock().await;
        let request = order.request;
        // The book still has a claim that was given up.
        if locked(&self.given_up).remove(&request)
            && let Err(stop) = self.tell_all(money.as_ref(), ledger).await?
        {
            return Ok(Err(stop.into()));
        }
        let (told, room) = ledger.about_to_arm(order.clone()).await?;
        let mut is_asked = false;
        let not_claimed = loop {
            let seen = match self.seen(money.as_ref(), ledger).await? {
                Ok(seen) => seen,
                Err(stop) => break stop.into(),
            };
            if let Err(refusal) = seen.shared.admit(room, &order.allowance) {
                break NotClaimed::Refused(refusal);
            }
            is_asked = true;
            let claimed = Claimed::new(request, &self.claimed, room);
            match money.claim(&seen, &told).await {
                Ok(true) => return Ok(Ok(Some(claimed))),
                Ok(false) => {}
                Err(stop) => break stop.into(),
            }
            let line = match money.lines(&[told.key], true).await {
                Ok(lines) => lines.into_iter().next(),
                Err(stop) => break stop.into(),
            };
            let is_ours = |line: &Line| {
                let Line { owner, told: found } = line;
                let same = (found.state, found.revision, &found.record) == (told.state, told.revision, &told.record);
                *owner == Owner::Us { is_of_ledger: true } && same
            };
            if line.as_ref().is_some_and(is_ours) {
                // The answer to our claim was lost.
                return Ok(Ok(Some(claimed)));
            }
            // The attempt that it would make is counted in what is told.
            let Told { attempts, generation, revision, .. } = told;
            let known = Known { attempts: attempts - 1, generation, revision: revision - 1 };
            match (line_step(known, line.as_ref()), line) {
                (LineStep::Wait { is_running }, _) => return Ok(Err(NotClaimed::Elsewhere { is_running })),
                (LineStep::Adopt { with_charge }, Some(Line { told, .. })) => {
                    let adopted = ledger.adopt(vec![Adoption { request, told, with_charge }], order.now_us).await?;
                    let state = adopted.first().map(|(_, state)| *state);
                    let cannot = NotClaimed::Elsewhere { is_running: false };
                    return Ok(Err(state.map_or(cannot, NotClaimed::Adopted)));
                }
                _ => {}
            }
        };
        // The answer to an earlier try may have been lost.
        if is_asked {
            self.not_armed(ledger, request).await?;
        }
        Ok(Err(not_claimed))
    }

    /// A request whose line was claimed is not armed after all.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub async fn not_armed(&self, ledger: &Ledger, request: RequestId) -> Result<(), Error> {
        ledger.not_armed(request).await?;
        locked(&self.given_up).insert(request);
        self.has_news();
        Ok(())
    }

    /// Takes what the book says of requests into the ledger. Returns the states of those of which it knows more.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub async fn known(
        &self,
        ledger: &Ledger,
        requests: &[RequestId],
        now_us: i64,
    ) -> Result<Result<Vec<(RequestId, State)>, Stop>, Error> {
        let Some(money) = self.money.as_ref().filter(|_| !requests.is_empty()) else { return Ok(Ok(Vec::new())) };
        let known = ledger.reading()?.known(requests)?;
        let keys: Vec<IdempotencyKey> = known.iter().map(|(_, key, _)| *key).collect();
        let lines = match money.lines(&keys, false).await {
            Ok(lines) => lines,
            Err(stop) => return Ok(Err(stop)),
        };
        let lines: HashMap<IdempotencyKey, Line> = lines.into_iter().map(|line| (line.told.key, line)).collect();
        let meant = known.into_iter().filter_map(|(request, key, known)| match line_step(known, lines.get(&key)) {
            LineStep::Adopt { with_charge } => Some((key, (request, with_charge))),
            LineStep::Claim | LineStep::Wait { .. } => None,
        });
        let meant: HashMap<IdempotencyKey, (RequestId, bool)> = meant.collect();
        let keys: Vec<IdempotencyKey> = meant.keys().copied().collect();
        let mut states = Vec::new();
        // An answer may be large.
        for keys in keys.chunks(ANSWERS_MAX) {
            let lines = match money.lines(keys, true).await {
                Ok(lines) => lines,
                Err(stop) => return Ok(Err(stop)),
            };
            let adoptions = lines.into_iter().filter_map(|Line { told, .. }| {
                let (request, with_charge) = *meant.get(&told.key)?;
                Some(Adoption { request, told, with_charge })
            });
            states.extend(ledger.adopt(adoptions.collect(), now_us).await?);
        }
        Ok(Ok(states))
    }

    /// The account as all partitions use it now; `None` if the ledger is alone.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub async fn account(&self, ledger: &Ledger) -> Result<Result<Option<Account>, Stop>, Error> {
        let Some(money) = &self.money else { return Ok(Ok(None)) };
        if let Err(stop) = self.tell(ledger).await? {
            return Ok(Err(stop));
        }
        let _turn = self.turn.lock().await;
        Ok(self.seen(money.as_ref(), ledger).await?.map(|seen| Some(seen.shared.account())))
    }

    /// Records a balance that was requested when the account was in the state `before`. Returns how far it is below what
    /// all partitions explain. If another worker has read the balance meanwhile, nothing is recorded.
    ///
    /// # Errors
    /// The book cannot be reached.
    pub async fn balance(&self, before: &Account, balance: Credits, at_us: i64) -> Result<Credits, Stop> {
        let Some(money) = &self.money else { return Ok(Credits::ZERO) };
        let reading = before.reading(balance, at_us);
        let mut fell = None;
        loop {
            let seen = money.seen().await?;
            // What is claimed later cannot explain the reply: each partition claims before it sends.
            let fell = *fell.get_or_insert_with(|| seen.shared.account().unexplained_fall(balance));
            if seen.shared.reading != before.reading {
                // Our own reading, whose answer was lost, or that of another worker, which has compared it, too.
                return Ok(fell);
            }
            let halt = (fell > Credits::ZERO).then_some(Stop::BalanceFell { credits: fell, is_shared: true });
            if money.balance(&seen, reading, halt.as_ref()).await? {
                return Ok(fell);
            }
        }
    }

    /// Something has become of a request.
    pub fn has_news(&self) {
        self.news.notify_one();
    }
}

pub(super) fn locked(claimed: &SyncMutex<BTreeSet<RequestId>>) -> MutexGuard<'_, BTreeSet<RequestId>> {
    claimed.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "purse_tests.rs"]
mod tests;
