//! The plan: reads and maps all inputs, sends nothing, and says what a run would do and cost.

pub mod distinct;

use super::{
    campaign::{Campaign, remains::refuse_lost_ledger, result_layout::check_layouts},
    intake::{Found, Intake, notes::Notes, unbound},
};
use crate::{
    error::Error,
    ledger::{Reading, Sums},
    mapping::{AskRequest, Bound, FieldFeed, Mapped, UnmappedColumns},
    model::{Credits, FailureCode, Record},
    source::Split,
};
use distinct::{Digest, Distinct};
use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher, Hasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    time::Duration,
};

/// What a run would do.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    pub rows: u64,
    pub asks: u64,
    /// The number of distinct requests of the whole input.
    pub requests: u64,
    /// Asks that share another's request.
    pub duplicates: u64,
    pub skipped: u64,
    /// Rows and asks that fail before anything is sent, by reason.
    pub rejected: BTreeMap<FailureCode, u64>,
    /// Notes about values that were accepted.
    pub notes: Notes,
    /// The number of requests that a run would still send.
    pub to_send: u64,
    /// The cost of these requests at the table prices; `None` if a price is not known.
    pub credits: Option<Credits>,
    /// The time to send them at the campaign's rate.
    pub duration: Duration,
    /// The number of requests that fill each field, by check and field.
    pub filled: BTreeMap<(String, String), u64>,
    pub feeds: Vec<FieldFeed>,
    pub unmapped_columns: Vec<UnmappedColumns>,
    /// The first requests, with values masked.
    pub shown: Vec<String>,
    /// The sums of the ledger, if there is one.
    pub known: Option<Sums>,
    /// When the oldest request in doubt was armed, in microseconds since 1970.
    pub oldest_doubt_us: Option<i64>,
}

/// Reads and maps all inputs. Keeps the first `show` requests, masked. Blocks.
///
/// # Errors
/// The errors that would stop a run before its first request.
pub fn plan(campaign: &Campaign, show: usize) -> Result<Plan, Error> {
    check_layouts(campaign)?;
    let reading = Reading::find(&campaign.ledger)?;
    if reading.is_none() {
        refuse_lost_ledger(campaign)?;
    }
    let mut intake = Intake::open(campaign, &[])?;
    let (feeds, unmapped_columns) = (intake.feeds(), intake.unmapped_columns());
    let plan = Plan { feeds, unmapped_columns, ..Plan::default() };
    let mut adding = Tally { plan, distinct: Distinct::new(), shapes: BTreeMap::new(), shown: BTreeSet::new(), show };
    let worker = Worker { campaign, secrets: Default::default(), show, wants_more: AtomicBool::new(show > 0) };
    std::thread::scope(|scope| {
        // Splits are given to the workers in turn, and the results are received in turn. This keeps the input order.
        let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(WORKERS_MAX));
        let (mut senders, mut counted) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            let (sender, splits) = sync_channel(1);
            let (give, take) = sync_channel(1);
            let worker = &worker;
            scope.spawn(move || count_all(worker, &splits, &give));
            senders.push(sender);
            counted.push(take);
        }
        let reading = scope.spawn(move || send_all(&mut intake, &senders));
        for worker_index in (0..workers).cycle() {
            let Ok(split) = counted[worker_index].recv() else { break };
            adding.add(split?)?;
            worker.wants_more.store(adding.plan.shown.len() < show, Ordering::Relaxed);
        }
        drop(counted);
        reading.join().unwrap_or_else(|_| Err(Error::Internal("reading the input panicked".to_owned())))
    })?;
    let mut plan = adding.end(campaign)?;
    plan.duration = Duration::from_secs_f64(plan.to_send as f64 * 60.0 / f64::from(campaign.service.rate.per_minute));
    if let Some(reading) = reading {
        plan.known = Some(reading.sums()?);
        plan.oldest_doubt_us = reading.oldest_doubt_us()?;
    }
    Ok(plan)
}

/// The maximum number of mapping threads. Reading the input cannot keep more of them busy.
const WORKERS_MAX: usize = 4;

/// A split as it was read, and the bound mapping for it.
type Bundle = (Split, Option<Arc<Bound>>);

/// Reads the input to its end, or until the receivers are dropped.
fn send_all(intake: &mut Intake, workers: &[SyncSender<Bundle>]) -> Result<(), Error> {
    let mut workers = workers.iter().cycle();
    while let Some(found) = intake.find()? {
        if let Found::Split { split, bound, .. } = found
            && workers.next().is_none_or(|worker_index| worker_index.send((split, bound)).is_err())
        {
            break;
        }
    }
    Ok(())
}

/// Maps and counts splits until there are no more, or until the receiver is dropped.
fn count_all(worker: &Worker<'_>, splits: &Receiver<Bundle>, counted: &SyncSender<Result<Counted, Error>>) {
    let reading = match Reading::find(&worker.campaign.ledger) {
        Ok(reading) => reading,
        Err(error) => return drop(counted.send(Err(error.into()))),
    };
    for (split, bound) in splits {
        if counted.send(worker.count(reading.as_ref(), bound.as_deref(), split)).is_err() {
            return;
        }
    }
}

/// The state that all workers share.
struct Worker<'a> {
    campaign: &'a Campaign,
    /// Random hash keys of this process, so that an input cannot be crafted to make digests collide.
    secrets: [RandomState; 2],
    show: usize,
    /// Whether more requests are needed for [`Plan::shown`].
    wants_more: AtomicBool,
}

/// The shape of an ask: its check, whether its request is settled, and the fields it fills.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct AskShape {
    check_index: usize,
    settled: bool,
    /// One bit for each field of the declaration.
    filled: Vec<u64>,
}

/// The counts of one split.
#[derive(Default)]
struct Counted {
    rows: u64,
    asks: u64,
    skipped: u64,
    rejected: BTreeMap<FailureCode, u64>,
    notes: Notes,
    shapes: Vec<AskShape>,
    /// The digests in input order, each with the index of its shape.
    digests: Vec<(Digest, usize)>,
    shown: Vec<(Digest, String)>,
}

impl Worker<'_> {
    fn count(&self, reading: Option<&Reading>, bound: Option<&Bound>, split: Split) -> Result<Counted, Error> {
        let mut counted = Counted { rows: split.records.len() as u64, ..Counted::default() };
        for record in split.records {
            match record {
                Record::Damaged { failure, .. } => *counted.rejected.entry(failure.code).or_default() += 1,
                Record::Row(row) => {
                    for mapped in bound.ok_or_else(unbound)?.map(&row)? {
                        counted.asks += 1;
                        match mapped {
                            Mapped::Skipped(_) => counted.skipped += 1,
                            Mapped::Failed(failure) => *counted.rejected.entry(failure.code).or_default() += 1,
                            Mapped::Ask(ask) => {
                                counted.notes.add(&row.position.source, row.position.row_number, &ask.notes);
                                self.count_ask(&mut counted, reading, &ask)?;
                            }
                        }
                    }
                }
            }
        }
        Ok(counted)
    }

    fn count_ask(&self, counted: &mut Counted, reading: Option<&Reading>, ask: &AskRequest) -> Result<(), Error> {
        let one = &self.campaign.uses[ask.check_index];
        let digest = self.digest(&one.check, &ask.body);
        let settled = reading.map_or(Ok(false), |reading| reading.is_settled(&ask.key, &one.check, &ask.body))?;
        let shape = AskShape { check_index: ask.check_index, settled, filled: self.filled(ask)? };
        // Searched from the end, because most rows have the shape of the row before.
        let known = counted.shapes.iter().rposition(|known| *known == shape);
        let shape = known.unwrap_or_else(|| {
            counted.shapes.push(shape);
            counted.shapes.len() - 1
        });
        counted.digests.push((digest, shape));
        if self.wants_more.load(Ordering::Relaxed)
            && counted.shown.len() < self.show
            && counted.shown.iter().all(|(shown, _)| *shown != digest)
        {
            counted.shown.push((digest, masked(one.name(), ask)));
        }
        Ok(())
    }

    fn filled(&self, ask: &AskRequest) -> Result<Vec<u64>, Error> {
        let declared = &self.campaign.catalogue.get(&self.campaign.uses[ask.check_index].check)?.fields;
        let mut filled = vec![0; declared.len().div_ceil(64)];
        for (at, _) in declared.iter().enumerate().filter(|(_, field)| ask.fields.contains_key(&field.name)) {
            filled[at / 64] |= 1 << (at % 64);
        }
        Ok(filled)
    }

    /// Asks of one check with equal bodies share a request. The ledger uses the same rule.
    fn digest(&self, check: &str, body: &[u8]) -> Digest {
        [0, 1].map(|at: usize| {
            let mut hasher = self.secrets[at].build_hasher();
            hasher.write(check.as_bytes());
            hasher.write_u8(0);
            hasher.write(body);
            hasher.finish()
        })
    }
}

/// The running totals of the splits, added in input order.
struct Tally {
    plan: Plan,
    distinct: Distinct,
    /// The number of every shape that was seen.
    shapes: BTreeMap<AskShape, u32>,
    shown: BTreeSet<Digest>,
    show: usize,
}

impl Tally {
    fn add(&mut self, split: Counted) -> Result<(), Error> {
        self.plan.rows += split.rows;
        self.plan.asks += split.asks;
        self.plan.skipped += split.skipped;
        for (code, count) in split.rejected {
            *self.plan.rejected.entry(code).or_default() += count;
        }
        self.plan.notes.join(split.notes);
        let numbers: Vec<u32> = split.shapes.into_iter().map(|shape| self.number(shape)).collect();
        self.plan.duplicates += split.digests.len() as u64;
        for (digest, shape) in split.digests {
            self.distinct.add(digest, numbers[shape])?;
        }
        for (digest, text) in split.shown {
            if self.plan.shown.len() < self.show && self.shown.insert(digest) {
                self.plan.shown.push(text);
            }
        }
        Ok(())
    }

    fn number(&mut self, shape: AskShape) -> u32 {
        let next = u32::try_from(self.shapes.len()).expect("shapes are checks and fields, not rows");
        *self.shapes.entry(shape).or_insert(next)
    }

    /// Completes the plan with the counts of distinct asks.
    fn end(self, campaign: &Campaign) -> Result<Plan, Error> {
        let mut counts = vec![0_u64; self.shapes.len()];
        self.distinct.each_first(|shape| counts[shape as usize] += 1)?;
        let mut plan = self.plan;
        let mut unsent: BTreeMap<&str, u64> = BTreeMap::new();
        for (shape, number) in self.shapes {
            let (one, count) = (&campaign.uses[shape.check_index], counts[number as usize]);
            plan.requests += count;
            plan.duplicates -= count;
            if count > 0 {
                *unsent.entry(&one.check).or_default() += if shape.settled { 0 } else { count };
            }
            let declared = &campaign.catalogue.get(&one.check)?.fields;
            let filled = |at: usize| shape.filled[at / 64] & (1 << (at % 64)) != 0;
            for (_, field) in declared.iter().enumerate().filter(|(at, _)| count > 0 && filled(*at)) {
                *plan.filled.entry((one.name().to_owned(), field.name.clone())).or_default() += count;
            }
        }
        plan.to_send = unsent.values().sum();
        let cost = |(check, count): (&&str, &u64)| campaign.price(check).map(|price| price.times(*count));
        plan.credits = unsent.iter().map(cost).sum();
        Ok(plan)
    }
}

/// A request with masked values: the first character and the length of each text. Numbers and texts of at most three
/// characters are shown as they are.
fn masked(check: &str, ask: &AskRequest) -> String {
    let fields = ask.fields.iter().map(|(field, value)| match value.as_str() {
        Some(text) if text.chars().count() > 3 => {
            let first = text.chars().next().unwrap_or_default();
            format!("{field} = \"{first}…\" ({} characters)", text.chars().count())
        }
        _ => format!("{field} = {value}"),
    });
    format!("{check}: {}", fields.collect::<Vec<_>>().join(", "))
}
