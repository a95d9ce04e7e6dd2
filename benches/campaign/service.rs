//! The service of the benchmark: a process of its own that answers faster than the bare client can ask. It knows one
//! route and the balance, and answers every request with about 1.4 KB of JSON that resembles the other answers. It
//! judges nothing, and remembers only the keys, to count what was sent twice. What it states about credits is chosen.

use super::simulator_process::Guarded;
use std::{
    cell::{Cell, RefCell},
    collections::HashSet,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream as BlockingStream,
    process::{Command, Stdio},
    rc::Rc,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::LocalSet,
};

/// The first argument that makes this program the service.
pub const WORD: &str = "service";

/// The credits of the account at the start. Each request costs one.
const CREDITS: usize = 1_000_000_000;

/// What the service states about credits. It charges one for each request, whatever it states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum States {
    /// Each answer states its charge and the balance.
    Charges,
    /// Each answer states the balance.
    Balance,
    /// No answer states anything.
    Nothing,
    /// Each answer states the balance, and it never moves. Neither does the balance that is queried.
    Frozen,
}

impl States {
    pub const ALL: [States; 4] = [States::Charges, States::Balance, States::Nothing, States::Frozen];

    pub fn word(self) -> &'static str {
        match self {
            States::Charges => "charges",
            States::Balance => "balance",
            States::Nothing => "nothing",
            States::Frozen => "frozen",
        }
    }

    pub fn of(word: &str) -> Option<States> {
        States::ALL.into_iter().find(|states| states.word() == word)
    }

    /// The balance after this many requests.
    fn balance(self, requests: usize) -> usize {
        if self == States::Frozen { CREDITS } else { CREDITS - requests }
    }

    /// The members of an answer about credits, after this many requests.
    fn members(self, requests: usize) -> String {
        let balance = self.balance(requests);
        match self {
            States::Charges => format!(r#""creditsUsed":1,"remainingCredits":{balance},"#),
            States::Balance | States::Frozen => format!(r#""remainingCredits":{balance},"#),
            States::Nothing => String::new(),
        }
    }
}

/// A running service. It ends when this is dropped.
pub struct Service {
    address: String,
    _child: Guarded,
}

/// What a service counted.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    pub requests: u64,
    pub keys: u64,
}

impl Service {
    /// Starts a service that waits this long before each answer.
    pub fn start(latency_ms: u64, states: States) -> Service {
        let mut command = Command::new(std::env::current_exe().expect("this program knows its path"));
        command.args([WORD, &latency_ms.to_string(), states.word()]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = Guarded(command.spawn().expect("the service starts"));
        let mut address = String::new();
        let said = child.0.stdout.take().expect("its standard output is a pipe");
        BufReader::new(said).read_line(&mut address).expect("the service says where it listens");
        Service { address: address.trim().to_owned(), _child: child }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn counts(&self) -> Counts {
        let mut stream = BlockingStream::connect(&self.address).expect("the service answers");
        write!(stream, "GET /counts HTTP/1.1\r\nconnection: close\r\n\r\n").expect("the service reads");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("the service writes");
        let (requests, keys) =
            reply.rsplit_once('\n').and_then(|(_, last)| last.split_once(' ')).expect("two numbers at the end");
        let number = |text: &str| text.trim().parse().expect("a number");
        Counts { requests: number(requests), keys: number(keys) }
    }
}

/// What the service remembers.
struct Seen {
    states: States,
    requests: Cell<usize>,
    keys: RefCell<HashSet<Vec<u8>>>,
}

/// The service. Runs until it is killed.
pub fn serve(latency_ms: u64, states: States) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let serving = async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        println!("{}", listener.local_addr().expect("a bound listener has an address"));
        let seen = Rc::new(Seen { states, requests: Cell::default(), keys: RefCell::default() });
        let latency = Duration::from_millis(latency_ms);
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            stream.set_nodelay(true).expect("an option of every stream");
            tokio::task::spawn_local(connection(stream, Rc::clone(&seen), latency));
        }
    };
    LocalSet::new().block_on(&runtime, serving);
}

/// Answers the requests of one connection until the client closes it.
async fn connection(mut stream: TcpStream, seen: Rc<Seen>, latency: Duration) {
    let (mut received, mut reply) = (Vec::with_capacity(4 << 10), Vec::with_capacity(4 << 10));
    loop {
        let length = loop {
            if let Some(length) = length_of_request(&received) {
                break length;
            }
            match stream.read_buf(&mut received).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        };
        reply.clear();
        let is_paid = answer(&received[..length], &seen, &mut reply);
        received.drain(..length);
        if is_paid && !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        if stream.write_all(&reply).await.is_err() {
            return;
        }
        if reply.starts_with(b"HTTP/1.1 200 OK\r\nconnection: close") {
            return;
        }
    }
}

/// The length of the first request, if it was received completely.
fn length_of_request(received: &[u8]) -> Option<usize> {
    let head = received.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let length = header(&received[..head], "content-length").map_or(0, |value| {
        std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok()).expect("a length is a number")
    });
    (received.len() >= head + length).then_some(head + length)
}

/// The value of a header. Its name is in lower case, as both clients write it.
fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let (found, value) = line.split_at_checked(name.len())?;
        found.eq_ignore_ascii_case(name.as_bytes()).then(|| value.strip_prefix(b":"))?.map(<[u8]>::trim_ascii)
    })
}

/// Writes the reply to a request. Returns whether the request is paid.
fn answer(request: &[u8], seen: &Seen, reply: &mut Vec<u8>) -> bool {
    let requests = seen.requests.get();
    if request.starts_with(b"GET /counts") {
        let text = format!("\n{requests} {}", seen.keys.borrow().len());
        let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", text.len());
        reply.extend_from_slice((head + &text).as_bytes());
        return false;
    }
    let is_paid = request.starts_with(b"POST ");
    let body = if is_paid {
        seen.requests.set(requests + 1);
        let head = request.windows(4).position(|four| four == b"\r\n\r\n").map_or(0, |at| at + 4);
        if let Some(key) = header(&request[..head], "idempotency-key") {
            seen.keys.borrow_mut().insert(key.to_vec());
        }
        screening(requests, &seen.states.members(requests + 1), &String::from_utf8_lossy(&request[head..]))
    } else {
        format!(r#"{{"available_credits":{}}}"#, seen.states.balance(requests))
    };
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    reply.extend_from_slice(head.as_bytes());
    reply.extend_from_slice(body.as_bytes());
    is_paid
}

/// The answer to a request: its input, and three candidates with a low score.
fn screening(number: usize, credits: &str, input: &str) -> String {
    let candidate = |place: usize| {
        let id = number * 3 + place;
        format!(
            r#"{{"EntityId":"ENT-{id:010}","Name":"Invented Candidate {id:x}","Score":{},"Category":"PEP","Country":"za","DateOfBirth":"19{:02}-{:02}-{:02}","Position":"Member of an invented municipal council","Sources":[{{"Name":"Invented list of office holders","Url":"https://lists.example.org/entries/{id}","Published":"2026-10-01"}}],"Remarks":"The name resembles the name that was searched for. No other identifier agrees."}}"#,
            20 + id % 40,
            40 + id % 60,
            1 + id % 12,
            1 + id % 28,
        )
    };
    let candidates = [0, 1, 2].map(candidate).join(",");
    format!(
        r#"{{"success":true,"requestId":"req-{number:012}","user_id":"usr-0001","mode":"production","reportType":"aml_screening","input":{input},{credits}"results":{{"Header":{{"DatasetVersion":"2026.11.20","DatasetPublishedAt":"2026-11-20T04:00:00Z"}},"match":[{candidates}]}}}}"#
    )
}
