//! The simulator as a program: it prints its address, reports what it saw, and serves a campaign.

use crate::support::{
    program::{BINARY, Said, UnderWay, rescreen, until, wait_until},
    simulator_process::Guarded,
    world::book,
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

#[tokio::test]
async fn a_spawned_simulator_serves_a_campaign_and_reports_what_it_saw() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("book.csv"), book(1..=6)).unwrap();
    let arguments = "simulate --listen 127.0.0.1:0 --per-minute 60000 --per-minute-max 90000 --credits 50 \
        --price aml-screening=4 --key sk-planted-marker-4c1 --faults drop_after@3";
    let (mut simulator, line) = started(arguments);
    let url = line.split_whitespace().find_map(|word| word.strip_suffix(';')).unwrap().to_owned();
    assert!(line.contains(&format!("{url}/_simulator/stats")), "{line}");

    let words = format!(
        "run book.csv --check aml-screening --set entity=0 --set country=za --campaign c --mode production --id no \
         --price aml-screening=4 --max-credits 24 --per-minute 60000 --service {url} --yes"
    );
    let ran = Said::of(&mut rescreen(folder.path(), &words.split_whitespace().collect::<Vec<_>>()));
    let credits = Said::of(&mut rescreen(folder.path(), &["credits", "--service", &url]));
    let stats = reqwest_get(&format!("{url}/_simulator/stats")).await;
    simulator.kill().unwrap();
    simulator.wait().unwrap();
    ran.exits(0);
    assert_eq!(credits.stdout, "26\n");
    assert_eq!(
        (&stats["charges"], &stats["credits_charged"], &stats["double_charges"]),
        (&6.into(), &24.into(), &0.into())
    );
}

/// The running simulator, with the first line that it prints.
fn started(words: &str) -> (Child, String) {
    let mut command = Command::new(BINARY);
    command.args(words.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut simulator = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(simulator.stderr.take().unwrap()).read_line(&mut line).unwrap();
    (simulator, line)
}

async fn reqwest_get(url: &str) -> Value {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let body = reqwest::get(url).await.unwrap().bytes().await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[tokio::test]
async fn the_times_and_the_faults_of_jobs_can_be_set() {
    let (mut simulator, url) = simulator_of_jobs();
    let (client, id) = submitted(&url).await;
    let charges = async || reqwest_get(&format!("{url}/_simulator/stats")).await["charges"] != 0;
    until("a charge, because 20 minutes are played in a second", charges).await;
    let state = client.get(format!("{url}/business-bank-account-verification/jobs/{id}")).header("x-api-key", "own");
    let state = state.send().await.unwrap().status();
    simulator.kill().unwrap();
    simulator.wait().unwrap();
    assert_eq!(state, 404);
}

fn simulator_of_jobs() -> (Child, String) {
    let (simulator, line) =
        started("simulate --listen 127.0.0.1:0 --job-time 20m --time-scale 1200 --job-faults row:1:state_404");
    (simulator, line.split_whitespace().find_map(|word| word.strip_suffix(';')).unwrap().to_owned())
}

/// Submits a job, and returns its id.
async fn submitted(url: &str) -> (reqwest::Client, String) {
    let body = json!({
        "mode": "production", "businessName": "Vexford", "registrationNumber": "2019/000001/07",
        "bankName": "Example Bank", "bankAccountNumber": "062000123", "bankAccountType": "current",
        "bankBranchCode": "450105",
    });
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::new();
    let submission = client.post(format!("{url}/business-bank-account-verification")).body(body.to_string());
    let submission = submission.header("x-api-key", "own").header("Idempotency-Key", "key-0001");
    let accepted = submission.send().await.unwrap().bytes().await.unwrap();
    let id = serde_json::from_slice::<Value>(&accepted).unwrap()["jobId"].as_str().unwrap().to_owned();
    (client, id)
}

fn rehearsal_of_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let row = "1,Vexford Pty,2019/000001/07,Example Bank,062000010,current";
    let header = "no,company_name,registration_number,bank,account_no,account_type";
    std::fs::write(folder.path().join("one.csv"), format!("{header}\n{row}\n")).unwrap();
    let words = "run one.csv --check business-bank-account --simulate --out out";
    let words: Vec<&str> = words.split_whitespace().collect();
    let said = UnderWay::start(&mut rescreen(folder.path(), &words)).ends();
    assert!([0, 3].contains(&said.code) && said.stderr.contains(" 0 pending"), "{}", said.stderr);
}

#[test]
fn a_rehearsal_of_jobs_completes() {
    rehearsal_of_jobs();
}

#[test]
fn a_wrong_setting_of_jobs_says_what_was_expected() {
    let folder = tempfile::tempdir().unwrap();
    for (flag, value, says) in [
        ("--time-scale", "0", "0 is not in"),
        ("--job-time", "soon", "--job-time"),
        ("--job-faults", "lots:1", "did you mean `lost`?"),
        ("--job-faults", "late:1:soon", "expected a duration such as `30m`, found `soon`"),
    ] {
        Said::of(&mut rescreen(folder.path(), &["simulate", flag, value])).exits(2).says(says);
    }
}

#[test]
fn an_address_in_use_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    Said::of(&mut rescreen(folder.path(), &["simulate", "--listen", &address])).exits(2).says(&address);
}

#[test]
fn an_address_that_others_can_reach_requires_a_flag() {
    let folder = tempfile::tempdir().unwrap();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let said = Said::of(&mut rescreen(folder.path(), &["simulate", "--listen", address])).exits(2).without_data();
        assert!(said.stderr.contains(address) && said.stderr.contains("--anywhere"), "{}", said.stderr);
    }
    let (mut simulator, line) = started("simulate --listen 0.0.0.0:0 --anywhere");
    simulator.kill().unwrap();
    simulator.wait().unwrap();
    assert!(line.contains("http://0.0.0.0:"), "{line}");
}

/// A request that is still being answered does not keep the simulator: the second signal ends it.
#[cfg(unix)]
#[test]
fn a_second_signal_ends_a_simulator_that_still_answers() {
    let (mut simulator, address) = one_that_still_answers();
    let signal = |simulator: &Child| {
        let sent = Command::new("kill").args(["-INT", &simulator.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    signal(&simulator.0);
    wait_until("a closed port", || TcpStream::connect(&address).is_err());
    assert!(simulator.0.try_wait().unwrap().is_none(), "the first signal waits for requests under way");
    signal(&simulator.0);
    wait_until("the end of the simulator", || simulator.0.try_wait().unwrap().is_some());
}

/// A simulator with a request whose reply takes ten minutes, and its address.
#[cfg(unix)]
fn one_that_still_answers() -> (Guarded, String) {
    let (simulator, line) = started("simulate --listen 127.0.0.1:0 --faults latency:1:10m");
    let simulator = Guarded(simulator);
    let address = line.split("http://").nth(1).and_then(|rest| rest.split(['/', ';']).next()).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let head = "POST /aml-screening HTTP/1.1\r\nhost: localhost\r\nx-api-key: k\r\ncontent-type: application/json\r\n";
    let body = r#"{"mode":"sandbox","name":"Thandi","entity":0,"country":"za"}"#;
    write!(
        stream,
        "{head}idempotency-key: 11111111-1111-5111-8111-111111111111\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let stats = || {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /_simulator/stats HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    };
    wait_until("a request under way", || stats().contains("POST /aml-screening"));
    // The connection stays open.
    std::mem::forget(stream);
    (simulator, address.to_owned())
}

/// How long it takes.
mod timed {
    use super::*;
    use std::time::{Duration, Instant};

    #[tokio::test]
    #[ignore = "timed: make gauntlet"]
    async fn twenty_minutes_of_a_job_are_played_in_a_second() {
        let (simulator, url) = simulator_of_jobs();
        let _simulator = Guarded(simulator);
        submitted(&url).await;
        let begun = Instant::now();
        let charges = async || reqwest_get(&format!("{url}/_simulator/stats")).await["charges"] != 0;
        until("a charge", charges).await;
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(20), "20 minutes are played in a second");
        assert!(took > Duration::from_millis(500), "{took:?}");
    }

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn a_rehearsal_of_jobs_takes_seconds() {
        let begun = Instant::now();
        rehearsal_of_jobs();
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }

    #[cfg(unix)]
    #[test]
    #[ignore = "timed: make gauntlet"]
    fn a_second_signal_ends_a_simulator_at_once() {
        let (mut simulator, _) = one_that_still_answers();
        let id = simulator.0.id().to_string();
        for _ in 0..2 {
            assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
            std::thread::sleep(Duration::from_secs(1));
        }
        let begun = Instant::now();
        simulator.0.wait().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    }
}

#[test]
fn certificate_authorities_that_are_named_and_not_there_are_a_mistake_unless_the_service_is_on_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let without = |words: &[&str]| {
        Said::of(rescreen(folder.path(), words).env("SSL_CERT_FILE", "/nowhere").env("SSL_CERT_DIR", "/nowhere"))
    };
    without(&["demo"]).exits(0);
    without(&["credits", "--service", "https://127.0.0.1:1"]).exits(2).says("SSL_CERT_FILE");
}
