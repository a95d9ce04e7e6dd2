//! Sends the deliveries that are due over HTTP, as long as a simulator is served. Jobs end here too when no request
//! arrives.

use super::{Simulator, deliveries::SignedDelivery};
use reqwest::{Client, redirect::Policy};
use std::time::Duration;
use tokio::{task::JoinSet, time::timeout};

/// The service's description: the receiver answers within 15 seconds.
const REPLY_TIME: Duration = Duration::from_secs(15);
/// The longest pause. The clock may be set, so a longer one is divided.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// The pause without jobs and deliveries. The arrival of a job ends it.
const IDLE_PAUSE: Duration = Duration::from_secs(3_600);

/// Sends the deliveries of a simulator, without end. [`super::serve()`] does this too.
pub async fn send_deliveries(simulator: &Simulator) {
    let mut client = None;
    let mut sending = JoinSet::new();
    loop {
        // Before the look at what is due, so that no change in between is missed.
        let changed = simulator.0.changed.notified();
        for delivery in simulator.deliveries_due() {
            // Most simulators never deliver anything, and need no client.
            let client = client.get_or_insert_with(self::client).clone();
            let simulator = simulator.clone();
            sending.spawn(async move {
                let number = delivery.number;
                let status = match client {
                    Some(client) => send(&client, delivery, REPLY_TIME).await,
                    None => None,
                };
                simulator.delivered(number, status);
            });
        }
        while sending.try_join_next().is_some() {}
        let pause = simulator.nothing_due_for().map_or(IDLE_PAUSE, |pause| pause.min(PAUSE_MAX));
        drop(timeout(pause, changed).await);
    }
}

/// A client that follows no redirect, uses no proxy and repeats nothing. Without one, every delivery fails.
fn client() -> Option<Client> {
    // A second installation in one process fails and changes nothing.
    drop(rustls::crypto::ring::default_provider().install_default());
    let builder = Client::builder().redirect(Policy::none()).retry(reqwest::retry::never()).no_proxy();
    let client = builder.user_agent("simulated-service").build();
    client.inspect_err(|error| tracing::error!("the simulator cannot deliver webhooks: {error}")).ok()
}

/// Sends one delivery: the status of the reply, or `None` if there is none in time.
async fn send(client: &Client, delivery: SignedDelivery, reply_time: Duration) -> Option<u16> {
    let mut request = client.post(delivery.url).header("content-type", "application/json");
    for (name, value) in delivery.headers {
        request = request.header(name, value);
    }
    let reply = timeout(reply_time, request.body(delivery.body).send()).await.ok()?.ok()?;
    Some(reply.status().as_u16())
}

#[cfg(test)]
mod timed {
    use super::*;
    use std::time::Instant;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    fn delivery(port: u16) -> SignedDelivery {
        let headers = ["x-service-event-id", "x-service-timestamp", "x-service-signature"];
        let headers = headers.map(|name| (name, "1".to_owned()));
        SignedDelivery { number: 1, url: format!("http://127.0.0.1:{port}/"), headers, body: b"{}".to_vec() }
    }

    #[tokio::test]
    #[ignore = "timed: make gauntlet"]
    async fn a_reply_in_time_has_a_status_and_a_late_one_has_none() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let receiving = tokio::spawn(async move {
            let (mut first, _) = listener.accept().await.unwrap();
            let mut request = [0; 1_000];
            assert!(first.read(&mut request).await.unwrap() > 0);
            first.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await.unwrap();
            drop(first);
            let (second, _) = listener.accept().await.unwrap();
            std::future::pending::<()>().await;
            drop(second);
        });
        let client = client().unwrap();
        assert_eq!(send(&client, delivery(port), REPLY_TIME).await, Some(204));
        let begun = Instant::now();
        assert_eq!(send(&client, delivery(port), Duration::from_millis(100)).await, None);
        assert!((Duration::from_millis(100)..REPLY_TIME).contains(&begun.elapsed()));
        receiving.abort();
        // Nobody listens any more.
        drop(receiving.await);
        assert_eq!(send(&client, delivery(port), REPLY_TIME).await, None);
    }
}
