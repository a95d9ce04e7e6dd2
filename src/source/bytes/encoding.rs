//! The encoding of a source: UTF-8, UTF-16 or a code page. Nothing is guessed: UTF-16 is detected by its byte order mark
//! (BOM) or by the NUL bytes in its first two characters, a code page is used only if the user says so, and everything
//! else is UTF-8.
//!
//! Text is converted to UTF-8 before it is parsed. Undecodable text becomes bytes that are not valid UTF-8, and
//! different input becomes different bytes: its row fails like a row of invalid UTF-8, and the digest of the source
//! still detects every change.

use super::Bytes;
use encoding_rs::DecoderResult;
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    io::{self, Read},
    str::FromStr,
};

const RAW_BYTES: usize = 64 << 10;

/// A text encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Encoding {
    Utf8,
    /// Either byte order, with a byte order mark or recognised by the first two characters.
    Utf16,
    Utf16Le,
    Utf16Be,
    /// A code page, by its name in the Encoding Standard.
    CodePage(&'static encoding_rs::Encoding),
}

impl Encoding {
    /// The code page of Windows in Western Europe, the most frequent one.
    pub const WINDOWS_1252: Encoding = Encoding::CodePage(encoding_rs::WINDOWS_1252);

    /// The name in messages and in the campaign file.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "utf-8",
            Encoding::Utf16 => "utf-16",
            Encoding::Utf16Le => "utf-16le",
            Encoding::Utf16Be => "utf-16be",
            Encoding::CodePage(page) => page.name(),
        }
    }

    fn named(label: &str) -> Option<Encoding> {
        let excluded = [encoding_rs::REPLACEMENT, encoding_rs::X_USER_DEFINED];
        let found = match label {
            "utf-16" | "utf16" => return Some(Encoding::Utf16),
            "utf-16-le" | "utf16le" => encoding_rs::UTF_16LE,
            "utf-16-be" | "utf16be" => encoding_rs::UTF_16BE,
            // The names of Windows and Python that the standard does not know.
            "cp932" => encoding_rs::SHIFT_JIS,
            "cp936" => encoding_rs::GBK,
            "cp949" => encoding_rs::EUC_KR,
            "cp950" => encoding_rs::BIG5,
            "latin-1" => encoding_rs::WINDOWS_1252,
            label => encoding_rs::Encoding::for_label(label.as_bytes())?,
        };
        match found {
            found if excluded.contains(&found) => None,
            found if found == encoding_rs::UTF_8 => Some(Encoding::Utf8),
            found if found == encoding_rs::UTF_16LE => Some(Encoding::Utf16Le),
            found if found == encoding_rs::UTF_16BE => Some(Encoding::Utf16Be),
            found => Some(Encoding::CodePage(found)),
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name().to_lowercase())
    }
}

impl FromStr for Encoding {
    type Err = String;

    /// Upper case, and `_` for `-` or the reverse, make no difference.
    fn from_str(text: &str) -> Result<Encoding, String> {
        let label = text.trim().to_lowercase();
        let spellings = [label.clone(), label.replace('_', "-"), label.replace('-', "_")];
        spellings.iter().find_map(|label| Encoding::named(label)).ok_or_else(|| {
            format!(
                "expected an encoding such as `utf-8`, `utf-16`, `utf-16le`, `windows-1252`, `iso-8859-2`, `gbk`, \
                 `shift_jis` or `big5`, found `{text}`"
            )
        })
    }
}

impl TryFrom<String> for Encoding {
    type Error = String;

    fn try_from(text: String) -> Result<Encoding, String> {
        text.parse()
    }
}

impl From<Encoding> for String {
    fn from(encoding: Encoding) -> String {
        encoding.to_string()
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

/// The byte order of UTF-16 without a byte order mark: its first two characters are below U+0100, as those of nearly
/// every header are. In UTF-8 no text has a NUL byte.
fn byte_order(start: &[u8]) -> Option<bool> {
    match start.first_chunk::<4>()?.map(|byte| byte == 0) {
        [false, true, false, true] => Some(false),
        [true, false, true, false] => Some(true),
        _ => None,
    }
}

/// The encoding, and the text in UTF-8. The error says what was found instead of the encoding the user named.
pub fn decode(bytes: Bytes, start: &[u8], said: Option<Encoding>) -> Result<(Encoding, Bytes), &'static str> {
    let utf_16 = |bytes, big| decoded(bytes, Decoder::Utf16(Utf16 { big, byte: None, high: None }));
    match (said, byte_order_mark(start)) {
        (None | Some(Encoding::Utf16), Some(ByteOrderMark::Utf16 { big })) => Ok((Encoding::Utf16, utf_16(bytes, big))),
        (Some(Encoding::Utf16Le), None | Some(ByteOrderMark::Utf16 { big: false })) => {
            Ok((Encoding::Utf16Le, utf_16(bytes, false)))
        }
        (Some(Encoding::Utf16Be), None | Some(ByteOrderMark::Utf16 { big: true })) => {
            Ok((Encoding::Utf16Be, utf_16(bytes, true)))
        }
        (None | Some(Encoding::Utf8), Some(ByteOrderMark::Utf8)) | (Some(Encoding::Utf8), None) => {
            Ok((Encoding::Utf8, bytes))
        }
        (None, None) => Ok(match byte_order(start) {
            Some(big) => (Encoding::Utf16, utf_16(bytes, big)),
            None => (Encoding::Utf8, bytes),
        }),
        (Some(Encoding::CodePage(page)), None) => {
            let decoder = if page.is_single_byte() {
                Decoder::Single(characters_of(page))
            } else {
                Decoder::Several(Box::new(CodePage::new(page)))
            };
            Ok((Encoding::CodePage(page), decoded(bytes, decoder)))
        }
        // An empty input has no BOM. Whether it may be empty is decided by the record reader.
        (Some(Encoding::Utf16), None) if start.is_empty() => Ok((Encoding::Utf16, bytes)),
        (Some(Encoding::Utf16), None) => match byte_order(start) {
            Some(big) => Ok((Encoding::Utf16, utf_16(bytes, big))),
            None => Err("a text without a byte order mark (BOM), which `utf-16le` and `utf-16be` do not need"),
        },
        (Some(_), Some(ByteOrderMark::Utf8)) => Err("the byte order mark (BOM) of UTF-8"),
        (Some(Encoding::Utf16Le), Some(_)) => Err("the byte order mark (BOM) of UTF-16 in the other order, `utf-16be`"),
        (Some(Encoding::Utf16Be), Some(_)) => Err("the byte order mark (BOM) of UTF-16 in the other order, `utf-16le`"),
        (Some(_), Some(ByteOrderMark::Utf16 { .. })) => Err("the byte order mark (BOM) of UTF-16"),
    }
}

fn decoded(bytes: Bytes, decoder: Decoder) -> Bytes {
    Box::new(Decoded { bytes, decoder, raw: vec![0; RAW_BYTES], text: Vec::new(), at: 0, ended: false })
}

/// The character of each byte, in UTF-8. A byte without a character, or with a control character of the upper half,
/// stays undecodable: bytes up to 0xbf are not valid UTF-8 alone, and above them 0xff comes first.
fn characters_of(page: &'static encoding_rs::Encoding) -> Vec<Vec<u8>> {
    let character = |byte: u8| {
        let raw = [byte];
        let (text, _) = page.decode_without_bom_handling(&raw);
        let is_none = |c: char| c == char::REPLACEMENT_CHARACTER || ('\u{80}'..='\u{9f}').contains(&c);
        match byte {
            _ if !text.chars().any(is_none) => text.into_owned().into_bytes(),
            ..=0xbf => vec![byte],
            _ => vec![0xff, byte],
        }
    };
    (0..=255).map(character).collect()
}

/// The state of the decoder of a code page of several bytes.
struct CodePage {
    decoder: encoding_rs::Decoder,
    /// The last bytes that were decoded, for an undecodable character that began in an earlier read.
    last: Vec<u8>,
}

/// More bytes than a character has.
const LAST_BYTES: usize = 16;

impl CodePage {
    fn new(page: &'static encoding_rs::Encoding) -> CodePage {
        CodePage { decoder: page.new_decoder_without_bom_handling(), last: Vec::new() }
    }

    /// An undecodable character becomes 0xff and the digits of its bytes.
    fn push(&mut self, raw: &[u8], text: &mut Vec<u8>, is_last: bool) {
        let begin = self.last.len();
        self.last.extend_from_slice(raw);
        let mut at = begin;
        let mut piece = vec![0; 1 << 10];
        loop {
            let (result, read, written) =
                self.decoder.decode_to_utf8_without_replacement(&self.last[at..], &mut piece, is_last);
            text.extend_from_slice(&piece[..written]);
            at += read;
            match result {
                DecoderResult::InputEmpty => break,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(length, behind) => {
                    let end = at.saturating_sub(usize::from(behind));
                    text.push(0xff);
                    for byte in &self.last[end.saturating_sub(usize::from(length))..end] {
                        text.extend_from_slice(format!("{byte:02x}").as_bytes());
                    }
                }
            }
        }
        self.last.drain(..self.last.len().saturating_sub(LAST_BYTES));
    }
}

enum Decoder {
    /// One byte is one character.
    Single(Vec<Vec<u8>>),
    /// A character has one byte or more.
    Several(Box<CodePage>),
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
                Decoder::Several(page) => page.push(&self.raw[..count], &mut self.text, count == 0),
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
#[path = "encoding_tests.rs"]
mod tests;
