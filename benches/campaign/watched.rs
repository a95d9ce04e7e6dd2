//! Runs a process and measures it: its duration, its processor time, and its peak memory as Linux reports it.

use super::simulator_process::Guarded;
use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant, SystemTime},
};

/// The interval between readings. The end of a process is noticed at most this late.
const READING_EVERY: Duration = Duration::from_millis(5);
/// The unit in which Linux counts processor time.
const TICKS_A_SECOND: f64 = 100.0;

/// The measurements of a process.
#[derive(Debug, Clone)]
pub struct Watched {
    pub code: Option<i32>,
    /// Microseconds since 1970.
    pub started_at_us: i64,
    pub lasted: Duration,
    /// `None` if the system does not report it.
    pub peak_bytes: Option<u64>,
    pub cpu_seconds: Option<f64>,
    /// What it wrote to standard output and standard error.
    pub output: String,
}

/// Runs a command to its end. `on_reading` is called about every 5 ms with the time since its start.
pub fn watch(command: &mut Command, dir: &Path, mut on_reading: impl FnMut(Duration)) -> Watched {
    let file = |name: &str| File::create(dir.join(name)).expect("a file in our own folder");
    command.stdin(Stdio::null()).stdout(file("stdout.txt")).stderr(file("stderr.txt"));
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is after 1970");
    let begun = Instant::now();
    let mut child = Guarded(command.spawn().expect("the program starts"));
    let (mut peak_bytes, mut cpu_seconds) = (None, None);
    let status = loop {
        peak_bytes = peak_bytes.max(peak(child.0.id()));
        cpu_seconds = cpu(child.0.id()).or(cpu_seconds);
        if let Some(status) = child.0.try_wait().expect("the status of a child can be read") {
            break status;
        }
        on_reading(begun.elapsed());
        sleep(READING_EVERY);
    };
    let lasted = begun.elapsed();
    let read = |name: &str| fs::read_to_string(dir.join(name)).unwrap_or_default();
    let output = read("stdout.txt") + &read("stderr.txt");
    let started_at_us = i64::try_from(since_1970.as_micros()).expect("the time fits into 64 bits");
    Watched { code: status.code(), started_at_us, lasted, peak_bytes, cpu_seconds, output }
}

/// The peak memory of a process.
fn peak(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes * 1_024)
}

/// The processor time of a process so far, in user and in kernel mode.
fn cpu(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may contain anything. The text after it begins with the third field.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS_A_SECOND)
}
