//! The compact encoding of Thrift, as far as footers and page headers of Parquet need it. Nothing is allocated here, and
//! nesting is limited.

/// Why bytes cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undecodable {
    /// The bytes end too early; more of them may help.
    Ended,
    Invalid,
}

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    True,
    False,
    Byte,
    /// An integer of 16, 32 or 64 bits.
    Integer,
    Double,
    Binary,
    /// A list or a set.
    List,
    Map,
    Struct,
}

/// The most nested structures inside a skipped one.
const DEPTH_MAX: u32 = 32;

/// Reads values one after the other.
pub struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Thrift<'a> {
    pub fn new(bytes: &'a [u8]) -> Thrift<'a> {
        Thrift { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub fn position(&self) -> usize {
        self.at
    }

    fn byte(&mut self) -> Result<u8, Undecodable> {
        let byte = self.bytes.get(self.at).copied().ok_or(Undecodable::Ended)?;
        self.at += 1;
        Ok(byte)
    }

    fn advance(&mut self, count: u64) -> Result<(), Undecodable> {
        let left = (self.bytes.len() - self.at) as u64;
        if count > left {
            return Err(Undecodable::Ended);
        }
        self.at += count as usize;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, Undecodable> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Undecodable::Invalid)
    }

    /// An integer.
    pub fn integer(&mut self) -> Result<i64, Undecodable> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The next field of a structure, with its id; `None` at the end of the structure. `last` is the id of the field
    /// before it.
    pub fn field(&mut self, last: &mut i64) -> Result<Option<(i64, Kind)>, Undecodable> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        *last = match head >> 4 {
            0 => self.integer()?,
            delta => last.saturating_add(i64::from(delta)),
        };
        Ok(Some((*last, kind(head & 0x0f)?)))
    }

    /// The head of a list: the type of its elements, and how many there are.
    pub fn list(&mut self) -> Result<(Kind, u64), Undecodable> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => u64::from(count),
        };
        Ok((kind(head & 0x0f)?, count))
    }

    /// Skips a value.
    pub fn skip(&mut self, kind: Kind) -> Result<(), Undecodable> {
        self.skip_at(kind, 0)
    }

    fn skip_at(&mut self, kind: Kind, depth: u32) -> Result<(), Undecodable> {
        if depth > DEPTH_MAX {
            return Err(Undecodable::Invalid);
        }
        match kind {
            Kind::True | Kind::False => Ok(()),
            Kind::Byte => self.advance(1),
            Kind::Integer => self.varint().map(drop),
            Kind::Double => self.advance(8),
            Kind::Binary => {
                let length = self.varint()?;
                self.advance(length)
            }
            Kind::List => {
                let (kind, count) = self.list()?;
                for _ in 0..count {
                    self.skip_element(kind, depth)?;
                }
                Ok(())
            }
            Kind::Map => {
                let count = self.varint()?;
                if count == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                for _ in 0..count {
                    self.skip_element(self::kind(kinds >> 4)?, depth)?;
                    self.skip_element(self::kind(kinds & 0x0f)?, depth)?;
                }
                Ok(())
            }
            Kind::Struct => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip_at(kind, depth + 1)?;
                }
                Ok(())
            }
        }
    }

    /// Skips an element of a list. A boolean has a byte of its own there.
    fn skip_element(&mut self, kind: Kind, depth: u32) -> Result<(), Undecodable> {
        match kind {
            Kind::True | Kind::False => self.advance(1),
            kind => self.skip_at(kind, depth + 1),
        }
    }
}

fn kind(code: u8) -> Result<Kind, Undecodable> {
    Ok(match code {
        1 => Kind::True,
        2 => Kind::False,
        3 => Kind::Byte,
        4..=6 => Kind::Integer,
        7 => Kind::Double,
        8 => Kind::Binary,
        9 | 10 => Kind::List,
        11 => Kind::Map,
        12 => Kind::Struct,
        _ => return Err(Undecodable::Invalid),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_all_lengths_and_signs_are_read() {
        for (bytes, value) in [
            (&[0u8][..], 0),
            (&[1], -1),
            (&[2], 1),
            (&[0xd8, 4], 300),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], -2_147_483_648),
        ] {
            assert_eq!(Thrift::new(bytes).integer(), Ok(value));
        }
        assert_eq!(Thrift::new(&[0x80]).integer(), Err(Undecodable::Ended));
        assert_eq!(Thrift::new(&[0x80; 11]).integer(), Err(Undecodable::Invalid));
    }

    #[test]
    fn a_structure_with_every_type_is_skipped_to_its_end() {
        // 1: i32 = 5, 2: binary "ab", 3: true, 4: list<i32> [1, 2], 20: struct { 1: double }, 21: map<i32, binary> {1: "a"}
        let bytes = [
            &[0x15, 10, 0x18, 2, b'a', b'b', 0x11, 0x19, 0x25, 2, 4, 0x0c, 40, 0x17][..],
            &[0; 8],
            &[0, 0x1b, 1, 0x58, 2, 1, b'a', 0],
            b"rest",
        ]
        .concat();
        let mut thrift = Thrift::new(&bytes);
        assert_eq!(thrift.skip(Kind::Struct), Ok(()));
        assert_eq!(thrift.position(), bytes.len() - 4);
        for end in 0..bytes.len() - 4 {
            assert_eq!(Thrift::new(&bytes[..end]).skip(Kind::Struct), Err(Undecodable::Ended), "{end}");
        }
    }

    #[test]
    fn nesting_and_counts_without_end_are_invalid() {
        assert_eq!(Thrift::new(&[0x1c; 10_000]).skip(Kind::Struct), Err(Undecodable::Invalid));
        assert_eq!(Thrift::new(&[0x19; 10_000]).skip(Kind::Struct), Err(Undecodable::Invalid));
        // A list of 2^35 structures in three bytes.
        assert_eq!(Thrift::new(&[0xfc, 0xff, 0xff, 0xff, 0xff, 0x7f]).skip(Kind::List), Err(Undecodable::Ended));
    }
}
