//! The header of a page: what kind of page it is, how large it is, and how its values are encoded.

use super::thrift::{Kind, Thrift, Undecodable};
use parquet::basic::Encoding;

/// What is read of a page header.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageHeader {
    pub kind: PageKind,
    /// Bytes of the decompressed page.
    pub bytes: u32,
    pub compressed_bytes: u32,
    pub crc: Option<u32>,
    pub values: u32,
    pub encoding: Encoding,
}

/// The kind of a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PageKind {
    Data { definition: Encoding, repetition: Encoding },
    DataV2 { nulls: u32, rows: u32, definition_bytes: u32, repetition_bytes: u32, is_compressed: bool },
    Dictionary,
    Other,
}

/// The numbers of the structures inside a page header, by field id.
#[derive(Default)]
struct Numbers([Option<i64>; 8]);

impl Numbers {
    fn read(thrift: &mut Thrift<'_>) -> Result<Numbers, Undecodable> {
        let (mut numbers, mut last) = (Numbers::default(), 0);
        while let Some((id, kind)) = thrift.field(&mut last)? {
            let value = match kind {
                Kind::Integer => Some(thrift.integer()?),
                Kind::True => Some(1),
                Kind::False => Some(0),
                _ => {
                    thrift.skip(kind)?;
                    None
                }
            };
            if let Some(place) = usize::try_from(id).ok().and_then(|id| numbers.0.get_mut(id)) {
                *place = value;
            }
        }
        Ok(numbers)
    }

    fn count(&self, id: usize) -> Result<u32, Undecodable> {
        self.0[id].and_then(|number| u32::try_from(number).ok()).ok_or(Undecodable::Invalid)
    }

    fn encoding(&self, id: usize) -> Result<Encoding, Undecodable> {
        encoding(self.0[id].ok_or(Undecodable::Invalid)?)
    }
}

impl PageHeader {
    /// Reads a header and its length.
    pub fn read(bytes: &[u8]) -> Result<(PageHeader, usize), Undecodable> {
        let mut thrift = Thrift::new(bytes);
        let mut outer = [None; 5];
        let (mut data, mut dictionary, mut data_v2) = (None, None, None);
        let mut last = 0;
        while let Some((id, kind)) = thrift.field(&mut last)? {
            match (id, kind) {
                (1..=4, Kind::Integer) => outer[id as usize] = Some(thrift.integer()?),
                (5, Kind::Struct) => data = Some(Numbers::read(&mut thrift)?),
                (7, Kind::Struct) => dictionary = Some(Numbers::read(&mut thrift)?),
                (8, Kind::Struct) => data_v2 = Some(Numbers::read(&mut thrift)?),
                _ => thrift.skip(kind)?,
            }
        }
        // Sizes are signed in the format, and at most 2 GiB.
        let size = |id: usize| {
            outer[id].and_then(|size| i32::try_from(size).ok()?.try_into().ok()).ok_or(Undecodable::Invalid)
        };
        let invalid = Undecodable::Invalid;
        let (kind, numbers) = match outer[1] {
            Some(0) => {
                let numbers = data.ok_or(invalid)?;
                let (definition, repetition) = (numbers.encoding(3)?, numbers.encoding(4)?);
                (PageKind::Data { definition, repetition }, Some(numbers))
            }
            Some(2) => (PageKind::Dictionary, Some(dictionary.ok_or(invalid)?)),
            Some(3) => {
                let numbers = data_v2.ok_or(invalid)?;
                let kind = PageKind::DataV2 {
                    nulls: numbers.count(2)?,
                    rows: numbers.count(3)?,
                    definition_bytes: numbers.count(5)?,
                    repetition_bytes: numbers.count(6)?,
                    is_compressed: numbers.0[7] != Some(0),
                };
                (kind, Some(numbers))
            }
            Some(_) => (PageKind::Other, None),
            None => return Err(invalid),
        };
        let (values, encoding) = match (&kind, &numbers) {
            (PageKind::DataV2 { .. }, Some(numbers)) => (numbers.count(1)?, numbers.encoding(4)?),
            (_, Some(numbers)) => (numbers.count(1)?, numbers.encoding(2)?),
            (_, None) => (0, Encoding::PLAIN),
        };
        let crc = outer[4].map(|crc| crc as u32);
        let header = PageHeader { kind, bytes: size(2)?, compressed_bytes: size(3)?, crc, values, encoding };
        Ok((header, thrift.position()))
    }
}

fn encoding(code: i64) -> Result<Encoding, Undecodable> {
    Ok(match code {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        #[expect(deprecated)]
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return Err(Undecodable::Invalid),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of a page of data, 100 bytes of 40, with 5 values.
    const DATA: [u8; 17] = [0x15, 0, 0x15, 200, 1, 0x15, 80, 0x2c, 0x15, 10, 0x15, 0, 0x15, 6, 0x15, 6, 0];

    #[test]
    fn a_header_is_read_to_its_end() {
        let bytes = [&DATA[..], &[0], b"page"].concat();
        let (header, length) = PageHeader::read(&bytes).unwrap();
        let kind = PageKind::Data { definition: Encoding::RLE, repetition: Encoding::RLE };
        let (encoding, crc) = (Encoding::PLAIN, None);
        assert_eq!(header, PageHeader { kind, bytes: 100, compressed_bytes: 40, crc, values: 5, encoding });
        assert_eq!(length, bytes.len() - 4);
        for end in 0..length {
            assert_eq!(PageHeader::read(&bytes[..end]), Err(Undecodable::Ended), "{end}");
        }
    }

    #[test]
    fn a_header_with_an_impossible_number_is_refused() {
        // A negative size, a negative number of values, an unknown encoding, no type.
        for (at, value) in [(6, 81), (9, 9), (11, 200), (0, 0x25)] {
            let mut bytes = [&DATA[..], &[0]].concat();
            bytes[at] = value;
            assert!(PageHeader::read(&bytes).is_err(), "{at}");
        }
    }
}
