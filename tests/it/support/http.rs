//! HTTP/1.1 over a socket, without a library: it reads messages and writes raw bytes. Each test decides what to answer.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// A port that is open until the test ends, or until it is closed.
pub struct Port {
    pub address: SocketAddr,
    is_closed: Arc<AtomicBool>,
}

impl Port {
    /// Listens on a free port, and calls the function in a new thread for each connection.
    pub fn open(serve: impl Fn(TcpStream) -> Option<()> + Send + Sync + 'static) -> Port {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = Port { address: listener.local_addr().unwrap(), is_closed: Arc::default() };
        let (serve, is_closed) = (Arc::new(serve), Arc::clone(&port.is_closed));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_closed.load(Ordering::SeqCst) {
                    break;
                }
                let serve = Arc::clone(&serve);
                thread::spawn(move || {
                    stream.set_nodelay(true).unwrap();
                    let _ = serve(stream);
                });
            }
        });
        port
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Accepts no more connections. Those that are open stay open.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
    }
}

/// A message as it arrived.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its first line and its headers.
    pub head: String,
    pub body: Vec<u8>,
}

impl Message {
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    pub fn method(&self) -> &str {
        self.line().split(' ').next().unwrap_or_default()
    }

    pub fn path(&self) -> &str {
        self.line().split(' ').nth(1).unwrap_or_default()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        headers.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// Whether it may be charged.
    pub fn is_check(&self) -> bool {
        self.method() == "POST"
    }

    /// The length that its headers state.
    pub fn length(&self) -> usize {
        self.header("content-length").map_or(0, |length| length.parse().unwrap())
    }
}

/// The server's end of a connection. Nothing is read ahead, so that the client of one that ends while bytes are unread
/// sees a reset. A call returns `None` where the other end has closed it.
pub struct Connection<S>(BufReader<S>);

impl<S: Read + Write> Connection<S> {
    pub fn of(stream: S) -> Connection<S> {
        Connection(BufReader::with_capacity(1, stream))
    }

    /// Reads a message.
    pub fn read(&mut self) -> Option<Message> {
        let mut message = self.read_head()?;
        message.body = self.read_bytes(message.length())?;
        Some(message)
    }

    /// Reads a message without its body.
    pub fn read_head(&mut self) -> Option<Message> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        Some(Message { head, body: Vec::new() })
    }

    pub fn read_bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    pub fn write(&mut self, bytes: impl AsRef<[u8]>) -> Option<()> {
        let stream = self.0.get_mut();
        stream.write_all(bytes.as_ref()).and_then(|()| stream.flush()).ok()
    }
}

/// The head of a reply with a body of this length. More headers may follow the status, each on its line.
pub fn head(status: &str, length: usize) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n")
}

/// A reply with JSON in it.
pub fn json(status: &str, body: &str) -> String {
    head(&format!("{status}\r\ncontent-type: application/json"), body.len()) + body
}
