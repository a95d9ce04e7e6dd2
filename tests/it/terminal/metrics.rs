//! `--metrics`: Prometheus reads how far a run is. A port in use, and an address that other machines can reach, are
//! refused before anything is sent.

use crate::{
    cli::Workspace,
    support::program::{UnderWay, wait_until},
};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    time::Duration,
};

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The value of a metric in a reply.
fn value(reply: &str, name: &str) -> Option<f64> {
    let line = reply.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.map(|value| value.parse().unwrap())
}

/// A run of this many rows with four requests in flight and the address of its metrics.
fn with_metrics(checks: u64, rows: usize) -> (Workspace, UnderWay, SocketAddr) {
    let workspace = Workspace::that_answers_only(checks, rows);
    let under_way = workspace.under_way(4, checks + 4, &["--metrics", "0"]);
    let rest = under_way.wait_until_it_says("metrics: http://");
    let address = rest.split('/').next().unwrap().parse().unwrap();
    (workspace, under_way, address)
}

#[test]
fn a_run_serves_its_metrics_until_it_ends() {
    let (workspace, under_way, address) = with_metrics(9, 40);
    // The progress is told twice a second.
    let charged = || value(&get(address, "/metrics"), "rescreen_credits_charged_total");
    wait_until("the progress in the metrics", || charged() >= Some(9.0));
    let reply = get(address, "/metrics");
    assert!(reply.starts_with("HTTP/1.1 200 OK"), "{reply}");
    assert!(reply.contains("content-type: application/openmetrics-text"), "{reply}");
    let value = |name: &str| value(&reply, name).unwrap_or_else(|| panic!("no {name} in {reply}"));
    assert!(value("rescreen_requests_total") >= 5.0 && value("rescreen_credits_charged_total") >= 5.0, "{reply}");
    assert!(value("rescreen_latency_seconds_count") >= 5.0 && value("rescreen_credits_limit") == 1_000.0, "{reply}");
    assert!(reply.contains("rescreen_asks{check=\"aml-screening\"} 40"), "{reply}");
    for secret in [crate::support::API_KEY, "book.csv", "2026-11"] {
        assert!(!reply.contains(secret), "{secret} is in {reply}");
    }
    assert!(get(address, "/").starts_with("HTTP/1.1 404"), "only the metrics are served");
    workspace.service.answers_all();
    under_way.ends().exits(0).says(&format!("metrics: http://{address}/metrics"));
    assert!(TcpStream::connect(address).is_err(), "the port is closed");
}

#[test]
fn clients_that_send_nothing_do_not_keep_a_run_from_sending() {
    let (workspace, under_way, address) = with_metrics(1, 20);
    // As many as it accepts at once. A further one would wait until one of these is closed.
    let connects = |_| TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok();
    let silent: Vec<TcpStream> = (0..200).map_while(connects).collect();
    assert!(!silent.is_empty());
    workspace.service.answers_all();
    under_way.ends().exits(0);
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
