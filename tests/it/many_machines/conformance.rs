//! The book in PostgreSQL does what the one in memory does, which the tests of claims and of lost ledgers use: the same
//! statements in the same order have the same answers and leave the same lines.

use crate::support::postgres::Postgres;
use rescreen::{
    book::{AccountName, Address},
    model::{
        Credits, IdempotencyKey, Mode, Rate,
        budget::{Account, BalanceReading},
        rng::Rng,
        shared_account::PartitionName,
        shared_budget::{Seen, Shared},
        shared_request::{Line, Owner, Told},
        state::State,
    },
    pipeline::books::{ModelBook, ModelPartition, SharedMoney, enter},
};
use secrecy::SecretString;
use std::sync::Arc;

const RATE: Rate = Rate { per_minute: 600, per_minute_max: 1_200 };
const STATES: [State; 7] = [
    State::Planned,
    State::Armed,
    State::InDoubt,
    State::Submitted,
    State::Answered,
    State::Failed,
    State::Quarantined,
];

/// One worker in both books.
struct Both {
    real: Arc<dyn SharedMoney>,
    model: ModelPartition,
    /// What was seen last, and before that.
    seen: [(Seen, Seen); 2],
}

struct Books {
    address: Address,
    account: AccountName,
    model: ModelBook,
    rng: Rng,
}

impl Books {
    async fn enter(&self, partition: &str, ledger: &str) -> Both {
        let (partition, ledger) = (partition.to_owned(), ledger.to_owned());
        let name =
            PartitionName { campaign: "c".to_owned(), mode: Mode::Production, partition, key_secret: None, ledger };
        let (_, real) = enter(self.address.clone(), &self.account, RATE, Some(name.clone()), false).await.unwrap();
        let mut both = Both { real: real.unwrap(), model: self.model.enter(name), seen: Default::default() };
        both.see().await;
        both.see().await;
        both
    }

    fn told(&mut self) -> Told {
        let rng = &mut self.rng;
        let key = IdempotencyKey::from_slice(&[rng.below(3) as u8; 16]).unwrap();
        let state = *rng.pick(&STATES);
        let [attempts, revision, generation] = [rng.below(4), rng.below(5), rng.below(2)].map(|number| number as u32);
        let (held, charged) = (Credits(rng.below(2) * 5), Credits(rng.below(2) * 7));
        let answer = (state == State::Answered).then(|| vec![attempts as u8, 0, 255]);
        let record = format!("record {}", rng.below(3));
        let body = (rng.below(2) == 0).then(|| vec![b'{', 0, b'}']);
        Told { key, state, attempts, generation, revision, held, charged, record, body, answer }
    }

    fn reading(&mut self) -> BalanceReading {
        Account::default().reading(Credits(1_000 - self.rng.below(5)), self.rng.below(9) as i64)
    }
}

impl Both {
    /// Both books show the same, and the same as when they last wrote.
    async fn see(&mut self) {
        let [now, _] = std::mem::take(&mut self.seen);
        let (real, model) = (self.real.seen().await.ok(), self.model.seen().await.ok());
        let shown = |seen: &Option<Seen>| seen.as_ref().map(|seen| (seen.version.number, seen.shared));
        assert_eq!(shown(&real), shown(&model));
        self.seen = [real.zip(model).unwrap_or_default(), now];
    }

    async fn same_lines(&self) {
        let keys: Vec<IdempotencyKey> = (0..3).filter_map(|key| IdempotencyKey::from_slice(&[key; 16])).collect();
        let by_key = |mut lines: Vec<Line>| {
            lines.sort_by_key(|line| line.told.key);
            lines
        };
        let (real, model) = (self.real.lines(&keys, true).await.unwrap(), self.model.lines(&keys, true).await.unwrap());
        assert_eq!(by_key(real), by_key(model));
    }
}

async fn sequence(address: &Address, seed: u64) {
    let account = AccountName { origin: "https://service.example".to_owned(), name: seed.to_string() };
    let mut books = Books { address: address.clone(), account, model: ModelBook::default(), rng: Rng::new(seed) };
    let mut workers = vec![books.enter("1", "a").await, books.enter("2", "b").await];
    for _ in 0..24 {
        let at = books.rng.below(workers.len() as u64) as usize;
        let stale = usize::from(books.rng.below(5) == 0);
        let (real, model) = workers[at].seen[stale].clone();
        let (told, more) = (books.told(), books.told());
        let both = &mut workers[at];
        match books.rng.below(12) {
            0..=3 => {
                let claimed = (both.real.claim(&real, &told).await, both.model.claim(&model, &told).await);
                assert_eq!(claimed.0.ok(), claimed.1.ok(), "seed {seed}: claim {told:?}");
            }
            4..=7 => {
                let mut all = vec![told];
                all.extend(Some(more).filter(|more| more.key != all[0].key));
                let done = (both.real.tell(&real, &all).await, both.model.tell(&model, &all).await);
                assert_eq!(done.0.ok(), done.1.ok(), "seed {seed}: tell {all:?}");
            }
            8 => {
                let reading = books.reading();
                let done =
                    (both.real.balance(&real, reading, None).await, both.model.balance(&model, reading, None).await);
                assert_eq!(done.0.ok(), done.1.ok(), "seed {seed}: balance");
            }
            9 => {
                let done = (both.real.here(true).await, both.model.here(true).await);
                assert_eq!(done.0.ok(), done.1.ok(), "seed {seed}: leave");
            }
            // The same ledger enters at once: the worker before is taken for dead.
            10 => {
                let (partition, ledger) = *books.rng.pick(&[("1", "a"), ("2", "b")]);
                workers.push(books.enter(partition, ledger).await);
            }
            _ => both.same_lines().await,
        }
        workers[at].see().await;
        workers[at].same_lines().await;
    }
}

#[tokio::test]
async fn random_statements_have_the_same_answers_as_in_the_book_in_memory() {
    let Some(postgres) = Postgres::with_book() else { return };
    let address = Address::new(&SecretString::from(postgres.url("etl"))).unwrap();
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(25);
    for seed in 0..seeds {
        sequence(&address, seed).await;
    }
    let wrong = "SELECT count(*) FROM rescreen.partition p WHERE (charged, held) <> (SELECT coalesce(sum(charged), 0),
                 coalesce(sum(held), 0) FROM rescreen.request r WHERE r.partition = p.id)";
    assert_eq!(postgres.sql(wrong), "0", "the sums of the partitions are those of their requests");
}

#[tokio::test]
async fn a_new_ledger_enters_a_partition_that_was_left_and_its_lines_are_its_own() {
    let Some(postgres) = Postgres::with_book() else { return };
    let address = Address::new(&SecretString::from(postgres.url("etl"))).unwrap();
    let account = AccountName { origin: "https://service.example".to_owned(), name: "x".to_owned() };
    let mut books = Books { address, account, model: ModelBook::default(), rng: Rng::new(1) };
    let first = books.enter("1", "a").await;
    let told = Told { state: State::Answered, attempts: 1, ..books.told() };
    let (real, model) = first.seen[0].clone();
    assert!(first.real.tell(&real, std::slice::from_ref(&told)).await.unwrap());
    assert!(first.model.tell(&model, std::slice::from_ref(&told)).await.unwrap());
    first.real.here(true).await.unwrap();
    first.model.here(true).await.unwrap();
    let next = books.enter("1", "b").await;
    next.same_lines().await;
    let lines = next.real.lines(&[told.key], true).await.unwrap();
    assert_eq!(lines, [Line { owner: Owner::Us { is_of_ledger: false }, told }]);
    assert!(first.real.seen().await.is_err() && first.real.here(false).await.is_err(), "it is not the first one's");
    assert_ne!(next.seen[0].0.shared, Shared::default());
}
