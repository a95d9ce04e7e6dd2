//! The machine a table comes from, and which of its cores a process keeps to. Elsewhere than on Linux less is told.

use super::parameters::Parameters;
use std::{
    fs,
    process::{Command, Stdio},
    thread::available_parallelism,
};

/// What stands above the table.
pub fn line(parameters: &Parameters) -> String {
    let of = |path: &str, key: &str| {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor = of("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = of("/proc/meminfo", "MemTotal").unwrap_or_else(|| "memory not told".to_owned());
    let sha = of("/proc/cpuinfo", "flags")
        .map_or("", |flags| if flags.split(' ').any(|flag| flag == "sha_ni") { ", SHA-NI" } else { ", no SHA-NI" });
    format!(
        "{processor}{sha}, {} cores, {memory}, {} {}; {}",
        cores(),
        std::env::consts::OS,
        fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
        if parameters.pin && can_pin() {
            "in pairs the client keeps to the last core, the service to the others"
        } else {
            "nobody is kept to a core"
        }
    ) + "\n"
        + &load()
}

/// How busy the machine is: above what is measured it says that others work beside.
pub fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("load of the last 1, 5, 15 minutes: {}", load.split(' ').take(3).collect::<Vec<_>>().join(" "))
}

pub fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// There are two cores, and `taskset` to choose between them.
pub fn can_pin() -> bool {
    let mut taskset = Command::new("taskset");
    taskset.arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    cores() > 1 && taskset.status().is_ok_and(|status| status.success())
}

/// This process keeps to these cores, and so does whoever it starts.
pub fn keep_to(cores: &str) {
    let mut taskset = Command::new("taskset");
    taskset.args(["-cp", cores, &std::process::id().to_string()]).stdin(Stdio::null()).stdout(Stdio::null());
    assert!(taskset.status().is_ok_and(|status| status.success()), "taskset -cp {cores} failed");
}

/// A command that keeps to these cores.
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
