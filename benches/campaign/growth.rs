//! What depends on the size of the input, and what must not: intake, memory, ledger, and how soon a large campaign
//! resumes. Each size is one campaign of two runs: the first ingests every row and sends none, and the second resumes
//! it.

use super::{
    answered::{first_and_last_attempt, sums},
    parameters::Parameters,
    service::{Service, States},
    stage::{Stage, Terms, UNLIMITED},
    table::{Line, mebibytes, written},
    watched::{Watched, watch},
};
use rescreen::{ledger::Reading, pipeline::wording::grouped};
use std::{fs, time::Duration};

/// Rows, and how long the second run may last.
const SIZES: [(u64, &str); 3] = [(100_000, "600s"), (1_000_000, "60s"), (10_000_000, "300s")];

/// Bytes of ledger per row, with answers of 1.4 KB that resemble each other.
const LEDGER_MOST: f64 = 716.8;

struct Grown {
    rows: u64,
    /// From the start of the first run until its last row was in the ledger.
    intake: Duration,
    first: Watched,
    again: Watched,
    ledger_intake: u64,
    ledger_again: u64,
    /// The largest write-ahead log during the second run, in bytes.
    log_most: u64,
    answered: u64,
    first_attempt: Option<Duration>,
}

pub fn measure(parameters: &Parameters) -> Vec<Line> {
    let wanted: Vec<u64> =
        SIZES.iter().map(|(rows, _)| *rows).filter(|rows| parameters.large || *rows < 10_000_000).collect();
    let grown: Vec<Grown> = parameters.sizes(&wanted).into_iter().map(grow).collect();
    let mut lines: Vec<Line> = grown.iter().flat_map(lines).collect();
    if let [smallest, .., largest] = &grown[..] {
        let ratio = peak(largest) / peak(smallest);
        let what = format!("peak memory, {} rows to {}", grouped(largest.rows), grouped(smallest.rows));
        lines.push(Line::most("P6", what, ratio, 1.1, "times"));
    }
    if !parameters.large {
        lines.push(Line::none("P6", "10,000,000 rows", "set BENCH_LARGE=1"));
    }
    lines
}

fn peak(grown: &Grown) -> f64 {
    mebibytes(grown.first.peak_bytes.max(grown.again.peak_bytes).unwrap_or_default())
}

fn lines(grown: &Grown) -> Vec<Line> {
    let what = |text: &str| format!("{} rows: {text}", grouped(grown.rows));
    let (rows, of_two) = (grown.rows as f64, |run: &Watched| mebibytes(run.peak_bytes.unwrap_or_default()));
    let stopping = grown.first.lasted.saturating_sub(grown.intake);
    let mut lines = vec![
        Line::most("P6", what("peak memory of the two runs"), peak(grown), 64.0, "MiB"),
        Line::plain("", what("of the first, of the second"), {
            format!("{}, {}", written(of_two(&grown.first), "MiB"), written(of_two(&grown.again), "MiB"))
        }),
        Line::least("P8", what("intake, rows per second"), rows / grown.intake.as_secs_f64(), 100_000.0, ""),
        Line::plain("", what("stopping with all rows pending"), written(stopping.as_secs_f64(), "s")),
        Line::plain("", what("ledger per row, nothing sent"), written(grown.ledger_intake as f64 / rows, "bytes")),
        Line::most(
            "P8",
            what(&format!("ledger per row, {} answered", grouped(grown.answered))),
            grown.ledger_again as f64 / rows,
            LEDGER_MOST,
            "bytes",
        ),
        Line::most("", what("largest write-ahead log"), grown.log_most as f64 / 1e6, 64.0, "MB"),
        Line::plain("", what("answers per second, including start and publishing"), {
            written(grown.answered as f64 / grown.again.lasted.as_secs_f64(), "")
        }),
    ];
    let what = what("resuming, to the first attempt");
    lines.push(match grown.first_attempt {
        Some(after) => Line::most("P8", what, after.as_secs_f64(), 5.0, "s"),
        None => Line::none("P8", what, "the second run sent nothing"),
    });
    lines
}

fn grow(rows: u64) -> Grown {
    let stage = Stage::of_templates(rows);
    let service = Service::start(0, States::Balance);
    stage.set(&Terms { url: &service.url(), rate: UNLIMITED, in_flight: 64 });
    let lasts = SIZES.iter().find(|(size, _)| rows <= *size).map_or("300s", |(_, lasts)| lasts);

    // Nothing is sent until every row is ingested, and then the run stops because it expected one more: this measures
    // intake and the stop.
    let mut run = stage.rescreen("run");
    run.args(["--yes", "--expect-rows", &(rows + 1).to_string()]);
    let (mut intake, mut reading) = (Duration::ZERO, None);
    let first = watch(&mut run, stage.path(), |elapsed| {
        // One reader for the whole run, because opening one costs more than reading the sums.
        reading = reading.take().or_else(|| Reading::open(&stage.ledger()).ok());
        let now = reading.as_ref().and_then(|reading: &Reading| reading.sums().ok()).map_or(0, |sums| sums.rows);
        if now < rows || intake == Duration::ZERO {
            intake = elapsed;
        }
    });
    drop(reading);
    assert_eq!(first.code, Some(6), "unexpected exit code:\n{}", first.output);
    assert_eq!(sums(&stage.ledger()).rows, rows, "every row is ingested");
    let ledger_intake = bytes(&stage);

    let mut run = stage.rescreen("run");
    run.args(["--yes", "--for", lasts]);
    let log = stage.ledger().with_file_name("ledger.sqlite-wal");
    let mut log_most = 0;
    let again = watch(&mut run, stage.path(), |_| {
        log_most = log_most.max(fs::metadata(&log).map_or(0, |log| log.len()));
    });
    assert!(matches!(again.code, Some(0 | 9)), "unexpected exit code:\n{}", again.output);
    let first_attempt = first_and_last_attempt(&stage.ledger(), again.started_at_us)
        .map(|(at_us, _)| Duration::from_micros((at_us - again.started_at_us).unsigned_abs()));
    let counts = service.counts();
    assert_eq!(counts.requests, counts.keys, "the figure of a run that repeats requests is invalid");
    let answered = sums(&stage.ledger()).attempts;
    Grown { rows, intake, first, again, ledger_intake, ledger_again: bytes(&stage), log_most, answered, first_attempt }
}

fn bytes(stage: &Stage) -> u64 {
    fs::metadata(stage.ledger()).map_or(0, |metadata| metadata.len())
}
