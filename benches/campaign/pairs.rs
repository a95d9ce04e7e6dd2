//! Compares rescreen with the bare client, and with a Python script if Python has the packages: the same bodies to the
//! same service, in turns, as whole processes from start to end. It makes each comparison fair: a new service for each
//! client, one request for every row, and equal cores.

use super::{
    bare,
    machine::{self, can_pin, cores},
    parameters::Parameters,
    service::{Counts, Service, States},
    stage::{Stage, Terms, UNLIMITED},
    table::{Line, mebibytes, median, written},
    watched::{Watched, watch},
};
use std::{
    path::Path,
    process::{Command, Stdio},
};

/// One client of a round.
struct Ran {
    ran: Watched,
    counts: Counts,
}

/// The clients that take turns.
struct Round {
    ours: Ran,
    bare: Ran,
    script: Option<Ran>,
}

struct Case {
    goal: &'static str,
    latency_ms: u64,
    in_flight: usize,
    /// Rows per second, as a share of the bare client's.
    share_least: f64,
    /// The same with a service whose balance never moves.
    frozen_least: f64,
}

const CASES: [Case; 2] = [
    Case { goal: "P1", latency_ms: 50, in_flight: 256, share_least: 0.9, frozen_least: 0.5 },
    Case { goal: "P2", latency_ms: 0, in_flight: 64, share_least: 0.25, frozen_least: 0.05 },
];

/// Processor time of rescreen, as a multiple of the bare client's.
const CPU_MOST: f64 = 4.0;
/// Peak memory of rescreen, in MiB.
const PEAK_MOST: f64 = 64.0;

pub fn measure(parameters: &Parameters) -> Vec<Line> {
    let stage = Stage::of_templates(parameters.pair_rows);
    let pin = parameters.pin && can_pin();
    if pin {
        machine::keep_to(&format!("0-{}", cores() - 2));
    }
    let of_case = |case| States::ALL.into_iter().map(move |states| (case, states));
    let pairs = CASES.iter().flat_map(of_case).filter(|(_, states)| parameters.wants_states(states.word()));
    let lines = pairs.flat_map(|(case, states)| lines(parameters, &stage, (case, states), pin)).collect();
    if pin {
        machine::keep_to(&format!("0-{}", cores() - 1));
    }
    lines
}

fn lines(parameters: &Parameters, stage: &Stage, (case, states): (&Case, States), pin: bool) -> Vec<Line> {
    let python = python();
    let on = &On { case, states, pin };
    let rounds: Vec<Round> = (0..parameters.pairs)
        .map(|_| Round {
            ours: of_rescreen(stage, on),
            bare: of_bare(stage, on),
            script: python.as_deref().map(|python| of_script(python, stage, on)),
        })
        .collect();
    let what = |text: &str| format!("{} ms, {} in flight, {}: {text}", case.latency_ms, case.in_flight, states.word());
    let rate = |ran: &Ran| stage.rows as f64 / ran.ran.lasted.as_secs_f64();
    let cpu = |ran: &Ran| ran.ran.cpu_seconds.unwrap_or(f64::NAN) * 10_000.0 / stage.rows as f64;
    let peak = |ran: &Ran| mebibytes(ran.ran.peak_bytes.unwrap_or_default());
    let attempts = |ran: &Ran| ran.counts.requests as f64 / ran.counts.keys as f64;
    let of_each = |figure: &dyn Fn(&Ran) -> f64, unit: &str| {
        let of = |which: fn(&Round) -> Option<&Ran>| {
            let figures: Vec<f64> = rounds.iter().filter_map(which).map(figure).collect();
            if figures.is_empty() { "not measured".to_owned() } else { written(median(figures), unit) }
        };
        let (ours, bare, script) =
            (of(|round| Some(&round.ours)), of(|round| Some(&round.bare)), of(|round| round.script.as_ref()));
        format!("{ours} · bare {bare} · script {script}")
    };
    let of_ours = |figure: &dyn Fn(&Ran) -> f64| median(rounds.iter().map(|round| figure(&round.ours)));
    let as_share =
        |figure: &dyn Fn(&Ran) -> f64| median(rounds.iter().map(|round| figure(&round.ours) / figure(&round.bare)));
    let least = if states == States::Frozen { case.frozen_least } else { case.share_least };
    vec![
        Line::least(case.goal, what("rows per second, as a share of the bare client's"), as_share(&rate), least, ""),
        Line::most("", what("CPU, as a multiple of the bare client's"), as_share(&cpu), CPU_MOST, ""),
        Line::most("", what("peak memory"), of_ours(&peak), PEAK_MOST, "MiB"),
        Line::plain("", what("rows per second"), of_each(&rate, "")),
        Line::plain("", what("CPU per 10,000 rows"), of_each(&cpu, "s")),
        Line::plain("", what("peak memory"), of_each(&peak, "MiB")),
        Line::plain("", what("attempts per request, at the service"), of_each(&attempts, "")),
    ]
}

/// Where a client runs.
struct On<'a> {
    case: &'a Case,
    states: States,
    pin: bool,
}

/// Everything a user waits for: start, intake, sending, ledger, Parquet, manifest.
fn of_rescreen(stage: &Stage, on: &On<'_>) -> Ran {
    of_client(stage, on, |_| {
        let mut run = stage.rescreen("run");
        run.arg("--yes");
        run
    })
}

fn of_bare(stage: &Stage, on: &On<'_>) -> Ran {
    of_client(stage, on, |url| {
        let mut bare = Command::new(std::env::current_exe().expect("this program knows its path"));
        bare.args([bare::WORD, url]).arg(bare::write_requests(stage)).arg(on.case.in_flight.to_string());
        bare
    })
}

fn of_script(python: &str, stage: &Stage, on: &On<'_>) -> Ran {
    of_client(stage, on, |url| {
        let mut script = Command::new(python);
        script.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/campaign/script.py")).arg(url);
        script.arg(bare::write_requests(stage)).arg(on.case.in_flight.to_string());
        script
    })
}

/// A Python with aiohttp and uvloop, if there is one.
fn python() -> Option<String> {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut probe = Command::new(&python);
    probe.args(["-c", "import aiohttp, uvloop"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let has_packages = probe.status().is_ok_and(|status| status.success());
    if !has_packages {
        eprintln!("the script is not measured: {python} has no aiohttp or no uvloop (PYTHON names another one)");
    }
    has_packages.then_some(python)
}

fn of_client(stage: &Stage, on: &On<'_>, command: impl FnOnce(&str) -> Command) -> Ran {
    let On { case, states, pin } = *on;
    let service = Service::start(case.latency_ms, states);
    let url = service.url();
    stage.set(&Terms { url: &url, rate: UNLIMITED, in_flight: case.in_flight });
    let command = command(&url);
    let last = (cores() - 1).to_string();
    let mut command = if pin { machine::on(&last, &command) } else { command };
    let ran = watch(&mut command, stage.path(), |_| {});
    assert_eq!(ran.code, Some(0), "unexpected exit code:\n{}", ran.output);
    let counts = service.counts();
    assert_eq!(counts.keys, stage.rows, "the figure of a run that loses rows is invalid");
    assert_eq!(counts.requests, stage.rows, "the figure of a run that repeats requests is invalid");
    Ran { ran, counts }
}
