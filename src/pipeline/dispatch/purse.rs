//! The purse of a run: when to look at the account, what to do when the budget refuses, and whether a check costs what the
//! price table says. Where a reply states no charge, only the fall of the balance shows it, and only while nothing else is
//! under way: so the first request of each check goes alone.

use super::{Dispatch, Surroundings, until};
use crate::{
    error::Error,
    model::{Credits, Mode, RequestId, Stop, budget::Refusal, state::State},
    pipeline::{
        account::{clocks_agree, read_balance},
        flight::{Attempted, Try},
    },
};
use std::{collections::BTreeSet, time::Duration};

#[derive(Debug, Default)]
pub(super) struct Purse {
    /// The budget refused this request: nothing is sent until nothing is under way.
    blocked: Option<(Refusal, RequestId)>,
    /// The refused request is tried once more, alone.
    alone: bool,
    /// The budget is spent: only what holds its price already goes on.
    spent: Option<Refusal>,
    /// Checks whose first charge was seen, or whose price is of no interest.
    proven: BTreeSet<String>,
    /// A request whose charge is to be seen is under way.
    proving: bool,
    /// The check for which the account was looked at last.
    looked_for: Option<String>,
    /// A key was given up for a cached 402, and nobody was answered since.
    key_on_trial: Option<RequestId>,
    /// Prices matter: production.
    watched: bool,
}

impl Purse {
    pub(super) fn new(mode: Mode) -> Purse {
        Purse { watched: mode == Mode::Production, ..Purse::default() }
    }

    /// How many requests may be under way with `next` among them.
    pub(super) fn room(&self, next: &Try, all: usize) -> usize {
        match self.blocked {
            Some(_) => 0,
            None if self.alone || self.proving || self.is_unproven(next) => 1,
            None => all,
        }
    }

    fn is_unproven(&self, next: &Try) -> bool {
        self.watched && !next.in_doubt && !self.proven.contains(&next.sold)
    }

    pub(super) fn launched(&mut self, one: &Try) {
        self.proving = self.is_unproven(one);
    }

    /// Whether the budget allows nothing new in this run.
    pub(super) fn is_spent(&self) -> bool {
        self.spent.is_some()
    }

    /// Why the run ends, where the budget is spent.
    pub(super) fn spent(&mut self) -> Option<Stop> {
        self.spent.take().map(Stop::Budget)
    }

    pub(super) fn refused(&mut self, refusal: Refusal, request: RequestId) {
        self.proving = false;
        self.blocked.get_or_insert((refusal, request));
    }

    /// A request is not sent again in this run: a trial of its key ends without a result, and another may try.
    pub(super) fn leaves(&mut self, request: RequestId) {
        self.key_on_trial = self.key_on_trial.filter(|on_trial| *on_trial != request);
    }

    /// Takes in an attempt; the price a request really had, where the balance shows another than the table's.
    fn saw(&mut self, one: &Try, attempted: &Attempted, balance: Option<Credits>) -> Option<Credits> {
        self.alone = false;
        if attempted.judgement.is_some() {
            self.key_on_trial = None;
        }
        if !std::mem::take(&mut self.proving) || attempted.judgement.is_none() {
            return None;
        }
        self.proven.insert(one.sold.clone());
        let fell = balance?.saturating_sub(attempted.remaining?);
        (!attempted.stated).then_some(fell)
    }
}

impl Dispatch {
    /// With nothing under way: reads the balance where it is wanted. Whether anything was done.
    pub(super) async fn settle_account(&mut self) -> Result<bool, Error> {
        let unproven = self.ready.front().filter(|next| self.purse.is_unproven(next)).map(|next| next.sold.clone());
        let anew = unproven.is_some() && unproven != self.purse.looked_for;
        let first = self.purse.watched && !self.ready.is_empty() && !self.health.was_looked_at();
        let refused = self.purse.blocked.take();
        if let Some((refusal, request)) = refused
            && self.purse.alone
        {
            self.spend_no_more(refusal, request);
            return Ok(true);
        }
        self.purse.alone |= refused.is_some();
        let short = matches!(refused, Some((Refusal::Balance { .. } | Refusal::Unread, _)));
        if !(first || anew || short || self.health.wants_a_look()) {
            return Ok(refused.is_some());
        }
        self.health.looked();
        self.purse.looked_for = unproven;
        match self.balance().await? {
            Ok(balance) => tracing::info!("the balance is {balance}"),
            // In sandbox only the service's being there is asked for.
            Err(Stop::BalanceUnreadable) if !self.purse.watched => {}
            Err(stop) => self.stops.push(stop),
        }
        let sums = self.crew.ledger.sums();
        if first && sums.in_state(State::InDoubt) + sums.in_state(State::Repeating) > 0 {
            self.stops.extend(clocks_agree(&sums).err());
        }
        Ok(true)
    }

    /// Nothing new is sent; what is in doubt holds its price already and is settled before the run ends. Where its price rose
    /// and there is no room for the rest, it is left for a run that has more.
    fn spend_no_more(&mut self, refusal: Refusal, refused: RequestId) {
        self.purse.spent = Some(refusal);
        self.purse.alone = false;
        self.ready.retain(|one| one.in_doubt && one.request != refused);
        self.waiting.retain(|_, one| one.in_doubt);
    }

    /// What an attempt says about the money.
    pub(super) fn look_at_money(&mut self, one: &Try, attempted: &Attempted) {
        let account = self.crew.ledger.sums().account;
        self.health.saw(attempted, account.least_balance().filter(|_| self.purse.watched));
        let table = self.crew.sold.get(&one.sold).map(|sold| sold.price).unwrap_or_default();
        let balance = account.reading.map(|reading| reading.balance);
        let shown = self.purse.saw(one, attempted, balance).filter(|shown| *shown > table);
        let charged = attempted.settled.above_price.then_some(attempted.settled.charged);
        if let Some(stated) = charged.or(shown) {
            self.stops.push(Stop::Price { check: one.sold.clone(), stated, table });
        }
    }

    /// 402: either the account is empty, or a refusal is cached under the key while the balance is fine.
    pub(super) async fn no_credits(&mut self, one: Try, attempted: &Attempted) -> Result<(), Error> {
        if !self.stops.is_empty() {
            return Ok(());
        }
        let price = self.crew.sold.get(&one.sold).map(|sold| sold.price).unwrap_or_default();
        match self.balance().await? {
            Err(stop) => self.stops.push(stop),
            Ok(balance) if balance < price => self.stops.push(Stop::NoCredits { balance, price }),
            // The balance is fine, so the refusal is cached under the key; one request tries that, and the others wait
            // to see whether a new key helps.
            Ok(_) if attempted.may_change_key() && self.purse.key_on_trial.is_none() => {
                self.purse.key_on_trial = Some(one.request);
                self.new_key(one).await?;
            }
            Ok(balance) if attempted.has_a_useless_new_key() => {
                self.stops.push(Stop::NoCredits { balance, price });
            }
            // The others wait until the trial, which takes a second or two, is over.
            Ok(_) if self.purse.key_on_trial.is_some() && attempted.settled.cached_refusals == 0 => {
                self.put_off(one, Duration::from_secs(5));
            }
            Ok(_) => self.put_off(one, Duration::from_secs(1)),
        }
        Ok(())
    }

    /// Reads the balance, unless the run is told to end meanwhile: a closed gate may hold the reading for minutes.
    async fn balance(&mut self) -> Result<Result<Credits, Stop>, Error> {
        let Surroundings { signals, deadline, .. } = &mut self.around;
        tokio::select! {
            biased;
            Some(signal) = signals.recv() => Ok(Err(signal.stop())),
            () = until(*deadline) => Ok(Err(Stop::TimeIsUp)),
            balance = read_balance(&self.crew) => balance,
        }
    }
}
