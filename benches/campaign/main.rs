//! What a campaign costs the machine: peak memory, intake, going on, ledger size. The release program runs as a process of
//! its own against the simulator in another, in production mode with the limit lifted. `benches/README.md` says what each
//! column means.

#[path = "../tests/it/support/book.rs"]
mod book;
#[path = "../tests/it/support/simulator_process.rs"]
mod simulator_process;

use rescreen::ledger::{Reading, Sums};
use simulator_process::{Guarded, SimulatorProcess};
use std::{
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// How often a run is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Rows, how long the first run may last, and the run that goes on with it.
const SIZES: [(u64, &str, &str); 2] = [(100_000, "10s", "600s"), (1_000_000, "60s", "10s")];

fn main() {
    // `cargo bench` passes `--bench` and perhaps a filter: how many rows.
    let only: Option<u64> = std::env::args().skip(1).find_map(|word| word.parse().ok());
    println!(
        "| rows | intake rows/s | peak MiB | taken, answered | ledger bytes/row | first attempt again | peak MiB again | answers/s again |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (rows, first, again) in SIZES.into_iter().filter(|(rows, ..)| only.is_none_or(|only| only == *rows)) {
        println!("{}", line(rows, first, again));
    }
}

fn line(rows: u64, first_for: &str, again_for: &str) -> String {
    let dir = tempfile::tempdir().expect("there is room for temporary files");
    let mut to = BufWriter::new(File::create(dir.path().join("book.csv")).expect("a file in a new folder"));
    book::write(&mut to, 1..rows + 1, |number| number).expect("there is room for the book");
    drop(to);
    let service =
        SimulatorProcess::start(&["--per-minute=60000000", "--per-minute-max=120000000", "--credits=100000000"]);
    fs::write(dir.path().join("campaign.toml"), campaign(&service.url(), rows)).expect("a file in a new folder");

    let first = run(dir.path(), first_for, rows);
    let ledger_bytes = fs::metadata(ledger(dir.path())).map_or(0, |metadata| metadata.len());
    let again = run(dir.path(), again_for, rows);
    assert_eq!(service.stats().double_charges, 0, "a figure for a run that pays twice is no figure");
    let answered = |run: &Run| run.after.attempts - run.before.attempts;
    format!(
        "| {rows} | {:.0} | {} | {}, {} | {} | {} | {} | {:.0} |",
        first.after.rows as f64 / first.taken.as_secs_f64(),
        mebibytes(first.peak_bytes),
        first.after.rows,
        answered(&first),
        ledger_bytes / first.after.rows.max(1),
        again.first_attempt.map_or("-".to_owned(), |after| format!("{} ms", after.as_millis())),
        mebibytes(again.peak_bytes),
        answered(&again) as f64 / again.lasted.as_secs_f64(),
    )
}

fn campaign(url: &str, rows: u64) -> String {
    format!(
        r#"campaign = "bench"
mode = "production"
[service]
url = "{url}"
per_minute = 60000000
per_minute_max = 120000000
[input]
paths = ["book.csv"]
id = "customer_no"
[budget]
max_credits = {rows}
prices = {{ aml-screening = 1 }}
[[check]]
use = "aml-screening"
fields.name = "{{{{ first_name }}}} {{{{ surname }}}}"
fields.country = "{{{{ country | country }}}}"
fields.entity = {{ value = 0 }}
"#
    )
}

/// What was seen of one run.
struct Run {
    before: Sums,
    after: Sums,
    /// `None` where the system does not tell.
    peak_bytes: Option<u64>,
    /// From the start of the process until the last row it took was in the ledger.
    taken: Duration,
    /// From the start of the process until the first attempt was in the ledger.
    first_attempt: Option<Duration>,
    lasted: Duration,
}

fn ledger(dir: &Path) -> PathBuf {
    dir.join("out/bench/ledger.sqlite")
}

fn sums(dir: &Path) -> Sums {
    Reading::open(&ledger(dir)).ok().and_then(|reading| reading.sums().ok()).unwrap_or_default()
}

fn run(dir: &Path, lasts: &str, rows: u64) -> Run {
    let before = sums(dir);
    let talk = File::create(dir.join("talk.txt")).expect("a file in a folder of our own");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rescreen"));
    command.arg("run").arg("-c").arg(dir.join("campaign.toml")).args(["--yes", "--for", lasts]);
    command.env("RESCREEN_API_KEY", "bench-key").stdin(Stdio::null()).stdout(Stdio::null()).stderr(talk);
    let begun = Instant::now();
    let mut child = Guarded(command.spawn().expect("rescreen starts"));
    let (mut peak_bytes, mut first_attempt, mut reading) = (None, None, None);
    let (mut taken, mut seen) = (Duration::ZERO, before.rows);
    let status = loop {
        peak_bytes = peak_bytes.max(peak(child.0.id()));
        // One reader for the whole run: opening one costs more than a look.
        reading = reading.or_else(|| Reading::open(&ledger(dir)).ok());
        if let Some(now) = reading.as_ref().and_then(|reading: &Reading| reading.sums().ok()) {
            if now.rows > seen {
                (taken, seen) = (begun.elapsed(), now.rows);
            }
            if now.attempts > before.attempts {
                first_attempt.get_or_insert_with(|| begun.elapsed());
            }
        }
        if let Some(status) = child.0.try_wait().expect("a child can be asked") {
            break status;
        }
        sleep(LOOK_EVERY);
    };
    let lasted = begun.elapsed();
    let talk = fs::read_to_string(dir.join("talk.txt")).unwrap_or_default();
    assert!(matches!(status.code(), Some(0 | 3 | 9)), "the run ended with {status}:\n{talk}");
    eprintln!("{rows} rows, {lasts}: {status} after {:.1} s\n{talk}", lasted.as_secs_f64());
    Run { before, after: sums(dir), peak_bytes, taken, first_attempt, lasted }
}

/// The most memory the process ever had, as Linux tells it.
fn peak(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1_024)
}

fn mebibytes(bytes: Option<u64>) -> String {
    bytes.map_or("not told here (Linux only)".to_owned(), |bytes| format!("{:.0}", bytes as f64 / f64::from(1 << 20)))
}
