//! The file of decisions: read as a whole, and added to by one process at a time. If a process was killed while it wrote a line,
//! readers ignore that line, and the next writer removes it.

use super::{Decision, Decisions, DecisionsError};
use crate::{
    files::{self, Links, open_private, restrict_to_owner},
    model::DecisionsHead,
};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::Path,
};

/// The longest line, in bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Reads a file of decisions; `None` if it is missing. It must continue the states that `used` names.
///
/// # Errors
/// It cannot be read, a line was changed, or it is another file than before.
pub fn read(path: &Path, used: &[DecisionsHead]) -> Result<Option<Decisions>, DecisionsError> {
    match files::open(path, Links::Followed) {
        Ok(file) => {
            // Where a file system has no locks, lines that are being written may be read.
            drop(file.lock_shared());
            read_open(&file, path, used).map(|(decisions, _)| Some(decisions))
        }
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
                tracing::warn!("{}, line {number}: this line is incomplete and is ignored", path.display());
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

/// Adds decisions to a file, which is created, readable only by the owner, if it is missing. They get the next numbers, and are
/// durable when this returns. `known` is the end of the file that they were made with.
///
/// # Errors
/// The file cannot be written, or decisions were added meanwhile.
pub fn append(path: &Path, known: &DecisionsHead, new: Vec<Decision>) -> Result<DecisionsHead, DecisionsError> {
    let failed = |step| move |fault| DecisionsError::Storage { path: path.to_owned(), step, fault };
    let mut file = open_private(path).map_err(failed("opening"))?;
    restrict_to_owner(path).map_err(failed("opening"))?;
    // Readers and writers wait for each other only while lines are written.
    file.lock().map_err(failed("locking"))?;
    let (decisions, end) = read_open(&file, path, &[])?;
    if decisions.head() != known {
        return Err(DecisionsError::Meanwhile { path: path.to_owned() });
    }
    let (mut head, mut lines) = (decisions.head, String::new());
    for mut decision in new {
        decision.n = head.count + 1;
        let (line, chain) = decision.line(&head.chain);
        if line.len() as u64 >= LINE_BYTES_MAX {
            return Err(failed("writing")(io::Error::other("a decision is too long")));
        }
        lines.push_str(&line);
        lines.push('\n');
        head = DecisionsHead { count: decision.n, chain };
    }
    write(&mut file, path, end, lines.as_bytes()).map_err(failed("writing"))?;
    Ok(head)
}

/// Writes lines behind the last whole line, which ends at `end`.
fn write(file: &mut File, path: &Path, end: u64, lines: &[u8]) -> io::Result<()> {
    // What a killed process left behind the last whole line.
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))?;
    let written = file.write_all(lines).and_then(|()| file.sync_all());
    if written.is_err() {
        // A part of the lines would be decisions that the command has not reported.
        drop(file.set_len(end));
    }
    written?;
    files::sync_folder(files::folder_of(path))
}
