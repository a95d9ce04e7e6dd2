//! `--metrics`: Prometheus reads how far a run is. A port in use, and an address that other machines can reach, are
//! refused before anything is sent.

use crate::{
    cli::Workspace,
    support::program::{UnderWay, wait_until},
};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
};

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Where the run serves its metrics.
fn address_of(run: &UnderWay) -> SocketAddr {
    let line = run.line_with("metrics: http://");
    line.split("http://").nth(1).and_then(|rest| rest.strip_suffix("/metrics")).unwrap().parse().unwrap()
}

#[test]
fn a_run_serves_its_metrics_until_it_ends() {
    let workspace = Workspace::that_answers_only(9, 40);
    let words = ["--yes", "--in-flight", "4", "--metrics", "0"];
    let under_way = UnderWay::start(&mut workspace.production("run", &words));
    let address = address_of(&under_way);
    // The progress is told twice a second.
    let is_told = || get(address, "/metrics").contains("\nrescreen_latency_seconds_count 9");
    wait_until("the metrics of nine answers", is_told);
    let reply = get(address, "/metrics");
    assert!(reply.starts_with("HTTP/1.1 200 OK"), "{reply}");
    assert!(reply.contains("content-type: application/openmetrics-text"), "{reply}");
    let value = |name: &str| -> f64 {
        let line = reply.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {reply}")).parse().unwrap()
    };
    assert!(value("rescreen_requests_total") >= 5.0 && value("rescreen_credits_charged_total") >= 5.0, "{reply}");
    assert!(value("rescreen_latency_seconds_count") >= 5.0 && value("rescreen_credits_limit") == 1_000.0, "{reply}");
    assert!(reply.contains("rescreen_asks{check=\"aml-screening\"} 40"), "{reply}");
    for secret in [crate::support::API_KEY, "book.csv", "2026-11"] {
        assert!(!reply.contains(secret), "{secret} is in {reply}");
    }
    assert!(get(address, "/").starts_with("HTTP/1.1 404"), "only the metrics are served");
    workspace.service.answers_all();
    under_way.wait().exits(0).says(&format!("metrics: http://{address}/metrics"));
    assert!(TcpStream::connect(address).is_err(), "the port is closed");
}

#[test]
fn clients_that_send_nothing_do_not_keep_a_run_from_sending() {
    let workspace = Workspace::that_answers_only(1, 20);
    let words = ["--yes", "--in-flight", "2", "--metrics", "127.0.0.1:0"];
    let under_way = UnderWay::start(&mut workspace.production("run", &words));
    workspace.service.wait_for_charges(3);
    let address = address_of(&under_way);
    let silent: Vec<TcpStream> = (0..200).filter_map(|_| TcpStream::connect(address).ok()).collect();
    workspace.service.answers_all();
    under_way.wait().exits(0);
    drop(silent);
}

#[test]
fn a_port_in_use_is_found_before_anything_is_sent() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let workspace = Workspace::new(3);
    let said = workspace.run(&["--metrics", &address]).exits(2).without_data();
    said.says(&format!("error: --metrics {address}: Address already in use")).says("choose another address");
    assert_eq!(workspace.service.simulator.stats().requests, 0);
    assert!(!workspace.path().join("out").exists());
}

#[test]
fn an_address_that_other_machines_can_reach_needs_a_flag_and_gets_a_warning() {
    let workspace = Workspace::new(3);
    let said = workspace.run(&["--metrics", "0.0.0.0:0"]).exits(2);
    said.says("--metrics 0.0.0.0:0: expected a loopback address").says("--metrics-anywhere");
    assert_eq!(workspace.service.simulator.stats().requests, 0);
    let said = workspace.run(&["--metrics", "0.0.0.0:0", "--metrics-anywhere"]).exits(0);
    said.says("warning: other machines can read the metrics; metrics: http://0.0.0.0:");
    workspace.run(&["--metrics", "localhost"]).exits(2).says("expected a port such as 9184");
}

#[test]
fn collect_serves_metrics_too() {
    let workspace = Workspace::new(3);
    workspace.run(&[]).exits(0);
    let said = workspace.say(&["collect", "out/2026-11", "--metrics", "0"]).exits(0);
    said.says("metrics: http://127.0.0.1:");
}
