//! How a source is laid out: its format and delimiter, by what the user said, else by the file's name, else by its first
//! bytes. What this version cannot read is refused here, before any row is taken.

use super::{
    SourceError,
    input::{Filled, Input},
};
use serde::{Deserialize, Serialize};
use std::{fmt, path::Path, str::FromStr, sync::Arc};

/// The format of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Csv,
    Jsonl,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Csv => "csv",
            Format::Jsonl => "jsonl",
        })
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        match text {
            "csv" => Ok(Format::Csv),
            "jsonl" => Ok(Format::Jsonl),
            other => Err(format!("format is `csv` or `jsonl`, not `{other}`")),
        }
    }
}

/// Packed formats by the end of the name.
const PACKED_ENDINGS: [(&str, &str); 9] = [
    ("gz", "a gzip file"),
    ("zst", "a zstd file"),
    ("zip", "a zip archive"),
    ("bz2", "a bzip2 file"),
    ("xz", "an xz file"),
    ("xlsx", "a spreadsheet"),
    ("xls", "a spreadsheet"),
    ("ods", "a spreadsheet"),
    ("parquet", "a Parquet file"),
];

/// Packed formats by their first bytes.
const PACKED_MAGIC: [(&[u8], &str); 7] = [
    (b"\x1f\x8b", "a gzip file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"PK\x03\x04", "a zip archive or a spreadsheet"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zX", "an xz file"),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet"),
    (b"PAR1", "a Parquet file"),
];

const BOM: &[u8] = b"\xef\xbb\xbf";
/// How far a header is searched for its delimiter.
const SNIFF_BYTES_MAX: usize = 64 << 10;

fn ending(path: &Path) -> String {
    path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// Refuses a file by its name.
pub(super) fn refuse_packed_name(path: &Path, source_name: &Arc<str>) -> Result<(), SourceError> {
    let ending = ending(path);
    match PACKED_ENDINGS.iter().find(|(known, _)| *known == ending) {
        Some((_, what)) => Err(SourceError::Packed { source_name: source_name.clone(), what }),
        None => Ok(()),
    }
}

/// Looks at the first bytes: refuses what is not text, skips a byte order mark, and finds the format.
pub(super) fn enter(
    input: &mut Input,
    source_name: &Arc<str>,
    path: Option<&Path>,
    wanted: Option<Format>,
) -> Result<Format, SourceError> {
    while input.available().len() < 4 && input.extend(None)? == Filled::Bytes {}
    let start = input.available();
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return Err(SourceError::Utf16 { source_name: source_name.clone() });
    }
    if let Some((_, what)) = PACKED_MAGIC.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Err(SourceError::Packed { source_name: source_name.clone(), what });
    }
    if start.starts_with(BOM) {
        input.consume(BOM.len());
    }
    if let Some(format) = wanted {
        return Ok(format);
    }
    match path.map(ending).as_deref() {
        Some("csv" | "tsv" | "txt") => Ok(Format::Csv),
        Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
        Some("json") if first_byte(input)? == Some(b'[') => {
            Err(SourceError::JsonList { source_name: source_name.clone() })
        }
        Some("json") => Ok(Format::Jsonl),
        _ if first_byte(input)? == Some(b'{') => Ok(Format::Jsonl),
        _ => Ok(Format::Csv),
    }
}

/// The first byte that is not blank.
fn first_byte(input: &mut Input) -> Result<Option<u8>, SourceError> {
    let mut seen = 0;
    loop {
        if let Some(byte) = input.available()[seen..].iter().find(|byte| !byte.is_ascii_whitespace()) {
            return Ok(Some(*byte));
        }
        seen = input.available().len();
        if seen > SNIFF_BYTES_MAX || input.extend(None)? != Filled::Bytes {
            return Ok(None);
        }
    }
}

/// The delimiter: as said, tab for `.tsv`, else the most frequent candidate of the header line.
pub(super) fn delimiter(input: &mut Input, path: Option<&Path>, wanted: Option<u8>) -> Result<u8, SourceError> {
    if let Some(delimiter) = wanted {
        return Ok(delimiter);
    }
    if path.map(ending).as_deref() == Some("tsv") {
        return Ok(b'\t');
    }
    loop {
        let (delimiter, whole) = sniff(input.available());
        if whole || input.available().len() > SNIFF_BYTES_MAX || input.extend(None)? != Filled::Bytes {
            return Ok(delimiter);
        }
    }
}

/// The most frequent delimiter of the first line that is not blank, quoted text left out; comma on a tie. Also whether
/// the end of the line was seen.
fn sniff(start: &[u8]) -> (u8, bool) {
    const CANDIDATES: [u8; 4] = [b',', b';', b'\t', b'|'];
    let mut counts = [0usize; 4];
    let (mut quoted, mut begun, mut whole) = (false, false, false);
    for byte in start {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if begun && !quoted => {
                whole = true;
                break;
            }
            byte if !quoted => {
                if let Some(at) = CANDIDATES.iter().position(|candidate| candidate == byte) {
                    counts[at] += 1;
                }
            }
            _ => {}
        }
        begun |= !matches!(byte, b'\n' | b'\r');
    }
    let best = (0..4).rev().max_by_key(|at| counts[*at]).expect("four candidates");
    (CANDIDATES[best], whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_delimiter_outside_quotes_wins_and_a_comma_on_a_tie() {
        for (header, delimiter) in [
            ("a,b,c\n", b','),
            ("a;b;\"c,d,e,f\"\n", b';'),
            ("\n\na\tb\tc,d\n1,2,3,4,5", b'\t'),
            ("a|b|c", b'|'),
            ("a;b,c\n", b','),
            ("a;b|c\n", b';'),
            ("alone\n", b','),
            ("", b','),
        ] {
            assert_eq!(sniff(header.as_bytes()).0, delimiter, "{header:?}");
        }
    }
}
