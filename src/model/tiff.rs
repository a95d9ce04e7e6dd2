//! Whether a TIFF file is whole: every directory, value and strip of it lies inside the file. Both byte orders.

use std::cell::Cell;

/// The most directories (pages) that are followed. A chain that never ends is damaged.
const DIRECTORIES_MAX: usize = 1_000;
/// The most strips and tiles of a file that are compared, so that a crafted file does not take long.
const STRIPS_MAX: u32 = 1 << 20;

const STRIP_OFFSETS: u16 = 273;
const STRIP_BYTE_COUNTS: u16 = 279;
const TILE_OFFSETS: u16 = 324;
const TILE_BYTE_COUNTS: u16 = 325;

const OUTSIDE: &str = "its directory points beyond its end";

/// Checks that nothing in the file points beyond its end. `bytes` begins with the mark of a TIFF file.
pub(super) fn whole(bytes: &[u8]) -> Result<(), &'static str> {
    let tiff = Tiff { bytes, little: bytes[0] == b'I', strips_left: Cell::new(STRIPS_MAX) };
    let mut at = tiff.long(4)?;
    for _ in 0..DIRECTORIES_MAX {
        at = tiff.directory(at)?;
        if at == 0 {
            return Ok(());
        }
    }
    Err("it has too many pages, or a chain of pages that never ends")
}

struct Tiff<'a> {
    bytes: &'a [u8],
    little: bool,
    strips_left: Cell<u32>,
}

/// Numbers in a directory: their size in bytes, how many there are, and where they are.
#[derive(Clone, Copy)]
struct Numbers {
    size: u32,
    count: u32,
    at: u32,
}

impl Tiff<'_> {
    fn part<const N: usize>(&self, at: u32) -> Result<[u8; N], &'static str> {
        let at = at as usize;
        let part = at.checked_add(N).and_then(|end| self.bytes.get(at..end)).ok_or(OUTSIDE)?;
        part.try_into().map_err(|_| OUTSIDE)
    }

    fn short(&self, at: u32) -> Result<u16, &'static str> {
        let part = self.part(at)?;
        Ok(if self.little { u16::from_le_bytes(part) } else { u16::from_be_bytes(part) })
    }

    fn long(&self, at: u32) -> Result<u32, &'static str> {
        let part = self.part(at)?;
        Ok(if self.little { u32::from_le_bytes(part) } else { u32::from_be_bytes(part) })
    }

    /// Checks one directory, and returns where the next one begins; 0 after the last.
    fn directory(&self, at: u32) -> Result<u32, &'static str> {
        let entries = self.short(at)?;
        let mut strips: [Option<Numbers>; 4] = [None; 4];
        let first = at.checked_add(2).ok_or(OUTSIDE)?;
        for entry in 0..u32::from(entries) {
            let entry = first.checked_add(entry * 12).ok_or(OUTSIDE)?;
            let numbers = self.entry(entry)?;
            let tags = [STRIP_OFFSETS, STRIP_BYTE_COUNTS, TILE_OFFSETS, TILE_BYTE_COUNTS];
            if let Some(place) = tags.iter().position(|tag| self.short(entry) == Ok(*tag)) {
                strips[place] = Some(numbers);
            }
        }
        self.inside(strips[0], strips[1])?;
        self.inside(strips[2], strips[3])?;
        self.long(first.checked_add(u32::from(entries) * 12).ok_or(OUTSIDE)?)
    }

    /// The numbers of an entry. Values of more than four bytes are elsewhere in the file.
    fn entry(&self, at: u32) -> Result<Numbers, &'static str> {
        let (kind, count) = (self.short(at + 2)?, self.long(at.checked_add(4).ok_or(OUTSIDE)?)?);
        let size = match kind {
            1 | 2 | 6 | 7 => 1,
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 => 8,
            // Readers ignore unknown types.
            _ => return Ok(Numbers { size: 0, count: 0, at: 0 }),
        };
        let place = at.checked_add(8).ok_or(OUTSIDE)?;
        let length = u64::from(count) * u64::from(size);
        let at = if length <= 4 { place } else { self.long(place)? };
        if u64::from(at) + length > self.bytes.len() as u64 {
            return Err(OUTSIDE);
        }
        Ok(Numbers { size, count, at })
    }

    fn number(&self, numbers: Numbers, place: u32) -> Result<u64, &'static str> {
        let at = numbers.at.checked_add(place.saturating_mul(numbers.size)).ok_or(OUTSIDE)?;
        match numbers.size {
            2 => self.short(at).map(u64::from),
            4 => self.long(at).map(u64::from),
            _ => Ok(0),
        }
    }

    /// Checks that the strips or tiles lie inside the file.
    fn inside(&self, offsets: Option<Numbers>, lengths: Option<Numbers>) -> Result<(), &'static str> {
        let (Some(offsets), Some(lengths)) = (offsets, lengths) else { return Ok(()) };
        let count = offsets.count.min(lengths.count).min(self.strips_left.get());
        self.strips_left.set(self.strips_left.get() - count);
        for place in 0..count {
            let end = self.number(offsets, place)? + self.number(lengths, place)?;
            if end > self.bytes.len() as u64 {
                return Err("its image data ends early");
            }
        }
        Ok(())
    }
}
