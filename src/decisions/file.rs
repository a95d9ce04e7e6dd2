//! The file of decisions: read as a whole, and added to by one process at a time. A line that a killed process left unfinished
//! is no decision: readers leave it out, and the next writer removes it.

use super::{Decision, Decisions, DecisionsError};
use crate::{
    files::{self, Links, open_private},
    model::DecisionsHead,
};
use std::{
    fs::{File, TryLockError},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// The longest line, in bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Reads a file of decisions; `None` if it is missing. It must continue the states that `used` names.
///
/// # Errors
/// It cannot be read, a line was changed, or it is another file than before.
pub fn read(path: &Path, used: &[DecisionsHead]) -> Result<Option<Decisions>, DecisionsError> {
    match files::open(path, Links::Followed) {
        Ok(file) => read_open(&file, path, used).map(|(decisions, _)| Some(decisions)),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(fault) => Err(DecisionsError::Storage { path: path.to_owned(), step: "reading", fault }),
    }
}

/// The decisions of a file, and where its last whole line ends.
fn read_open(file: &File, path: &Path, used: &[DecisionsHead]) -> Result<(Decisions, u64), DecisionsError> {
    let storage = |fault| DecisionsError::Storage { path: path.to_owned(), step: "reading", fault };
    let (mut decisions, mut end, mut line) = (Decisions::default(), 0, Vec::new());
    let mut reader = BufReader::new(file);
    loop {
        line.clear();
        let bytes = reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line).map_err(storage)? as u64;
        let number = decisions.head.count + 1;
        let faulty =
            |fault: &str| DecisionsError::Line { path: path.to_owned(), line: number, fault: fault.to_owned() };
        if bytes == LINE_BYTES_MAX {
            return Err(faulty("expected at most 1 MiB, found more"));
        }
        if line.pop() != Some(b'\n') {
            if bytes > 0 {
                tracing::warn!("{}, line {number}: this line is not finished, and is no decision", path.display());
            }
            break;
        }
        let text = std::str::from_utf8(&line).map_err(|_| faulty("expected UTF-8 text, found other bytes"))?;
        let (decision, chain) =
            Decision::of_line(text, &decisions.head.chain, number).map_err(|fault| faulty(&fault))?;
        decisions.add(&decision, chain);
        end += bytes;
        if let Some(before) = used.iter().find(|before| before.count == number && before.chain != decisions.head.chain)
        {
            return Err(another(path, before, "another digest there"));
        }
    }
    match used.iter().find(|before| before.count > decisions.head.count) {
        Some(before) => Err(another(path, before, &format!("a file that ends with line {}", decisions.head.count))),
        None => Ok((decisions, end)),
    }
}

fn another(path: &Path, before: &DecisionsHead, found: &str) -> DecisionsError {
    let DecisionsHead { count, chain } = before.clone();
    DecisionsError::Another { path: path.to_owned(), count, chain, found: found.to_owned() }
}

/// A file of decisions that no other process can add to.
pub struct OpenDecisions {
    file: File,
    path: PathBuf,
    decisions: Decisions,
    end: u64,
}

impl OpenDecisions {
    /// Opens a file of decisions, and creates it, readable only by the owner, if it is missing.
    ///
    /// # Errors
    /// It cannot be opened or read, a line was changed, or another process adds to it.
    pub fn open(path: &Path, used: &[DecisionsHead]) -> Result<OpenDecisions, DecisionsError> {
        let storage = |fault| DecisionsError::Storage { path: path.to_owned(), step: "opening", fault };
        let file = open_private(path).map_err(storage)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(DecisionsError::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(fault)) => return Err(storage(fault)),
        }
        let (decisions, end) = read_open(&file, path, used)?;
        Ok(OpenDecisions { file, path: path.to_owned(), decisions, end })
    }

    /// What it has.
    pub fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    /// Adds decisions, which get the next numbers. They are durable when this returns.
    ///
    /// # Errors
    /// A storage error.
    pub fn append(mut self, new: Vec<Decision>) -> Result<Decisions, DecisionsError> {
        let mut lines = String::new();
        for mut decision in new {
            decision.n = self.decisions.head.count + 1;
            let (line, chain) = decision.line(&self.decisions.head.chain);
            lines.push_str(&line);
            lines.push('\n');
            self.decisions.add(&decision, chain);
        }
        let written = self.write(lines.as_bytes());
        written.map_err(|fault| DecisionsError::Storage { path: self.path.clone(), step: "writing", fault })?;
        Ok(self.decisions)
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        // What a killed process left behind the last whole line.
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        let written = self.file.write_all(lines).and_then(|()| self.file.sync_all());
        if written.is_err() {
            // A part of the lines would be decisions that the command has not reported.
            drop(self.file.set_len(self.end));
        }
        written?;
        sync_folder(files::folder_of(&self.path))
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}
