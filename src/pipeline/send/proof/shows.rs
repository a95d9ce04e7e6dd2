//! What the balances around a lone answer mean for the price of its check.

use super::{DENIED_MAX, Proofs, ShownPrice, UNCLEAR_MAX};
use crate::{
    model::Credits,
    pipeline::send::weigh::{Around, Weighed},
};

impl Proofs {
    pub(super) fn shows(&mut self, check: String, around: &Around, weighed: Weighed) -> ShownPrice {
        let price = around.price;
        let own = match weighed {
            Weighed::Within(fell) => {
                let cheaper = around.stated.filter(|stated| *stated < price && *stated >= fell);
                if let Some(stated) = cheaper.filter(|_| fell > Credits::ZERO) {
                    self.shown.insert(check.clone(), stated);
                }
                self.proves(&check);
                return ShownPrice::Proven { check };
            }
            // Repeated answers are free, so the fall may be another client's.
            Weighed::Above(fell) if self.replays.are_expected && !around.is_stated_in_full() => fell,
            Weighed::Above(fell) if !around.is_stated_in_full() => return ShownPrice::Costs { check, fell, price },
            Weighed::Above(fell) => return self.denied(check, fell, price),
            // Other clients spend too, but the reply states its cost.
            Weighed::Unclear(_) if around.is_stated_in_full() => {
                self.proves(&check);
                return ShownPrice::Unclear;
            }
            Weighed::Unclear(_) if self.jobs.explain() => {
                // What the balance falls by beyond all jobs is still noticed.
                if self.jobs.unclear_again(&check) >= UNCLEAR_MAX {
                    self.proves(&check);
                }
                return ShownPrice::Unclear;
            }
            Weighed::Unclear(fell) => fell,
            Weighed::NoFall if self.replays.are_expected && !around.is_stated_in_full() => return self.was_free(check),
            _ => {
                self.proves(&check);
                if around.is_stated_in_full() {
                    return ShownPrice::Unclear;
                }
                self.hidden.insert(check.clone());
                return ShownPrice::Free { check };
            }
        };
        // Other clients spend too. If the balance falls by the same amount again, that amount is the price.
        let before = self.unclear.entry(check.clone()).or_default();
        let same = before.last() == Some(&own) && own > price;
        before.push(own);
        if before.len() < UNCLEAR_MAX && !same {
            return ShownPrice::Unclear;
        }
        if same || before.iter().all(|own| *own > price) {
            return ShownPrice::Costs { check, fell: own, price };
        }
        // The balance falls because of others, and nothing shows a higher price. The balance is read again soon.
        self.proves(&check);
        ShownPrice::Unclear
    }

    /// The balance fell by more than the reply states. It may be another client's spending, unless the same fall
    /// repeats.
    fn denied(&mut self, check: String, fell: Credits, price: Credits) -> ShownPrice {
        let before = self.unclear.entry(check.clone()).or_default();
        if before.last().is_some_and(|last| *last != fell) {
            before.clear();
        }
        before.push(fell);
        if before.len() >= DENIED_MAX { ShownPrice::Costs { check, fell, price } } else { ShownPrice::Unclear }
    }
}
