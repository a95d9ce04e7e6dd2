//! A pause between the queries of a long publication. SQLite can restart the write-ahead log of a ledger only while the
//! log has no reader. Without pauses, a long reader would let the log grow for as long as rows are sent.

use super::lock::log_path;
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

/// The reader pauses only for a larger log, in bytes. SQLite cuts the log to [`LOG_BYTES_KEPT`] when it restarts.
const LOG_BYTES_MAX: u64 = 24 << 20;
/// The size to which a log is cut when it restarts, in bytes.
pub(super) const LOG_BYTES_KEPT: u64 = 16 << 20;
/// A busy writer needs a few commits.
const PAUSE_MAX: Duration = Duration::from_millis(250);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The pauses of one reader.
pub(super) struct LogPause {
    log: PathBuf,
    /// The longest pause.
    pause_max: Duration,
    /// A pause had no effect, because the writer is idle. No further pause is made.
    in_vain: bool,
}

impl LogPause {
    pub(super) fn of(ledger: &Path) -> LogPause {
        LogPause { log: log_path(ledger), pause_max: PAUSE_MAX, in_vain: false }
    }

    /// Waits until a large log has restarted. The caller must have no query open.
    pub(super) fn wait(&mut self) {
        let is_large = || self.log.metadata().is_ok_and(|log| log.len() > LOG_BYTES_MAX);
        if self.in_vain || !is_large() {
            return;
        }
        let (before, until) = (begun(&self.log), Instant::now() + self.pause_max);
        while begun(&self.log) == before {
            if Instant::now() >= until {
                self.in_vain = true;
                return;
            }
            sleep(LOOK_EVERY);
        }
    }
}

/// How often the log has restarted, from its header; `None` if there is no header.
fn begun(log: &Path) -> Option<[u8; 4]> {
    let mut header = [0; 16];
    File::open(log).ok()?.read_exact(&mut header).ok()?;
    header.last_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    #[test]
    fn a_large_log_begins_anew_during_the_pause_and_an_idle_writer_is_waited_for_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.sqlite");
        let writer = Connection::open(&path).unwrap();
        writer.pragma_update(None, "journal_mode", "WAL").unwrap();
        writer.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT as i64).unwrap();
        writer.execute_batch("CREATE TABLE t (b BLOB)").unwrap();
        let add = |bytes: usize| {
            writer.execute("INSERT INTO t VALUES (zeroblob(?1))", [bytes as i64]).unwrap();
        };
        let reader = Connection::open(&path).unwrap();
        let log_bytes = || log_path(&path).metadata().unwrap().len();
        reader.execute_batch("BEGIN; SELECT * FROM t").unwrap();
        (0..30).for_each(|_| add(1 << 20));
        assert!(log_bytes() > LOG_BYTES_MAX, "a reader keeps it from beginning anew");
        reader.execute_batch("COMMIT").unwrap();

        // As long as the machine needs: the writer commits until the pause ends.
        let mut pause = LogPause { pause_max: Duration::from_secs(600), ..LogPause::of(&path) };
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pause.wait());
            while !waiting.is_finished() {
                add(10);
            }
        });
        assert!(log_bytes() <= LOG_BYTES_KEPT + (1 << 20) && !pause.in_vain, "{}", log_bytes());
        let idle = Connection::open(folder.path().join("other.sqlite")).unwrap();
        drop(idle);
        std::fs::write(log_path(&folder.path().join("other.sqlite")), vec![0; LOG_BYTES_MAX as usize + 1]).unwrap();
        let mut pause = LogPause::of(&folder.path().join("other.sqlite"));
        pause.wait();
        assert!(pause.in_vain);
    }
}
