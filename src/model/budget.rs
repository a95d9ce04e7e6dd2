//! The budget: decides whether the price of a request may be held. The decision is pure. The ledger makes it inside the
//! arm transaction, so that charged plus held never exceeds the limit, at any time and across crashes.

use super::credits::Credits;
use serde::{Deserialize, Serialize};

/// The spending that the user allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowance {
    /// The limit of the campaign over all its runs; `None` if nothing is charged.
    pub limit: Option<Credits>,
    /// Our requests never take the account's balance below this.
    pub keep_balance: Credits,
}

/// The credits of a campaign, as recorded in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Account {
    /// Credits charged by the service in this campaign.
    pub charged: Credits,
    /// Credits held for requests under way or in doubt.
    pub held: Credits,
    /// The sum of the prices of all requests ever armed. It only grows, and a reading records its value.
    pub armed: Credits,
    /// The last reading of the balance.
    pub reading: Option<BalanceReading>,
    /// The last balance that a reply stated.
    #[serde(default)]
    pub stated: Option<StatedBalance>,
}

impl Account {
    /// What counts against the limit: what was charged so far, and what is held.
    pub fn used(&self) -> Credits {
        self.charged + self.held
    }
}

/// A balance that a reply stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedBalance {
    pub balance: Credits,
    /// [`Account::charged`] when its request was armed, plus the charge of that request.
    pub charged_at: Credits,
}

/// One reading of `GET /my_credits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalanceReading {
    pub balance: Credits,
    /// Credits held when the balance was requested. The balance may or may not include them, so they count against it.
    pub held_at: Credits,
    /// [`Account::armed`] when the balance was requested.
    pub armed_at: Credits,
    /// [`Account::charged`] when the balance was requested.
    #[serde(default)]
    pub charged_at: Credits,
    /// How far the balance had fallen by then beyond what was booked; negative if charges do not show in it yet.
    /// Requests in doubt explain a fall once, and not again at each reading.
    #[serde(default)]
    pub unbooked: i64,
    /// The time of the reading, in microseconds since 1970.
    pub at_us: i64,
}

/// Why a request may not be armed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BudgetRefusal {
    /// It would exceed the campaign's limit.
    Limit { limit: Credits, charged: Credits, held: Credits, price: Credits },
    /// It would take the balance below the amount to keep.
    Balance { spendable: Credits, price: Credits, keep: Credits },
    /// The balance has never been read.
    Unread,
}

impl Account {
    /// The lowest balance that our own requests can explain: the last reading, less the credits held then and all
    /// prices armed since. A stated balance below it was lowered by another client, even where
    /// [`Account::unexplained_fall`] is zero because more was booked than was charged.
    pub fn least_balance(&self) -> Option<Credits> {
        let reading = self.reading?;
        let armed_since = self.armed.saturating_sub(reading.armed_at);
        Some(reading.balance.saturating_sub(reading.held_at).saturating_sub(armed_since))
    }

    /// The reading of a balance that was requested when the account was in this state.
    pub fn reading(&self, balance: Credits, at_us: i64) -> BalanceReading {
        let unbooked = self.unbooked(balance).min(signed(self.held)).max(-signed(self.charged_since_reading()));
        BalanceReading { balance, held_at: self.held, armed_at: self.armed, charged_at: self.charged, unbooked, at_us }
    }

    /// The balance stated by a reply with this charge. Its request was armed when the account was in this state.
    pub fn stated(&self, balance: Credits, charge: Credits) -> StatedBalance {
        StatedBalance { balance, charged_at: self.charged + charge }
    }

    /// Whether the balance that a reply states is lower than the one stated by the previous reply, less what was booked
    /// since, while only its own request, with this hold, was under way or in doubt.
    pub fn fell_by_one(&self, balance: Credits, hold: Credits) -> bool {
        let Some(before) = self.stated.filter(|_| self.held == hold) else { return false };
        let charged_since = self.charged.saturating_sub(before.charged_at);
        balance < before.balance.saturating_sub(charged_since)
    }

    /// How far a balance is below what our own requests explain: another client spent credits, or a price rose.
    pub fn unexplained_fall(&self, balance: Credits) -> Credits {
        if self.reading.is_none_or(|reading| balance >= reading.balance) {
            return Credits::ZERO;
        }
        let beyond = self.unbooked(balance).saturating_sub(signed(self.held));
        Credits(u64::try_from(beyond).unwrap_or_default())
    }

    /// How far the balance has fallen by now beyond what was booked. If it rose, the account was topped up, and the
    /// balance is assumed to include what was booked since.
    fn unbooked(&self, balance: Credits) -> i64 {
        let Some(reading) = self.reading else { return 0 };
        let fell = if balance > reading.balance {
            self.charged_since_reading()
        } else {
            reading.balance.saturating_sub(balance)
        };
        reading.unbooked.saturating_add(signed(fell)).saturating_sub(signed(self.charged_since_reading()))
    }

    fn charged_since_reading(&self) -> Credits {
        self.reading.map_or(Credits::ZERO, |reading| self.charged.saturating_sub(reading.charged_at))
    }

    /// Whether `price` may be held now. A price of zero always may.
    pub fn admit(&self, price: Credits, allowance: &Allowance) -> Result<(), BudgetRefusal> {
        if price == Credits::ZERO {
            return Ok(());
        }
        let held = self.held;
        if let Some(limit) = allowance.limit
            && self.charged + held + price > limit
        {
            return Err(BudgetRefusal::Limit { limit, charged: self.charged, held, price });
        }
        let spendable = self.least_balance().ok_or(BudgetRefusal::Unread)?.saturating_sub(allowance.keep_balance);
        if price > spendable {
            return Err(BudgetRefusal::Balance { spendable, price, keep: allowance.keep_balance });
        }
        Ok(())
    }
}

fn signed(credits: Credits) -> i64 {
    i64::try_from(credits.0).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(charged: u64, held: u64, balance: u64) -> Account {
        let reading = BalanceReading {
            balance: Credits(balance),
            held_at: Credits(0),
            armed_at: Credits(0),
            charged_at: Credits(0),
            unbooked: 0,
            at_us: 0,
        };
        Account {
            charged: Credits(charged),
            held: Credits(held),
            armed: Credits(0),
            reading: Some(reading),
            stated: None,
        }
    }

    #[test]
    fn the_limit_counts_what_is_charged_and_what_is_held() {
        let allowance = Allowance { limit: Some(Credits(10)), keep_balance: Credits(0) };
        assert!(account(5, 4, 100).admit(Credits(1), &allowance).is_ok());
        assert!(matches!(account(5, 5, 100).admit(Credits(1), &allowance), Err(BudgetRefusal::Limit { .. })));
    }

    #[test]
    fn the_floor_and_open_holds_lower_what_may_be_spent() {
        let allowance = Allowance { limit: None, keep_balance: Credits(90) };
        let mut account = account(0, 0, 100);
        assert!(account.admit(Credits(10), &allowance).is_ok());
        account.armed = Credits(6);
        account.reading.as_mut().unwrap().held_at = Credits(4);
        assert!(matches!(account.admit(Credits(1), &allowance), Err(BudgetRefusal::Balance { .. })));
    }

    #[test]
    fn a_lower_stated_balance_shows_the_charge_where_nothing_else_is_held() {
        let mut account = account(10, 5, 100);
        assert!(!account.fell_by_one(Credits(1), Credits(5)), "nothing to compare it with");
        account.stated = Some(account.stated(Credits(90), Credits(0)));
        assert!(account.fell_by_one(Credits(89), Credits(5)));
        assert!(!account.fell_by_one(Credits(90), Credits(5)));
        assert!(!account.fell_by_one(Credits(89), Credits(4)), "another request is under way");
        account.charged = Credits(15);
        assert!(!account.fell_by_one(Credits(85), Credits(5)), "another request was charged 5 since");
        assert!(account.fell_by_one(Credits(84), Credits(5)));
    }

    /// Reads `balance` into the account, and returns the part of its fall that is unexplained.
    fn read(account: &mut Account, balance: u64) -> u64 {
        let fell = account.unexplained_fall(Credits(balance));
        account.reading = Some(account.reading(Credits(balance), 0));
        fell.0
    }

    #[test]
    fn a_request_in_doubt_explains_a_fall_once() {
        let mut account = account(0, 5, 100);
        assert_eq!(read(&mut account, 95), 0, "all that is held may have been charged");
        assert_eq!(read(&mut account, 93), 2, "and is charged once only");
        assert_eq!(read(&mut account, 93), 0, "what was reported is not reported again");
        (account.charged, account.held) = (Credits(5), Credits(0));
        assert_eq!(read(&mut account, 93), 0, "it turned out to be charged");
        account.held = Credits(4);
        assert_eq!(read(&mut account, 90), 0);
        account.held = Credits(0);
        assert_eq!(read(&mut account, 89), 4, "it turned out not to be charged: another client spent");
    }

    #[test]
    fn a_charge_that_shows_one_reading_late_is_explained() {
        let mut account = account(0, 0, 100);
        account.charged = Credits(10);
        assert_eq!(read(&mut account, 100), 0);
        account.charged = Credits(15);
        assert_eq!(read(&mut account, 90), 0);
        assert_eq!(read(&mut account, 85), 0);
        assert_eq!(read(&mut account, 84), 1);
    }

    #[test]
    fn after_a_top_up_a_later_unbooked_fall_is_unexplained() {
        let mut account = account(0, 0, 100);
        account.charged = Credits(10);
        assert_eq!(read(&mut account, 1_000), 0);
        account.charged = Credits(20);
        assert_eq!(read(&mut account, 930), 60);
    }

    #[test]
    fn an_unread_balance_admits_only_free_checks() {
        let account = Account::default();
        assert_eq!(account.admit(Credits(1), &Allowance::default()), Err(BudgetRefusal::Unread));
        assert_eq!(account.admit(Credits(0), &Allowance::default()), Ok(()));
    }
}
