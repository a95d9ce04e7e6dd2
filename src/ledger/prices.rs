//! Prices above the price table that replies stated. They are held from then on. The user can correct them: with another
//! price in the table, or by correcting the charge of the request whose reply stated it.

use super::sums::{SeenPrice, Sums};
use crate::model::{Credits, RequestId};

impl Sums {
    /// The price to hold for a request of a check: the table price, or a higher price that was stated with this table
    /// price.
    pub fn price_to_hold(&self, check: &str, table: Credits) -> Credits {
        let seen = self.highest_prices.get(check);
        let counts = |seen: &&SeenPrice| seen.table.is_none_or(|then| then == table);
        seen.filter(counts).map_or(table, |seen| table.max(seen.price))
    }

    /// Records a price that was stated for a check. The higher price is kept, unless the table price has changed since.
    pub(super) fn note_price(&mut self, check: &str, found: SeenPrice) {
        let before = self.highest_prices.get(check).filter(|before| before.table == found.table);
        if before.is_none_or(|before| before.price < found.price) {
            self.highest_prices.insert(check.to_owned(), found);
        }
    }

    /// Lowers a price that the reply to a request stated, after a person corrected the charge of that request.
    pub(super) fn correct_price(&mut self, request: RequestId, charge: Credits) {
        for seen in self.highest_prices.values_mut().filter(|seen| seen.request == Some(request)) {
            seen.price = seen.price.min(charge);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stated_price_is_held_until_a_person_gives_another_price() {
        const TABLE: Credits = Credits(5);
        let held = |sums: &Sums| sums.price_to_hold("x", TABLE).0;
        let mut sums = Sums::default();
        for (price, request) in [(9, 1), (7, 2)] {
            let request = Some(RequestId(request));
            sums.note_price("x", SeenPrice { price: Credits(price), table: Some(TABLE), request });
        }
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
}
