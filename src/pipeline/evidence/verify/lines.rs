//! A file of chained lines, read line by line.

use super::{
    super::{
        bundle::ChainEnd,
        facts::{ASKS, DECISIONS, REQUESTS},
    },
    package::ReadFault,
};
use crate::model::chain;
use std::io::{BufRead, BufReader, Read};

/// The longest line, in bytes. A line of a request has about 100 bytes for each attempt.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// Whether a file of evidence has chained lines.
pub fn is_chained(name: &str) -> bool {
    [ASKS, REQUESTS, DECISIONS].contains(&name)
}

/// Reads the JSON object of each line, and returns the end of the file.
///
/// # Errors
/// The first line that was changed, or for which `each` fails.
pub fn chained(file: &mut dyn Read, mut each: impl FnMut(&str) -> Result<(), String>) -> Result<ChainEnd, ReadFault> {
    let (mut end, mut line) = (ChainEnd { lines: 0, chain: String::new() }, Vec::new());
    let mut reader = BufReader::new(file);
    loop {
        line.clear();
        if reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(end);
        }
        let number = end.lines + 1;
        let fault = |fault: String| ReadFault(format!("line {number}: {fault}"));
        let text = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
        let text = text.ok_or_else(|| fault("expected a whole line of UTF-8 text, found other bytes".to_owned()))?;
        let (object, chain) = chain::of_line(text, &end.chain).map_err(fault)?;
        each(&object).map_err(fault)?;
        end = ChainEnd { lines: number, chain };
    }
}
