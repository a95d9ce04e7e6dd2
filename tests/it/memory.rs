//! The promise: what a service replies and what an input holds take a bounded amount of memory, however large and however
//! many at once.

use crate::support::{
    program::{Said, UnderWay, rescreen},
    world::book,
};
use rescreen::source::{FIELD_BYTES_MAX, JSON_VALUES_MAX};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, sleep},
    time::Duration,
};

/// Replies at once.
const REPLIES: usize = 16;
/// The length of each, as long as a reply may be.
const REPLY_BYTES: usize = 32 * 1024 * 1024;
/// The cap on bodies is 256 MiB; the rest is the program, its input and its ledger.
const PEAK_MIB_MAX: u64 = 384;

/// A service that answers each check with numbers and nothing else, and all of them at the same moment.
struct Numbers {
    url: String,
    delivered: Arc<AtomicUsize>,
}

impl Numbers {
    fn start() -> Numbers {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let delivered = Arc::new(AtomicUsize::new(0));
        let (count, together) = (delivered.clone(), Arc::new(Barrier::new(REPLIES)));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (count, together) = (count.clone(), together.clone());
                thread::spawn(move || answer(stream, &count, &together));
            }
        });
        Numbers { url, delivered }
    }
}

/// Answers one request, and closes. A reader that went away ends it.
fn answer(mut stream: TcpStream, delivered: &AtomicUsize, together: &Barrier) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut line, mut length, mut get) = (String::new(), 0, false);
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let lower = line.to_ascii_lowercase();
        get |= lower.starts_with("get ");
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    let head = |length: usize| {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        )
    };
    if get {
        let body = r#"{"available_credits": 1000000}"#;
        return stream.write_all((head(body.len()) + body).as_bytes()).ok();
    }
    together.wait();
    let (open, close) = (r#"{"results":[1"#, "]}");
    let numbers = ",1".repeat(32 * 1024);
    stream.write_all((head(REPLY_BYTES) + open).as_bytes()).ok()?;
    let mut left = REPLY_BYTES - open.len() - close.len();
    while left > 0 {
        let part = left.min(numbers.len());
        stream.write_all(&numbers.as_bytes()[..part]).ok()?;
        left -= part;
    }
    stream.write_all(close.as_bytes()).ok()?;
    delivered.fetch_add(1, Ordering::Relaxed);
    Some(())
}

/// The most memory a process has had, in MiB; `None` where it has ended.
fn peak_mib(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024)
}

/// Runs the program to its end; the most memory it had, in MiB, and what it said.
fn run_to_its_end(folder: &Path, arguments: &[&str]) -> (u64, Said) {
    let run = UnderWay::start(&mut rescreen(folder, arguments));
    let mut peak = 0;
    while let Some(so_far) = peak_mib(run.id()) {
        peak = so_far;
        sleep(Duration::from_millis(2));
    }
    (peak, run.wait())
}

#[test]
fn sixteen_replies_of_32_mib_of_numbers_stay_within_384_mib() {
    if !cfg!(target_os = "linux") {
        println!("SKIPPED: the memory of another process is read on Linux alone");
        return;
    }
    let service = Numbers::start();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("book.csv"), book(1, REPLIES)).unwrap();
    let arguments = [
        "run",
        "book.csv",
        "--check",
        "aml-screening",
        "--service",
        &service.url,
        "--in-flight",
        "16",
        "--per-minute",
        "600000",
        "--per-minute-max",
        "900000",
        "--map",
        "name=name",
        "--set",
        "entity=0",
        "--set",
        "country=za",
    ];
    let (peak, said) = run_to_its_end(folder.path(), &arguments);
    assert_eq!(service.delivered.load(Ordering::Relaxed), REPLIES, "replies delivered:\n{}", said.stderr);
    println!("{REPLIES} replies of {} MiB: at most {peak} MiB", REPLY_BYTES / 1024 / 1024);
    assert!(peak <= PEAK_MIB_MAX, "{peak} MiB");
    assert!(peak >= 64, "bodies were read: {peak} MiB");
}

/// A row of 15 columns and as many values as a row may have, each column of about so many bytes.
fn row_of_many_values(number: usize, column_bytes: usize) -> String {
    const COLUMNS: usize = 15;
    // The row, its id, and each column's list are values too, and each item of a list is two.
    let items = (JSON_VALUES_MAX - 2 - COLUMNS) / (2 * COLUMNS);
    let item = format!(r#"{{"":"{}"}}"#, "x".repeat((column_bytes / items).saturating_sub(8)));
    let list = format!("[{}]", vec![item; items].join(","));
    let columns: Vec<String> = (0..COLUMNS).map(|column| format!(r#""c{column}":{list}"#)).collect();
    format!("{{\"id\":\"{number}\",{}}}\n", columns.join(","))
}

#[test]
fn the_largest_rows_of_json_stay_within_512_mib() {
    if !cfg!(target_os = "linux") {
        println!("SKIPPED: the memory of another process is read on Linux alone");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut rows: Vec<String> = (0..4).map(|number| row_of_many_values(number, FIELD_BYTES_MAX)).collect();
    assert!(rows[0].len() > 15_600_000 && rows[0].len() < 16 << 20, "{} bytes", rows[0].len());
    rows.extend((4..24).map(|number| row_of_many_values(number, 0)));
    fs::write(folder.path().join("book.jsonl"), rows.concat()).unwrap();
    for command in ["plan", "run"] {
        let arguments = [
            command,
            "book.jsonl",
            "--simulate",
            "--check",
            "aml-screening",
            "--map",
            "name=person {{ id }} of {{ c0 | length }} and {{ c14 | length }}",
            "--set",
            "entity=0",
            "--set",
            "country=za",
        ];
        let (peak, said) = run_to_its_end(folder.path(), &arguments);
        println!("{command} of {} rows: at most {peak} MiB", rows.len());
        let said = said.exits(0);
        assert!(!said.stderr.contains("row_too_large"), "{}", said.stderr);
        assert!((64..=512).contains(&peak), "{command}: {peak} MiB");
    }
}
