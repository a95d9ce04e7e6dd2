//! The requests of the checks with jobs, byte for byte as they are on the wire: method, path, headers and body.

use super::{AFRICA, BUSINESS, FOREIGN, world};
use crate::support::{answering::Answering, service::lifted};
use axum::{
    body::Body,
    http::{Method, Request},
};
use rescreen::{
    model::SIMULATOR_MARKER,
    simulator::{Settings, Simulator},
};
use std::sync::{Arc, Mutex};

/// What a service was sent, as text: the request line, the headers that matter, and the body.
async fn sent(check: &str, price: u64) -> String {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let simulator = Simulator::new(Settings { prices: [(check.to_owned(), price)].into(), ..lifted() });
    let noted = Arc::clone(&heard);
    let answering = Answering::start(move |parts, body| async move {
        if parts.method == Method::POST {
            let header = |name: &str| parts.headers.get(name).map_or("-", |value| value.to_str().unwrap());
            let key = header("idempotency-key");
            assert_eq!(key.len(), 36, "a UUID");
            let text = std::str::from_utf8(&body).unwrap();
            let line = format!(
                "{} {}\ncontent-type: {}\nidempotency-key: {key}\n{text}",
                parts.method,
                parts.uri.path(),
                header("content-type"),
            );
            noted.lock().unwrap().push(line);
        }
        let response = simulator.exchange(Request::from_parts(parts, Body::from(body))).await;
        assert!(response.headers().contains_key(SIMULATOR_MARKER));
        response
    });
    let mut world = world(check, 1, price).may_lose_checks("they are sent to another server");
    world = world.campaign(|file| file.service.url = Some(answering.url.clone()));
    drop(world.run().await);
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 1, "{heard:?}");
    heard[0].clone()
}

/// `RESCREEN_WRITE_GOLDEN=1` writes the file again. A key that differs from it would be charged again.
#[tokio::test]
async fn the_request_of_each_check_is_frozen() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/jobs/requests.txt");
    let mut found = Vec::new();
    for (check, price) in [(FOREIGN, 6), (BUSINESS, 7), (AFRICA, 4)] {
        found.push(format!("# {check}\n{}\n", sent(check, price).await));
    }
    let found = found.join("\n");
    if std::env::var_os("RESCREEN_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(&path).unwrap());
}
