//! The encoding of a source: UTF-8, UTF-16 or windows-1252. Nothing is guessed: UTF-16 is detected by its byte order
//! mark (BOM), windows-1252 is used only if the user says so, and everything else is UTF-8.
//!
//! Text is converted to UTF-8 before it is parsed. Undecodable text becomes bytes that are not valid UTF-8, and
//! different input becomes different bytes: its row fails like a row of invalid UTF-8, and the digest of the source
//! still detects every change.

use super::Bytes;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    io::{self, Read},
    str::FromStr,
};

const RAW_BYTES: usize = 64 << 10;

/// A text encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    #[serde(rename = "utf-8")]
    Utf8,
    /// Either byte order, with a byte order mark.
    #[serde(rename = "utf-16")]
    Utf16,
    #[serde(rename = "windows-1252")]
    Windows1252,
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16 => "utf-16",
            Encoding::Windows1252 => "windows-1252",
        })
    }
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(text: &str) -> Result<Encoding, String> {
        let known = [Encoding::Utf8, Encoding::Utf16, Encoding::Windows1252];
        let found = known.into_iter().find(|encoding| encoding.to_string() == text.to_lowercase());
        found.ok_or_else(|| format!("expected the encoding `utf-8`, `utf-16` or `windows-1252`, found `{text}`"))
    }
}

/// A byte order mark at the start of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteOrderMark {
    Utf8,
    Utf16 { big: bool },
}

fn byte_order_mark(start: &[u8]) -> Option<ByteOrderMark> {
    match start {
        [0xef, 0xbb, 0xbf, ..] => Some(ByteOrderMark::Utf8),
        [0xff, 0xfe, ..] => Some(ByteOrderMark::Utf16 { big: false }),
        [0xfe, 0xff, ..] => Some(ByteOrderMark::Utf16 { big: true }),
        _ => None,
    }
}

/// The encoding, and the text in UTF-8. The error says what was found instead of the encoding the user named.
pub fn decode(bytes: Bytes, start: &[u8], said: Option<Encoding>) -> Result<(Encoding, Bytes), &'static str> {
    match (said, byte_order_mark(start)) {
        (None | Some(Encoding::Utf16), Some(ByteOrderMark::Utf16 { big })) => {
            Ok((Encoding::Utf16, decoded(bytes, Decoder::Utf16(Utf16 { big, byte: None, high: None }))))
        }
        (None | Some(Encoding::Utf8), None | Some(ByteOrderMark::Utf8)) => Ok((Encoding::Utf8, bytes)),
        (Some(Encoding::Windows1252), None) => {
            Ok((Encoding::Windows1252, decoded(bytes, Decoder::Single(characters_of_windows_1252()))))
        }
        // An empty input has no BOM. Whether it may be empty is decided by the record reader.
        (Some(Encoding::Utf16), None) if start.is_empty() => Ok((Encoding::Utf16, bytes)),
        (Some(Encoding::Utf16), None) => Err("a text without a byte order mark (BOM)"),
        (Some(_), Some(ByteOrderMark::Utf8)) => Err("the byte order mark (BOM) of UTF-8"),
        (Some(_), Some(ByteOrderMark::Utf16 { .. })) => Err("the byte order mark (BOM) of UTF-16"),
    }
}

fn decoded(bytes: Bytes, decoder: Decoder) -> Bytes {
    Box::new(Decoded { bytes, decoder, raw: vec![0; RAW_BYTES], text: Vec::new(), at: 0, ended: false })
}

/// The character of each byte, in UTF-8. The five undefined bytes stay unchanged: alone they are not valid UTF-8.
fn characters_of_windows_1252() -> Vec<Vec<u8>> {
    let all: Vec<u8> = (0..=255).collect();
    let (text, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(&all);
    let without = |c: char| ('\u{80}'..='\u{9f}').contains(&c);
    let character = |(byte, c): (u8, char)| if without(c) { vec![byte] } else { c.to_string().into_bytes() };
    all.iter().copied().zip(text.chars()).map(character).collect()
}

enum Decoder {
    /// One byte is one character.
    Single(Vec<Vec<u8>>),
    Utf16(Utf16),
}

/// The state of the UTF-16 decoder between two reads.
struct Utf16 {
    big: bool,
    byte: Option<u8>,
    /// The first half of a surrogate pair.
    high: Option<u16>,
}

impl Utf16 {
    fn push(&mut self, raw: &[u8], text: &mut Vec<u8>) {
        for byte in raw {
            let Some(first) = self.byte.take() else {
                self.byte = Some(*byte);
                continue;
            };
            let pair = [first, *byte];
            let unit = if self.big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) };
            self.push_unit(unit, text);
        }
    }

    fn push_unit(&mut self, unit: u16, text: &mut Vec<u8>) {
        let high = self.high.take();
        let character = match high {
            Some(high) => char::decode_utf16([high, unit]).next().and_then(Result::ok),
            None => char::from_u32(u32::from(unit)),
        };
        match (character, high) {
            (Some(character), _) => text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            (None, Some(high)) => {
                push_half(high, text);
                self.push_unit(unit, text);
            }
            (None, None) if (0xd800..0xdc00).contains(&unit) => self.high = Some(unit),
            (None, None) => push_half(unit, text),
        }
    }

    fn end(&mut self, text: &mut Vec<u8>) {
        if let Some(high) = self.high.take() {
            push_half(high, text);
        }
        if let Some(byte) = self.byte.take() {
            text.push(0xff);
            text.extend_from_slice(format!("{byte:02x}").as_bytes());
        }
    }
}

/// Half a surrogate pair, in the bytes UTF-8 would use if it allowed one.
fn push_half(unit: u16, text: &mut Vec<u8>) {
    let low_six = |bits: u16| 0x80 | (bits & 0x3f) as u8;
    text.extend_from_slice(&[0xe0 | (unit >> 12) as u8, low_six(unit >> 6), low_six(unit)]);
}

struct Decoded {
    bytes: Bytes,
    decoder: Decoder,
    raw: Vec<u8>,
    text: Vec<u8>,
    /// Index of the first byte of the text that was not returned yet.
    at: usize,
    ended: bool,
}

impl Read for Decoded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() && !self.ended {
            self.text.clear();
            self.at = 0;
            let count = self.bytes.read(&mut self.raw)?;
            match &mut self.decoder {
                Decoder::Single(characters) => {
                    for byte in &self.raw[..count] {
                        self.text.extend_from_slice(&characters[usize::from(*byte)]);
                    }
                }
                Decoder::Utf16(utf16) => {
                    utf16.push(&self.raw[..count], &mut self.text);
                    if count == 0 {
                        utf16.end(&mut self.text);
                    }
                }
            }
            self.ended = count == 0;
        }
        let count = buffer.len().min(self.text.len() - self.at);
        buffer[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn text(raw: &[u8], said: Option<Encoding>) -> Vec<u8> {
        let mut text = Vec::new();
        decode(Box::new(Cursor::new(raw.to_vec())), raw, said).unwrap().1.read_to_end(&mut text).unwrap();
        text
    }

    fn refused(raw: &[u8], said: Encoding) -> &'static str {
        decode(Box::new(io::empty()), raw, Some(said)).err().unwrap()
    }

    #[test]
    fn utf_16_in_both_byte_orders_is_detected_by_its_byte_order_mark() {
        let units: Vec<u16> = "\u{feff}é,€,\u{1f600}\n".encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for raw in [little, big] {
            for said in [None, Some(Encoding::Utf16)] {
                assert_eq!(text(&raw, said), "\u{feff}é,€,\u{1f600}\n".as_bytes());
            }
            assert_eq!(refused(&raw, Encoding::Utf8), "the byte order mark (BOM) of UTF-16");
            assert_eq!(refused(&raw, Encoding::Windows1252), "the byte order mark (BOM) of UTF-16");
        }
        assert!(refused(b"a\0b\0", Encoding::Utf16).starts_with("a text without a byte order mark"));
        assert!(text(b"", Some(Encoding::Utf16)).is_empty(), "an empty text is accepted");
    }

    #[test]
    fn a_lone_surrogate_and_half_a_unit_are_undecodable_and_differ() {
        let of = |units: &[u16]| {
            let raw: Vec<u8> = [0xfeff].iter().chain(units).flat_map(|unit| unit.to_le_bytes()).collect();
            text(&raw, None)
        };
        let halves = [of(&[0xd800]), of(&[0xd801]), of(&[0xdc00]), text(b"\xff\xfea", None), text(b"\xff\xfeb", None)];
        for (at, half) in halves.iter().enumerate() {
            assert!(std::str::from_utf8(half).is_err(), "{half:?}");
            assert!(!halves[..at].contains(half));
        }
        // Text after half a pair is still decoded.
        assert!(of(&[0xd800, 0x61]).ends_with(b"a") && of(&[0xd800, 0xd83d, 0xde00]).ends_with("\u{1f600}".as_bytes()));
    }

    #[test]
    fn windows_1252_is_read_and_its_five_undefined_bytes_are_undecodable() {
        assert_eq!(text(b"caf\xe9 \x80 \x93x\x94", Some(Encoding::Windows1252)), "café € “x”".as_bytes());
        for byte in 0..=255_u8 {
            let text = text(&[byte], Some(Encoding::Windows1252));
            let none = [0x81, 0x8d, 0x8f, 0x90, 0x9d].contains(&byte);
            assert_eq!(std::str::from_utf8(&text).is_err(), none, "{byte:#x}");
        }
        assert_eq!(refused(b"\xef\xbb\xbfa", Encoding::Windows1252), "the byte order mark (BOM) of UTF-8");
    }

    #[test]
    fn an_encoding_is_named_as_in_the_campaign_file() {
        assert_eq!("UTF-16".parse(), Ok(Encoding::Utf16));
        assert!("latin-1".parse::<Encoding>().unwrap_err().contains("`windows-1252`"));
    }
}
