//! The budget of an account that several ledgers share. Each ledger states its totals, so that stating them twice changes
//! nothing, and the sums of all of them decide what one more request may hold.

use super::{
    budget::{Account, Allowance, BalanceReading, BudgetRefusal},
    credits::Credits,
    shared_account::Version,
};

/// What a ledger has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    pub charged: Credits,
    pub held: Credits,
    pub armed: Credits,
    /// How many attempts it has made. An older copy of a ledger has made fewer.
    pub attempts: u64,
}

impl Totals {
    /// The totals of a ledger with these sums.
    pub fn of(account: &Account, attempts: u64) -> Totals {
        Totals { charged: account.charged, held: account.held, armed: account.armed, attempts }
    }

    /// The totals once this is armed, too.
    pub fn plus_about_to_arm(self, price: Credits) -> Totals {
        Totals { held: self.held + price, armed: self.armed + price, ..self }
    }

    fn plus(self, other: Totals) -> Totals {
        Totals {
            charged: self.charged + other.charged,
            held: self.held + other.held,
            armed: self.armed + other.armed,
            attempts: self.attempts.saturating_add(other.attempts),
        }
    }
}

/// What the other ledgers of an account have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Others {
    /// All other ledgers.
    pub all: Totals,
    /// Those of the same campaign and mode, which share its limit.
    pub of_campaign: Totals,
    /// The last reading of the balance by any of them.
    pub reading: Option<BalanceReading>,
}

impl Others {
    /// The account as all ledgers together use it.
    pub fn with(&self, own: Totals) -> Account {
        let Totals { charged, held, armed, .. } = self.all.plus(own);
        Account { charged, held, armed, reading: self.reading, stated: None }
    }

    /// Whether a ledger with these totals may hold `price` more.
    ///
    /// # Errors
    /// The limit of the campaign or the balance of the account refuses it.
    pub fn admit(&self, own: Totals, price: Credits, allowance: &Allowance) -> Result<(), BudgetRefusal> {
        let Totals { charged, held, .. } = self.of_campaign.plus(own);
        Account { charged, held, ..self.with(own) }.admit(price, allowance)
    }
}

/// What the ledgers of an account have stated, as one of them sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stated {
    /// It changes whenever a ledger states more, or the balance is read.
    pub version: Version,
    pub others: Others,
    /// How often this ledger has stated its totals.
    pub times: i64,
    /// The attempts of this ledger when it stated them last.
    pub attempts: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEEP_10: Allowance = Allowance { limit: Some(Credits(100)), keep_balance: Credits(10) };

    fn totals(charged: u64, held: u64, armed: u64) -> Totals {
        Totals { charged: Credits(charged), held: Credits(held), armed: Credits(armed), attempts: 0 }
    }

    /// Others with these totals, of which the first are of the same campaign. 200 were left when nothing was armed yet.
    fn others(of_campaign: Totals, all: Totals) -> Others {
        Others { all, of_campaign, reading: Some(Account::default().reading(Credits(200), 0)) }
    }

    #[test]
    fn the_limit_counts_the_ledgers_of_the_campaign_and_no_others() {
        let beside = others(totals(40, 10, 50), totals(90, 10, 100));
        assert_eq!(beside.admit(totals(30, 10, 40), Credits(10), &KEEP_10), Ok(()));
        let refused = beside.admit(totals(30, 10, 40), Credits(11), &KEEP_10);
        let (limit, charged, held) = (Credits(100), Credits(70), Credits(20));
        assert_eq!(refused, Err(BudgetRefusal::Limit { limit, charged, held, price: Credits(11) }));
    }

    #[test]
    fn the_balance_counts_all_ledgers_of_the_account() {
        let beside = others(Totals::default(), totals(150, 0, 150));
        assert_eq!(beside.admit(totals(0, 20, 20), Credits(20), &KEEP_10), Ok(()));
        let refused = beside.admit(totals(0, 20, 20), Credits(21), &KEEP_10);
        assert!(matches!(refused, Err(BudgetRefusal::Balance { spendable: Credits(20), .. })), "{refused:?}");
    }

    #[test]
    fn what_other_ledgers_hold_or_were_charged_explains_a_fall() {
        let fall = |all| others(Totals::default(), all).with(totals(5, 0, 5)).unexplained_fall(Credits(185));
        assert_eq!(fall(totals(10, 0, 10)), Credits(0));
        assert_eq!(fall(totals(4, 6, 10)), Credits(0));
        assert_eq!(fall(totals(4, 5, 9)), Credits(1));
    }

    #[test]
    fn a_balance_that_was_never_read_admits_only_free_checks() {
        let beside = Others::default();
        assert_eq!(beside.admit(Totals::default(), Credits(1), &KEEP_10), Err(BudgetRefusal::Unread));
        assert_eq!(beside.admit(Totals::default(), Credits(0), &KEEP_10), Ok(()));
    }

    /// A ledger in a model of the book: what it really used, and what it has stated.
    #[derive(Debug, Clone, Copy, Default)]
    struct Ledger {
        campaign: usize,
        real: Totals,
        stated: Totals,
        /// What it has stated and not armed yet.
        about_to_arm: Credits,
        /// What it is about to state, and the version that it was decided for.
        deciding: Option<(u64, Totals, Credits)>,
    }

    #[derive(Debug, Default)]
    struct Model {
        ledgers: Vec<Ledger>,
        version: u64,
        reading: Option<BalanceReading>,
        balance: u64,
    }

    const LIMIT: u64 = 20;

    impl Model {
        fn others(&self, of: usize) -> Others {
            let stated = |same: bool| {
                let mut others = self.ledgers.iter().enumerate().filter(|(at, _)| *at != of);
                let one = |other: &Ledger| !same || other.campaign == self.ledgers[of].campaign;
                others
                    .by_ref()
                    .filter(|(_, other)| one(other))
                    .fold(Totals::default(), |sum, (_, other)| sum.plus(other.stated))
            };
            Others { all: stated(false), of_campaign: stated(true), reading: self.reading }
        }

        fn step(&mut self, of: usize, action: u8, price: u64) {
            let (others, version, price) = (self.others(of), self.version, Credits(price));
            let balance = Credits(self.balance);
            let one = &mut self.ledgers[of];
            let own = one.real.plus_about_to_arm(one.about_to_arm);
            match action % 16 {
                // Decides now. A later step writes it, unless another ledger has written in between.
                0..=5 if others.admit(own, price, &KEEP_10_OF_20).is_ok() => {
                    one.deciding = Some((version, own.plus_about_to_arm(price), price));
                }
                6..=10 => {
                    if let Some((_, stated, price)) = one.deciding.take().filter(|(seen, ..)| *seen == version) {
                        one.stated = stated;
                        one.about_to_arm = one.about_to_arm + price;
                        self.version += 1;
                    }
                }
                // Arms what was stated, and sends it: the service may charge it from now on.
                11 | 12 => {
                    one.real = one.real.plus_about_to_arm(one.about_to_arm);
                    one.about_to_arm = Credits::ZERO;
                }
                // An answer is charged at once; a refusal frees its hold.
                13 if one.real.held >= price => {
                    one.real.held = one.real.held.saturating_sub(price);
                    one.real.charged = one.real.charged + price;
                    self.balance -= price.0;
                }
                14 if one.real.held >= price && price.0 < 3 => one.real.held = one.real.held.saturating_sub(price),
                // Killed: what it decided or was about to arm is forgotten.
                14 => (one.about_to_arm, one.deciding) = (Credits::ZERO, None),
                // Reads the balance, and states what it has used.
                _ => {
                    (one.stated, one.deciding) = (own, None);
                    self.reading = Some(others.with(own).reading(balance, 0));
                    self.version += 1;
                }
            }
        }
    }

    const KEEP_10_OF_20: Allowance = Allowance { limit: Some(Credits(LIMIT)), keep_balance: Credits(10) };

    proptest! {
        #[test]
        fn random_workers_keep_the_limit_and_the_balance(
            steps in proptest::collection::vec((0_usize..4, any::<u8>(), 1_u64..6), 300),
        ) {
            let ledger = |at: usize| Ledger { campaign: at / 2, ..Ledger::default() };
            let mut model = Model { ledgers: (0..4).map(ledger).collect(), balance: 40, ..Model::default() };
            for (of, action, price) in steps {
                model.step(of, action, price);
                for campaign in 0..2 {
                    let of_campaign = model.ledgers.iter().filter(|one| one.campaign == campaign);
                    let used: u64 = of_campaign.map(|one| one.real.charged.0 + one.real.held.0).sum();
                    prop_assert!(used <= LIMIT, "campaign {} used {}: {:?}", campaign, used, model);
                }
                let held: u64 = model.ledgers.iter().map(|one| one.real.held.0).sum();
                prop_assert!(model.balance >= held + 10, "{:?}", model);
            }
        }
    }
}
