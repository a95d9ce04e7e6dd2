//! The credits of an account that several ledgers share. A ledger states what it is about to hold before it arms a request,
//! so that all of them together keep the limit and the balance. Without a charge book, the ledger alone decides.

use crate::{
    error::Error,
    ledger::{Identity, Ledger, Reading},
    model::{
        Credits, Mode, Stop,
        budget::{Account, Allowance, BalanceReading, BudgetRefusal},
        shared_budget::{Stated, Totals},
    },
};
use futures::future::BoxFuture;
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use tokio::sync::Mutex;

/// The ledger that a run uses the account for.
#[cfg_attr(not(feature = "book-postgres"), expect(dead_code, reason = "only the charge book reads them"))]
pub struct LedgerUse {
    pub id: String,
    pub campaign: String,
    pub mode: Mode,
}

impl LedgerUse {
    /// # Errors
    /// The ledger cannot be read.
    pub fn of(reading: &Reading) -> Result<LedgerUse, Error> {
        let Identity { campaign, mode, .. } = reading.identity()?;
        Ok(LedgerUse { id: reading.ledger_id()?, campaign, mode })
    }
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
    about_to_arm: Arc<SyncMutex<Credits>>,
    /// One statement at a time.
    turn: Mutex<()>,
}

/// A price that is stated, until the ledger has armed its request.
pub struct Room {
    price: Credits,
    about_to_arm: Arc<SyncMutex<Credits>>,
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut about_to_arm = self.about_to_arm.lock().unwrap_or_else(PoisonError::into_inner);
        *about_to_arm = about_to_arm.saturating_sub(self.price);
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
            let taken = room(price);
            self.count(price);
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
    /// all ledgers explain. If another worker has read the balance meanwhile, nothing is recorded, and that worker has
    /// compared it.
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
        let mut fell = Credits::ZERO;
        loop {
            let seen = self.seen(money.as_ref(), ledger).await?;
            if seen.others.reading == Some(reading) {
                // It was written, and the answer was lost.
                return Ok(fell);
            }
            if seen.others.reading != before.reading {
                return Ok(Credits::ZERO);
            }
            fell = seen.others.with(self.own(ledger)).unexplained_fall(balance);
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
        let about_to_arm = *self.about_to_arm.lock().unwrap_or_else(PoisonError::into_inner);
        let sums = ledger.sums();
        Totals::of(&sums.account, sums.attempts).plus_about_to_arm(about_to_arm)
    }

    fn count(&self, price: Credits) {
        let mut about_to_arm = self.about_to_arm.lock().unwrap_or_else(PoisonError::into_inner);
        *about_to_arm = *about_to_arm + price;
    }
}
