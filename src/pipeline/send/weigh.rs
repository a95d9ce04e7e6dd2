//! Derives the charge of one lone request from the balances around it, as a pure function. Balances of the same source
//! are compared: account readings with account readings, balances stated by replies with each other. The sources are
//! mixed only if the result is no more than the price, which saves an account reading.

use crate::model::Credits;

/// The amounts around one lone request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Around {
    /// The credits held for it.
    pub price: Credits,
    /// The charge that its reply states.
    pub stated: Option<Credits>,
    /// The account balance before it.
    pub before: Credits,
    /// The account balance after it.
    pub after: Option<Credits>,
    /// The account balance after the same time again, with nothing sent in between.
    pub later: Option<Credits>,
    /// The balance that the lone reply just before it stated.
    pub reply_before: Option<Credits>,
    /// The balance that its own reply states.
    pub reply: Option<Credits>,
    /// The credits held for other requests, which may be charged meanwhile.
    pub in_doubt: Credits,
    /// The credits booked for jobs that have ended meanwhile.
    pub booked: Credits,
}

/// What the amounts show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weighed {
    /// The account must be read.
    WantsAfter,
    /// The account must be read a second time.
    WantsLater,
    /// The balance fell by this amount, which is no more than the price.
    Within(Credits),
    /// The balance fell by this amount, which is more than the price, and nothing else explains it.
    Above(Credits),
    /// The balance fell by more than the price, but other requests or clients also made it fall. This amount is the
    /// best estimate for the request itself.
    Unclear(Credits),
    /// The balance did not fall.
    NoFall,
}

impl Around {
    /// Whether the reply states a charge of at least the price.
    pub fn is_stated_in_full(&self) -> bool {
        self.stated.is_some_and(|stated| stated > Credits::ZERO && stated >= self.price)
    }

    pub fn weigh(&self) -> Weighed {
        let fell_from = |before: Credits| self.reply.map(|reply| before.saturating_sub(reply));
        let by_replies = fell_from(self.reply_before.unwrap_or(self.before));
        let together = fell_from(self.before);
        if let Some(fell) = by_replies.into_iter().chain(together).find(|fell| self.is_within(*fell)) {
            return Weighed::Within(fell);
        }
        let Some(after) = self.after else { return Weighed::WantsAfter };
        let fell = self.before.saturating_sub(after);
        if self.is_within(fell) {
            return Weighed::Within(fell);
        }
        if fell == Credits::ZERO {
            // Replies show a charge that the account does not show yet. The next lone reply is compared with this one.
            return by_replies.filter(|fell| *fell > Credits::ZERO).map_or(Weighed::NoFall, Weighed::Unclear);
        }
        let Some(later) = self.later else { return Weighed::WantsLater };
        let by_itself = after.saturating_sub(later);
        let own = fell.saturating_sub(by_itself).saturating_sub(self.booked);
        let is_explained = own.saturating_sub(self.in_doubt) <= self.price;
        // A request in doubt is charged only once, so it cannot explain the same fall every time.
        if by_itself > Credits::ZERO || is_explained { Weighed::Unclear(own) } else { Weighed::Above(own) }
    }

    /// The amount that a refusal, which should cost nothing, was certainly charged.
    pub fn weigh_refusal(&self) -> Weighed {
        let Some(after) = self.after else { return Weighed::WantsAfter };
        let fell = self.before.saturating_sub(after);
        if fell == Credits::ZERO {
            return Weighed::NoFall;
        }
        let Some(later) = self.later else { return Weighed::WantsLater };
        let others = self.in_doubt + self.booked;
        let own = fell.saturating_sub(after.saturating_sub(later)).saturating_sub(others);
        match own {
            Credits::ZERO => Weighed::Unclear(own),
            own if own > self.price => Weighed::Above(own),
            own => Weighed::Within(own),
        }
    }

    /// Whether a fall is within the price. A fall of zero counts only for a price of zero; otherwise the charge may not
    /// show yet.
    fn is_within(&self, fell: Credits) -> bool {
        fell <= self.price && (fell > Credits::ZERO || self.price == Credits::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around() -> Around {
        Around {
            price: Credits(5),
            stated: None,
            before: Credits(1_000),
            after: None,
            later: None,
            reply_before: None,
            reply: None,
            in_doubt: Credits::ZERO,
            booked: Credits::ZERO,
        }
    }

    fn read(after: u64, later: Option<u64>) -> Around {
        Around { after: Some(Credits(after)), later: later.map(Credits), ..around() }
    }

    #[test]
    fn a_reply_whose_balance_agrees_with_the_account_before_saves_a_reading() {
        let stated = |reply| Around { reply: Some(Credits(reply)), ..around() }.weigh();
        assert_eq!(stated(995), Weighed::Within(Credits(5)));
        for reply in [1_000, 1_200, 994, 0] {
            assert_eq!(stated(reply), Weighed::WantsAfter, "{reply}");
        }
    }

    #[test]
    fn account_readings_are_compared_with_each_other_regardless_of_replies() {
        // The stated balance may be from before the charge, frozen, or of another account.
        for reply in [Some(1_000), Some(1_200), Some(0), None] {
            let weighed = |after| Around { reply: reply.map(Credits), ..read(after, Some(after)) }.weigh();
            assert_eq!(weighed(950), Weighed::Above(Credits(50)), "{reply:?}");
            assert_eq!(weighed(997), Weighed::Within(Credits(3)), "{reply:?}");
        }
    }

    #[test]
    fn an_account_that_shows_no_charge_yet_proves_nothing_and_replies_are_compared_with_each_other() {
        assert_eq!(read(1_000, None).weigh(), Weighed::NoFall);
        assert_eq!(Around { reply: Some(Credits(1_000)), ..read(1_000, None) }.weigh(), Weighed::NoFall);
        let stale = Around { reply: Some(Credits(899)), ..read(1_000, None) };
        assert_eq!(stale.weigh(), Weighed::Unclear(Credits(101)));
        let next = |reply| Around { reply_before: Some(Credits(899)), reply: Some(Credits(reply)), ..stale };
        assert_eq!(next(898).weigh(), Weighed::Within(Credits(1)));
        assert_eq!(next(849).weigh(), Weighed::Unclear(Credits(50)));
        let topped_up = Around { reply_before: Some(Credits(1_010)), reply: Some(Credits(995)), ..around() };
        assert_eq!(topped_up.weigh(), Weighed::Within(Credits(5)), "the account was read since that reply");
    }

    #[test]
    fn a_balance_that_also_falls_for_other_reasons_is_not_a_price() {
        assert_eq!(read(990, None).weigh(), Weighed::WantsLater);
        assert_eq!(read(990, Some(990)).weigh(), Weighed::Above(Credits(10)));
        assert_eq!(read(990, Some(982)).weigh(), Weighed::Unclear(Credits(2)));
        let doubted = Around { in_doubt: Credits(5), ..read(990, Some(990)) };
        assert_eq!(doubted.weigh(), Weighed::Unclear(Credits(10)));
        let dearer = Around { in_doubt: Credits(5), ..read(985, Some(985)) };
        assert_eq!(dearer.weigh(), Weighed::Above(Credits(15)), "both together explain no more than 10");
    }

    #[test]
    fn a_price_of_zero_needs_no_fall() {
        let free = Around { price: Credits::ZERO, ..read(1_000, None) };
        assert_eq!(free.weigh(), Weighed::Within(Credits::ZERO));
    }

    #[test]
    fn a_lone_refusal_costs_the_fall_of_a_balance_that_then_stays() {
        assert_eq!(around().weigh_refusal(), Weighed::WantsAfter);
        assert_eq!(read(1_000, None).weigh_refusal(), Weighed::NoFall);
        assert_eq!(read(999, None).weigh_refusal(), Weighed::WantsLater);
        assert_eq!(read(999, Some(999)).weigh_refusal(), Weighed::Within(Credits(1)));
        assert_eq!(read(990, Some(990)).weigh_refusal(), Weighed::Above(Credits(10)));
        assert_eq!(read(990, Some(980)).weigh_refusal(), Weighed::Unclear(Credits::ZERO));
    }
}
