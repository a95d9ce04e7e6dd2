//! Which requests of a plan are distinct, however many there are. Marks of up to a million asks are sorted in memory; beyond
//! that each million goes, sorted, to a temporary file, and all of them are merged at the end. It owns the decision that the
//! first of equal asks, in input order, is the one that counts.

use crate::error::Error;
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
};

/// Marks kept in memory: 24 MiB.
const MARKS_MAX: usize = 1 << 20;
/// Marks of each sorted run that are read at once.
const READ_MARKS: usize = 1_024;
const MARK_BYTES: usize = 20;

/// The digest of an ask's content. It never leaves the process that made it.
pub type Digest = [u64; 2];

/// An ask in the order of what it asks for, and of the input where that is equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AskDigest {
    digest: Digest,
    /// The place in the input: of the mark in its run, and of the run where runs are merged.
    order: u32,
    shape: u32,
}

/// Counts distinct asks.
pub struct Distinct {
    marks: Vec<AskDigest>,
    marks_max: usize,
    spilled: Option<Spilled>,
}

/// Sorted runs in a file without a name: it goes with the process, whatever ends it.
struct Spilled {
    file: BufWriter<File>,
    /// Marks of each run.
    runs: Vec<u64>,
}

impl Distinct {
    pub fn new() -> Distinct {
        Distinct::of_runs(MARKS_MAX)
    }

    fn of_runs(marks_max: usize) -> Distinct {
        Distinct { marks: Vec::new(), marks_max, spilled: None }
    }

    /// Takes in the next ask of the input. `shape` is what the caller wants to know of it if it is the first of its kind.
    pub fn add(&mut self, digest: Digest, shape: u32) -> Result<(), Error> {
        let order = u32::try_from(self.marks.len()).expect("a run is far shorter");
        self.marks.push(AskDigest { digest, order, shape });
        if self.marks.len() < self.marks_max {
            return Ok(());
        }
        self.spill().map_err(no_room)
    }

    /// Gives the shape of the first of each kind, in no order.
    pub fn each_first(mut self, mut each: impl FnMut(u32)) -> Result<(), Error> {
        if self.spilled.is_some() && !self.marks.is_empty() {
            self.spill().map_err(no_room)?;
        }
        match self.spilled {
            Some(spilled) => merge(spilled, each).map_err(no_room),
            None => {
                sort(&mut self.marks);
                self.marks.iter().for_each(|mark| each(mark.shape));
                Ok(())
            }
        }
    }

    fn spill(&mut self) -> io::Result<()> {
        sort(&mut self.marks);
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            None => {
                let file = BufWriter::with_capacity(256 << 10, tempfile::tempfile()?);
                self.spilled.insert(Spilled { file, runs: Vec::new() })
            }
        };
        for mark in &self.marks {
            spilled.file.write_all(&mark.to_bytes())?;
        }
        spilled.runs.push(self.marks.len() as u64);
        self.marks.clear();
        Ok(())
    }
}

/// In order, and the first of each kind alone.
fn sort(marks: &mut Vec<AskDigest>) {
    marks.sort_unstable();
    marks.dedup_by_key(|mark| mark.digest);
}

impl AskDigest {
    fn to_bytes(self) -> [u8; MARK_BYTES] {
        let mut bytes = [0; MARK_BYTES];
        bytes[..8].copy_from_slice(&self.digest[0].to_le_bytes());
        bytes[8..16].copy_from_slice(&self.digest[1].to_le_bytes());
        bytes[16..].copy_from_slice(&self.shape.to_le_bytes());
        bytes
    }

    fn of_bytes(bytes: &[u8], run: u32) -> AskDigest {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes are eight"));
        let shape = u32::from_le_bytes(bytes[16..MARK_BYTES].try_into().expect("four bytes are four"));
        AskDigest { digest: [word(0), word(8)], order: run, shape }
    }
}

/// One run being read.
struct Run {
    number: u32,
    /// Where its next mark begins in the file, and how many follow.
    offset: u64,
    left: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Run {
    fn next(&mut self, file: &mut File) -> io::Result<Option<AskDigest>> {
        if self.at == self.buffer.len() {
            let wanted = self.left.min(READ_MARKS as u64);
            if wanted == 0 {
                return Ok(None);
            }
            self.buffer.resize(wanted as usize * MARK_BYTES, 0);
            file.seek(SeekFrom::Start(self.offset))?;
            file.read_exact(&mut self.buffer)?;
            (self.offset, self.left, self.at) = (self.offset + self.buffer.len() as u64, self.left - wanted, 0);
        }
        let mark = AskDigest::of_bytes(&self.buffer[self.at..self.at + MARK_BYTES], self.number);
        self.at += MARK_BYTES;
        Ok(Some(mark))
    }
}

/// Earlier runs first where marks are equal: what they hold stands earlier in the input.
fn merge(spilled: Spilled, mut each: impl FnMut(u32)) -> io::Result<()> {
    let mut file = spilled.file.into_inner().map_err(io::IntoInnerError::into_error)?;
    let mut runs = Vec::with_capacity(spilled.runs.len());
    let mut heads = BinaryHeap::with_capacity(spilled.runs.len());
    let mut offset = 0;
    for (number, left) in spilled.runs.into_iter().enumerate() {
        let number = u32::try_from(number).expect("runs of a million are fewer");
        let mut run = Run { number, offset, left, buffer: Vec::new(), at: 0 };
        offset += left * MARK_BYTES as u64;
        heads.extend(run.next(&mut file)?.map(Reverse));
        runs.push(run);
    }
    let mut last = None;
    while let Some(mut head) = heads.peek_mut() {
        let Reverse(mark) = *head;
        if last != Some(mark.digest) {
            last = Some(mark.digest);
            each(mark.shape);
        }
        match runs[mark.order as usize].next(&mut file)? {
            Some(next) => *head = Reverse(next),
            None => drop(std::collections::binary_heap::PeekMut::pop(head)),
        }
    }
    Ok(())
}

fn no_room(fault: io::Error) -> Error {
    let folder = std::env::temp_dir();
    Error::Config(format!(
        "the temporary file in {} that finds duplicates in a large book: {fault}; make room there, or name another folder by TMPDIR",
        folder.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// The shapes that count, sorted; asks are digests, their shapes their places.
    fn firsts(marks_max: usize, digests: &[u64]) -> Vec<u32> {
        let mut distinct = Distinct::of_runs(marks_max);
        for (at, digest) in digests.iter().enumerate() {
            distinct.add([digest % 7, *digest], at as u32).unwrap();
        }
        let mut shapes = Vec::new();
        distinct.each_first(|shape| shapes.push(shape)).unwrap();
        shapes.sort_unstable();
        shapes
    }

    #[test]
    fn the_first_of_equal_asks_counts_in_memory_and_in_the_file() {
        let mut seed = 1_u64;
        let digests: Vec<u64> = (0..5_000)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 33) % 1_500
            })
            .collect();
        let mut expected: HashMap<u64, u32> = HashMap::new();
        for (at, digest) in digests.iter().enumerate() {
            expected.entry(*digest).or_insert(at as u32);
        }
        let mut expected: Vec<u32> = expected.into_values().collect();
        expected.sort_unstable();
        for marks_max in [1, 2, 7, 1_000, 2_500, 4_999, 5_000, 5_001, 1 << 20] {
            assert_eq!(firsts(marks_max, &digests), expected, "runs of {marks_max}");
        }
    }

    #[test]
    fn no_asks_give_none_and_equal_asks_give_one() {
        assert!(firsts(3, &[]).is_empty());
        assert_eq!(firsts(3, &[9; 10]), [0]);
    }
}
