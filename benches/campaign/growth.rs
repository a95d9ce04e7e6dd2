//! What grows with a book, and what must not: intake, memory, ledger, and how soon a big campaign goes on. Each size is
//! one campaign of two runs: the first takes every row and sends none, the second goes on with it.

use super::{
    answered::{first_and_last_attempt, sums},
    parameters::Parameters,
    stage::{Stage, Terms, UNLIMITED, service},
    table::{Line, mebibytes, written},
    watched::{Watched, watch},
};
use rescreen::{ledger::Reading, pipeline::wording::grouped};
use std::{fs, time::Duration};

/// Rows, and how long the second run may last.
const SIZES: [(u64, &str); 3] = [(100_000, "600s"), (1_000_000, "60s"), (10_000_000, "300s")];

struct Grown {
    rows: u64,
    /// From the start of the first run until its last row was in the ledger.
    taken: Duration,
    first: Watched,
    again: Watched,
    ledger_taken: u64,
    ledger_again: u64,
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
        lines.push(Line::none("P6", "10,000,000 rows", "BENCH_LARGE=1 does it"));
    }
    lines
}

fn peak(grown: &Grown) -> f64 {
    mebibytes(grown.first.peak_bytes.max(grown.again.peak_bytes).unwrap_or_default())
}

fn lines(grown: &Grown) -> Vec<Line> {
    let what = |text: &str| format!("{} rows: {text}", grouped(grown.rows));
    let (rows, of_two) = (grown.rows as f64, |run: &Watched| mebibytes(run.peak_bytes.unwrap_or_default()));
    let stopping = grown.first.lasted.saturating_sub(grown.taken);
    let mut lines = vec![
        Line::most("P6", what("peak memory, of two runs"), peak(grown), 64.0, "MiB"),
        Line::plain("", what("of the first, of the second"), {
            format!("{}, {}", written(of_two(&grown.first), "MiB"), written(of_two(&grown.again), "MiB"))
        }),
        Line::least("P8", what("intake, rows a second"), rows / grown.taken.as_secs_f64(), 100_000.0, ""),
        Line::plain("", what("stopping with all rows pending"), written(stopping.as_secs_f64(), "s")),
        Line::plain("", what("ledger a row, nothing sent"), written(grown.ledger_taken as f64 / rows, "bytes")),
        Line::most(
            "P8",
            what(&format!("ledger a row, {} answered", grouped(grown.answered))),
            grown.ledger_again as f64 / rows,
            1_536.0,
            "bytes",
        ),
        Line::plain("", what("answers a second, start and publishing included"), {
            written(grown.answered as f64 / grown.again.lasted.as_secs_f64(), "")
        }),
    ];
    let what = what("going on, to the first attempt");
    lines.push(match grown.first_attempt {
        Some(after) => Line::most("P8", what, after.as_secs_f64(), 5.0, "s"),
        None => Line::none("P8", what, "the second run sent nothing"),
    });
    lines
}

fn grow(rows: u64) -> Grown {
    let stage = Stage::of_templates(rows);
    let service = service(UNLIMITED, "0ms");
    stage.set(&Terms { url: &service.url(), rate: UNLIMITED, in_flight: 64 });
    let lasts = SIZES.iter().find(|(size, _)| rows <= *size).map_or("300s", |(_, lasts)| lasts);

    // Until every row is taken nothing is sent, and then there are not as many as were expected: intake alone, and the stop
    // after it.
    let mut run = stage.rescreen("run");
    run.args(["--yes", "--expect-rows", &(rows + 1).to_string()]);
    let (mut taken, mut reading) = (Duration::ZERO, None);
    let first = watch(&mut run, stage.path(), |elapsed| {
        // One reader for the whole run: opening one costs more than a look.
        reading = reading.take().or_else(|| Reading::open(&stage.ledger()).ok());
        let now = reading.as_ref().and_then(|reading: &Reading| reading.sums().ok()).map_or(0, |sums| sums.rows);
        if now < rows || taken == Duration::ZERO {
            taken = elapsed;
        }
    });
    drop(reading);
    assert_eq!(first.code, Some(6), "it ended otherwise:\n{}", first.talk);
    assert_eq!(sums(&stage.ledger()).rows, rows, "every row is taken");
    let ledger_taken = bytes(&stage);

    let mut run = stage.rescreen("run");
    run.args(["--yes", "--for", lasts]);
    let again = watch(&mut run, stage.path(), |_| {});
    assert!(matches!(again.code, Some(0 | 9)), "it ended otherwise:\n{}", again.talk);
    let first_attempt = first_and_last_attempt(&stage.ledger(), again.started_at_us)
        .map(|(at_us, _)| Duration::from_micros((at_us - again.started_at_us).unsigned_abs()));
    assert_eq!(service.stats().double_charges, 0, "a figure for a run that pays twice is no figure");
    let answered = sums(&stage.ledger()).attempts;
    Grown { rows, taken, first, again, ledger_taken, ledger_again: bytes(&stage), answered, first_attempt }
}

fn bytes(stage: &Stage) -> u64 {
    fs::metadata(stage.ledger()).map_or(0, |metadata| metadata.len())
}
