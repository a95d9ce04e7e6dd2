//! Deliveries over real connections, to a receiver that is made by hand.

use super::{receivers::SECRET, service::business};
use crate::support::{
    http::{Connection, Message, Port, head},
    program::{until, wait_until},
    service::{Service, lifted},
};
use rescreen::simulator::Settings;
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// A receiver that gives the nth delivery its nth reply, and all further ones the last.
struct Receiver {
    port: Port,
    got: Arc<Mutex<Vec<Message>>>,
    /// The most connections at once.
    most: Arc<AtomicUsize>,
}

impl Receiver {
    fn open(replies: &'static [&'static str]) -> Receiver {
        Receiver::that_waits(replies, || ())
    }

    /// The same, which does this before each reply.
    fn that_waits(replies: &'static [&'static str], waits: impl Fn() + Send + Sync + 'static) -> Receiver {
        let (got, most) = (Arc::<Mutex<Vec<Message>>>::default(), Arc::<AtomicUsize>::default());
        let (all, highest, open) = (Arc::clone(&got), Arc::clone(&most), AtomicUsize::new(0));
        let port = Port::open(move |stream| {
            let mut connection = Connection::of(stream);
            highest.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let one = connection.read()?;
            let nth = {
                let mut got = all.lock().unwrap();
                got.push(one);
                got.len() - 1
            };
            waits();
            open.fetch_sub(1, Ordering::SeqCst);
            let status = replies[nth.min(replies.len() - 1)];
            connection.write(head(&format!("{status}\r\nconnection: close"), 0))
        });
        Receiver { port, got, most }
    }

    fn url(&self) -> String {
        format!("{}/hooks/1?a=b", self.port.url())
    }

    /// Waits for this many deliveries.
    fn wait_for(&self, count: usize) -> Vec<Message> {
        wait_until(&format!("{count} deliveries"), || self.got.lock().unwrap().len() >= count);
        self.got.lock().unwrap().clone()
    }
}

fn event(got: &Message) -> Value {
    serde_json::from_slice(&got.body).unwrap()
}

/// Submits a job, and returns the reply.
async fn submit(service: &Service, receiver: &Receiver, number: u32) -> Value {
    let mut body = business("production", number);
    (body["webhookUrl"], body["webhookSecret"]) = (receiver.url().into(), SECRET.into());
    let _ = rustls::crypto::ring::default_provider().install_default();
    let request = reqwest::Client::new().post(format!("{}/business-bank-account-verification", service.url));
    let request = request.header("x-api-key", "own").header("Idempotency-Key", format!("key-{number:04}"));
    let reply = request.body(body.to_string()).send().await.unwrap();
    assert_eq!(reply.status(), 202);
    let bytes = reply.bytes().await.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn settings(job_time: Duration) -> Settings {
    Settings { job_time: Some(job_time), ..lifted() }
}

#[tokio::test]
async fn an_event_is_posted_without_any_further_request() {
    let service = Service::start(settings(Duration::from_millis(200)));
    let receiver = Receiver::open(&["204 No Content"]);
    let accepted = submit(&service, &receiver, 1).await;
    let got = receiver.wait_for(1).remove(0);
    assert_eq!(got.line(), "POST /hooks/1?a=b HTTP/1.1");
    assert_eq!(
        (got.header("content-type").unwrap(), got.header("x-service-event-id").unwrap()),
        ("application/json", event(&got)["id"].as_str().unwrap())
    );
    assert!(got.header("x-service-signature").unwrap().starts_with("v1="));
    assert_eq!(event(&got)["data"]["jobId"], accepted["jobId"]);
    until("a delivery", async || service.simulator.stats().delivered > 0).await;
    assert_eq!((service.simulator.stats().deliveries, service.simulator.stats().credits_charged), (1, 7));
}

#[tokio::test]
async fn no_redirect_is_followed_and_a_failure_is_repeated() {
    let service = Service::start(Settings { time_scale: 60, ..settings(Duration::ZERO) });
    let receiver = Receiver::open(&["307 Temporary Redirect\r\nlocation: /elsewhere", "200 OK"]);
    submit(&service, &receiver, 1).await;
    let got = receiver.wait_for(2);
    assert!(got.iter().all(|one| one.line().starts_with("POST /hooks/1")), "{got:?}");
    assert_eq!(
        (&got[0].body, got[0].header("x-service-event-id").unwrap()),
        (&got[1].body, got[1].header("x-service-event-id").unwrap())
    );
}

#[tokio::test]
async fn an_early_event_arrives_before_its_reply() {
    let faults = "early:1".parse().unwrap();
    let service = Service::start(Settings { job_faults: faults, ..settings(Duration::from_secs(3_600)) });
    let receiver = Receiver::open(&["200 OK"]);
    let accepted = submit(&service, &receiver, 1).await;
    assert_eq!(receiver.got.lock().unwrap().len(), 1, "the reply came first");
    let got = receiver.wait_for(1).remove(0);
    assert_eq!((&event(&got)["data"]["jobId"], &accepted["status"]), (&accepted["jobId"], &json!("pending")));
}

/// How long deliveries take.
mod timed {
    use super::*;
    use std::time::Instant;

    #[tokio::test]
    #[ignore = "timed: make gauntlet"]
    async fn a_failed_delivery_is_repeated_after_its_time() {
        let service = Service::start(Settings { time_scale: 60, ..settings(Duration::ZERO) });
        let receiver = Receiver::open(&["307 Temporary Redirect\r\nlocation: /elsewhere", "200 OK"]);
        submit(&service, &receiver, 1).await;
        receiver.wait_for(1);
        let first = Instant::now();
        receiver.wait_for(2);
        let apart = first.elapsed();
        assert!((Duration::from_millis(900)..Duration::from_secs(5)).contains(&apart), "{apart:?}");
    }

    #[tokio::test]
    #[ignore = "timed: make gauntlet"]
    async fn at_most_sixteen_deliveries_are_under_way() {
        let service = Service::start(settings(Duration::from_secs(1)));
        let receiver = Receiver::that_waits(&["200 OK"], || std::thread::sleep(Duration::from_millis(300)));
        for number in 0..40 {
            submit(&service, &receiver, number).await;
        }
        assert_eq!(receiver.wait_for(40).len(), 40);
        let most = receiver.most.load(Ordering::SeqCst);
        assert!((2..=16).contains(&most), "{most}");
    }
}
