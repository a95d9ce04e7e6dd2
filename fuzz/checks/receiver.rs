//! Any bytes as a request to the receiver of deliveries, over a real connection. No case has a
//! signature with the current time, so nothing is accepted, nothing is stored, and the receiver still runs.

use rescreen::webhook::{Inbox, ReceiverId, WebhookSecret, receive};
use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    path::PathBuf,
    sync::LazyLock,
    time::Duration,
};

const RECEIVER: &str = "3f2c0d1e-9f0a-4b5c-8d7e-000000000000";
const PROBE: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

struct Listening {
    address: SocketAddr,
    inbox: PathBuf,
}

static RUNNING: LazyLock<Listening> = LazyLock::new(|| {
    // It lasts as long as the process.
    let inbox = tempfile::tempdir().expect("a folder").keep().join("inbox.sqlite");
    let mut opened = Inbox::open(&inbox).expect("an inbox");
    let secret = WebhookSecret::new("a_secret_of_more_than_thirty-two_characters".to_owned().into());
    opened.register(&receiver(), &secret.expect("it is long enough"), 1).expect("a receiver");
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    socket.set_nonblocking(true).expect("a socket");
    let address = socket.local_addr().expect("an address");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(socket).expect("a socket");
            receive(opened, listener, std::future::pending()).await.expect("the receiver still runs")
        })
    });
    Listening { address, inbox }
});

fn receiver() -> ReceiverId {
    ReceiverId::new(RECEIVER).expect("it is an id")
}

pub fn check(data: &[u8]) {
    // Without an end, the receiver would wait for the rest of a request.
    let replies = sent(data, true);
    let is_accepted = replies.split("HTTP/1.").skip(1).any(|reply| reply[1..].trim_start().starts_with('2'));
    assert!(!is_accepted, "{replies}");
    assert!(sent(PROBE, false).starts_with("HTTP/1.1 404"), "the receiver still runs");
    let events = Inbox::open(&RUNNING.inbox).and_then(|inbox| inbox.after(&[receiver()], 0, 1)).expect("an inbox");
    assert!(events.is_empty(), "nothing is stored");
}

/// Sends bytes, and reads what the receiver replies until it ends the connection.
fn sent(data: &[u8], ends: bool) -> String {
    let mut stream = TcpStream::connect(RUNNING.address).expect("the receiver still runs");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a connection");
    // The receiver may have ended the connection already.
    let _ = stream.write_all(data);
    if ends {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut replies = Vec::new();
    let _ = stream.read_to_end(&mut replies);
    String::from_utf8_lossy(&replies).into_owned()
}
