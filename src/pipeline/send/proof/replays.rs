//! Prices after a ledger was lost. The service still knows the keys and repeats its answers at no charge, so a balance
//! that does not fall is expected: nothing is gained by waiting for it, and it proves no price. Such a check is sent on
//! at its price, and its price is proven as soon as the balance falls.

use crate::model::Credits;
use std::collections::BTreeSet;

/// After this many such answers the balance is read.
pub const REPEATED_MAX: u64 = 20;

/// The repeated answers of a run.
#[derive(Debug, Default)]
pub struct Replays {
    /// A ledger of this campaign was lost while the service still knows its keys.
    pub are_expected: bool,
    /// The checks whose last lone request was free.
    pub checks: BTreeSet<String>,
    /// The last balance that was read.
    balance: Option<Credits>,
}

impl Replays {
    /// Records a balance that was read. After a fall it returns the checks that were free, which must be proven.
    pub fn saw(&mut self, balance: Credits) -> BTreeSet<String> {
        let fell = self.balance.replace(balance).is_some_and(|last| balance < last);
        if fell { std::mem::take(&mut self.checks) } else { BTreeSet::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::REPEATED_MAX;
    use crate::{
        model::{Credits, Mode},
        pipeline::send::proof::{
            Proofs, ShownPrice,
            tests::{CHECK, answered, costs, goes_alone, one, shown},
        },
    };

    #[test]
    fn after_a_lost_ledger_a_balance_that_does_not_fall_is_not_waited_for_and_a_fall_asks_for_the_proof() {
        for attempted in [answered(None, None), answered(Some(0), None), answered(None, Some(400))] {
            let mut proofs = Proofs::new(Mode::Production, false).expecting_replays(true);
            goes_alone(&mut proofs, 1_000, &attempted);
            proofs.saw_balance(Credits(1_000));
            assert_eq!(shown(&mut proofs, &[1_000]), ShownPrice::Repeated { check: CHECK.to_owned() });
            assert!(!proofs.wants_alone(&one()), "the run continues at the price");
            for round in 0..3 {
                proofs.read(true);
                for count in 1..=REPEATED_MAX {
                    assert!(!proofs.needs_reading(), "{round} {count}");
                    proofs.started(&one(), None);
                    proofs.observe(&one(), &attempted);
                }
                assert!(proofs.needs_reading(), "the account is read every twenty answers");
                proofs.saw_balance(Credits(1_000));
                assert!(!proofs.wants_alone(&one()));
            }
            // New rows begin, and the service charges more than the price.
            proofs.saw_balance(Credits(979));
            goes_alone(&mut proofs, 979, &answered(None, None));
            assert_eq!(shown(&mut proofs, &[972, 972]), ShownPrice::Unclear, "it may be another client's spending");
            goes_alone(&mut proofs, 972, &answered(None, None));
            assert_eq!(shown(&mut proofs, &[965, 965]), costs(7));
        }
    }

    #[test]
    fn after_a_lost_ledger_another_client_does_not_make_a_price() {
        let mut proofs = Proofs::new(Mode::Production, false).expecting_replays(true);
        goes_alone(&mut proofs, 1_000, &answered(None, None));
        assert_eq!(shown(&mut proofs, &[976, 976]), ShownPrice::Unclear, "24 credits of another program");
        goes_alone(&mut proofs, 976, &answered(None, None));
        assert_eq!(shown(&mut proofs, &[976]), ShownPrice::Repeated { check: CHECK.to_owned() });
        assert!(!proofs.wants_alone(&one()));
    }
}
