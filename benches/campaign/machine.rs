//! Describes the machine, and pins processes to its cores. On systems other than Linux the description is shorter.

use super::parameters::Parameters;
use std::{
    fs,
    process::{Command, Stdio},
    thread::available_parallelism,
};

/// The lines above the table.
pub fn line(parameters: &Parameters) -> String {
    let of = |path: &str, key: &str| {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor = of("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = of("/proc/meminfo", "MemTotal").unwrap_or_else(|| "memory unknown".to_owned());
    let sha = of("/proc/cpuinfo", "flags")
        .map_or("", |flags| if flags.split(' ').any(|flag| flag == "sha_ni") { ", SHA-NI" } else { ", no SHA-NI" });
    format!(
        "{processor}{sha}, {} cores, {memory}, {} {}; {}",
        cores(),
        std::env::consts::OS,
        fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        if parameters.pin && can_pin() {
            "in pairs the client runs on the last core, the service on the others"
        } else {
            "processes are not pinned to cores"
        }
    ) + "\n"
        + &load()
}

/// The load of the machine. If it is higher than what is measured, other programs were running.
pub fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("load of the last 1, 5, 15 minutes: {}", load.split(' ').take(3).collect::<Vec<_>>().join(" "))
}

pub fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// Whether there are at least two cores, and `taskset` to choose between them.
pub fn can_pin() -> bool {
    let mut taskset = Command::new("taskset");
    taskset.arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    cores() > 1 && taskset.status().is_ok_and(|status| status.success())
}

/// Pins this process, and the processes that it starts, to these cores.
pub fn keep_to(cores: &str) {
    let mut taskset = Command::new("taskset");
    taskset.args(["-cp", cores, &std::process::id().to_string()]).stdin(Stdio::null()).stdout(Stdio::null());
    assert!(taskset.status().is_ok_and(|status| status.success()), "taskset -cp {cores} failed");
}

/// A command that is pinned to these cores.
pub fn on(cores: &str, command: &Command) -> Command {
    let mut pinned = Command::new("taskset");
    pinned.args(["-c", cores]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            pinned.env(name, value);
        }
    }
    pinned
}
