//! A comparison of large rounds takes bounded time and memory. `RESCREEN_BINARY` names a release build of the program, and only
//! such a build gets 1,000,000 rows a side and a limit of time. `RESCREEN_ROWS` sets another number of rows.

use crate::support::{
    program::BINARY,
    rounds::{End, Published},
};
use rescreen::sink::OutputFormat;
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Writes a round: every 100th subject of the other round is missing, and every 50th is answered differently.
fn write(folder: &Path, campaign: &str, format: OutputFormat, rows: u64, is_new: bool) {
    let mut round = Published::new(campaign, format);
    // About as long as a real answer.
    let line = "street 1234, unit 56, suburb of the town with the long name";
    round.json = serde_json::json!({ "results": { "match": [], "lines": vec![line; 8] }, "n": 1.10 }).to_string();
    for number in 1..=rows {
        let subject = number + u64::from(is_new) * (rows / 100);
        let end = match subject % 50 {
            0 if is_new => End::Result("review", "pep_match", 2),
            1 => End::Failure("refused"),
            2 => End::Result("review", "name_match", u8::from(is_new)),
            _ => End::Result("clear", "no_match", 1),
        };
        // Another order in each round.
        let place = if is_new { number } else { rows + 1 - number };
        round.row(folder, "aml-screening", Some(&format!("CUST-{subject:010}")), place, end);
    }
    round.publish(folder);
}

#[test]
#[ignore = "timed: make gauntlet"]
fn a_million_rows_a_side_are_compared_within_30_seconds_and_1_gib() {
    let binary = std::env::var("RESCREEN_BINARY").unwrap_or_else(|_| BINARY.to_owned());
    let usual = if binary == BINARY { 50_000 } else { 1_000_000 };
    let rows: u64 = std::env::var("RESCREEN_ROWS").map_or(usual, |rows| rows.parse().unwrap());
    for format in [OutputFormat::Parquet, OutputFormat::Jsonl] {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = [("old", false), ("new", true)].map(|(name, is_new)| {
            let path = folder.path().join(name);
            write(&path, name, format, rows, is_new);
            path
        });
        for more in [&["--json"][..], &["--json", "--to", "all.parquet", "--all"], &["--limit", "1000"]] {
            let begun = Instant::now();
            let mut command = Command::new(&binary);
            command.arg("diff").args([&old, &new]).args(more).current_dir(folder.path()).stdout(Stdio::piped());
            let child = command.spawn().unwrap();
            let status = format!("/proc/{}/status", child.id());
            let watching = std::thread::spawn(move || {
                let mut highest = 0;
                while let Ok(status) = fs::read_to_string(&status) {
                    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                    let Some(peak) = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok())
                    else {
                        break;
                    };
                    highest = highest.max(peak);
                    std::thread::sleep(Duration::from_millis(20));
                }
                highest >> 10
            });
            let said = child.wait_with_output().unwrap();
            let (elapsed, mebibytes) = (begun.elapsed(), watching.join().unwrap());
            assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
            println!("{format} {more:?}: {rows} rows a side, {elapsed:.1?}, {mebibytes} MiB");
            if more.contains(&"--json") {
                let diff: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
                println!("{}", diff["counts"]);
                assert_eq!(diff["counts"]["joined"], rows / 100);
            } else {
                let listed = String::from_utf8(said.stdout).unwrap().matches("new_match  aml-screening  CUST").count();
                assert!(listed > 900, "{listed}");
            }
            if binary != BINARY {
                assert!(elapsed < Duration::from_secs(30), "{elapsed:?}");
                assert!(mebibytes < 1_024, "{mebibytes} MiB");
            }
        }
    }
}
