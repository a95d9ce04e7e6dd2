//! A hand-written HTTP server: it records every message and answers with the bytes that a test gives it. It can use
//! TLS.

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

/// One message as it was received.
#[derive(Debug, Clone)]
pub struct Message {
    pub head: String,
    pub body: Vec<u8>,
}

impl Message {
    pub fn is_check(&self) -> bool {
        self.head.starts_with("POST ")
    }

    pub fn header(&self, name: &str) -> String {
        let found = self.head.lines().filter_map(|line| line.split_once(':'));
        let value = found.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next();
        value.unwrap_or_default().to_owned()
    }
}

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
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").into()
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
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Wire { url: format!("{scheme}://{}", listener.local_addr().unwrap()), seen: Arc::default() };
        let (answer, accept, seen) = (Arc::new(answer), Arc::new(accept), wire.seen.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, accept, seen) = (answer.clone(), accept.clone(), seen.clone());
                std::thread::spawn(move || {
                    if let Some(stream) = accept(stream.unwrap(), &seen) {
                        serve(stream, &*answer, &seen);
                    }
                });
            }
        });
        wire
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

fn serve(stream: Box<dyn Stream>, answer: &dyn Fn(usize, &Message) -> Answer, seen: &Seen) {
    let mut stream = BufReader::with_capacity(1, stream);
    while let Some(head) = head(&mut stream) {
        let mut message = Message { head, body: Vec::new() };
        let length: usize = message.header("content-length").parse().unwrap_or(0);
        let held_back = length.min(1);
        message.body = vec![0; length - held_back];
        if stream.read_exact(&mut message.body).is_err() {
            return;
        }
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
            return;
        }
        if stream.read_exact(&mut vec![0; held_back]).is_err() {
            return;
        }
        let writer = stream.get_mut();
        match answer {
            Answer::Bytes(bytes) if writer.write_all(&bytes).is_ok() => {}
            Answer::ThenClose(bytes) => {
                drop(writer.write_all(&bytes));
                return;
            }
            Answer::ThenZeros(bytes, mebibytes) => {
                drop(writer.write_all(&bytes));
                for _ in 0..mebibytes {
                    if writer.write_all(&vec![b' '; 1 << 20]).is_err() {
                        break;
                    }
                    *seen.taken.lock().unwrap() += 1;
                }
                return;
            }
            Answer::Bytes(_) | Answer::Reset => return,
        }
    }
}

/// The headers of the next message. `None` at the end of the connection.
fn head(reader: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    loop {
        let before = head.len();
        match reader.read_line(&mut head) {
            Ok(0) | Err(_) => return None,
            Ok(_) if head[before..].trim().is_empty() => return Some(head),
            Ok(_) => {}
        }
    }
}
