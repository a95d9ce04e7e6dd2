//! What a run would cost, and whether limit and balance cover it.

use super::tree::Standing;
use crate::{
    ledger::Sums,
    model::{
        Credits, Mode,
        budget::{Account, Allowance, BudgetRefusal},
    },
    pipeline::campaign::Campaign,
};
use std::{collections::BTreeMap, time::Duration};

/// The requests of one check that a run would send, and their price.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckCost {
    /// The catalogue name.
    pub check: String,
    pub requests: u64,
    /// The price of one request in production; `None` if it is not known.
    pub price: Option<Credits>,
    /// The price of one request in the campaign's mode.
    pub price_here: Option<Credits>,
    /// The credits that one request holds until it is settled: at least its price.
    pub hold: Option<Credits>,
    pub per_hour: Option<u32>,
    /// The service may answer a request later, as a job.
    pub is_job: bool,
}

/// The money of a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Money {
    pub allowance: Allowance,
    pub account: Account,
    pub checks: Vec<CheckCost>,
    /// Requests of rows that an earlier run read with another mapping and that a run still sends. They are in `checks`.
    pub of_other_mapping: u64,
    /// What the requests would cost whose answers are used again.
    pub saved: Credits,
}

/// The requests to send by check, and of them those that the ledger has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToSend {
    pub new: u64,
    pub planned: u64,
    /// Not to send, because an earlier round has the answer: those that the ledger does not have, and those that it has.
    pub reused: u64,
    pub planned_reused: u64,
}

impl ToSend {
    pub fn add(&mut self, standing: Standing, count: u64) {
        match standing {
            Standing::New => self.new += count,
            Standing::Planned => self.planned += count,
            Standing::Reused => self.reused += count,
            Standing::PlannedReused => self.planned_reused += count,
            _ => {}
        }
    }
}

impl Money {
    /// `planned` are the requests that wait in the ledger, by check.
    pub fn new(
        campaign: &Campaign,
        sums: &Sums,
        to_send: &BTreeMap<String, ToSend>,
        planned: &BTreeMap<String, u64>,
    ) -> Money {
        let (mut of_other_mapping, mut saved) = (0, Credits::ZERO);
        let limits: BTreeMap<String, u32> = campaign.hourly_limits().into_iter().collect();
        let cost = |declaration: &crate::catalogue::Declaration| {
            let check = &declaration.name;
            let ToSend { new, planned: matched, reused, planned_reused } =
                to_send.get(check).copied().unwrap_or_default();
            let other = planned.get(check).copied().unwrap_or_default().saturating_sub(matched + planned_reused);
            of_other_mapping += other;
            let price_here = campaign.price(check).map(|price| match campaign.mode {
                Mode::Sandbox => price,
                Mode::Production => sums.price_to_hold(check, price),
            });
            if let Some(price) = price_here {
                saved = saved + price.times(reused + planned_reused);
            }
            CheckCost {
                check: check.clone(),
                requests: new + matched + other,
                price: campaign.prices.get(check).map(|price| sums.price_to_hold(check, *price)),
                price_here,
                hold: price_here.map(|price| price.max(campaign.job_hold(declaration))),
                per_hour: limits.get(check).copied(),
                is_job: declaration.job.is_some(),
            }
        };
        let checks = campaign.checks().into_iter().map(cost).collect();
        Money { allowance: campaign.allowance, account: sums.account, checks, of_other_mapping, saved }
    }

    /// The number of requests that a run would send.
    pub fn requests(&self) -> u64 {
        self.checks.iter().map(|one| one.requests).sum()
    }

    /// What was charged so far, and what is held for requests under way.
    pub fn used(&self) -> Credits {
        self.account.used()
    }

    /// What this run would cost; `None` if a price is not known.
    pub fn this_run(&self) -> Option<Credits> {
        self.sum(|one| one.price_here)
    }

    /// What the same requests would cost in production; `None` if a price is not known.
    pub fn in_production(&self) -> Option<Credits> {
        self.sum(|one| one.price)
    }

    /// The credits that this run must be able to hold at once: its cost, and what jobs hold beyond their price.
    pub fn to_hold(&self) -> Option<Credits> {
        self.sum(|one| one.hold)
    }

    fn sum(&self, price: impl Fn(&CheckCost) -> Option<Credits>) -> Option<Credits> {
        self.checks.iter().filter(|one| one.requests > 0).map(|one| Some(price(one)?.times(one.requests))).sum()
    }

    /// The smallest limit that covers what is used and this run.
    pub fn sufficient_limit(&self) -> Option<Credits> {
        Some(self.used() + self.to_hold()?)
    }

    /// How much the limit is below what is used and this run; zero if nothing limits the campaign.
    pub fn short_by(&self) -> Credits {
        match (self.sufficient_limit(), self.allowance.limit) {
            (Some(needed), Some(limit)) if self.to_hold() > Some(Credits::ZERO) => needed.saturating_sub(limit),
            _ => Credits::ZERO,
        }
    }

    /// Why the budget would refuse a request of this run. The budget itself decides, as it does before each request;
    /// here all requests are one. Without a balance only the limit counts.
    pub fn refusal(&self, balance: Option<Credits>, now_us: i64) -> Option<BudgetRefusal> {
        let mut account = self.account;
        // Without a balance, none is too low.
        account.reading = Some(account.reading(balance.unwrap_or(Credits::STATED_MAX), now_us));
        let allowance = match balance {
            Some(_) => self.allowance,
            None => Allowance { keep_balance: Credits::ZERO, ..self.allowance },
        };
        account.admit(self.to_hold()?, &allowance).err()
    }

    /// The time that the requests take at this rate a minute. The limit of a check in an hour may make it longer; then
    /// its name and limit are returned too.
    pub fn duration(&self, in_doubt: u64, per_minute: u32) -> (Duration, Option<(String, u32)>) {
        let requests = self.requests() + in_doubt;
        let at_rate = Duration::from_secs_f64(requests as f64 * 60.0 / f64::from(per_minute));
        let of_check = |one: &CheckCost| {
            let per_hour = one.per_hour.filter(|limit| *limit > 0)?;
            // The first hour's requests are sent at once.
            let hours = one.requests.saturating_sub(1) / u64::from(per_hour);
            Some((Duration::from_secs(hours.saturating_mul(3_600)), (one.check.clone(), per_hour)))
        };
        match self.checks.iter().filter_map(of_check).max_by_key(|(time, _)| *time) {
            Some((time, limit)) if time > at_rate => (time, Some(limit)),
            _ => (at_rate, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(check: &str, requests: u64, price: u64, hold: u64, per_hour: Option<u32>) -> CheckCost {
        let price = Some(Credits(price));
        let (price_here, hold) = (price, Some(Credits(hold)));
        CheckCost { check: check.to_owned(), requests, price, price_here, hold, per_hour, is_job: false }
    }

    fn money(limit: u64, checks: Vec<CheckCost>) -> Money {
        let allowance = Allowance { limit: Some(Credits(limit)), keep_balance: Credits(5) };
        let account = Account { charged: Credits(10), held: Credits(2), ..Account::default() };
        Money { allowance, account, checks, of_other_mapping: 0, saved: Credits::ZERO }
    }

    #[test]
    fn the_limit_is_short_by_what_is_used_and_what_this_run_holds() {
        let exact = money(112, vec![cost("a", 90, 1, 1, None), cost("b", 2, 5, 5, None)]);
        assert_eq!((exact.this_run(), exact.short_by()), (Some(Credits(100)), Credits(0)));
        assert_eq!(exact.refusal(None, 0), None);
        let short = money(111, exact.checks.clone());
        assert_eq!((short.short_by(), short.sufficient_limit()), (Credits(1), Some(Credits(112))));
        assert!(matches!(short.refusal(None, 0), Some(BudgetRefusal::Limit { .. })));
    }

    #[test]
    fn a_job_holds_more_than_its_price_until_it_has_a_result() {
        let jobs = money(1_000, vec![cost("a", 10, 3, 20, None)]);
        assert_eq!((jobs.this_run(), jobs.sufficient_limit()), (Some(Credits(30)), Some(Credits(212))));
    }

    #[test]
    fn the_balance_must_cover_the_run_what_is_held_and_what_is_kept() {
        let money = money(1_000, vec![cost("a", 100, 1, 1, None)]);
        assert_eq!(money.refusal(Some(Credits(107)), 0), None);
        assert!(matches!(money.refusal(Some(Credits(106)), 0), Some(BudgetRefusal::Balance { .. })));
    }

    #[test]
    fn nothing_to_send_needs_neither_limit_nor_balance() {
        let nothing = money(1, vec![cost("a", 0, 1, 1, None)]);
        assert_eq!((nothing.short_by(), nothing.refusal(Some(Credits(0)), 0)), (Credits(0), None));
    }

    #[test]
    fn the_slowest_limit_decides_how_long_a_run_takes() {
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        let slow = money(1, vec![cost("a", 61, 1, 1, Some(30)), cost("b", 59, 1, 1, None)]);
        assert_eq!(slow.duration(0, 60), (minutes(120), Some(("a".to_owned(), 30))));
        let quick = money(1, vec![cost("a", 30, 1, 1, Some(30)), cost("b", 30, 1, 1, None)]);
        assert_eq!(quick.duration(60, 60), (minutes(2), None));
    }
}
