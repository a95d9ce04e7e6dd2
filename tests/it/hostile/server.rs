//! A running hand-written service: a socket, its own charge book and its own clock. Without a script it behaves well:
//! it charges for a new key and replays a known one.

use super::{
    book::{Book, Entry},
    reply::{Body, Cost, Reply},
    script::{Asked, AskedJob, Hostile, JobScript, number},
    wire,
};
use crate::support::{
    API_KEY,
    http::{Connection, Message, Port},
    program::wait_until,
};
use serde_json::{Map, Value, json};
use std::{
    net::TcpStream,
    ops::Range,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

impl Hostile {
    pub fn start(self) -> Service {
        let running = Arc::new(Running {
            book: Mutex::new(Book::new(self.balance)),
            offset_s: AtomicI64::new(self.offset_s),
            held: Mutex::new(self.answered..usize::MAX),
            released: Condvar::new(),
            healed: AtomicBool::new(false),
            has_slept: AtomicBool::new(false),
            hostile: self,
        });
        let serving = Arc::clone(&running);
        let port = Port::open(move |stream| serving.serve_connection(stream));
        Service { url: port.url(), port, running }
    }
}

struct Running {
    hostile: Hostile,
    book: Mutex<Book>,
    offset_s: AtomicI64,
    /// The numbers of the checks whose replies are held back, in the order of arrival.
    held: Mutex<Range<usize>>,
    released: Condvar,
    healed: AtomicBool,
    has_slept: AtomicBool,
}

impl Running {
    fn serve_connection(&self, stream: TcpStream) -> Option<()> {
        let mut connection = Connection::of(stream);
        let mut idle_since = Instant::now();
        loop {
            let message = connection.read()?;
            if self.hostile.idle_max.is_some_and(|idle_max| idle_since.elapsed() > idle_max) {
                self.book.lock().unwrap().lost += 1;
                return None;
            }
            let (reply, body) = self.reply_to(&message);
            let mut headers = reply.headers.clone();
            let now = SystemTime::now();
            let offset = self.offset_s.load(Ordering::Relaxed);
            let ahead = Duration::from_secs(offset.unsigned_abs());
            let now = if offset < 0 { now - ahead } else { now + ahead };
            let date = self.hostile.date.clone().unwrap_or_else(|| httpdate::fmt_http_date(now));
            if !date.is_empty() {
                headers.push(("date".to_owned(), date));
            }
            thread::sleep(reply.delay);
            wire::write(&mut connection, reply.status, &headers, &body, reply.travel)?;
            idle_since = Instant::now();
        }
    }

    fn reply_to(&self, message: &Message) -> (Reply, Vec<u8>) {
        self.sleep();
        if message.header("x-api-key") != Some(API_KEY) {
            return bare(Reply::status(401));
        }
        match (message.method(), message.path(), &self.hostile.job_script) {
            ("GET", "/my_credits", _) => self.credits_left(),
            ("GET", path, Some(script)) if path.contains("/jobs/") => self.job(path, script),
            ("POST", ..) => self.check(message),
            _ => bare(Reply::status(404)),
        }
    }

    fn sleep(&self) {
        // While one thread of the program sleeps, another may have a message on its way that was sent before.
        const ON_ITS_WAY: Duration = Duration::from_millis(40);
        let Some((file, seconds)) = &self.hostile.sleeps else { return };
        let slept = file.metadata().and_then(|mark| mark.modified()).ok().and_then(|at| at.elapsed().ok());
        if slept.is_some_and(|since| since > ON_ITS_WAY) && !self.has_slept.swap(true, Ordering::SeqCst) {
            self.pass(*seconds);
        }
    }

    fn pass(&self, seconds: i64) {
        self.offset_s.fetch_add(seconds, Ordering::Relaxed);
        self.book.lock().unwrap().by_key.clear();
    }

    fn credits_left(&self) -> (Reply, Vec<u8>) {
        let mut book = self.book.lock().unwrap();
        book.balance_readings += 1;
        match &self.hostile.balance_script {
            Some(script) => bare(script(book.balance_readings - 1, book.balance)),
            None => bare(Reply::error(200, json!({ "available_credits": number(book.balance) }))),
        }
    }

    /// Answers for a job, and charges it at the first reply that costs something.
    fn job(&self, path: &str, script: &JobScript) -> (Reply, Vec<u8>) {
        let row = row_of(path);
        let mut book = self.book.lock().unwrap();
        let asked = book.job_asked.entry(row).or_default();
        *asked += 1;
        let nth = *asked;
        let reply = script(&AskedJob { row, nth, is_healed: self.healed.load(Ordering::SeqCst) });
        let credits = match reply.cost {
            Cost::Nothing => 0.0,
            Cost::Price => (self.hostile.price)(book.charges()),
            Cost::Credits(credits) => credits,
        };
        if credits > 0.0 && !book.job_charges.iter().any(|(charged, _)| *charged == row) {
            book.job_charges.push((row, credits));
            book.balance -= credits;
        }
        drop(book);
        bare(reply)
    }

    /// Charges and logs under one lock, as a service does that never charges twice on its own.
    fn check(&self, message: &Message) -> (Reply, Vec<u8>) {
        let mut held = self.held.lock().unwrap();
        let mut book = self.book.lock().unwrap();
        let asked = asked(message, &mut book, self.healed.load(Ordering::SeqCst));
        let scripted = self.hostile.scripts.iter().find_map(|script| script(&asked));
        let reply = scripted.unwrap_or_else(Reply::clear);
        let credits = match reply.cost {
            _ if asked.is_charged => 0.0,
            Cost::Nothing => 0.0,
            Cost::Price => (self.hostile.price)(book.charges()),
            Cost::Credits(credits) => credits,
        };
        if reply.cost != Cost::Nothing {
            book.by_key.entry(asked.key.clone()).or_insert(credits);
        }
        book.balance -= credits;
        if let Some((_, taken)) =
            self.hostile.spent_by_another.filter(|(after, _)| credits > 0.0 && book.charges() + 1 == *after)
        {
            book.balance -= taken;
        }
        let used = book.by_key.get(&asked.key).copied().unwrap_or_default();
        let left = book.balance;
        book.entries.push(Entry { at: Instant::now(), row: asked.row, key: asked.key.clone(), credits });
        let number = book.entries.len() - 1;
        drop(book);
        while held.contains(&number) {
            held = self.released.wait(held).unwrap();
        }
        let body = match &reply.body {
            Body::Bytes(bytes) => bytes.to_vec(),
            Body::Answer(answer) => self.answer(answer, &asked, used, left),
        };
        (reply, body)
    }

    /// An answer with the fields that every answer has, unless the script set them.
    fn answer(&self, answer: &Value, asked: &Asked, used: f64, left: f64) -> Vec<u8> {
        let mut fields = Map::new();
        let echo = json!({ "name": asked.body["name"], "country": asked.body["country"] });
        fields.insert("requestId".to_owned(), json!(format!("r-{}", asked.row)));
        fields.insert("mode".to_owned(), json!("production"));
        fields.insert("input".to_owned(), echo);
        (self.hostile.statement)(&mut fields, used, left);
        fields.extend(answer.as_object().cloned().unwrap_or_default());
        fields.retain(|_, value| *value != json!("[absent]"));
        Value::Object(fields).to_string().into_bytes()
    }
}

fn bare(reply: Reply) -> (Reply, Vec<u8>) {
    let body = match &reply.body {
        Body::Bytes(bytes) => bytes.to_vec(),
        Body::Answer(answer) => answer.to_string().into_bytes(),
    };
    (reply, body)
}

fn asked(message: &Message, book: &mut Book, is_healed: bool) -> Asked {
    let body: Value = serde_json::from_slice(&message.body).expect("the program sends JSON");
    let key = message.header("idempotency-key").expect("production carries a key").to_owned();
    let sent = book.asked.entry(key.clone()).or_default();
    *sent += 1;
    let nth = *sent;
    Asked {
        row: row_of(&body.to_string()),
        nth,
        before: book.entries.len(),
        is_healed,
        is_charged: book.by_key.contains_key(&key),
        key,
        body,
    }
}

/// The row whose name is in the text: `R00003`.
pub fn row_of(text: &str) -> u32 {
    let numbers = text.match_indices('R').filter_map(|(at, _)| text.get(at + 1..at + 6)?.parse().ok());
    numbers.into_iter().next().unwrap_or_default()
}

/// A running service. It ends when this value is dropped.
pub struct Service {
    pub url: String,
    port: Port,
    running: Arc<Running>,
}

impl Service {
    /// The current book.
    pub fn book(&self) -> Book {
        self.running.book.lock().unwrap().clone()
    }

    /// Releases the checks that are held, and holds no more.
    pub fn release(&self) {
        *self.running.held.lock().unwrap() = 0..0;
        self.running.released.notify_all();
    }

    #[track_caller]
    pub fn wait_for_messages(&self, count: usize) {
        wait_until(&format!("{count} messages"), || self.book().entries.len() >= count);
    }

    /// This many seconds pass at the service, and it forgets every key.
    pub fn pass(&self, seconds: i64) {
        self.running.pass(seconds);
    }

    /// From now on the rows that misbehaved are answered.
    pub fn heal(&self) {
        self.running.healed.store(true, Ordering::SeqCst);
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.release();
        self.port.close();
    }
}
