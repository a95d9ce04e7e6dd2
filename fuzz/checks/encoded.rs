//! Any bytes as text in another encoding, which the first byte selects. In addition to what is true for every input,
//! UTF-8 that is converted to UTF-16 is read like the UTF-8, and every byte of windows-1252 is a character or a
//! failure.

use super::records;
use rescreen::source::{Encoding, Format, SourceOptions};

pub fn check(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let format = if first & 1 == 0 { Format::Csv } else { Format::Jsonl };
    let plain = records::options(format);
    if first & 2 == 0 {
        let options = SourceOptions { encoding: Some(Encoding::WINDOWS_1252), ..plain };
        records::check(rest, &options);
        return;
    }
    let is_big = first & 4 == 0;
    let bom: [u8; 2] = if is_big { [0xfe, 0xff] } else { [0xff, 0xfe] };
    records::check(&[&bom, rest].concat(), &plain);
    let Ok(text) = std::str::from_utf8(rest) else { return };
    // The BOM is part of the text on both sides, so that offsets are equal too.
    let text = format!("\u{feff}{text}");
    let bytes = |unit: u16| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() };
    let written: Vec<u8> = text.encode_utf16().flat_map(bytes).collect();
    let read = |data: &[u8]| records::take(data, &plain, usize::MAX).map_err(|fault| fault.replace("UTF-16", "UTF-8"));
    assert_eq!(read(&written), read(text.as_bytes()), "UTF-16 is read like UTF-8");
}
