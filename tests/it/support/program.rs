//! The program itself: the binary in its own folder, with the service in the test's process.

use super::API_KEY;
use std::{
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
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

/// The program under way. What it writes is read at once, so that a full pipe does not hold it up.
pub struct UnderWay {
    child: Child,
    written: [Written; 2],
}

/// What the program wrote to a pipe so far, and the thread that reads it.
struct Written(Arc<Mutex<Vec<u8>>>, Option<JoinHandle<()>>);

impl Written {
    fn to(mut pipe: impl Read + Send + 'static) -> Written {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let read = Arc::clone(&bytes);
        let reading = std::thread::spawn(move || {
            let mut some = [0; 4_096];
            loop {
                match pipe.read(&mut some) {
                    Ok(0) => return,
                    Ok(count) => read.lock().unwrap().extend_from_slice(&some[..count]),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}"),
                }
            }
        });
        Written(bytes, Some(reading))
    }

    /// What follows this on its line, once the line is whole.
    fn after(&self, part: &str) -> Option<String> {
        let text = String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned();
        let (rest, _) = text.split_once(part)?.1.split_once('\n')?;
        Some(rest.to_owned())
    }

    fn whole(&mut self) -> Vec<u8> {
        self.1.take().unwrap().join().unwrap();
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl UnderWay {
    pub fn start(command: &mut Command) -> UnderWay {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        UnderWay { child, written: [Written::to(stdout), Written::to(stderr)] }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has written a line with this to standard error, and returns the rest of that line.
    #[track_caller]
    pub fn wait_until_it_says(&self, part: &str) -> String {
        let mut rest = None;
        wait_until(&format!("`{part}` on standard error"), || {
            rest = self.written[1].after(part);
            rest.is_some()
        });
        rest.unwrap()
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

    /// Waits for the end of the program, which another program or a time limit brings about.
    pub fn wait(mut self) -> Said {
        let status = self.child.wait().unwrap();
        self.said(status)
    }

    /// Waits for the end of the program, and fails if it hangs.
    #[track_caller]
    pub fn ends(mut self) -> Said {
        let mut status = None;
        wait_until("the end of the program", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        self.said(status.unwrap())
    }

    fn said(&mut self, status: ExitStatus) -> Said {
        let [stdout, stderr] = self.written.each_mut().map(Written::whole);
        Said::from(Output { status, stdout, stderr })
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // A program that has ended cannot be killed, which is no mistake.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A test that waits for longer than this hangs.
pub const HANGS_AFTER: Duration = Duration::from_secs(60);

/// Waits until a condition holds. After a minute it fails and names what it waited for.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < HANGS_AFTER, "timed out waiting for: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The same in a test whose runtime must go on.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < HANGS_AFTER, "timed out waiting for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until a count has reached a number, as long as it grows within 20 seconds.
#[track_caller]
pub fn wait_while_it_grows(what: &str, least: u64, count: impl Fn() -> u64) {
    let (mut grew, mut before) = (Instant::now(), 0);
    loop {
        let found = count();
        if found >= least {
            return;
        }
        if found > before {
            (grew, before) = (Instant::now(), found);
        }
        assert!(grew.elapsed() < Duration::from_secs(20), "{what}: {found} of {least}, and no more for 20 seconds");
        std::thread::sleep(Duration::from_millis(5));
    }
}
