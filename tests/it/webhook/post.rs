//! Deliveries as raw bytes, signed by code that shares nothing with the program, and a receiver to send them to.

use crate::support::program::wait_until;
use hmac::{Hmac, KeyInit, Mac};
use rescreen::webhook::{Inbox, PATH, Received, ReceiverId, Unread, WebhookSecret, receive};
use sha2::Sha256;
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    path::PathBuf,
    thread::JoinHandle,
    time::{Duration, SystemTime},
};
use tempfile::TempDir;
use tokio::sync::oneshot;

pub const SECRET: &str = "a_secret_of_more_than_thirty-two_characters";
pub const RECEIVER: &str = "3f2c0d1e-9f0a-4b5c-8d7e-000000000000";

/// A receiver in a thread of its own.
pub struct Post {
    folder: TempDir,
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Received>>,
}

impl Post {
    pub fn open() -> Post {
        let folder = tempfile::tempdir().unwrap();
        let mut inbox = Inbox::open(&folder.path().join("inbox.sqlite")).unwrap();
        inbox.register(&receiver(), &secret(), 1).unwrap();
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let address = socket.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(socket).unwrap();
                receive(inbox, listener, async { drop(stopped.await) }).await.unwrap()
            })
        });
        Post { folder, address, stop: Some(stop), thread: Some(thread) }
    }

    pub fn inbox(&self) -> PathBuf {
        self.folder.path().join("inbox.sqlite")
    }

    /// What the inbox has for the receiver.
    pub fn events(&self) -> Vec<Unread> {
        Inbox::open(&self.inbox()).unwrap().after(&[receiver()], 0, 1_000_000).unwrap()
    }

    /// Tells the receiver to stop.
    pub fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Stops the receiver and waits until it has ended.
    pub fn close(mut self) -> (Received, TempDir) {
        self.stop();
        let received = self.thread.take().unwrap().join().unwrap();
        (received, self.folder)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// Sends a request, and reads the status of the reply; 0 if the connection ended without one.
    pub fn send(&self, request: &[u8]) -> u16 {
        let mut stream = self.connect();
        // The receiver may have ended the connection already.
        let _ = stream.write_all(request);
        status(&mut stream)
    }
}

/// Reads the status of the next reply.
pub fn status(stream: &mut TcpStream) -> u16 {
    let mut reply = Vec::new();
    let mut byte = [0];
    while !reply.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        reply.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&reply).into_owned();
    text.split(' ').nth(1).map_or(0, |status| status.parse().unwrap())
}

pub fn receiver() -> ReceiverId {
    ReceiverId::new(RECEIVER).unwrap()
}

pub fn secret() -> WebhookSecret {
    WebhookSecret::new(SECRET.to_owned().into()).unwrap()
}

pub fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

/// The signature with the usual secret.
pub fn signature(timestamp: &str, body: &[u8]) -> String {
    signature_with(SECRET, timestamp, body)
}

/// The signature of another program's making.
pub fn signature_with(secret: &str, timestamp: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{timestamp}.").as_bytes());
    mac.update(body);
    let digest = mac.finalize().into_bytes();
    format!("v1={}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

pub fn body(event: u64) -> Vec<u8> {
    let data = format!(r#"{{"jobId":"job_{event}","status":"completed","mode":"production","creditsUsed":7}}"#);
    format!(r#"{{"id":"evt_{event}","type":"foreign_bank.verification.completed","data":{data}}}"#).into_bytes()
}

/// A request with these headers after the usual ones.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: receiver\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    [head.as_bytes(), b"\r\n", body].concat()
}

/// Sends the beginning of a genuine delivery, and waits until the receiver reads its body. Returns the end.
pub fn begun(stream: &mut TcpStream, event: u64) -> Vec<u8> {
    let (timestamp, body) = (now().to_string(), body(event));
    let signature = signature(&timestamp, &body);
    let headers =
        [("x-service-timestamp", &*timestamp), ("x-service-signature", &signature), ("expect", "100-continue")];
    let delivery = request("POST", &format!("{PATH}{RECEIVER}"), &headers, &body);
    let (begin, end) = delivery.split_at(delivery.len() - 10);
    stream.write_all(begin).unwrap();
    assert_eq!(status(stream), 100, "the receiver asks for the body");
    end.to_owned()
}

/// Waits until a receiver that was told to stop accepts no connection.
pub fn wait_until_closed(address: impl ToSocketAddrs) {
    let address = address.to_socket_addrs().unwrap().next().unwrap();
    wait_until("a closed port", || TcpStream::connect(address).is_err());
}

/// A genuine delivery.
pub fn genuine(event: u64) -> Vec<u8> {
    let (timestamp, body) = (now().to_string(), body(event));
    let (id, signature) = (format!("evt_{event}"), signature(&timestamp, &body));
    let headers =
        [("x-service-event-id", &*id), ("x-service-timestamp", &timestamp), ("x-service-signature", &signature)];
    request("POST", &format!("{PATH}{RECEIVER}"), &headers, &body)
}
