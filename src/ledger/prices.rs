//! Prices that were seen above the price table. A price that a reply stated is held from then on. A price that only the
//! balance showed may be another client's spending, so it is held only after two consecutive lone requests showed the
//! same fall. The user can correct both: with another price in the table, or by correcting the charge of the request
//! that stated it.

use super::{
    Ledger, LedgerError, Sums,
    seen_price::{SeenBy, SeenPrice},
};
use crate::model::{
    Credits, RequestId,
    planted::{Bug, planted},
};

impl Sums {
    /// The price to hold for a request of a check: the table price, or a higher price that was seen with this table
    /// price.
    pub fn price_to_hold(&self, check: &str, table: Credits) -> Credits {
        let seen = self.highest_prices.get(check).filter(|_| !planted(Bug::HighestPriceForgotten));
        let counts = |seen: &&SeenPrice| seen.is_held() && seen.table.is_none_or(|then| then == table);
        seen.filter(counts).map_or(table, |seen| table.max(seen.price))
    }

    /// Records a price that was seen for a check. The higher price is kept, unless the table price has changed since.
    pub(super) fn note_price(&mut self, check: &str, found: SeenPrice) {
        let before = self.highest_prices.get(check).filter(|before| before.table == found.table).copied();
        let found = match (before, found.by) {
            (Some(before), SeenBy::Balance(falls)) if before.price == found.price => match before.by {
                SeenBy::Balance(more) => SeenPrice { by: SeenBy::Balance(more.saturating_add(falls)), ..found },
                SeenBy::Reply(_) => before,
            },
            (Some(before), _) if before.price >= found.price && before.is_held() => before,
            _ => found,
        };
        self.highest_prices.insert(check.to_owned(), found);
    }

    /// Deletes prices that only the balance showed, for one check or for all.
    pub(super) fn forget_falls(&mut self, check: Option<&str>) {
        self.highest_prices
            .retain(|name, seen| matches!(seen.by, SeenBy::Reply(_)) || check.is_some_and(|check| check != name));
    }

    /// Lowers a price that the reply to a request stated, after a person corrected the charge of that request.
    pub(super) fn correct_price(&mut self, request: RequestId, charge: Credits) {
        for seen in self.highest_prices.values_mut().filter(|seen| seen.by == SeenBy::Reply(request)) {
            seen.price = seen.price.min(charge);
        }
    }
}

impl Ledger {
    /// Records that the balance fell by `fell` around a lone request, which is more than the table price.
    pub async fn note_fall(&self, check: String, fell: Credits, table: Credits) -> Result<(), LedgerError> {
        let found = SeenPrice { price: fell, table: Some(table), by: SeenBy::Balance(1) };
        self.write(move |store| {
            store.sums.note_price(&check, found);
            Ok(())
        })
        .await
    }

    /// Deletes prices that only the balance showed, because a lone request is proven to cost no more than the table
    /// price, or because the user decided to continue. `None` means all checks.
    pub async fn forget_falls(&self, check: Option<String>) -> Result<(), LedgerError> {
        self.write(move |store| {
            store.sums.forget_falls(check.as_deref());
            Ok(())
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Credits = Credits(5);

    fn seen(price: u64, by: SeenBy) -> SeenPrice {
        SeenPrice { price: Credits(price), table: Some(TABLE), by }
    }

    fn held(sums: &Sums) -> u64 {
        sums.price_to_hold("x", TABLE).0
    }

    #[test]
    fn a_stated_price_is_held_until_a_person_gives_another_price() {
        let mut sums = Sums::default();
        sums.note_price("x", seen(9, SeenBy::Reply(RequestId(1))));
        sums.note_price("x", seen(7, SeenBy::Reply(RequestId(2))));
        sums.forget_falls(None);
        assert_eq!(held(&sums), 9);
        for table in [4, 6, 20] {
            assert_eq!(sums.price_to_hold("x", Credits(table)), Credits(table), "the table price is {table} now");
        }
        sums.correct_price(RequestId(2), Credits(1));
        assert_eq!(held(&sums), 9, "it was another request");
        sums.correct_price(RequestId(1), Credits(6));
        assert_eq!(held(&sums), 6);
        sums.correct_price(RequestId(1), Credits(1));
        assert_eq!(held(&sums), 5, "never less than the table");
    }

    #[test]
    fn a_price_that_only_the_balance_shows_is_held_after_two_equal_falls_in_a_row() {
        let mut sums = Sums::default();
        for (fell, expected) in [(50, 5), (9, 5), (50, 5), (50, 50), (9, 50)] {
            sums.note_price("x", seen(fell, SeenBy::Balance(1)));
            assert_eq!(held(&sums), expected, "after a fall of {fell}");
        }
        sums.forget_falls(Some("y"));
        assert_eq!(held(&sums), 50, "it was another check");
        sums.forget_falls(Some("x"));
        assert_eq!(held(&sums), 5);
    }
}
