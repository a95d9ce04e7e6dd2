//! Partitions of one campaign that share a book in memory: what they claim, what they adopt, and what they believe of a balance.

use super::*;
use crate::{
    ledger::{AnswerRecord, CommitMode, Identity, Settlement, for_tests},
    model::{Judgement, Mode, budget::Allowance, rng::Rng, shared_account::PartitionName, state::Outcome},
    pipeline::send::model_book::{ModelBook, ModelPartition},
};
use std::{collections::BTreeMap, path::PathBuf};

const PRICE: Credits = Credits(5);
const LIMIT: Credits = Credits(1_000);
const REQUESTS: u8 = 4;

fn name(partition: &str, ledger: &str) -> PartitionName {
    let Identity { campaign, mode, key_secret, .. } = for_tests::identity();
    PartitionName { campaign, mode, partition: partition.to_owned(), key_secret, ledger: ledger.to_owned() }
}

/// A worker with its ledger.
struct Worker {
    ledger: Ledger,
    purse: Purse,
    path: PathBuf,
    now_us: i64,
    limit: Credits,
}

/// A request that was armed, with the number of its attempt.
type Sent = (RequestId, u32);

impl Worker {
    async fn new(path: PathBuf, partition: ModelPartition, now_us: i64) -> Worker {
        let ledger = match path.exists() {
            true => Ledger::open(&path, &for_tests::identity(), CommitMode::Inline, 1).unwrap(),
            false => for_tests::of_requests(&path, REQUESTS).await,
        };
        ledger.recover(now_us).await.unwrap();
        ledger.balance(Credits(100_000), (ledger.sums(), None), 1, None).await.unwrap();
        let purse = Purse::new(Some(Arc::new(partition)));
        Worker { ledger, purse, path, now_us, limit: LIMIT }
    }

    fn order(&self, request: RequestId) -> ArmOrder {
        ArmOrder {
            mode: Mode::Production,
            request,
            check: "aml-screening".to_owned(),
            price: PRICE,
            job_hold: Credits::ZERO,
            allowance: Allowance { limit: Some(self.limit), keep_balance: Credits::ZERO },
            scope: "scope".to_owned(),
            path: "/aml".to_owned(),
            routes: Arc::new(["/aml".to_owned()]),
            shape: Arc::default(),
            key_life_hours: 72,
            now_us: self.now_us,
            room: None,
        }
    }

    async fn claim(&self, request: RequestId) -> Result<Option<Claimed>, NotClaimed> {
        self.purse.claim(&self.ledger, &self.order(request)).await.unwrap()
    }

    /// Claims and arms a request.
    async fn arm(&self, request: RequestId) -> Result<Sent, NotClaimed> {
        let claimed = self.claim(request).await?.unwrap();
        let order = ArmOrder { room: Some(claimed.room), ..self.order(request) };
        let receipt = self.ledger.arm(order).await.unwrap().unwrap();
        Ok((request, receipt.attempt()))
    }

    async fn settle(&self, (request, attempt): Sent, outcome: Outcome) {
        let judgement = Judgement::unrecognised();
        let answer =
            AnswerRecord { requested_at_us: 1, request_id: None, judgement, dataset: None, body: b"{}".to_vec() };
        let settlement = Settlement {
            request,
            check: "aml-screening".to_owned(),
            attempt,
            outcome,
            table: PRICE,
            lower: None,
            http_status: Some(200),
            latency_ms: 1,
            now_us: self.now_us,
            answer: Some(answer),
            job: None,
            job_charged: Credits::ZERO,
            charge_unreadable: false,
            job_hold: Credits::ZERO,
            unreadable: None,
            is_of_another: false,
            failure: None,
            remaining: None,
            before: self.ledger.sums().account,
            pause_until_us: None,
            check_pause: None,
            not_before_us: None,
            server_offset_us: None,
        };
        self.ledger.settle(settlement).await.unwrap();
    }

    /// The requests that may be sent.
    fn open(&self) -> Vec<RequestId> {
        let sql = "SELECT id FROM request WHERE state IN (0, 2) ORDER BY id";
        let conn = rusqlite::Connection::open(&self.path).unwrap();
        let mut select = conn.prepare(sql).unwrap();
        let found = select.query_map([], |row| Ok(RequestId(row.get(0)?))).unwrap();
        found.map(Result::unwrap).collect()
    }
}

/// Partitions with a ledger each, and a service that charges each key once.
struct World {
    folder: tempfile::TempDir,
    book: ModelBook,
    workers: Vec<Worker>,
    /// Workers that another one took over from.
    zombies: Vec<Worker>,
    in_flight: Vec<(usize, Sent)>,
    charged: BTreeMap<RequestId, Credits>,
    ledgers: u32,
}

impl World {
    async fn new(partitions: usize) -> World {
        let (folder, book) = (tempfile::tempdir().unwrap(), ModelBook::default());
        let mut world = World {
            folder,
            book,
            workers: Vec::new(),
            zombies: Vec::new(),
            in_flight: Vec::new(),
            charged: BTreeMap::new(),
            ledgers: 0,
        };
        for partition in 0..partitions {
            let worker = world.worker(partition, None).await;
            worker.purse.enter(&worker.ledger).await.unwrap().unwrap();
            if partition == 0 {
                let account = worker.purse.account(&worker.ledger).await.unwrap().unwrap().unwrap();
                worker.purse.balance(&account, Credits(100_000), 1).await.unwrap();
            }
            world.workers.push(worker);
        }
        world
    }

    /// A worker of a partition, with this ledger or a new one.
    async fn worker(&mut self, partition: usize, ledger: Option<PathBuf>) -> Worker {
        let path = ledger.unwrap_or_else(|| {
            self.ledgers += 1;
            let folder = self.folder.path().join(self.ledgers.to_string());
            std::fs::create_dir(&folder).unwrap();
            folder.join("ledger.sqlite")
        });
        let partition = self.book.enter(name(&partition.to_string(), &path.display().to_string()));
        Worker::new(path, partition, 1_000).await
    }

    fn charge(&mut self, request: RequestId) {
        self.charged.entry(request).or_insert(PRICE);
    }

    fn total(&self) -> u64 {
        self.charged.values().map(|credits| credits.0).sum()
    }

    /// Ends the worker of a partition, and starts another one.
    async fn restart(&mut self, partition: usize, ledger: Option<PathBuf>) {
        self.in_flight.retain(|(of, _)| *of != partition);
        let worker = match ledger {
            Some(path) => {
                // One process has a ledger at a time.
                let spare = self.worker(partition, None).await;
                drop(std::mem::replace(&mut self.workers[partition], spare));
                self.worker(partition, Some(path)).await
            }
            None => self.worker(partition, None).await,
        };
        worker.purse.enter(&worker.ledger).await.unwrap().unwrap();
        self.zombies.push(std::mem::replace(&mut self.workers[partition], worker));
    }

    async fn step(&mut self, rng: &mut Rng) {
        let partition = rng.below(self.workers.len() as u64) as usize;
        match rng.below(20) {
            0..=7 => {
                let open = self.workers[partition].open();
                let Some(request) = open.get(rng.below(open.len().max(1) as u64) as usize).copied() else { return };
                if rng.below(8) == 0 {
                    // Killed between the claim and its own commit.
                    let claimed = self.workers[partition].claim(request).await;
                    if claimed.is_ok() {
                        self.restart(partition, Some(self.workers[partition].path.clone())).await;
                    }
                    return;
                }
                match self.workers[partition].arm(request).await {
                    Ok(sent) => {
                        // The service may have charged it although no reply comes.
                        if rng.below(2) == 0 {
                            self.charge(request);
                        }
                        self.in_flight.push((partition, sent));
                    }
                    Err(NotClaimed::Adopted(_) | NotClaimed::Elsewhere { .. }) => {}
                    Err(_) => panic!("there is room, and the book is there"),
                }
            }
            8..=13 if !self.in_flight.is_empty() => {
                let at = rng.below(self.in_flight.len() as u64) as usize;
                let (partition, sent) = self.in_flight.swap_remove(at);
                let outcome = match rng.below(4) {
                    0 => Outcome::Unknown,
                    1 if !self.charged.contains_key(&sent.0) => Outcome::RateLimited,
                    _ => {
                        self.charge(sent.0);
                        Outcome::Answered { stated: Some(PRICE) }
                    }
                };
                self.workers[partition].settle(sent, outcome).await;
            }
            14 | 15 => drop(self.workers[partition].purse.account(&self.workers[partition].ledger).await.unwrap()),
            16 => self.restart(partition, Some(self.workers[partition].path.clone())).await,
            17 => self.restart(partition, None).await,
            18 => self.book.lose(rng.below(6) as u32, rng.below(2) == 0),
            _ => self.book.fail_over(),
        }
    }

    fn check(&self, seed: u64) {
        let (totals, is_sum) = self.book.totals("one");
        assert!(is_sum, "seed {seed}: the sums of a partition are those of its requests");
        let used = (totals.charged + totals.held).0;
        assert!(used >= self.total(), "seed {seed}: {} charged, and the book has {used}", self.total());
    }

    /// Sends until every request of every partition has its answer.
    async fn finish(&mut self, seed: u64) {
        for partition in 0..self.workers.len() {
            self.restart(partition, Some(self.workers[partition].path.clone())).await;
        }
        for _ in 0..self.workers.len() + 1 {
            for partition in 0..self.workers.len() {
                for request in self.workers[partition].open() {
                    // What it adopts in doubt is sent again.
                    for _ in 0..2 {
                        match self.workers[partition].arm(request).await {
                            Ok(sent) => {
                                self.charge(request);
                                self.workers[partition].settle(sent, Outcome::Answered { stated: Some(PRICE) }).await;
                                break;
                            }
                            Err(NotClaimed::Adopted(State::InDoubt | State::Planned)) => {}
                            Err(_) => break,
                        }
                    }
                }
                let worker = &self.workers[partition];
                worker.purse.account(&worker.ledger).await.unwrap().unwrap();
            }
        }
        self.check(seed);
        let (totals, _) = self.book.totals("one");
        assert_eq!((totals.charged.0, totals.held), (self.total(), Credits::ZERO), "seed {seed}");
        let sums: u64 = self.workers.iter().map(|worker| worker.ledger.sums().account.charged.0).sum();
        assert_eq!(sums, self.total(), "seed {seed}: each charge is in one ledger");
        assert!(self.workers.iter().all(|worker| worker.open().is_empty()), "seed {seed}");
        for zombie in &self.zombies {
            let claimed = zombie.claim(RequestId(1)).await;
            assert!(matches!(claimed, Err(NotClaimed::Closed(_))), "seed {seed}: a zombie sends nothing");
        }
    }
}

#[tokio::test]
async fn random_partitions_that_crash_and_lose_ledgers_pay_each_content_once() {
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(12);
    for seed in 0..seeds {
        let (mut world, mut rng) = (World::new(3).await, Rng::new(seed));
        for _ in 0..60 {
            world.step(&mut rng).await;
            world.check(seed);
        }
        world.finish(seed).await;
    }
}

#[tokio::test]
async fn the_limit_counts_what_another_partition_has_claimed_and_not_armed() {
    let world = World::new(2).await;
    let [first, second] = [&world.workers[0], &world.workers[1]];
    let claimed = first.claim(RequestId(1)).await.unwrap_or_else(|_| panic!("there is room"));
    let order = ArmOrder {
        allowance: Allowance { limit: Some(Credits(9)), keep_balance: Credits::ZERO },
        ..second.order(RequestId(2))
    };
    let refused = second.purse.claim(&second.ledger, &order).await.unwrap();
    assert!(matches!(refused, Err(NotClaimed::Refused(BudgetRefusal::Limit { held: Credits(5), .. }))));
    // Not armed after all: it is told, and the room is free.
    drop(claimed);
    first.purse.not_armed(&first.ledger, RequestId(1)).await.unwrap();
    drop(first.purse.account(&first.ledger).await.unwrap());
    assert!(second.purse.claim(&second.ledger, &order).await.unwrap().is_ok());
}

/// How far a balance has fallen by 10, if another partition `holds` 10, and if another worker has read the balance first.
async fn fell(holds: bool, later: bool) -> (u64, Option<Stop>) {
    let world = World::new(2).await;
    let [first, second] = [&world.workers[0], &world.workers[1]];
    let before = first.purse.account(&first.ledger).await.unwrap().unwrap().unwrap();
    if holds {
        for request in [1, 2] {
            second.arm(RequestId(request)).await.unwrap_or_else(|_| panic!("there is room"));
        }
    }
    if later {
        let read = first.purse.account(&first.ledger).await.unwrap().unwrap().unwrap();
        first.purse.balance(&read, Credits(99_990), 3).await.unwrap();
    }
    let fell = first.purse.balance(&before, Credits(99_990), 3).await.unwrap();
    (fell.0, world.book.halt())
}

#[tokio::test]
async fn a_fall_that_no_partition_explains_stops_all_workers() {
    let halt = Some(Stop::BalanceFell { credits: Credits(10), is_shared: true });
    assert_eq!(fell(false, false).await, (10, halt));
    assert_eq!(fell(true, false).await, (0, None), "what another partition holds explains it");
}

#[tokio::test]
async fn a_reading_that_another_worker_has_compared_is_not_compared_again() {
    assert_eq!(fell(true, true).await, (0, None));
}
