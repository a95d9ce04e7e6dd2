//! Any bytes as the reply that names the place for a document. The document is sent only to the service itself, or over
//! https to a host that the user allows, and the reply sets none of the headers that the program sets. What is said about
//! a reply is harmless to a terminal.

use rescreen::client::{ApiKey, Auth, Begun, Client, Exchange, Reply, Said, Settings};
use std::{
    sync::LazyLock,
    time::{Duration, UNIX_EPOCH},
};

static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    Client::new(&Settings {
        url: "https://service.example/api".to_owned(),
        auth: Auth::XApiKey,
        api_key: ApiKey::new("test".to_owned().into()),
        in_flight: 1,
        proxy: None,
        proxy_auth: None,
        ca_file: None,
        in_process: None,
        upload_hosts: vec!["uploads.example".to_owned(), "other.example:8443".to_owned()],
        known_secrets: Vec::new(),
    })
    .expect("the settings are valid")
});

const ORIGINS: [&str; 3] = ["https://service.example", "https://uploads.example", "https://other.example:8443"];
const NEVER_SET: [&str; 6] = ["x-api-key", "authorization", "idempotency-key", "host", "content-length", "cookie"];

pub fn check(data: &[u8]) {
    let reply = Reply { status: 200, body: Some(data.to_vec()), ..Reply::default() };
    let exchange = Exchange { reply: Ok(reply), latency: Duration::ZERO, room: Default::default() };
    match CLIENT.begun(&Said::of(&exchange, UNIX_EPOCH)) {
        Begun::Place(ticket) => {
            let origin = ticket.url().origin().ascii_serialization().replace("example.", "example");
            assert!(ORIGINS.contains(&origin.as_str()), "{origin}");
            assert!((1..=8 * 1024).contains(&ticket.reference.len()));
            for (name, value) in ticket.headers() {
                assert!(!NEVER_SET.contains(&name.as_str()), "{name}");
                assert!(value.to_str().is_ok_and(|text| !text.contains(['\r', '\n'])), "{name}");
            }
        }
        Begun::Unusable(message) => assert!(!message.chars().any(char::is_control), "{message:?}"),
        Begun::NotBegun => {}
        Begun::Refused => panic!("HTTP 200 refuses nothing"),
    }
}
