//! The credits of an account that several ledgers share. A ledger states what it is about to hold before it arms a request,
//! so that all of them together keep the limit and the balance. Without a charge book, the ledger alone decides.

use crate::{
    error::Error,
    ledger::{Identity, Ledger, Reading},
    model::{
        Credits, Stop,
        budget::{Account, Allowance, BalanceReading, BudgetRefusal},
        shared_account::LedgerName,
        shared_budget::{Stated, Totals},
    },
};
use futures::future::BoxFuture;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tokio::sync::Mutex;

/// The ledger that a run uses an account for.
///
/// # Errors
/// The ledger cannot be read.
pub fn ledger_name(reading: &Reading) -> Result<LedgerName, Error> {
    let Identity { campaign, mode, .. } = reading.identity()?;
    Ok(LedgerName { id: reading.ledger_id()?, campaign, mode })
}

/// The credits of an account in a book, for one ledger.
pub trait SharedMoney: Send + Sync {
    /// What the other ledgers have stated.
    ///
    /// # Errors
    /// The book cannot be reached.
    fn stated(&self) -> BoxFuture<'_, Result<Stated, Stop>>;

    /// States the totals of this ledger, unless another has stated more since. Returns whether they were written.
    ///
    /// # Errors
    /// The book cannot be reached. The totals may have been written.
    fn state<'a>(&'a self, seen: &'a Stated, own: Totals) -> BoxFuture<'a, Result<bool, Stop>>;

    /// Records a reading of the balance, unless a ledger has stated more since, and stops all other workers if there is a
    /// reason. Returns whether it was written.
    ///
    /// # Errors
    /// The book cannot be reached. The reading may have been written.
    fn balance<'a>(
        &'a self,
        seen: &'a Stated,
        reading: BalanceReading,
        halt: Option<&'a Stop>,
    ) -> BoxFuture<'a, Result<bool, Stop>>;
}

/// What a run may spend beside other ledgers.
pub struct Purse {
    money: Option<Arc<dyn SharedMoney>>,
    /// What is stated and not armed yet. Taken before the sums of the ledger are read: then nothing is missed between.
    about_to_arm: Arc<AtomicU64>,
    /// One statement at a time.
    turn: Mutex<()>,
}

/// A price that is stated, until the ledger has armed its request.
pub struct Room {
    price: Credits,
    about_to_arm: Arc<AtomicU64>,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.about_to_arm.fetch_sub(self.price.0, Ordering::SeqCst);
    }
}

/// Why nothing was stated.
pub enum NoRoom {
    Refused(BudgetRefusal),
    /// The book cannot be reached.
    Closed(Stop),
}

impl From<Stop> for NoRoom {
    fn from(stop: Stop) -> NoRoom {
        NoRoom::Closed(stop)
    }
}

impl Purse {
    pub fn new(money: Option<Arc<dyn SharedMoney>>) -> Purse {
        Purse { money, about_to_arm: Arc::default(), turn: Mutex::new(()) }
    }

    /// Whether other ledgers use the account.
    pub fn is_shared(&self) -> bool {
        self.money.is_some()
    }

    /// Takes room for a price. It is kept until the request is armed.
    ///
    /// # Errors
    /// The limit or the balance has no room, or the book cannot be reached.
    pub async fn take(&self, ledger: &Ledger, price: Credits, allowance: &Allowance) -> Result<Room, NoRoom> {
        let room = |price| Room { price, about_to_arm: Arc::clone(&self.about_to_arm) };
        let Some(money) = self.money.as_ref().filter(|_| price > Credits::ZERO) else { return Ok(room(Credits::ZERO)) };
        let _turn = self.turn.lock().await;
        loop {
            let seen = self.seen(money.as_ref(), ledger).await?;
            let own = self.own(ledger);
            seen.others.admit(own, price, allowance).map_err(NoRoom::Refused)?;
            // Counted before it is stated: a statement may arrive although its answer is lost.
            self.about_to_arm.fetch_add(price.0, Ordering::SeqCst);
            let taken = room(price);
            if money.state(&seen, own.plus_about_to_arm(price)).await? {
                return Ok(taken);
            }
        }
    }

    /// The account as all its ledgers use it now; `None` if the ledger is alone.
    ///
    /// # Errors
    /// The book cannot be reached.
    pub async fn account(&self, ledger: &Ledger) -> Result<Option<Account>, Stop> {
        let Some(money) = &self.money else { return Ok(None) };
        Ok(Some(self.seen(money.as_ref(), ledger).await?.others.with(self.own(ledger))))
    }

    /// Records a balance that was requested when the account was in the state `before`. Returns how far it is below what
    /// all ledgers explain. If another worker has read the balance meanwhile, nothing is recorded.
    ///
    /// # Errors
    /// The book cannot be reached.
    pub async fn balance(
        &self,
        ledger: &Ledger,
        before: &Account,
        balance: Credits,
        at_us: i64,
    ) -> Result<Credits, Stop> {
        let Some(money) = &self.money else { return Ok(Credits::ZERO) };
        let reading = before.reading(balance, at_us);
        let mut fell = None;
        loop {
            let seen = self.seen(money.as_ref(), ledger).await?;
            // What is stated later cannot explain the reply: each ledger states before it sends.
            let own = self.own(ledger);
            let fell = *fell.get_or_insert_with(|| seen.others.with(own).unexplained_fall(balance));
            if seen.others.reading != before.reading {
                // Our own reading, whose answer was lost, or that of another worker, which has compared it, too.
                return Ok(fell);
            }
            let halt = (fell > Credits::ZERO).then_some(Stop::BalanceFell { credits: fell, is_shared: true });
            if money.balance(&seen, reading, halt.as_ref()).await? {
                return Ok(fell);
            }
        }
    }

    /// States what the ledger has used: at the start, which corrects what a killed run has stated, and at the end.
    ///
    /// # Errors
    /// The book cannot be reached, or the ledger is an older copy.
    pub async fn settle(&self, ledger: &Ledger) -> Result<(), Stop> {
        let Some(money) = &self.money else { return Ok(()) };
        let _turn = self.turn.lock().await;
        loop {
            let seen = self.seen(money.as_ref(), ledger).await?;
            let own = self.own(ledger);
            if own == Totals::default() || money.state(&seen, own).await? {
                return Ok(());
            }
        }
    }

    /// What the ledgers have stated. An older copy of this ledger does not know what it has used.
    async fn seen(&self, money: &dyn SharedMoney, ledger: &Ledger) -> Result<Stated, Stop> {
        let seen = money.stated().await?;
        let made = ledger.sums().attempts;
        if made < seen.attempts {
            let fault = format!(
                "this ledger is an older copy: it has {made} attempts, and the charge book knows of {}; restore the \
                 newest copy",
                seen.attempts
            );
            return Err(Stop::Book { fault, is_away: false });
        }
        Ok(seen)
    }

    fn own(&self, ledger: &Ledger) -> Totals {
        let about_to_arm = Credits(self.about_to_arm.load(Ordering::SeqCst));
        let sums = ledger.sums();
        Totals::of(&sums.account, sums.attempts).plus_about_to_arm(about_to_arm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ledger::{CommitMode, for_tests::identity},
        model::{shared_account::Version, shared_budget::Others},
    };
    use futures::FutureExt;
    use std::{collections::VecDeque, sync::Mutex};

    /// A book that says one thing after another, and does not write what is decided for all but the last.
    struct Changing {
        states: Mutex<VecDeque<Stated>>,
        halted: Mutex<Option<Stop>>,
    }

    impl SharedMoney for Changing {
        fn stated(&self) -> BoxFuture<'_, Result<Stated, Stop>> {
            let mut states = self.states.lock().unwrap();
            let state = if states.len() > 1 { states.pop_front() } else { states.front().cloned() };
            async { Ok(state.unwrap()) }.boxed()
        }

        fn state<'a>(&'a self, _: &'a Stated, _: Totals) -> BoxFuture<'a, Result<bool, Stop>> {
            async { Ok(true) }.boxed()
        }

        fn balance<'a>(
            &'a self,
            seen: &'a Stated,
            _: BalanceReading,
            halt: Option<&'a Stop>,
        ) -> BoxFuture<'a, Result<bool, Stop>> {
            let is_current = self.states.lock().unwrap().front() == Some(seen);
            *self.halted.lock().unwrap() = halt.filter(|_| is_current).cloned();
            async move { Ok(is_current) }.boxed()
        }
    }

    /// The account as others have stated it: what they hold, and the balance that was read last.
    fn stated(number: i64, held: u64, balance: u64) -> Stated {
        let all = Totals { held: Credits(held), armed: Credits(held), ..Totals::default() };
        let reading = Some(Account::default().reading(Credits(balance), 1));
        let others = Others { all, reading, ..Others::default() };
        Stated { version: Version { number, timeline: "1".to_owned() }, others, ..Stated::default() }
    }

    /// How far a balance of 90 has fallen after one of 100, and the halt that was written.
    async fn fell(states: impl IntoIterator<Item = Stated>) -> (u64, Option<Stop>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let ledger = Ledger::open(&path, &identity(), CommitMode::Inline, 1).unwrap();
        let book = Arc::new(Changing { states: Mutex::new(states.into_iter().collect()), halted: Mutex::default() });
        let purse = Purse::new(Some(Arc::clone(&book) as Arc<dyn SharedMoney>));
        let before = stated(0, 0, 100).others.with(Totals::default());
        let fell = purse.balance(&ledger, &before, Credits(90), 2).await.unwrap();
        let halted = book.halted.lock().unwrap().clone();
        (fell.0, halted)
    }

    #[tokio::test]
    async fn what_is_stated_after_a_reading_does_not_explain_it() {
        let halt = Some(Stop::BalanceFell { credits: Credits(10), is_shared: true });
        assert_eq!(fell([stated(1, 0, 100)]).await, (10, halt.clone()));
        assert_eq!(fell([stated(1, 10, 100)]).await, (0, None), "what others held before explains it");
        assert_eq!(
            fell([stated(1, 0, 100), stated(2, 10, 100)]).await,
            (10, halt),
            "and what they hold later does not"
        );
    }

    #[tokio::test]
    async fn a_worker_that_is_late_with_its_reading_stops_for_what_it_saw() {
        assert_eq!(fell([stated(1, 0, 100), stated(2, 0, 90)]).await, (10, None), "the other one has stopped them all");
    }
}
