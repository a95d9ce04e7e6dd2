//! Compares rescreen with the bare client: the same bodies to the same service, in turns, as whole processes from start
//! to end. It makes pairs fair: a new service for each half, one request for every row, and equal cores.

use super::{
    bare,
    machine::{self, can_pin, cores},
    parameters::Parameters,
    stage::{Stage, Terms, UNLIMITED, service},
    table::{Line, mebibytes, median, written},
    watched::{Watched, watch},
};
use rescreen::simulator::Stats;
use std::process::Command;

/// One half of a pair.
struct Half {
    ran: Watched,
    stats: Stats,
}

struct Case {
    goal: &'static str,
    latency: &'static str,
    in_flight: usize,
    /// Rows per second, as a share of the bare client's.
    share_least: f64,
}

const CASES: [Case; 2] = [
    Case { goal: "P1", latency: "50ms", in_flight: 256, share_least: 0.98 },
    Case { goal: "P2", latency: "0ms", in_flight: 64, share_least: 0.5 },
];

pub fn measure(parameters: &Parameters) -> Vec<Line> {
    let stage = Stage::of_templates(parameters.pair_rows);
    let pin = parameters.pin && can_pin();
    if pin {
        machine::keep_to(&format!("0-{}", cores() - 2));
    }
    let lines = CASES.iter().flat_map(|case| lines(parameters, &stage, case, pin)).collect();
    if pin {
        machine::keep_to(&format!("0-{}", cores() - 1));
    }
    lines
}

fn lines(parameters: &Parameters, stage: &Stage, case: &Case, pin: bool) -> Vec<Line> {
    let pairs: Vec<(Half, Half)> =
        (0..parameters.pairs).map(|_| (of_rescreen(stage, case, pin), of_bare(stage, case, pin))).collect();
    let Case { goal, latency, in_flight, share_least } = case;
    let what = |text: &str| format!("{latency}, {in_flight} in flight: {text}");
    let rate = |half: &Half| stage.rows as f64 / half.ran.lasted.as_secs_f64();
    let cpu = |half: &Half| half.ran.cpu_seconds.unwrap_or(f64::NAN) * 10_000.0 / stage.rows as f64;
    let peak = |half: &Half| mebibytes(half.ran.peak_bytes.unwrap_or_default());
    let attempts = |half: &Half| asked(&half.stats) as f64 / half.stats.distinct_keys as f64;
    let both = |figure: &dyn Fn(&Half) -> f64, unit: &str| {
        let (ours, bare) =
            (median(pairs.iter().map(|(ours, _)| figure(ours))), median(pairs.iter().map(|(_, bare)| figure(bare))));
        format!("{} · bare {}", written(ours, unit), written(bare, unit))
    };
    let share = median(pairs.iter().map(|(ours, bare)| rate(ours) / rate(bare)));
    vec![
        Line::least(goal, what("rows per second, as a share of the bare client's"), share, *share_least, ""),
        Line::plain("", what("rows per second"), both(&rate, "")),
        Line::plain("", what("CPU per 10,000 rows"), both(&cpu, "s")),
        Line::plain("", what("peak memory"), both(&peak, "MiB")),
        Line::plain("", what("attempts per request, at the service"), both(&attempts, "")),
    ]
}

fn asked(stats: &Stats) -> u64 {
    stats.by_route.get("POST /aml-screening").copied().unwrap_or_default()
}

/// Everything a user waits for: start, intake, sending, ledger, Parquet, manifest.
fn of_rescreen(stage: &Stage, case: &Case, pin: bool) -> Half {
    half(stage, case, pin, |_| {
        let mut run = stage.rescreen("run");
        run.arg("--yes");
        run
    })
}

fn of_bare(stage: &Stage, case: &Case, pin: bool) -> Half {
    half(stage, case, pin, |url| {
        let mut bare = Command::new(std::env::current_exe().expect("this program knows its path"));
        bare.args([bare::WORD, url]).arg(bare::write_requests(stage)).arg(case.in_flight.to_string());
        bare
    })
}

fn half(stage: &Stage, case: &Case, pin: bool, command: impl FnOnce(&str) -> Command) -> Half {
    let service = service(UNLIMITED, case.latency);
    let url = service.url();
    stage.set(&Terms { url: &url, rate: UNLIMITED, in_flight: case.in_flight });
    let command = command(&url);
    let last = (cores() - 1).to_string();
    let mut command = if pin { machine::on(&last, &command) } else { command };
    let ran = watch(&mut command, stage.path(), |_| {});
    assert_eq!(ran.code, Some(0), "unexpected exit code:\n{}", ran.output);
    let stats = service.stats();
    assert_eq!(
        (stats.charges, stats.double_charges),
        (stage.rows, 0),
        "the figure of a run that loses rows is invalid"
    );
    Half { ran, stats }
}
