//! The budget of an account that several partitions share. The book has the sums of each partition, which are the sums of its
//! requests: what a request will hold is written before it is armed, so that the sums of all partitions decide what one more
//! request may hold.

use super::{
    budget::{Account, Allowance, BalanceReading, BudgetRefusal},
    credits::Credits,
    shared_account::Version,
};

/// What partitions have used, as the book knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    pub charged: Credits,
    pub held: Credits,
    pub armed: Credits,
}

/// An account that several partitions share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shared {
    /// All partitions of all campaigns.
    pub all: Totals,
    /// Those of one campaign and mode, which share its limit.
    pub of_campaign: Totals,
    /// The last reading of the balance by any of them.
    pub reading: Option<BalanceReading>,
}

impl Shared {
    /// The account as all partitions together use it.
    pub fn account(&self) -> Account {
        let Totals { charged, held, armed } = self.all;
        Account { charged, held, armed, reading: self.reading, stated: None }
    }

    /// Whether a partition may hold `price` more.
    ///
    /// # Errors
    /// The limit of the campaign or the balance of the account refuses it.
    pub fn admit(&self, price: Credits, allowance: &Allowance) -> Result<(), BudgetRefusal> {
        let Totals { charged, held, .. } = self.of_campaign;
        Account { charged, held, ..self.account() }.admit(price, allowance)
    }
}

/// What the book says to one of the partitions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// It changes whenever a partition holds more, or the balance is read.
    pub version: Version,
    /// The book, the partition in it and the timeline of its server, as one text. In another place, less may be known.
    pub place: String,
    /// It changes whenever this partition writes, and when another worker takes the partition over.
    pub turn: i64,
    pub shared: Shared,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEEP_10: Allowance = Allowance { limit: Some(Credits(100)), keep_balance: Credits(10) };

    fn totals(charged: u64, held: u64, armed: u64) -> Totals {
        Totals { charged: Credits(charged), held: Credits(held), armed: Credits(armed) }
    }

    /// An account with these totals, of which the first are of the same campaign. 200 were left when nothing was armed yet.
    fn shared(of_campaign: Totals, all: Totals) -> Shared {
        Shared { all, of_campaign, reading: Some(Account::default().reading(Credits(200), 0)) }
    }

    #[test]
    fn the_limit_counts_the_parts_of_the_campaign_and_no_others() {
        let account = shared(totals(70, 20, 90), totals(90, 10, 100));
        assert_eq!(account.admit(Credits(10), &KEEP_10), Ok(()));
        let (limit, charged, held) = (Credits(100), Credits(70), Credits(20));
        let refused = Err(BudgetRefusal::Limit { limit, charged, held, price: Credits(11) });
        assert_eq!(account.admit(Credits(11), &KEEP_10), refused);
    }

    #[test]
    fn the_balance_counts_all_parts_of_the_account() {
        let account = shared(Totals::default(), totals(150, 20, 170));
        assert_eq!(account.admit(Credits(20), &KEEP_10), Ok(()));
        let refused = account.admit(Credits(21), &KEEP_10);
        assert!(matches!(refused, Err(BudgetRefusal::Balance { spendable: Credits(20), .. })), "{refused:?}");
    }

    #[test]
    fn what_any_part_holds_or_was_charged_explains_a_fall() {
        let fall = |all| shared(Totals::default(), all).account().unexplained_fall(Credits(185));
        assert_eq!(fall(totals(15, 0, 15)), Credits(0));
        assert_eq!(fall(totals(9, 6, 15)), Credits(0));
        assert_eq!(fall(totals(9, 5, 14)), Credits(1));
    }

    #[test]
    fn a_balance_that_was_never_read_admits_only_free_checks() {
        assert_eq!(Shared::default().admit(Credits(1), &KEEP_10), Err(BudgetRefusal::Unread));
        assert_eq!(Shared::default().admit(Credits(0), &KEEP_10), Ok(()));
    }

    /// A partition in a model of the book: what its ledger has, and what it has told.
    #[derive(Debug, Clone, Copy, Default)]
    struct Partition {
        campaign: usize,
        real: Totals,
        told: Totals,
        /// What it has claimed and not armed yet.
        claimed: Credits,
        /// What it is about to claim, and the version that it was decided for.
        deciding: Option<(u64, Credits)>,
    }

    #[derive(Debug, Default)]
    struct Model {
        partitions: Vec<Partition>,
        version: u64,
        reading: Option<BalanceReading>,
        balance: u64,
    }

    const LIMIT: u64 = 20;
    const KEEP_10_OF_20: Allowance = Allowance { limit: Some(Credits(LIMIT)), keep_balance: Credits(10) };

    impl Model {
        fn shared(&self, of: usize) -> Shared {
            let sum = |meant: &dyn Fn(&Partition) -> bool| {
                let meant = self.partitions.iter().filter(|partition| meant(partition));
                meant.fold(Totals::default(), |sum, Partition { told, .. }| Totals {
                    charged: sum.charged + told.charged,
                    held: sum.held + told.held,
                    armed: sum.armed + told.armed,
                })
            };
            let campaign = self.partitions[of].campaign;
            Shared {
                all: sum(&|_| true),
                of_campaign: sum(&|partition| partition.campaign == campaign),
                reading: self.reading,
            }
        }

        fn step(&mut self, of: usize, action: u8, price: u64) {
            let (shared, version, price) = (self.shared(of), self.version, Credits(price));
            let balance = Credits(self.balance);
            let one = &mut self.partitions[of];
            match action % 16 {
                // Decides now. A later step claims it, unless another partition has claimed in between.
                0..=5 if shared.admit(price, &KEEP_10_OF_20).is_ok() => one.deciding = Some((version, price)),
                6..=10 => {
                    if let Some((_, price)) = one.deciding.take().filter(|(seen, _)| *seen == version) {
                        one.told.held = one.told.held + price;
                        one.told.armed = one.told.armed + price;
                        one.claimed = one.claimed + price;
                        self.version += 1;
                    }
                }
                // Arms what was claimed, and sends it: the service may charge it from now on.
                11 | 12 => {
                    one.real.held = one.real.held + one.claimed;
                    one.real.armed = one.real.armed + one.claimed;
                    one.claimed = Credits::ZERO;
                }
                // An answer is charged at once; a refusal frees its hold. Either is told later.
                13 if one.real.held >= price => {
                    one.real.held = one.real.held.saturating_sub(price);
                    one.real.charged = one.real.charged + price;
                    self.balance -= price.0;
                }
                14 if one.real.held >= price && price.0 < 3 => one.real.held = one.real.held.saturating_sub(price),
                // Killed: what it was about to claim or to arm is forgotten, and the book still has it until it tells.
                14 => (one.claimed, one.deciding) = (Credits::ZERO, None),
                // Tells what its ledger has, and reads the balance.
                _ => {
                    let Totals { charged, held, .. } = one.real;
                    one.told = Totals { charged, held: held + one.claimed, ..one.told };
                    self.reading = Some(self.shared(of).account().reading(balance, 0));
                    self.version += 1;
                }
            }
        }
    }

    proptest! {
        #[test]
        fn random_workers_keep_the_limit_and_the_balance(
            steps in proptest::collection::vec((0_usize..4, any::<u8>(), 1_u64..6), 300),
        ) {
            let partition = |at: usize| Partition { campaign: at / 2, ..Partition::default() };
            let mut model = Model { partitions: (0..4).map(partition).collect(), balance: 40, ..Model::default() };
            for (of, action, price) in steps {
                model.step(of, action, price);
                for campaign in 0..2 {
                    let of_campaign = model.partitions.iter().filter(|one| one.campaign == campaign);
                    let used: u64 = of_campaign.map(|one| one.real.charged.0 + one.real.held.0).sum();
                    prop_assert!(used <= LIMIT, "campaign {} used {}: {:?}", campaign, used, model);
                }
                let held: u64 = model.partitions.iter().map(|one| one.real.held.0).sum();
                prop_assert!(model.balance >= held + 10, "{:?}", model);
            }
        }
    }
}
