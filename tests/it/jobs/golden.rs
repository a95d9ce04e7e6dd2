//! The requests of the checks with jobs, byte for byte as they are on the wire: method, path, headers and body.

use super::{AFRICA, BUSINESS, FOREIGN, world};
use crate::support::{
    door::{Act, Door, Step},
    service::lifted,
};
use rescreen::simulator::Settings;

/// What a service was sent, as text: the request line, the headers that matter, and the body.
async fn sent(check: &str, price: u64) -> String {
    let settings = Settings { prices: [(check.to_owned(), price)].into(), ..lifted() };
    let door = Door::with(settings, |_, _| Act::Pass);
    drop(world(check, 1, price).sending_to(&door.url, door.arrivals()).run().await);
    let [seen] = &door.seen(Step::Check)[..] else { panic!("expected one check") };
    let header = |name: &str| seen.header(name).unwrap_or("-");
    let key = header("idempotency-key");
    assert_eq!(key.len(), 36, "a UUID");
    let text = std::str::from_utf8(&seen.body).unwrap();
    format!("POST {}\ncontent-type: {}\nidempotency-key: {key}\n{text}", seen.path, header("content-type"))
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
