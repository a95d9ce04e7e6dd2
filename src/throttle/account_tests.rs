//! An account that machines share, under paused time. The book is in memory and takes its time; each throttle represents
//! another machine.

use super::{throttle_tests::most_in_a_minute, *};
use crate::model::{
    Clock,
    shared_account::{AccountState, Version},
};
use futures::{FutureExt, future::BoxFuture};
use jiff::Timestamp;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

struct Memory {
    account: SyncMutex<AccountState>,
    clock: Clock,
    /// How long each question takes.
    takes: Duration,
    /// A book that writes whatever it is told, as a faulty one would.
    is_careless: bool,
    /// Every answer of this number is lost, although the record was written.
    loses: Option<u64>,
    written: AtomicU64,
    halted: AtomicBool,
}

impl Memory {
    fn new(takes_ms: u64) -> Memory {
        let origin: Timestamp = "2026-11-27T12:00:00Z".parse().unwrap();
        Memory {
            account: SyncMutex::default(),
            clock: Clock::driven(origin),
            takes: Duration::from_millis(takes_ms),
            is_careless: false,
            loses: None,
            written: AtomicU64::new(0),
            halted: AtomicBool::new(false),
        }
    }

    /// A throttle for each machine, once the account was idle for two minutes.
    async fn machines<const N: usize>(self, rate: Rate) -> (Arc<Memory>, [Throttle; N]) {
        let book = Arc::new(self);
        let machine = || Throttle::new(rate, Bucket::Book(Arc::clone(&book) as Arc<dyn SharedAccount>));
        let _permit = machine().admit().await.unwrap();
        tokio::time::sleep(Duration::from_secs(120)).await;
        let machines = std::array::from_fn(|_| machine());
        (book, machines)
    }
}

impl SharedAccount for Memory {
    fn read(&self) -> BoxFuture<'_, Result<AccountState, Stop>> {
        async {
            tokio::time::sleep(self.takes).await;
            if self.halted.load(Ordering::Relaxed) {
                return Err(Stop::Book { fault: "halted".to_owned(), is_away: true });
            }
            let account = self.account.lock().unwrap().clone();
            Ok(AccountState { now_us: self.clock.now_us(), ..account })
        }
        .boxed()
    }

    fn write(&self, version: Version, record: Vec<u8>) -> BoxFuture<'_, Result<bool, Stop>> {
        async move {
            tokio::time::sleep(self.takes).await;
            let mut account = self.account.lock().unwrap();
            if account.version != version && !self.is_careless {
                return Ok(false);
            }
            account.version.number += 1;
            account.record = Some(record);
            let written = self.written.fetch_add(1, Ordering::Relaxed);
            Ok(self.loses.is_none_or(|every| !written.is_multiple_of(every)))
        }
        .boxed()
    }

    fn pause(&self, pause: Duration) -> BoxFuture<'_, Result<(), Stop>> {
        self.account.lock().unwrap().paused = Some(pause);
        async { Ok(()) }.boxed()
    }

    fn halt<'a>(&'a self, _: &'a Stop, _: i64) -> BoxFuture<'a, Result<(), Stop>> {
        self.halted.store(true, Ordering::Relaxed);
        async { Ok(()) }.boxed()
    }

    fn hurry(&self) {}

    fn leave(&self) -> BoxFuture<'_, Result<(), Stop>> {
        async { Ok(()) }.boxed()
    }
}

/// When messages are sent if all machines send what they can for this long.
async fn sent<const N: usize>(machines: [Throttle; N], time: Duration) -> Vec<Instant> {
    let until = Instant::now() + time;
    let sending = machines.map(|machine| async move {
        let mut times = Vec::new();
        while let Ok(permit) = tokio::time::timeout_at(until, machine.admit()).await {
            let _permit = permit.unwrap();
            times.push(Instant::now());
        }
        times
    });
    let mut times = futures::future::join_all(sending).await.concat();
    times.sort();
    times
}

#[tokio::test(start_paused = true)]
async fn machines_share_one_rate_and_use_it() {
    for (per_minute, per_minute_max, takes_ms) in [(60, 60, 3), (60, 120, 3), (600, 720, 1), (600, 720, 10)] {
        let rate = Rate { per_minute, per_minute_max };
        let (_, machines) = Memory::new(takes_ms).machines::<4>(rate).await;
        let times = sent(machines, Duration::from_secs(300)).await;
        let most = most_in_a_minute(&times);
        assert!(most <= per_minute_max as usize, "{rate:?}, {takes_ms} ms: {most} in a minute");
        let share = times.len() as f64 / (5.0 * f64::from(per_minute));
        assert!(share > 0.99, "{rate:?}, {takes_ms} ms: {share} of the rate");
    }
}

#[tokio::test(start_paused = true)]
async fn a_book_that_does_not_compare_versions_would_let_too_many_through() {
    let rate = Rate { per_minute: 60, per_minute_max: 120 };
    let (_, machines) = Memory { is_careless: true, ..Memory::new(3) }.machines::<4>(rate).await;
    let most = most_in_a_minute(&sent(machines, Duration::from_secs(120)).await);
    assert!(most > 120, "{most}: the other tests could not find a fault");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_lost_costs_a_slot_and_never_sends_two() {
    let rate = Rate { per_minute: 60, per_minute_max: 120 };
    let (book, machines) = Memory { loses: Some(4), ..Memory::new(3) }.machines::<3>(rate).await;
    let times = sent(machines, Duration::from_secs(300)).await;
    assert!(most_in_a_minute(&times) <= 120);
    let written = book.written.load(Ordering::Relaxed);
    assert!(times.len() as u64 <= written && times.len() > 200, "{} of {written}", times.len());
}

/// A run drops its wait for a slot whenever anything else happens.
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_again_and_again_loses_no_slot() {
    let rate = Rate { per_minute: 60, per_minute_max: 60 };
    let (_, [machine]) = Memory::new(5).machines::<1>(rate).await;
    let (mut sent, until) = (0, Instant::now() + Duration::from_secs(300));
    while Instant::now() < until {
        if let Ok(permit) = tokio::time::timeout(Duration::from_millis(3), machine.admit()).await {
            let _permit = permit.unwrap();
            sent += 1;
        }
    }
    assert!(sent >= 297, "{sent} of 300");
}

#[tokio::test(start_paused = true)]
async fn a_permit_is_as_old_as_the_question_for_it_and_a_book_that_is_too_far_away_ends_the_run() {
    let (_, [machine]) = Memory::new(90).machines::<1>(Rate { per_minute: 60, per_minute_max: 120 }).await;
    let age = machine.admit().await.unwrap().age();
    assert_eq!(age, Duration::from_millis(180));
    let book = Arc::new(Memory::new(110));
    let far = Throttle::new(Rate::default(), Bucket::Book(book as Arc<dyn SharedAccount>));
    let begun = Instant::now();
    let stop = loop {
        // A run drops its wait again and again.
        if let Ok(admitted) = tokio::time::timeout(Duration::from_millis(500), far.admit()).await {
            break admitted.err().unwrap_or_else(|| panic!("a slot of 220 ms was used"));
        }
        assert!(begun.elapsed() < Duration::from_secs(180), "it never ends");
    };
    assert!(stop.to_string().contains("took 220 ms to give a slot of the rate"), "{stop}");
    assert!(begun.elapsed() > LATE_MAX, "a slow minute is waited for");
}

#[tokio::test(start_paused = true)]
async fn a_pause_and_a_halt_reach_all_machines() {
    let (book, [first, second]) = Memory::new(1).machines::<2>(Rate::default()).await;
    first.pause_all(Duration::from_secs(40));
    tokio::task::yield_now().await;
    let begun = Instant::now();
    let waits = async {
        let _permit = second.admit().await.unwrap();
    };
    let over = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        book.account.lock().unwrap().paused = None;
    };
    tokio::join!(waits, over);
    assert!(begun.elapsed() >= Duration::from_secs(40), "{:?}", begun.elapsed());
    book.account.lock().unwrap().paused = Some(Duration::from_secs(3_600));
    let stop = second.admit().await.unwrap_err();
    assert!(matches!(stop, Stop::PushedBack { .. }), "{stop}");
    book.account.lock().unwrap().paused = None;
    first.halt_all(&Stop::Unauthorised { status: 401 }, 0).await;
    assert!(second.admit().await.is_err());
}
