//! Counts distinct requests and values exactly, in bounded memory. Up to 2^20 different digests are sorted
//! in memory. If there are more, each sorted run of digests is written to a temporary file, and all runs are merged at
//! the end. Of equal asks, the first in input order counts.

use crate::error::Error;
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
};

/// The maximum number of digests of asks kept in memory (24 MiB).
const ENTRIES_MAX: usize = 1 << 20;
/// The same for the values of one field (3 MiB), because a campaign may fill many fields.
const VALUES_MAX: usize = 1 << 17;
/// The number of digests read at once from each sorted run.
const READ_ENTRIES: usize = 1_024;
const ENTRY_BYTES: usize = 20;

/// The digest of an ask's content. It is valid only in the process that made it.
pub type Digest = [u64; 2];

/// Makes digests, with random keys of this process, so that no input can be made whose digests collide.
#[derive(Default)]
pub struct Digests([RandomState; 2]);

impl Digests {
    /// The digest of a content of this kind.
    pub fn of(&self, kind: &str, content: &[u8]) -> Digest {
        self.0.each_ref().map(|keys| {
            let mut hasher = keys.build_hasher();
            hasher.write(kind.as_bytes());
            hasher.write_u8(0);
            hasher.write(content);
            hasher.finish()
        })
    }
}

/// The digest of an ask, ordered by content and then by input order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AskDigest {
    digest: Digest,
    /// The position in input order: within a run while it is sorted, and the number of the run while runs are merged.
    order: u32,
    shape: u32,
}

/// Counts distinct asks, or distinct values.
pub struct Distinct {
    entries: Vec<AskDigest>,
    entries_max: usize,
    /// The position of the next digest within the run.
    next_order: u32,
    spilled: Option<Spilled>,
}

/// Sorted runs in an unnamed temporary file, which disappears when the process ends.
struct Spilled {
    file: BufWriter<File>,
    /// The number of digests in each run.
    runs: Vec<u64>,
}

impl Distinct {
    pub fn new() -> Distinct {
        Distinct::of_runs(ENTRIES_MAX)
    }

    /// For the values of one field.
    pub fn of_values() -> Distinct {
        Distinct::of_runs(VALUES_MAX)
    }

    fn of_runs(entries_max: usize) -> Distinct {
        Distinct { entries: Vec::new(), entries_max, next_order: 0, spilled: None }
    }

    /// Adds the next ask of the input. `shape` is passed to the callback of [`Distinct::each_first`] if the ask is the
    /// first with its content.
    pub fn add(&mut self, digest: Digest, shape: u32) -> Result<(), Error> {
        self.entries.push(AskDigest { digest, order: self.next_order, shape });
        self.next_order += 1;
        let is_over = self.next_order == u32::MAX;
        if self.entries.len() < self.entries_max && !is_over {
            return Ok(());
        }
        sort(&mut self.entries);
        // Few different digests stay in memory, however many there are of each.
        if self.entries.len() <= self.entries_max / 2 && !is_over {
            return Ok(());
        }
        self.spill().map_err(no_room)
    }

    /// The number of distinct digests.
    pub fn count(self) -> Result<u64, Error> {
        let mut count = 0;
        self.each_first(|_| count += 1)?;
        Ok(count)
    }

    /// Calls `each` with the shape of the first ask of each distinct content, in no particular order.
    pub fn each_first(mut self, mut each: impl FnMut(u32)) -> Result<(), Error> {
        if self.spilled.is_some() && !self.entries.is_empty() {
            self.spill().map_err(no_room)?;
        }
        match self.spilled {
            Some(spilled) => merge(spilled, each).map_err(no_room),
            None => {
                sort(&mut self.entries);
                self.entries.iter().for_each(|entry| each(entry.shape));
                Ok(())
            }
        }
    }

    fn spill(&mut self) -> io::Result<()> {
        sort(&mut self.entries);
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            None => {
                let file = BufWriter::with_capacity(256 << 10, tempfile::tempfile()?);
                self.spilled.insert(Spilled { file, runs: Vec::new() })
            }
        };
        for entry in &self.entries {
            spilled.file.write_all(&entry.to_bytes())?;
        }
        spilled.runs.push(self.entries.len() as u64);
        self.entries.clear();
        self.next_order = 0;
        Ok(())
    }
}

/// Sorts the digests and keeps only the first of equal ones.
fn sort(entries: &mut Vec<AskDigest>) {
    entries.sort_unstable();
    entries.dedup_by_key(|entry| entry.digest);
}

impl AskDigest {
    fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&self.digest[0].to_le_bytes());
        bytes[8..16].copy_from_slice(&self.digest[1].to_le_bytes());
        bytes[16..].copy_from_slice(&self.shape.to_le_bytes());
        bytes
    }

    fn of_bytes(bytes: &[u8], run: u32) -> AskDigest {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("the slice has eight bytes"));
        let shape = u32::from_le_bytes(bytes[16..ENTRY_BYTES].try_into().expect("the slice has four bytes"));
        AskDigest { digest: [word(0), word(8)], order: run, shape }
    }
}

/// A reader of one run.
struct Run {
    number: u32,
    /// The file offset of the next digest, and the number of digests left.
    offset: u64,
    left: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Run {
    fn next(&mut self, file: &mut File) -> io::Result<Option<AskDigest>> {
        if self.at == self.buffer.len() {
            let wanted = self.left.min(READ_ENTRIES as u64);
            if wanted == 0 {
                return Ok(None);
            }
            self.buffer.resize(wanted as usize * ENTRY_BYTES, 0);
            file.seek(SeekFrom::Start(self.offset))?;
            file.read_exact(&mut self.buffer)?;
            (self.offset, self.left, self.at) = (self.offset + self.buffer.len() as u64, self.left - wanted, 0);
        }
        let entry = AskDigest::of_bytes(&self.buffer[self.at..self.at + ENTRY_BYTES], self.number);
        self.at += ENTRY_BYTES;
        Ok(Some(entry))
    }
}

/// Merges the runs. Of equal digests, the one from the earlier run comes first, because it is earlier in the input.
fn merge(spilled: Spilled, mut each: impl FnMut(u32)) -> io::Result<()> {
    let mut file = spilled.file.into_inner().map_err(io::IntoInnerError::into_error)?;
    let mut runs = Vec::with_capacity(spilled.runs.len());
    let mut heads = BinaryHeap::with_capacity(spilled.runs.len());
    let mut offset = 0;
    for (number, left) in spilled.runs.into_iter().enumerate() {
        let number = u32::try_from(number).expect("there are fewer than 2^32 runs");
        let mut run = Run { number, offset, left, buffer: Vec::new(), at: 0 };
        offset += left * ENTRY_BYTES as u64;
        heads.extend(run.next(&mut file)?.map(Reverse));
        runs.push(run);
    }
    let mut last = None;
    while let Some(mut head) = heads.peek_mut() {
        let Reverse(entry) = *head;
        if last != Some(entry.digest) {
            last = Some(entry.digest);
            each(entry.shape);
        }
        match runs[entry.order as usize].next(&mut file)? {
            Some(next) => *head = Reverse(next),
            None => drop(std::collections::binary_heap::PeekMut::pop(head)),
        }
    }
    Ok(())
}

fn no_room(fault: io::Error) -> Error {
    let folder = std::env::temp_dir();
    Error::Config(format!(
        "the temporary file in {} for finding duplicates in a large input cannot be used: {fault}; free disk space there, or set \
         TMPDIR to another folder",
        folder.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// The shapes of the first asks, sorted. The shape of an ask is its index in `digests`.
    fn firsts(entries_max: usize, digests: &[u64]) -> Vec<u32> {
        let mut distinct = Distinct::of_runs(entries_max);
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
        for entries_max in [1, 2, 7, 1_000, 2_500, 4_999, 5_000, 5_001, 1 << 20] {
            assert_eq!(firsts(entries_max, &digests), expected, "runs of {entries_max}");
        }
    }

    #[test]
    fn a_field_keeps_a_bounded_number_of_values_and_few_different_ones_never_leave_memory() {
        let mut different = Distinct::of_values();
        let mut equal = Distinct::of_values();
        for value in 0..300_000_u64 {
            different.add([value, 1], 0).unwrap();
            equal.add([value % 60_000, 1], 0).unwrap();
            assert!(different.entries.len() < VALUES_MAX && equal.entries.len() < VALUES_MAX);
        }
        assert!(different.spilled.is_some() && equal.spilled.is_none());
        assert_eq!((different.count().unwrap(), equal.count().unwrap()), (300_000, 60_000));
    }

    #[test]
    fn no_asks_give_none_and_equal_asks_give_one() {
        assert!(firsts(3, &[]).is_empty());
        assert_eq!(firsts(3, &[9; 10]), [0]);
    }
}
