//! What is checked before the parquet crate parses the footer: that the file is complete and not encrypted, how large the
//! footer is, and how deep its columns are nested. The crate parses nested columns by recursion, which has no limit.

use super::{
    fault::ParquetFault,
    thrift::{Kind, Thrift, Undecodable},
};
use crate::source::JSON_DEPTH_MAX;
use std::io::{Read, Seek, SeekFrom};

const FOOTER_BYTES_MAX: u64 = 64 << 20;
/// The length of the footer, and the word that ends the file.
const TAIL_BYTES: u64 = 8;
/// The word that begins the file.
const HEAD_BYTES: u64 = 4;

const DAMAGED: ParquetFault = ParquetFault::Damaged { what: "footer" };

/// Refuses a file whose footer the parquet crate should not parse.
pub fn check(file: &mut (impl Read + Seek)) -> Result<(), ParquetFault> {
    let length = file.seek(SeekFrom::End(0))?;
    if length < HEAD_BYTES + TAIL_BYTES {
        return Err(ParquetFault::Damaged { what: "end" });
    }
    file.seek(SeekFrom::Start(length - TAIL_BYTES))?;
    let mut tail = [0; TAIL_BYTES as usize];
    file.read_exact(&mut tail)?;
    match &tail[4..] {
        b"PAR1" => {}
        b"PARE" => return Err(ParquetFault::Encrypted),
        _ => return Err(ParquetFault::Damaged { what: "end" }),
    }
    let footer = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if footer > FOOTER_BYTES_MAX {
        return Err(ParquetFault::TooLarge { what: "a footer", max: "64 MiB" });
    }
    if footer > length - HEAD_BYTES - TAIL_BYTES {
        return Err(DAMAGED);
    }
    file.seek(SeekFrom::Start(length - TAIL_BYTES - footer))?;
    let mut bytes = Vec::new();
    file.take(footer).read_to_end(&mut bytes)?;
    match depth(&bytes) {
        Ok(Footer { is_encrypted: true, .. }) => Err(ParquetFault::Encrypted),
        Ok(Footer { depth, .. }) if depth > JSON_DEPTH_MAX => Err(ParquetFault::TooDeep),
        Ok(_) => Ok(()),
        Err(_) => Err(DAMAGED),
    }
}

/// What is read of a footer.
#[derive(Debug, PartialEq, Eq)]
struct Footer {
    /// The nesting of the columns.
    depth: usize,
    /// The footer can be read, and the columns cannot.
    is_encrypted: bool,
}

/// Reads the list of columns, field 2, and whether there is a field 8, the algorithm of the encryption.
fn depth(bytes: &[u8]) -> Result<Footer, Undecodable> {
    let mut thrift = Thrift::new(bytes);
    let (mut last, mut depth, mut is_encrypted) = (0, 0, false);
    while let Some((id, kind)) = thrift.field(&mut last)? {
        match (id, kind) {
            (2, Kind::List) => depth = deepest(&mut thrift)?,
            (8, _) => {
                is_encrypted = true;
                thrift.skip(kind)?;
            }
            _ => thrift.skip(kind)?,
        }
    }
    Ok(Footer { depth, is_encrypted })
}

/// The depth of the tree of columns: each element states how many children follow it.
fn deepest(thrift: &mut Thrift<'_>) -> Result<usize, Undecodable> {
    let (_, count) = thrift.list()?;
    // How many children are missing on each level.
    let mut open: Vec<i64> = Vec::new();
    let mut deepest = 0;
    for _ in 0..count {
        let (mut last, mut children) = (0, 0);
        while let Some((id, kind)) = thrift.field(&mut last)? {
            match (id, kind) {
                (5, Kind::Integer) => children = thrift.integer()?,
                _ => thrift.skip(kind)?,
            }
        }
        if let Some(missing) = open.last_mut() {
            *missing -= 1;
        }
        if children > 0 {
            open.push(children);
            deepest = deepest.max(open.len());
            if deepest > JSON_DEPTH_MAX {
                return Ok(deepest);
            }
        }
        while open.last().is_some_and(|missing| *missing <= 0) {
            open.pop();
        }
    }
    Ok(deepest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// A footer whose columns have these numbers of children.
    fn footer(children: &[u8]) -> Vec<u8> {
        let elements = children.iter().flat_map(|count| if *count == 0 { vec![0] } else { vec![0x55, 2 * count, 0] });
        let head = [0x15, 2, 0x19, 0xfc, children.len() as u8];
        head.into_iter().chain(elements).chain([0]).collect()
    }

    #[test]
    fn the_depth_is_that_of_the_deepest_column() {
        for (children, depth) in [(&[2, 0, 0][..], 1), (&[2, 1, 0, 0], 2), (&[1, 1, 1, 0], 3), (&[2, 0, 1, 1, 0], 3)] {
            assert_eq!(super::depth(&footer(children)), Ok(Footer { depth, is_encrypted: false }), "{children:?}");
        }
        assert!(super::depth(&footer(&[1; 120])).unwrap().depth > JSON_DEPTH_MAX);
    }

    #[test]
    fn a_file_that_ends_early_or_is_encrypted_is_refused() {
        let file = |footer: &[u8], end: &[u8]| [b"PAR1", footer, &(footer.len() as u32).to_le_bytes(), end].concat();
        let of = |bytes: Vec<u8>| check(&mut Cursor::new(bytes)).map_err(|fault| fault.to_string());
        assert_eq!(of(file(&footer(&[1, 0]), b"PAR1")), Ok(()));
        assert!(of(file(&footer(&[1, 0]), b"PARE")).unwrap_err().contains("an encrypted one"));
        // Field 8 after the list of columns.
        let mut of_columns = footer(&[1, 0]);
        of_columns.pop();
        of_columns.extend([0x6c, 0, 0]);
        assert!(of(file(&of_columns, b"PAR1")).unwrap_err().contains("an encrypted one"));
        for damaged in [
            b"PAR1".to_vec(),
            file(&footer(&[1, 0]), b"XXXX"),
            file(&[0xff; 9], b"PAR1"),
            [&b"PAR1"[..], &[0xff, 0xff, 0, 0], b"PAR1"].concat(),
        ] {
            assert!(of(damaged).unwrap_err().contains("damaged or incomplete"));
        }
        let claims = [&b"PAR1"[..], &[0, 0, 0, 0x7f], b"PAR1"].concat();
        assert!(of(claims).unwrap_err().contains("a footer of at most 64 MiB"));
    }
}
