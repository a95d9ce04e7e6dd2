//! All orders in which the 202, the delivery, its repetition, a question and a crash can come, with the whole pipeline
//! under paused time: the same end, and one charge. The delivery is the one that the simulated service makes; it goes
//! through the check of its signature into the inbox. `ledger::money_tests::job_orders` plays orders of the ledger alone,
//! in which every commit can be lost.

use super::{BUSINESS, world};
use crate::support::{
    ran::{Ran, results},
    world::World,
};
use rescreen::{
    model::state::State,
    simulator::SignedDelivery,
    webhook::{Delivery, Inbox, PATH, ReceiverId, verify},
};
use std::time::Duration;

const DEPTH: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// A run sends the request, and the reply names its job.
    Accepted,
    /// The service delivers word of the job.
    Delivery,
    /// It delivers the same again.
    Repetition,
    /// The job is asked for.
    Question,
    /// The next reply or delivery is lost, as if the process had died.
    Crash,
}

const EVENTS: [Event; 5] = [Event::Accepted, Event::Delivery, Event::Repetition, Event::Question, Event::Crash];

struct Story {
    world: World,
    last: Option<Ran>,
    delivery: Option<SignedDelivery>,
    dies: bool,
    minutes: u64,
}

impl Story {
    fn begin() -> Story {
        // The job of this row has a result: the simulator fails only some.
        let world = world(BUSINESS, 1, 7)
            .under_paused_time()
            .service(|settings| settings.job_time = Some(Duration::ZERO))
            .campaign(|file| file.webhook.url = Some("http://127.0.0.1:9".to_owned()));
        Story { world, last: None, delivery: None, dies: false, minutes: 0 }
    }

    fn state(&self) -> State {
        let Some(ran) = &self.last else { return State::Planned };
        State::ALL.into_iter().find(|state| ran.report().sums.in_state(*state) > 0).unwrap_or(State::Planned)
    }

    async fn happens(&mut self, event: Event) -> bool {
        match event {
            Event::Accepted if matches!(self.state(), State::Planned | State::InDoubt) => self.run().await,
            Event::Delivery if self.delivery.is_none() => return self.deliver(),
            Event::Repetition if self.delivery.is_some() => self.store(),
            Event::Question if self.state() == State::Submitted => self.ask().await,
            Event::Crash if !self.dies => self.dies = true,
            _ => return false,
        }
        true
    }

    async fn run(&mut self) {
        let dies = std::mem::take(&mut self.dies);
        if dies {
            self.world.paused().loses_answers();
        }
        // A request in doubt is sent several times in one run. A run without time may end before it sends anything.
        let mut seconds = if dies { 0 } else { 60 };
        self.last = Some(self.world.run_for(Duration::from_secs(seconds)).await);
        while self.last.as_ref().is_some_and(|ran| ran.stats.jobs == 0) {
            seconds += 1;
            self.last = Some(self.world.run_for(Duration::from_secs(seconds)).await);
        }
        self.world.paused().works_again();
    }

    async fn ask(&mut self) {
        if std::mem::take(&mut self.dies) {
            self.world.paused().says_about_jobs(|_, _| Some((502, String::new())));
        }
        self.later().await;
        let ran = self.world.collect(None).await;
        self.world.paused().works_again();
        self.last = Some(ran);
    }

    async fn later(&mut self) {
        self.minutes += 3;
        self.world.paused().at_hours_minutes(0, self.minutes).await;
    }

    /// The delivery of the service, if it has the job by now.
    fn deliver(&mut self) -> bool {
        let simulator = self.world.running_service().simulator.clone();
        let Some(delivery) = simulator.deliveries_due().pop() else { return false };
        self.delivery = Some(delivery);
        if !std::mem::take(&mut self.dies) {
            self.store();
        }
        true
    }

    /// What the receiver does with it.
    fn store(&mut self) {
        let delivery = self.delivery.as_ref().unwrap();
        let mut inbox = Inbox::open(&self.world.path("state/webhooks/inbox.sqlite")).unwrap();
        let id = ReceiverId::new(delivery.url.rsplit_once(PATH).unwrap().1).unwrap();
        let secret = inbox.secret(&id).unwrap().expect("the receiver is known before anything is sent");
        let [event_id, timestamp, signature] = delivery.headers.each_ref().map(|(_, value)| value.as_str());
        verify(&secret, timestamp, signature, &delivery.body, timestamp.parse().unwrap()).unwrap();
        let read = Delivery::read(delivery.body.clone(), Some(event_id)).unwrap();
        inbox.put(&[(id, read)], 1).unwrap();
    }

    async fn ends(mut self, order: &[Event]) {
        self.dies = false;
        self.happens(Event::Accepted).await;
        self.happens(Event::Question).await;
        let ran = self.last.unwrap().counts(results(1)).adds_up(true);
        let sums = &ran.report().sums;
        assert_eq!((sums.account.charged.0, sums.account.held.0), (7, 0), "{order:?}");
        assert_eq!((ran.stats.charges, ran.stats.jobs, ran.stats.distinct_keys), (1, 1, 1), "{order:?}");
    }
}

/// Which orders are possible still depends on how soon the threads of a run are scheduled.
mod timed {
    use super::*;

    #[tokio::test(start_paused = true)]
    #[ignore = "timed: make gauntlet"]
    async fn in_every_order_of_six_events_a_row_has_one_result_and_one_charge() {
        let (mut orders, mut played) = (vec![Vec::new()], 0);
        for _ in 0..DEPTH {
            let mut longer = Vec::new();
            for order in &orders {
                for event in EVENTS {
                    let mut story = Story::begin();
                    for before in order {
                        assert!(story.happens(*before).await, "{order:?}");
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
        assert!(played > 60, "{played} orders");
    }
}
