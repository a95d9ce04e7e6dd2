//! Snappy, the compression that most programs use for Parquet: the raw format, without frames.

/// Decompresses a block; `None` if it is damaged or has not exactly `length` bytes.
pub fn decompress(block: &[u8], length: usize) -> Option<Vec<u8>> {
    let (stated, mut rest) = stated_length(block)?;
    if stated != length as u64 {
        return None;
    }
    let mut out: Vec<u8> = Vec::with_capacity(length);
    while let Some((&tag, after)) = rest.split_first() {
        rest = after;
        let upper = usize::from(tag >> 2);
        let (count, offset) = match tag & 3 {
            0 => {
                let count = 1 + match upper {
                    0..60 => upper,
                    _ => number(&mut rest, upper - 59)?,
                };
                let literal = rest.get(..count)?;
                if out.len() + count > length {
                    return None;
                }
                out.extend_from_slice(literal);
                rest = &rest[count..];
                continue;
            }
            1 => (4 + (upper & 7), (upper >> 3) << 8 | number(&mut rest, 1)?),
            2 => (1 + upper, number(&mut rest, 2)?),
            _ => (1 + upper, number(&mut rest, 4)?),
        };
        if offset == 0 || offset > out.len() || out.len() + count > length {
            return None;
        }
        let from = out.len() - offset;
        // The copy may overlap what it writes.
        for at in from..from + count {
            out.push(out[at]);
        }
    }
    (out.len() == length).then_some(out)
}

/// The length that a block states, and the bytes after it.
fn stated_length(block: &[u8]) -> Option<(u64, &[u8])> {
    let mut length = 0u64;
    for (at, byte) in block.iter().enumerate().take(5) {
        length |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((length, &block[at + 1..]));
        }
    }
    None
}

/// A number of `width` bytes, the lowest first.
fn number(rest: &mut &[u8], width: usize) -> Option<usize> {
    let bytes = rest.get(..width)?;
    *rest = &rest[width..];
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_copies_of_every_form_are_decompressed() {
        let text = b"abcdabcdabcdabcdX";
        // A literal of 4, a copy of 11 with one byte of offset, a copy of 1 with two, a literal of 1.
        let block = [17, 3 << 2, b'a', b'b', b'c', b'd', 7 << 2 | 1, 4, 2, 4, 0, 0, b'X'];
        assert_eq!(decompress(&block, 17).as_deref(), Some(&text[..]));
        let four = [17, 3 << 2, b'a', b'b', b'c', b'd', 11 << 2 | 3, 4, 0, 0, 0, 0, b'X'];
        assert_eq!(decompress(&four, 17).as_deref(), Some(&text[..]));
        let long: Vec<u8> = (0..300u32).map(|at| at as u8).collect();
        let block = [&[0xac, 2, 61 << 2, 43, 1][..], &long].concat();
        assert_eq!(decompress(&block, 300).as_deref(), Some(&long[..]));
        assert_eq!(decompress(&[0], 0).as_deref(), Some(&[][..]));
    }

    #[test]
    fn a_damaged_block_is_refused() {
        for block in [
            &[][..],
            &[4],
            &[4, 3 << 2, b'a'],
            // Another length than stated.
            &[5, 3 << 2, b'a', b'b', b'c', b'd'],
            &[3, 3 << 2, b'a', b'b', b'c', b'd'],
            // A copy from before the beginning, and one without an offset.
            &[8, 3 << 2, b'a', b'b', b'c', b'd', 1, 9],
            &[8, 3 << 2, b'a', b'b', b'c', b'd', 1, 0],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 1],
        ] {
            for length in [0, 3, 4, 5, 8] {
                assert_eq!(decompress(block, length), None, "{block:?} {length}");
            }
        }
        let random: Vec<u8> = (0..5_000u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u8).collect();
        for from in 0..4_000 {
            drop(decompress(&random[from..], 100_000));
        }
    }
}
