//! A hand-written HTTP server: it records every message and answers with the bytes that a test gives it. It can use
//! TLS.

use crate::support::http::{self, Connection, Message, Port};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::{Arc, Mutex},
};

/// What happens to a message.
pub enum Answer {
    /// These bytes, and the connection stays open.
    Bytes(Vec<u8>),
    /// These bytes, and the connection is closed without notice.
    ThenClose(Vec<u8>),
    /// These bytes, and then zeros: this many mebibytes, or until the client stops reading.
    ThenZeros(Vec<u8>, usize),
    /// The connection is closed while bytes of the message are unread, so the client sees a reset.
    Reset,
}

/// The server. It serves until its test ends.
pub struct Wire {
    pub url: String,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    messages: Mutex<Vec<Message>>,
    /// Mebibytes of zeros that were received.
    taken: Mutex<usize>,
    /// Connections whose TLS handshake did not complete, with the error.
    refused: Mutex<Vec<String>>,
}

/// A connection, plain or with TLS.
trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

pub fn json(status: &str, body: &str) -> Vec<u8> {
    http::json(status, body).into()
}

/// A clear answer at one credit.
pub fn clear() -> Vec<u8> {
    json("200 OK", r#"{"success":true,"creditsUsed":1,"results":{"match":[]}}"#)
}

impl Wire {
    /// Balance queries are answered. The nth check, counted from 1, is answered by `answer`.
    pub fn new(answer: impl Fn(usize, &Message) -> Answer + Send + Sync + 'static) -> Wire {
        Wire::open("http", answer, |stream, _| Some(Box::new(stream)))
    }

    /// The same with TLS.
    pub fn behind_tls(
        config: Arc<ServerConfig>,
        answer: impl Fn(usize, &Message) -> Answer + Send + Sync + 'static,
    ) -> Wire {
        Wire::open("https", answer, move |mut stream, seen| {
            let mut tls = ServerConnection::new(config.clone()).unwrap();
            while tls.is_handshaking() {
                if let Err(error) = tls.complete_io(&mut stream) {
                    seen.refused.lock().unwrap().push(error.to_string());
                    return None;
                }
            }
            Some(Box::new(StreamOwned::new(tls, stream)))
        })
    }

    fn open(
        scheme: &str,
        answer: impl Fn(usize, &Message) -> Answer + Send + Sync + 'static,
        accept: impl Fn(TcpStream, &Seen) -> Option<Box<dyn Stream>> + Send + Sync + 'static,
    ) -> Wire {
        let seen = Arc::<Seen>::default();
        let noted = Arc::clone(&seen);
        let port = Port::open(move |stream| serve(accept(stream, &noted)?, &answer, &noted));
        Wire { url: format!("{scheme}://{}", port.address), seen }
    }

    pub fn messages(&self) -> Vec<Message> {
        self.seen.messages.lock().unwrap().clone()
    }

    pub fn checks(&self) -> Vec<Message> {
        self.messages().into_iter().filter(Message::is_check).collect()
    }

    /// Counts the checks, even after this value is dropped.
    pub fn arrivals(&self) -> impl Fn() -> u64 + Send + Sync + 'static {
        let seen = self.seen.clone();
        move || seen.messages.lock().unwrap().iter().filter(|message| message.is_check()).count() as u64
    }

    pub fn mebibytes_taken(&self) -> usize {
        *self.seen.taken.lock().unwrap()
    }

    /// The errors of connections that did not complete their handshake.
    pub fn refused(&self) -> Vec<String> {
        self.seen.refused.lock().unwrap().clone()
    }
}

fn serve(stream: Box<dyn Stream>, answer: &dyn Fn(usize, &Message) -> Answer, seen: &Seen) -> Option<()> {
    let mut connection = Connection::of(stream);
    loop {
        let mut message = connection.read_head()?;
        let held_back = message.length().min(1);
        message.body = connection.read_bytes(message.length() - held_back)?;
        let nth = {
            let mut messages = seen.messages.lock().unwrap();
            messages.push(message.clone());
            messages.iter().filter(|message| message.is_check()).count()
        };
        let answer = if message.is_check() {
            answer(nth, &message)
        } else {
            Answer::Bytes(json("200 OK", r#"{"available_credits": 1000}"#))
        };
        if matches!(answer, Answer::Reset) {
            return None;
        }
        connection.read_bytes(held_back)?;
        match answer {
            Answer::Bytes(bytes) => connection.write(bytes)?,
            Answer::ThenClose(bytes) => return connection.write(bytes),
            Answer::ThenZeros(bytes, mebibytes) => {
                connection.write(bytes)?;
                for _ in 0..mebibytes {
                    connection.write(vec![b' '; 1 << 20])?;
                    *seen.taken.lock().unwrap() += 1;
                }
                return None;
            }
            Answer::Reset => return None,
        }
    }
}
