//! What the balances around a lone request mean for the price of its check.

use super::{Finding, Prices, lone::Replied};
use crate::model::{Credits, budget::BalanceReading};
use std::time::Duration;

/// The number of unclear lone requests of a check in a row after which a decision is made.
const UNCLEAR_MAX: usize = 3;
/// After this many lone requests in a row whose reply states its full charge, and after which the balance was lower by
/// the same amount more, the balance is believed.
const DENIED_MAX: usize = 5;
/// How long to wait for a balance that does not show a charge yet.
pub(super) const SHOWS_AFTER: Duration = Duration::from_secs(5);
/// The longest wait before the balance is read once more, to see whether it falls while nothing is sent.
const AGAIN_MAX: Duration = Duration::from_secs(15);

impl Prices {
    /// How long to wait before the balance is read after the lone request. `None` if no reading is needed.
    pub fn next_reading(&self) -> Option<Duration> {
        let replied = self.lone.as_ref()?.replied.as_ref()?;
        Some(match replied.beyond {
            Some(_) => replied.took.min(AGAIN_MAX),
            None if replied.was_read => SHOWS_AFTER,
            None => Duration::ZERO,
        })
    }

    /// Records a reading of the balance after the lone request. Returns what it shows, if that is worth saying; nothing yet
    /// if [`next_reading`](Self::next_reading) wants another one.
    ///
    /// `has_jobs` if jobs are open, which the service may charge at any time.
    pub fn read_after(&mut self, now: BalanceReading, has_jobs: bool) -> Option<Finding> {
        let mut lone = self.lone.take()?;
        let replied = lone.replied.as_mut()?;
        if let Some((beyond, then)) = replied.beyond {
            let (fell, booked) = between(then, now);
            return self.beyond(replied, beyond, fell.saturating_sub(booked));
        }
        let (fell, booked) = between(lone.before, now);
        let may_show = !self.may_repeat && !self.not_shown.contains(&replied.check);
        let is_hidden = may_show && now.balance == lone.before.balance && replied.must_show();
        if is_hidden && !std::mem::replace(&mut replied.was_read, true) {
            self.lone = Some(lone);
            return None;
        }
        // What requests in doubt have taken before counts, and is not explained a second time by what is held for them.
        let before = Credits(u64::try_from(lone.before.unbooked).unwrap_or_default());
        let beyond = (before + fell).saturating_sub(booked + now.held_at);
        if beyond > Credits::ZERO {
            // Charges that did not show before may show now.
            replied.is_late = i64::try_from(beyond.0).is_ok_and(|beyond| beyond <= -lone.before.unbooked);
            replied.beyond = Some((beyond, now));
            self.lone = Some(lone);
            return None;
        }
        let more = fell.saturating_sub(booked);
        if more > Credits::ZERO && !has_jobs && replied.must_show() {
            // A request in doubt may have been charged now.
            return self.unclear(replied, more);
        }
        if let Some(stated) = replied.stated_fall.filter(|_| fell == Credits::ZERO && replied.must_show()) {
            // The account lags behind the replies.
            return self.unclear(replied, stated.saturating_sub(replied.booked));
        }
        if now.balance > lone.before.balance && replied.must_show() {
            // The account was topped up, which hides what the request cost.
            return self.unclear(replied, Credits::ZERO);
        }
        let is_its_own = booked == replied.booked && now.held_at == Credits::ZERO;
        self.within(replied, fell, is_its_own)
    }

    /// The balance fell by this much beyond the price, and something else may explain it. The next request is sent alone,
    /// too.
    fn unclear(&mut self, replied: &Replied, own: Credits) -> Option<Finding> {
        let amounts = self.beyond.entry(replied.check.clone()).or_default();
        let is_same = amounts.last() == Some(&own) && own > Credits::ZERO;
        amounts.push(own);
        if amounts.len() < UNCLEAR_MAX && !is_same {
            return None;
        }
        if is_same || amounts.iter().all(|own| *own > Credits::ZERO) {
            return Some(replied.costs(own));
        }
        self.proves(&replied.check);
        None
    }

    /// The balance has not fallen by more than is explained. `is_its_own` if nothing else can have made it fall.
    pub(super) fn within(&mut self, replied: &Replied, fell: Credits, is_its_own: bool) -> Option<Finding> {
        if replied.refused.is_some() {
            return None;
        }
        let check = replied.check.clone();
        self.proves(&check);
        let can_show = !replied.is_job && replied.price > Credits::ZERO;
        let is_repeated = fell == Credits::ZERO && self.may_repeat && can_show;
        if !(replied.must_show() || is_repeated) {
            return None;
        }
        if is_repeated {
            self.repeated.insert(check.clone());
            return Some(Finding::Repeated { check });
        }
        // Where the reply says that it was free, the balance agrees.
        if fell == Credits::ZERO && replied.stated == Some(Credits::ZERO) {
            return None;
        }
        if fell == Credits::ZERO {
            return self.not_shown.insert(check.clone()).then_some(Finding::NotShown { check });
        }
        self.not_shown.remove(&check);
        match replied.stated {
            Some(stated) if stated >= fell && stated < replied.price => {
                self.lower.insert(check, stated);
                None
            }
            None if is_its_own && fell < replied.booked => {
                Some(Finding::Cheaper { check, fell, booked: replied.booked })
            }
            _ => None,
        }
    }

    /// The balance fell by this much beyond what is explained, and then by `by_itself` while nothing was sent.
    fn beyond(&mut self, replied: &Replied, beyond: Credits, by_itself: Credits) -> Option<Finding> {
        let (own, check, price) = (beyond.saturating_sub(by_itself), replied.check.clone(), replied.price);
        if let Some(message) = replied.refused.clone() {
            let request = replied.request;
            let is_charged = own > Credits::ZERO;
            return is_charged.then_some(Finding::ChargedRefusal { request, check, message, charge: own, price });
        }
        match (replied.is_stated_in_full(), by_itself == Credits::ZERO) {
            (false, true) if !replied.is_late && !self.may_repeat => Some(replied.costs(own)),
            // Other clients spend too. They do not take the same amount beside each of our requests.
            (false, _) => self.unclear(replied, own),
            (true, true) => self.denies(replied, own),
            (true, false) => {
                self.proves(&check);
                None
            }
        }
    }

    /// The reply states its full charge, and the balance fell by this much more: another client may have spent it.
    fn denies(&mut self, replied: &Replied, own: Credits) -> Option<Finding> {
        let amounts = self.beyond.entry(replied.check.clone()).or_default();
        amounts.push(own);
        let same = amounts.iter().rev().take_while(|before| **before == own).count();
        let least = amounts.iter().min().copied().unwrap_or_default();
        if same >= DENIED_MAX {
            return Some(replied.costs(own));
        }
        (amounts.len() >= 2 * DENIED_MAX).then(|| replied.costs(least))
    }
}

/// How far the balance has fallen between two readings, and how much was booked meanwhile.
fn between(before: BalanceReading, after: BalanceReading) -> (Credits, Credits) {
    (before.balance.saturating_sub(after.balance), after.charged_at.saturating_sub(before.charged_at))
}

#[cfg(test)]
#[path = "shows_tests.rs"]
mod tests;
