//! The promise: a service's replies and an input's rows take a bounded amount of memory, however large they are and
//! however many come at once.

use crate::support::{
    http::{Connection, Port, head, json},
    program::{Said, UnderWay, rescreen},
    rng::Rng,
    world::book,
};
use rescreen::source::{FIELD_BYTES_MAX, JSON_VALUES_MAX};
use std::{
    fs,
    net::TcpStream,
    path::Path,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread::sleep,
    time::Duration,
};

/// The maximum length of a reply.
const REPLY_BYTES: usize = 32 * 1024 * 1024;

/// Where requests wait for each other until this many have arrived. One that is repeated later does not wait.
struct Together {
    missing: Mutex<usize>,
    all: Condvar,
}

impl Together {
    fn new(count: usize) -> Together {
        Together { missing: Mutex::new(count), all: Condvar::new() }
    }

    fn arrive(&self) {
        let mut missing = self.missing.lock().unwrap();
        *missing = missing.saturating_sub(1);
        self.all.notify_all();
        let waited = self.all.wait_timeout_while(missing, Duration::from_secs(60), |missing| *missing > 0).unwrap();
        assert!(!waited.1.timed_out(), "{} of the requests at once never arrived", waited.0);
    }
}

/// A service that answers each check with the same body, and this many of them at the same moment.
struct Service {
    url: String,
    delivered: Arc<AtomicUsize>,
}

impl Service {
    fn start(at_once: usize, body: String) -> Service {
        let (delivered, together) = (Arc::<AtomicUsize>::default(), Together::new(at_once));
        let count = Arc::clone(&delivered);
        let port = Port::open(move |stream| answer(stream, &body, &count, &together));
        Service { url: port.url(), delivered }
    }
}

/// Answers one request and closes. Ends when the client disconnects.
fn answer(stream: TcpStream, body: &str, delivered: &AtomicUsize, together: &Together) -> Option<()> {
    const STATUS: &str = "200 OK\r\nconnection: close";
    let mut connection = Connection::of(stream);
    if !connection.read()?.is_check() {
        return connection.write(json(STATUS, r#"{"available_credits": 1000000}"#));
    }
    together.arrive();
    connection.write(head(STATUS, body.len()))?;
    connection.write(body)?;
    delivered.fetch_add(1, Ordering::Relaxed);
    Some(())
}

/// The peak memory of a process, in MiB. `None` once it has ended.
fn peak_mib(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024)
}

/// Runs the program to its end. Returns its peak memory in MiB, and its output.
fn run_to_its_end(folder: &Path, arguments: &[&str]) -> (u64, Said) {
    let run = UnderWay::start(&mut rescreen(folder, arguments));
    let mut peak = 0;
    while let Some(so_far) = peak_mib(run.id()) {
        peak = so_far;
        sleep(Duration::from_millis(2));
    }
    (peak, run.wait())
}

/// Whether the memory of another process can be read here.
fn can_measure() -> bool {
    if !cfg!(target_os = "linux") {
        println!("SKIPPED: the memory of another process is read on Linux alone");
    }
    cfg!(target_os = "linux")
}

/// The peak memory of a run while this many replies with this body arrive at once, in MiB.
fn peak_of_replies(at_once: usize, body: String) -> u64 {
    let bytes = body.len();
    let service = Service::start(at_once, body);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("book.csv"), book(1..=at_once)).unwrap();
    let in_flight = at_once.to_string();
    let arguments = [
        "run",
        "book.csv",
        "--check",
        "aml-screening",
        "--service",
        &service.url,
        "--in-flight",
        &in_flight,
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
    assert_eq!(service.delivered.load(Ordering::Relaxed), at_once, "replies delivered:\n{}", said.stderr);
    println!("{at_once} replies of {bytes} bytes: at most {peak} MiB");
    peak
}

#[test]
#[ignore = "memory: make gauntlet"]
fn sixteen_replies_of_32_mib_of_numbers_stay_within_384_mib() {
    if can_measure() {
        let (open, close) = (r#"{"results":[1"#, "]}");
        let numbers = ",1".repeat((REPLY_BYTES - open.len() - close.len()) / 2);
        let peak = peak_of_replies(16, format!("{open}{numbers}{close}"));
        // The limit on bodies is 256 MiB; the rest is the program, its input and its ledger.
        assert!((64..=384).contains(&peak), "{peak} MiB");
    }
}

/// Accepted replies with a text of almost 32 MiB that hardly compresses. They are kept, read back and published.
#[test]
#[ignore = "memory: make gauntlet"]
fn sixteen_replies_of_32_mib_of_text_stay_within_512_mib() {
    if can_measure() {
        let (open, close) = (r#"{"success":true,"results":[{"score":""#, r#""}]}"#);
        let mut rng = Rng::new(7);
        let letters = (0..REPLY_BYTES - open.len() - close.len()).map(|_| char::from(b'a' + (rng.roll() % 26) as u8));
        let peak = peak_of_replies(16, format!("{open}{}{close}", letters.collect::<String>()));
        assert!((64..=512).contains(&peak), "{peak} MiB");
    }
}

/// Small replies that take the most memory once parsed: each of their values is an object with one member.
#[test]
#[ignore = "memory: make gauntlet"]
fn thirty_two_replies_of_100_000_objects_stay_within_512_mib() {
    if can_measure() {
        let nested = format!("{}1{}", r#"{"":"#.repeat(48), "}".repeat(48));
        let objects = vec![nested; 2_000].join(",");
        let peak = peak_of_replies(32, format!(r#"{{"success":true,"results":[{objects}]}}"#));
        assert!((64..=512).contains(&peak), "{peak} MiB");
    }
}

/// A row of 15 columns with as many values as a row may have, each column of about this many bytes.
fn row_of_many_values(number: usize, column_bytes: usize) -> String {
    const COLUMNS: usize = 15;
    // The row, its id and each column's list are values too, and each item of a list counts as two.
    let items = (JSON_VALUES_MAX - 2 - COLUMNS) / (2 * COLUMNS);
    let item = format!(r#"{{"":"{}"}}"#, "x".repeat((column_bytes / items).saturating_sub(8)));
    let list = format!("[{}]", vec![item; items].join(","));
    let columns: Vec<String> = (0..COLUMNS).map(|column| format!(r#""c{column}":{list}"#)).collect();
    format!("{{\"id\":\"{number}\",{}}}\n", columns.join(","))
}

#[test]
#[ignore = "memory: make gauntlet"]
fn the_largest_rows_of_json_stay_within_512_mib() {
    if !can_measure() {
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

/// Changes that make a small ledger demand much memory, with `BODY` for a compressed answer of 90 MiB.
const LEDGERS: [(&str, &str); 8] = [
    ("an answer of 45 million lists", "UPDATE answer SET body = ?1; UPDATE part SET bytes = NULL, sha256 = NULL"),
    (
        "fields of 6 million lists",
        "UPDATE request SET fields = '{\"a\":[' || replace(hex(zeroblob(6000000)), '00', '[],') || '1]}', \
         state = (SELECT state FROM request LIMIT 1); UPDATE part SET bytes = NULL, sha256 = NULL",
    ),
    ("a row of 12 million lists", "UPDATE split SET records = ?2; UPDATE part SET bytes = NULL, sha256 = NULL"),
    (
        "sums of 3 million checks",
        "UPDATE campaign SET sums = json_set(sums, '$.answers', json((WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 \
         FROM n WHERE i < 3000000) SELECT '{' || group_concat('\"' || i || '\":1') || '}' FROM n)))",
    ),
    (
        "verdicts of 3 million kinds",
        "UPDATE part SET verdicts = (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000) SELECT \
         '{' || group_concat('\"' || i || '\":1') || '}' FROM n)",
    ),
    (
        "a layout of 8 million pointers",
        "UPDATE check_use SET layout = json_set(layout, '$.payload', json('[' || replace(hex(zeroblob(8000000)), '00', \
         '\"\",') || '\"\"]'))",
    ),
    (
        "three million parts",
        "INSERT INTO part (id, check_use, first_ask, last_ask, rows, path) WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL \
         SELECT i + 1 FROM n WHERE i < 3000000) SELECT i, 1, 1, 1, 1, i FROM n",
    ),
    (
        "three million checks",
        "INSERT INTO check_use (name, check_name, layout) WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE \
         i < 3000000) SELECT 'c' || i, 'aml-screening', '{}' FROM n",
    ),
];

#[test]
#[ignore = "memory: make gauntlet"]
fn ledgers_that_were_tampered_with_stay_within_512_mib() {
    if !can_measure() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("book.csv"), book(1..=3)).unwrap();
    let flags =
        "--simulate --check aml-screening --map name=name --set entity=0 --set country=za --campaign c --out out";
    let run: Vec<&str> = ["run", "book.csv"].into_iter().chain(flags.split(' ')).collect();
    run_to_its_end(folder.path(), &run).1.exits(0);
    let pristine =
        ["ledger.sqlite", "ledger.lock"].map(|name| (name, fs::read(at("out.simulated").join(name)).unwrap()));
    let answer = format!(r#"{{"results":[{}1]}}"#, "[],".repeat(30 << 20));
    let answer = zstd::bulk::compress(answer.as_bytes(), 1).unwrap();
    let records = format!(r#"{{"n":1,"l":2,"b":63,"r":[{}1]}}"#, "[],".repeat(12_000_000));
    let records = zstd::bulk::compress(records.as_bytes(), 1).unwrap();
    for (what, change) in LEDGERS {
        drop(fs::remove_dir_all(at("out.simulated")));
        fs::create_dir(at("out.simulated")).unwrap();
        pristine.iter().for_each(|(name, bytes)| fs::write(at("out.simulated").join(name), bytes).unwrap());
        let ledger = rusqlite::Connection::open(at("out.simulated/ledger.sqlite")).unwrap();
        for one in change.split("; ") {
            let parameters: &[&dyn rusqlite::ToSql] = match () {
                () if one.contains("?1") => &[&answer],
                () if one.contains("?2") => &[&rusqlite::types::Null, &records],
                () => &[],
            };
            assert!(ledger.execute(one, parameters).unwrap() > 0, "{what}");
        }
        drop(ledger);
        for words in [&["status", "out.simulated"][..], &["collect", "out.simulated"], &run] {
            let (peak, said) = run_to_its_end(folder.path(), words);
            let last = said.stderr.lines().last().unwrap_or_default();
            println!("{what}, {}: exit {}, at most {peak} MiB: {last}", words[0], said.code);
            assert!([0, 2, 3, 8, 11].contains(&said.code), "{what}: {}", said.stderr);
            assert!(peak <= 512, "{what}, {}: {peak} MiB", words[0]);
        }
    }
}
