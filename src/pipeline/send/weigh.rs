//! What the balances around one lone request show of its charge: a pure decision. Balances of one source are compared with
//! each other: readings of the account with readings, what replies state with what replies stated. Only where both together
//! show no more than the price is one taken with the other, for that spares a reading.

use crate::model::Credits;

/// The money around one lone request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Around {
    /// What was held for it.
    pub price: Credits,
    /// What its reply states of its charge.
    pub stated: Option<Credits>,
    /// The account before it.
    pub before: Credits,
    /// The account after it.
    pub after: Option<Credits>,
    /// The account once more, as long after that, with nothing sent in between.
    pub later: Option<Credits>,
    /// What the lone reply just before it stated of the balance.
    pub reply_before: Option<Credits>,
    /// What its own reply states of the balance.
    pub reply: Option<Credits>,
    /// What other requests hold that may be charged meanwhile.
    pub in_doubt: Credits,
}

/// What they show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weighed {
    /// The account is to be read.
    WantsAfter,
    /// It is to be read once more.
    WantsLater,
    /// The balance fell by this, which is no more than the price.
    Within(Credits),
    /// It fell by this, which is more, and nothing else explains it.
    Above(Credits),
    /// It fell by more than the price, and by itself or for others, too; by this for the request alone, as far as can be told.
    Unclear(Credits),
    /// It did not fall.
    NoFall,
}

impl Around {
    /// Whether its reply states a charge that is no less than the price.
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
            // The account does not show yet what replies show: the next lone reply is compared with this one.
            return by_replies.filter(|fell| *fell > Credits::ZERO).map_or(Weighed::NoFall, Weighed::Unclear);
        }
        let Some(later) = self.later else { return Weighed::WantsLater };
        let by_itself = after.saturating_sub(later);
        let own = fell.saturating_sub(by_itself);
        let is_explained = own.saturating_sub(self.in_doubt) <= self.price;
        // What is in doubt is charged once: it does not explain the same fall again and again.
        if by_itself > Credits::ZERO || is_explained { Weighed::Unclear(own) } else { Weighed::Above(fell) }
    }

    /// What a refusal, which should cost nothing, was charged for certain.
    pub fn weigh_refusal(&self) -> Weighed {
        let Some(after) = self.after else { return Weighed::WantsAfter };
        let fell = self.before.saturating_sub(after);
        if fell == Credits::ZERO {
            return Weighed::NoFall;
        }
        let Some(later) = self.later else { return Weighed::WantsLater };
        let own = fell.saturating_sub(after.saturating_sub(later)).saturating_sub(self.in_doubt);
        match own {
            Credits::ZERO => Weighed::Unclear(own),
            own if own > self.price => Weighed::Above(own),
            own => Weighed::Within(own),
        }
    }

    /// A price of zero shows itself: there is nothing to wait for.
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
        }
    }

    fn read(after: u64, later: Option<u64>) -> Around {
        Around { after: Some(Credits(after)), later: later.map(Credits), ..around() }
    }

    #[test]
    fn a_stated_balance_that_agrees_with_the_account_saves_a_reading() {
        let stated = |reply| Around { reply: Some(Credits(reply)), ..around() }.weigh();
        assert_eq!(stated(995), Weighed::Within(Credits(5)));
        for reply in [1_000, 1_200, 994, 0] {
            assert_eq!(stated(reply), Weighed::WantsAfter, "{reply}");
        }
    }

    #[test]
    fn the_account_is_compared_with_the_account_whatever_a_reply_states() {
        // It is the balance before the charge, or a frozen one, or that of somebody else.
        for reply in [Some(1_000), Some(1_200), Some(0), None] {
            let weighed = |after| Around { reply: reply.map(Credits), ..read(after, Some(after)) }.weigh();
            assert_eq!(weighed(950), Weighed::Above(Credits(50)), "{reply:?}");
            assert_eq!(weighed(997), Weighed::Within(Credits(3)), "{reply:?}");
        }
    }

    #[test]
    fn an_account_that_shows_nothing_yet_proves_nothing_and_replies_are_compared_with_replies() {
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
    fn a_fall_of_the_balance_with_another_cause_is_not_a_price() {
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
