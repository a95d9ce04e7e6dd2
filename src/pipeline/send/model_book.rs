//! A charge book in memory, with the rules of the one in PostgreSQL, for tests and simulations. A statement can be lost: done
//! without an answer, or not done.

use super::purse::SharedMoney;
use crate::model::{
    Credits, IdempotencyKey, Stop,
    budget::BalanceReading,
    shared_account::{PartitionName, Version},
    shared_budget::{Seen, Shared, Totals},
    shared_partition::PartitionOutputs,
    shared_request::{Line, Owner, Told},
    state::State,
};
use futures::{FutureExt, future::BoxFuture};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What the book has of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Partition {
    name: PartitionName,
    totals: Totals,
    turn: i64,
    /// Who runs it or ran it last.
    worker: u64,
    has_left: bool,
    outputs: Option<PartitionOutputs>,
}

#[derive(Debug, Default)]
struct Tables {
    money: i64,
    timeline: u32,
    reading: Option<BalanceReading>,
    halt: Option<Stop>,
    partitions: Vec<Partition>,
    /// The lines: the partition, the ledger that told it, and what it told.
    lines: BTreeMap<[u8; 16], (usize, String, Told)>,
    workers: u64,
    /// How many statements pass before one is lost, and whether it is done.
    loses: Option<(u32, bool)>,
}

/// The book.
#[derive(Clone, Default)]
pub struct ModelBook(Arc<Mutex<Tables>>);

/// A partition in the book, as one worker has it.
pub struct ModelPartition {
    book: ModelBook,
    at: usize,
    worker: u64,
    name: PartitionName,
}

impl ModelBook {
    /// Enters a partition, also if another worker runs it: that one is taken for dead.
    pub fn enter(&self, name: PartitionName) -> ModelPartition {
        let mut tables = self.tables();
        let is_same = |partition: &Partition| {
            (&partition.name.campaign, &partition.name.partition) == (&name.campaign, &name.partition)
        };
        let at = tables.partitions.iter().position(is_same).unwrap_or_else(|| {
            tables.partitions.push(Partition {
                name: name.clone(),
                totals: Totals::default(),
                turn: 0,
                worker: 0,
                has_left: true,
                outputs: None,
            });
            tables.partitions.len() - 1
        });
        tables.workers += 1;
        let worker = tables.workers;
        let partition = &mut tables.partitions[at];
        (partition.turn, partition.worker, partition.has_left) = (partition.turn + 1, worker, false);
        partition.name.ledger.clone_from(&name.ledger);
        ModelPartition { book: self.clone(), at, worker, name }
    }

    /// After this many more statements, one is lost.
    pub fn lose(&self, after: u32, is_done: bool) {
        self.tables().loses = Some((after, is_done));
    }

    /// A standby is promoted.
    pub fn fail_over(&self) {
        self.tables().timeline += 1;
    }

    /// What all partitions of a campaign have used, and whether that is the sum of their requests.
    pub fn totals(&self, campaign: &str) -> (Totals, bool) {
        let tables = self.tables();
        let of_campaign = |partition: &&Partition| partition.name.campaign == campaign;
        let sums = |at: usize| {
            let of_part = tables.lines.values().filter(|(partition, ..)| *partition == at);
            of_part.fold((Credits::ZERO, Credits::ZERO), |(charged, held), (.., told)| {
                (charged + told.charged, held + told.held)
            })
        };
        let is_sum = tables
            .partitions
            .iter()
            .enumerate()
            .all(|(at, Partition { totals, .. })| sums(at) == (totals.charged, totals.held));
        (
            tables
                .partitions
                .iter()
                .filter(of_campaign)
                .fold(Totals::default(), |sum, partition| plus(sum, partition.totals)),
            is_sum,
        )
    }

    /// Why the workers were stopped, if they were.
    pub fn halt(&self) -> Option<Stop> {
        self.tables().halt.clone()
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn plus(sum: Totals, one: Totals) -> Totals {
    Totals { charged: sum.charged + one.charged, held: sum.held + one.held, armed: sum.armed + one.armed }
}

fn has_money(told: &Told) -> bool {
    (told.held, told.charged) != (Credits::ZERO, Credits::ZERO)
}

fn lost() -> Stop {
    Stop::Book { fault: "no answer".to_owned(), is_away: true }
}

impl ModelPartition {
    /// Runs a statement, which may be lost. A lost question is asked again, as by the real book.
    fn asked<T>(&self, statement: impl Fn(&mut Tables) -> T) -> T {
        let mut tables = self.book.tables();
        match tables.loses {
            Some((0, is_done)) => {
                tables.loses = None;
                if is_done {
                    statement(&mut tables);
                }
            }
            Some((after, is_done)) => tables.loses = Some((after - 1, is_done)),
            None => {}
        }
        statement(&mut tables)
    }

    fn is_current(&self, tables: &Tables, seen: &Seen) -> bool {
        let version = Version { number: tables.money, timeline: tables.timeline.to_string() };
        let partition = &tables.partitions[self.at];
        version == seen.version && partition.worker == self.worker && partition.turn == seen.turn
    }

    fn seen_now(&self, tables: &Tables) -> Result<Seen, Stop> {
        let own = &tables.partitions[self.at];
        if own.worker != self.worker {
            return Err(Stop::Book { fault: "taken over".to_owned(), is_away: true });
        }
        let sum = |meant: &dyn Fn(&Partition) -> bool| {
            let meant = tables.partitions.iter().filter(|partition| meant(partition));
            meant.fold(Totals::default(), |sum, partition| plus(sum, partition.totals))
        };
        let is_of_campaign = |partition: &Partition| {
            (&partition.name.campaign, partition.name.mode) == (&own.name.campaign, own.name.mode)
        };
        Ok(Seen {
            version: Version { number: tables.money, timeline: tables.timeline.to_string() },
            place: format!("{} {}", self.at, tables.timeline),
            turn: own.turn,
            shared: Shared { all: sum(&|_| true), of_campaign: sum(&is_of_campaign), reading: tables.reading },
        })
    }

    fn claimed(&self, tables: &mut Tables, seen: &Seen, told: &Told) -> bool {
        let old = tables.lines.get(told.key.as_bytes()).cloned();
        let may_have = old.as_ref().is_none_or(|(partition, _, line)| {
            let is_free = !has_money(line);
            let is_over = line.state == State::Planned && line.attempts < told.attempts
                || line.state == State::Failed && line.generation < told.generation;
            match *partition == self.at {
                true => {
                    let is_settled = line.state.is_settled() && line.generation == told.generation;
                    line.revision < told.revision
                        && line.attempts < told.attempts
                        && line.generation <= told.generation
                        && !is_settled
                }
                false => is_free && is_over,
            }
        });
        if !may_have || !self.is_current(tables, seen) {
            return false;
        }
        tables.money += 1;
        self.write(tables, &Told { answer: None, ..told.clone() }, old);
        true
    }

    fn told(&self, tables: &mut Tables, seen: &Seen, all: &[Told]) -> bool {
        let partition = &tables.partitions[self.at];
        if partition.worker != self.worker || partition.turn != seen.turn {
            return false;
        }
        let mut is_more = false;
        for told in all {
            let old = tables.lines.get(told.key.as_bytes()).cloned();
            let may_write = match &old {
                None => told.attempts > 0 || has_money(told),
                Some((partition, ledger, line)) if *partition == self.at => {
                    let is_unarmed = line.state == State::Armed && *ledger == self.name.ledger;
                    line.revision < told.revision
                        && (line.attempts <= told.attempts || is_unarmed)
                        && line.generation <= told.generation
                        && (!line.state.is_settled() || told.state.is_settled() || line.generation < told.generation)
                }
                Some((.., line)) => !has_money(line) && has_money(told),
            };
            if may_write {
                let before = tables.partitions[self.at].totals;
                self.write(tables, told, old);
                let after = tables.partitions[self.at].totals;
                is_more |= after.charged + after.held > before.charged + before.held;
            }
        }
        tables.money += i64::from(is_more);
        tables.partitions[self.at].turn += 1;
        true
    }

    fn write(&self, tables: &mut Tables, told: &Told, old: Option<(usize, String, Told)>) {
        let old = old.filter(|(partition, ..)| *partition == self.at).map(|(.., line)| (line.held, line.charged));
        let (held, charged) = old.unwrap_or_default();
        let partition = &mut tables.partitions[self.at];
        partition.turn += 1;
        partition.totals.held = (partition.totals.held + told.held).saturating_sub(held);
        partition.totals.charged = (partition.totals.charged + told.charged).saturating_sub(charged);
        let more = (told.held + told.charged).saturating_sub(held + charged);
        partition.totals.armed = partition.totals.armed + more;
        tables.lines.insert(*told.key.as_bytes(), (self.at, self.name.ledger.clone(), told.clone()));
    }
}

impl SharedMoney for ModelPartition {
    fn partition(&self) -> &str {
        &self.name.partition
    }

    fn seen(&self) -> BoxFuture<'_, Result<Seen, Stop>> {
        async { self.asked(|tables| self.seen_now(tables)) }.boxed()
    }

    fn claim<'a>(&'a self, seen: &'a Seen, told: &'a Told) -> BoxFuture<'a, Result<bool, Stop>> {
        async move { Ok(self.asked(|tables| self.claimed(tables, seen, told))) }.boxed()
    }

    fn tell<'a>(&'a self, seen: &'a Seen, told: &'a [Told]) -> BoxFuture<'a, Result<bool, Stop>> {
        async move { Ok(self.asked(|tables| self.told(tables, seen, told))) }.boxed()
    }

    fn lines<'a>(&'a self, keys: &'a [IdempotencyKey], with_answers: bool) -> BoxFuture<'a, Result<Vec<Line>, Stop>> {
        async move {
            Ok(self.asked(|tables| {
                let lines = keys.iter().filter_map(|key| tables.lines.get(key.as_bytes()));
                let owner = |partition: usize, ledger: &str| match partition == self.at {
                    true => Owner::Us { is_of_ledger: *ledger == self.name.ledger },
                    false => Owner::Another { is_running: !tables.partitions[partition].has_left },
                };
                let shown = |told: &Told| match with_answers {
                    true => told.clone(),
                    false => Told { body: None, answer: None, ..told.clone() },
                };
                lines
                    .map(|(partition, ledger, told)| Line { owner: owner(*partition, ledger), told: shown(told) })
                    .collect()
            }))
        }
        .boxed()
    }

    fn balance<'a>(
        &'a self,
        seen: &'a Seen,
        reading: BalanceReading,
        halt: Option<&'a Stop>,
    ) -> BoxFuture<'a, Result<bool, Stop>> {
        async move {
            Ok(self.asked(|tables| {
                let version = Version { number: tables.money, timeline: tables.timeline.to_string() };
                let is_current = version == seen.version;
                if is_current {
                    tables.money += 1;
                    tables.reading = Some(reading);
                    tables.halt = tables.halt.take().or(halt.cloned());
                }
                is_current
            }))
        }
        .boxed()
    }

    fn here(&self, leaves: bool) -> BoxFuture<'_, Result<(), Stop>> {
        async move {
            self.asked(|tables| {
                let partition = &mut tables.partitions[self.at];
                match partition.worker == self.worker {
                    true => partition.has_left |= leaves,
                    false if leaves => {}
                    false => return Err(lost()),
                }
                Ok(())
            })
        }
        .boxed()
    }

    fn published<'a>(&'a self, outputs: &'a PartitionOutputs) -> BoxFuture<'a, Result<(), Stop>> {
        async move {
            self.asked(|tables| {
                let partition = &mut tables.partitions[self.at];
                if partition.worker == self.worker {
                    partition.outputs = Some(outputs.clone());
                }
            });
            Ok(())
        }
        .boxed()
    }
}
