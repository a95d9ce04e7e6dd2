//! Benchmarks of a whole campaign, compared with the goals and with a bare client that only sends. Each part is a file
//! that returns lines of one table; this file decides their order. `benches/README.md` says how each line is measured.
//! No part runs in `make test`.

#![allow(clippy::print_stderr, clippy::print_stdout, clippy::unwrap_used)]

mod answered;
mod bare;
#[path = "../../tests/it/support/book.rs"]
mod book;
mod growth;
mod machine;
mod pairs;
mod parameters;
mod plan;
mod schedule;
mod service;
#[path = "../../tests/it/support/simulator_process.rs"]
mod simulator_process;
mod size;
mod stage;
mod start;
mod table;
mod watched;

use parameters::Parameters;
use service::States;
use table::Line;

/// A part: a function that returns the measured lines.
type Measure = fn(&Parameters) -> Vec<Line>;

/// The parts by name, in the order of the goals.
const PARTS: [(&str, Measure); 6] = [
    ("pairs", pairs::measure),
    ("schedule", schedule::measure),
    ("growth", growth::measure),
    ("plan", plan::measure),
    ("start", start::measure),
    ("size", size::measure),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // The bare client is this program in a separate process, so that it is measured like rescreen.
    if let [word, url, requests, in_flight] = &words[..]
        && word == bare::WORD
    {
        let in_flight = in_flight.parse().expect("the bench starts the bare client with a number");
        return bare::send_all(url, requests.as_ref(), in_flight);
    }
    if let [word, latency_ms, states] = &words[..]
        && word == service::WORD
    {
        let latency_ms = latency_ms.parse().expect("the bench starts the service with a number");
        return service::serve(latency_ms, States::of(states).expect("the bench starts the service with a known word"));
    }
    let parameters = Parameters::read();
    println!("{}\n", machine::line(&parameters));
    table::head();
    for (name, measure) in PARTS.iter().filter(|(name, _)| parameters.wants(name)) {
        eprintln!("{name} …");
        measure(&parameters).iter().for_each(Line::print);
    }
    println!("\n{}", machine::load());
}
