//! Standard output. All data goes through here, and here alone it is decided what a failed write means: a reader that
//! closed its pipe has read enough, and anything else, such as a full disk, is an error that ends the program with exit
//! code 11. After a failed write nothing more is written, so that no line is torn in the middle of the output.

use rescreen::model::ExitCode;
use std::{
    io::{self, ErrorKind, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What became of standard output.
static STATE: Mutex<State> = Mutex::new(State { end: None, has_rows: false });

struct State {
    /// Why nothing more is written.
    end: Option<End>,
    /// Rows were among the output that are also in the output folder.
    has_rows: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The reader has gone.
    Closed,
    /// The output is not whole: the fault of the system.
    Failed(String),
}

impl End {
    fn of(fault: &io::Error) -> End {
        if fault.kind() == ErrorKind::BrokenPipe { End::Closed } else { End::Failed(fault.to_string()) }
    }
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes all of this, unless an earlier write failed.
pub fn write(bytes: &[u8]) {
    let mut state = state();
    if state.end.is_none() {
        let mut out = io::stdout().lock();
        state.end = out.write_all(bytes).and_then(|()| out.flush()).err().map(|fault| End::of(&fault));
    }
}

/// The exit code of a command, also of one whose output could not be written.
pub fn exit_code(code: ExitCode) -> ExitCode {
    match state().end {
        Some(End::Failed(_)) => code.or(ExitCode::Storage),
        Some(End::Closed) | None => code,
    }
}

/// Why the output is not whole, and what to do about it; `None` if it is.
pub fn fault() -> Option<String> {
    match &*state() {
        State { end: Some(End::Failed(fault)), has_rows } => Some(shown(fault, *has_rows)),
        State { .. } => None,
    }
}

fn shown(fault: &str, has_rows: bool) -> String {
    let advice = if has_rows {
        "rows are missing from it. The files in the output folder have every row"
    } else {
        "it is incomplete. Make room, or write to another place, and run the command again"
    };
    format!("error: standard output: expected to write all of it, found: {fault}; {advice}")
}

/// Whether the reader has gone.
pub fn is_closed() -> bool {
    state().end == Some(End::Closed)
}

/// Tells this process to end, as SIGTERM does, when the reader of standard output has gone: its results would reach no one.
#[cfg(unix)]
pub fn end_with_reader() {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        process::{Signal, getpid, kill_process},
    };
    let watch = || {
        let out = io::stdout();
        let every = Timespec { tv_sec: 1, tv_nsec: 0 };
        loop {
            // Only errors are asked for.
            let mut fds = [PollFd::new(&out, PollFlags::empty())];
            match poll(&mut fds, Some(&every)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) if fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) => {
                    tracing::warn!("the reader of standard output has gone; the run ends");
                    let _ = kill_process(getpid(), Signal::TERM);
                    return;
                }
                _ => return,
            }
        }
    };
    // Without the thread, the run ends when it writes.
    drop(std::thread::Builder::new().name("stdout".to_owned()).spawn(watch));
}

#[cfg(not(unix))]
pub fn end_with_reader() {}

/// Standard output as a writer of result rows.
pub struct Rows {
    /// The rows are also in the output folder.
    pub are_kept: bool,
}

impl Write for Rows {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        state().has_rows |= self.are_kept;
        write(bytes);
        match state().end {
            None => Ok(bytes.len()),
            Some(_) => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_closed_pipe_is_quiet() {
        assert_eq!(End::of(&ErrorKind::BrokenPipe.into()), End::Closed);
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::WriteZero, ErrorKind::Other] {
            assert!(matches!(End::of(&kind.into()), End::Failed(_)), "{kind}");
        }
    }
}
