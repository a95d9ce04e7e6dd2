//! All orders in which the 202, the delivery, its repetition, a question and a crash can come. Whatever the order, the
//! request ends answered and is charged once.

use super::*;
use crate::{
    ledger::{DeliveryMark, Due, JobReport},
    model::{
        JobId,
        job_life::{ASK_MIN, JobSign},
        state::JobEnd,
    },
};

const SEVEN: Credits = Credits(7);
const DEPTH: usize = 6;

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// The request is sent, and the reply names its job.
    Accepted,
    /// The service delivers word of the job.
    Delivery,
    /// It delivers the same again.
    Repetition,
    /// The job is asked for, if it is due.
    Question,
    /// The process dies before it records what comes next, and is started again.
    Crash,
}

const EVENTS: [Event; 5] = [Event::Accepted, Event::Delivery, Event::Repetition, Event::Question, Event::Crash];

/// One request, its ledger, and the service, which has the result of a job at once.
struct Story {
    book: Book,
    /// The service has the job. It charges once for each.
    has_job: bool,
    service_charges: u64,
    deliveries: i64,
    dies: bool,
}

impl Story {
    async fn begin() -> Story {
        let book = Book { job_hold: SEVEN, ..Book::new().await };
        Story { book, has_job: false, service_charges: 0, deliveries: 0, dies: false }
    }

    fn job() -> JobId {
        JobId::new("job_1").unwrap()
    }

    fn state(&self) -> State {
        let sums = self.book.ledger.sums();
        // The second request is never sent.
        State::ALL
            .into_iter()
            .find(|state| *state != State::Planned && sums.in_state(*state) > 0)
            .unwrap_or(State::Planned)
    }

    /// Lets an event happen. Returns whether it could.
    async fn happens(&mut self, event: Event) -> bool {
        match event {
            Event::Accepted if matches!(self.state(), State::Planned | State::InDoubt) => self.send().await,
            Event::Delivery if self.has_job && self.deliveries == 0 => self.deliver().await,
            Event::Repetition if self.deliveries > 0 => self.deliver().await,
            Event::Question if self.state() == State::Submitted => self.ask().await,
            Event::Crash if !self.dies => self.dies = true,
            _ => return false,
        }
        true
    }

    /// Whether what was just about to be recorded is lost, because the process dies.
    async fn is_lost(&mut self) -> bool {
        if !std::mem::take(&mut self.dies) {
            return false;
        }
        self.restart().await;
        true
    }

    async fn restart(&mut self) {
        let path = self.book.folder.path().join("ledger.sqlite");
        let identity = self.book.reading().identity().unwrap();
        let closed = tempfile::tempdir().unwrap();
        // The lock must be free before the ledger is opened again.
        let other = Ledger::open(&closed.path().join("ledger.sqlite"), &identity, CommitMode::Inline, 1).unwrap();
        drop(std::mem::replace(&mut self.book.ledger, other));
        self.book.ledger = Ledger::open(&path, &identity, CommitMode::Inline, self.book.now_us).unwrap();
        self.book.ledger.recover(self.book.now_us).await.unwrap();
    }

    /// The key is the same each time, so the service has one job.
    async fn send(&mut self) {
        let sent = self.book.sent(FIRST).await;
        if !std::mem::replace(&mut self.has_job, true) {
            self.service_charges += SEVEN.0;
        }
        if !self.is_lost().await {
            let change = |reply: &mut Settlement| (reply.job, reply.answer) = (Some(Story::job()), None);
            self.book.settled(sent, Outcome::Accepted { stated: None }, change).await;
        }
    }

    async fn deliver(&mut self) {
        self.deliveries += 1;
        if !self.is_lost().await {
            let (number, now_us) = (self.deliveries, self.book.now_us);
            let read_to = DeliveryMark { inbox: "inbox".to_owned(), number };
            self.book.ledger.note_deliveries(vec![Story::job()], read_to, now_us).await.unwrap();
        }
    }

    async fn ask(&mut self) {
        let due = self.book.reading().due_jobs("scope", Due::At(self.book.now_us), 9).unwrap();
        assert!(due.iter().all(|job| (job.request, &job.id) == (FIRST, &Story::job())));
        if !due.is_empty() && !self.is_lost().await {
            let answer = AnswerRecord {
                requested_at_us: due[0].accepted_at_us,
                request_id: None,
                judgement: Judgement::unrecognised(),
                dataset: None,
                body: b"{}".to_vec(),
            };
            let report = JobReport {
                request: FIRST,
                check: CHECK.to_owned(),
                id: Story::job(),
                sign: JobSign::Ended(JobEnd::Completed { stated: Some(SEVEN) }),
                wait: None,
                table: PRICE,
                http_status: Some(200),
                heard: None,
                latency_ms: 1,
                now_us: self.book.now_us,
                stated: Credits::ZERO,
                answer: Some(answer),
                failure: refused(),
                server_offset_us: None,
            };
            self.book.ledger.follow(report).await.unwrap();
        }
    }

    /// The next run sends what is left, and asks for the job when it is due.
    async fn ends(mut self, order: &[Event]) {
        self.dies = false;
        self.happens(Event::Accepted).await;
        assert!(matches!(self.state(), State::Submitted | State::Answered), "{order:?}");
        self.book.now_us += i64::try_from(ASK_MIN.as_micros()).unwrap();
        self.happens(Event::Question).await;
        let (sums, reading) = (self.book.ledger.sums(), self.book.reading());
        assert_eq!((self.state(), sums.in_state(State::Answered)), (State::Answered, 1), "{order:?}");
        assert_eq!((sums.account.charged.0, sums.account.held.0), (self.service_charges, 0), "{order:?}");
        assert_eq!(self.service_charges, SEVEN.0, "{order:?}");
        assert_eq!(reading.open_jobs(None).unwrap().count, 0, "{order:?}");
        assert!(super::super::recount::matches(&reading.conn, &sums, true).unwrap(), "{order:?}");
    }
}

#[tokio::test]
async fn in_every_order_of_six_events_a_job_is_answered_and_charged_once() {
    let mut orders: Vec<Vec<Event>> = vec![Vec::new()];
    let mut played = 0;
    for _ in 0..DEPTH {
        let mut longer = Vec::new();
        for order in &orders {
            for event in EVENTS {
                let mut story = Story::begin().await;
                for before in order {
                    assert!(story.happens(*before).await);
                }
                // An event that cannot happen leaves an order that was already played.
                if story.happens(event).await {
                    let order = [order.as_slice(), &[event]].concat();
                    story.ends(&order).await;
                    longer.push(order);
                    played += 1;
                }
            }
        }
        orders = longer;
    }
    println!("{played} orders");
    assert!(played > 250, "{played} orders");
}

#[tokio::test]
async fn a_delivery_makes_its_job_due_at_once_whether_it_comes_before_the_202_or_after() {
    for is_early in [true, false] {
        let mut story = Story::begin().await;
        story.has_job = is_early;
        let order = if is_early { [Event::Delivery, Event::Accepted] } else { [Event::Accepted, Event::Delivery] };
        for event in order {
            assert!(story.happens(event).await);
        }
        let due = story.book.reading().due_jobs("scope", Due::At(story.book.now_us), 9).unwrap();
        assert_eq!(due.len(), 1, "{is_early}");
        let other = story.book.reading().due_jobs("another", Due::At(story.book.now_us), 9).unwrap();
        assert!(other.is_empty(), "only its API key can ask for it");
    }
    let mut story = Story::begin().await;
    story.happens(Event::Accepted).await;
    assert!(story.book.reading().due_jobs("scope", Due::At(story.book.now_us), 9).unwrap().is_empty(), "not due yet");
}
