//! The program itself: the binary in its own folder, with the service in the test's process.

use super::API_KEY;
use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

/// The program's file.
pub const BINARY: &str = env!("CARGO_BIN_EXE_rescreen");

/// The output of a finished program.
pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The program in a folder, with the environment of a user who has an API key, and without a terminal.
pub fn rescreen(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    surround(&mut command, folder).args(arguments);
    command
}

/// A shell where `rescreen` is the program.
pub fn shell(folder: &Path, line: &str) -> Command {
    let mut command = Command::new("sh");
    surround(&mut command, folder).args(["-c", line]);
    command
}

fn surround<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    let beside = PathBuf::from(BINARY).parent().unwrap().display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    command
        .current_dir(folder)
        .env_clear()
        .envs([
            ("PATH", format!("{beside}:{path}")),
            ("RESCREEN_API_KEY", API_KEY.to_owned()),
            ("TZ", "UTC".to_owned()),
            ("XDG_STATE_HOME", folder.join("state").display().to_string()),
        ])
        .stdin(Stdio::null())
}

impl Said {
    pub fn of(command: &mut Command) -> Said {
        Said::from(command.output().unwrap())
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Said {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Standard output is empty.
    #[track_caller]
    pub fn without_data(self) -> Said {
        assert_eq!(self.stdout, "");
        self
    }

    #[track_caller]
    pub fn says(self, part: &str) -> Said {
        assert!(self.stderr.contains(part), "expected `{part}` in:\n{}", self.stderr);
        self
    }

    /// Standard output contains this text, wherever its lines end.
    #[track_caller]
    pub fn shows(self, part: &str) -> Said {
        let text = self.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(part), "expected `{part}` in:\n{}", self.stdout);
        self
    }

    /// The command it printed to continue with.
    #[track_caller]
    pub fn next_command(&self) -> &str {
        let mut lines = self.stderr.lines().chain(self.stdout.lines());
        let line = lines.find_map(|line| line.strip_prefix("continue with: "));
        line.unwrap_or_else(|| panic!("no command to continue with in:\n{}", self.stderr))
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        use std::os::unix::process::ExitStatusExt;
        let code = output.status.code().unwrap_or_else(|| -output.status.signal().unwrap_or(0));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// The program under way.
pub struct UnderWay(Option<Child>);

impl UnderWay {
    pub fn start(command: &mut Command) -> UnderWay {
        UnderWay(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()))
    }

    pub fn id(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    /// Sends a signal by its name, like `INT`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits until the program handles SIGINT. Before that, a signal would kill it.
    pub fn wait_until_it_handles_interrupts(&self) {
        let path = format!("/proc/{}/status", self.id());
        let handled = |status: &str| {
            let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
            Some(u64::from_str_radix(mask.trim(), 16).ok()? & 0b10 != 0)
        };
        wait_until("a handler of SIGINT", || match std::fs::read_to_string(&path) {
            Ok(status) => handled(&status) == Some(true),
            // Without /proc, a while must do.
            Err(_) => {
                std::thread::sleep(Duration::from_millis(300));
                true
            }
        });
    }

    pub fn wait(mut self) -> Said {
        Said::from(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// Waits until a condition holds, and fails after 20 seconds.
#[track_caller]
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "timed out waiting for: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
