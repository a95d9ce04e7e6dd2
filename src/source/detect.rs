//! Detects the format and delimiter of a source: from the user's options, else from the file name, else from the first
//! bytes.

use super::{
    SourceError, UNENDED_BYTES_MAX,
    bytes::cursor::{ByteCursor, Filled},
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
            other => Err(format!("expected the format `csv` or `jsonl`, found `{other}`")),
        }
    }
}

const BOM: &[u8] = b"\xef\xbb\xbf";
/// How many bytes of a header are searched for its delimiter.
const SNIFF_BYTES_MAX: usize = 64 << 10;

/// Skips a byte order mark and detects the format.
pub(super) fn enter(
    input: &mut ByteCursor,
    source_name: &Arc<str>,
    path: Option<&Path>,
    wanted: Option<Format>,
) -> Result<Format, SourceError> {
    while input.available().len() < BOM.len() && input.extend(None)? == Filled::Bytes {}
    if input.available().starts_with(BOM) {
        input.consume(BOM.len());
    }
    let format = match (wanted, path.map(extension).as_deref()) {
        (Some(format), _) => format,
        (None, Some("csv" | "tsv" | "txt")) => Format::Csv,
        (None, Some("json" | "jsonl" | "ndjson")) => Format::Jsonl,
        (None, _) if first_byte(input)? == Some(b'{') => Format::Jsonl,
        (None, _) => Format::Csv,
    };
    // A list may have an object on each line, so that some of its lines would be rows.
    let is_json = wanted.is_none() && path.map(extension).as_deref() == Some("json");
    if format == Format::Jsonl && first_byte(input)? == Some(b'[') && (is_json || !first_line_is_whole(input)?) {
        return Err(SourceError::JsonList { source_name: source_name.clone() });
    }
    Ok(format)
}

/// The first byte that is not whitespace.
fn first_byte(input: &mut ByteCursor) -> Result<Option<u8>, SourceError> {
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

/// Whether the first line ends the list that it begins. Such a line is one row, which is not an object.
fn first_line_is_whole(input: &mut ByteCursor) -> Result<bool, SourceError> {
    loop {
        let text = input.available().trim_ascii_start();
        let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let has_end = line.len() < text.len() || text.len() > SNIFF_BYTES_MAX;
        let is_whole = line.trim_ascii_end().ends_with(b"]");
        if has_end || input.extend(None)? != Filled::Bytes {
            return Ok(is_whole);
        }
    }
}

/// The delimiter: the one in the options, that of a `sep=` line written by a spreadsheet, tab for `.tsv`, else the one
/// detected from the first line. A `sep=` line is skipped, and then the lines before the line `first_line`. `columns` is
/// the number of columns, if the user named them.
pub(super) fn delimiter(
    input: &mut ByteCursor,
    source_name: &Arc<str>,
    path: Option<&Path>,
    wanted: Option<u8>,
    columns: Option<usize>,
    first_line: u64,
) -> Result<u8, SourceError> {
    let by_line = loop {
        let (read, whole) = separator_line(input.available());
        if whole || input.extend(None)? != Filled::Bytes {
            break read.filter(|_| whole);
        }
    };
    if let Some((_, bytes)) = by_line {
        input.consume(bytes);
        input.line += 1;
    }
    if input.line < first_line {
        skip_to(input, source_name, first_line)?;
    }
    if let Some(delimiter) = wanted.or(by_line.map(|(delimiter, _)| delimiter)) {
        return Ok(delimiter);
    }
    if path.map(extension).as_deref() == Some("tsv") {
        return Ok(b'\t');
    }
    loop {
        let (delimiter, whole) = sniff(input.available(), columns);
        if whole || input.available().len() > SNIFF_BYTES_MAX || input.extend(None)? != Filled::Bytes {
            return Ok(delimiter);
        }
    }
}

/// Consumes the lines before a line, or all of the input.
fn skip_to(input: &mut ByteCursor, source_name: &Arc<str>, line: u64) -> Result<(), SourceError> {
    let mut after_cr = input.last() == Some(b'\r');
    let mut begin = input.offset();
    while (input.line < line || after_cr) && input.fill(None)? == Filled::Bytes {
        let text = input.available();
        if std::mem::take(&mut after_cr) {
            input.consume(usize::from(text[0] == b'\n'));
            continue;
        }
        let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        after_cr = end.is_some_and(|end| text[end] == b'\r');
        input.consume(end.map_or(text.len(), |end| end + 1));
        if end.is_some() {
            (input.line, begin) = (input.line + 1, input.offset());
        } else if input.offset() - begin > UNENDED_BYTES_MAX {
            return Err(SourceError::RowUnended { source_name: source_name.clone(), line: input.line });
        }
    }
    input.set_boundary();
    Ok(())
}

/// The delimiter in a first line `sep=;` or `"sep=;"`, and the length of that line with a line end of one character.
/// The second value says whether enough was read to know.
pub(super) fn separator_line(start: &[u8]) -> (Option<(u8, usize)>, bool) {
    const WORD: &[u8] = b"sep=";
    let quote = usize::from(start.first() == Some(&b'"'));
    let word =
        start[quote..].iter().zip(WORD).take_while(|(byte, expected)| byte.eq_ignore_ascii_case(expected)).count();
    if word < WORD.len() {
        return (None, word < start.len() - quote);
    }
    let rest = &start[quote + WORD.len()..];
    let Some(delimiter) = rest.first().copied() else { return (None, false) };
    if !delimiter.is_ascii() || delimiter.is_ascii_alphanumeric() || matches!(delimiter, b'"' | b'\n' | b'\r') {
        return (None, true);
    }
    let closed = if quote == 1 { rest.get(1) == Some(&b'"') } else { true };
    match rest.get(1 + quote) {
        Some(b'\n' | b'\r') if closed => (Some((delimiter, quote + WORD.len() + 2 + quote)), true),
        Some(_) => (None, true),
        None => (None, false),
    }
}

/// The delimiter detected from the first non-empty line, ignoring quoted text: the one that splits it into the known
/// number of columns, else the most frequent one; comma on a tie. The second value says whether the end of the line was
/// read.
pub(super) fn sniff(start: &[u8], columns: Option<usize>) -> (u8, bool) {
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
    let fits = |at: &usize| columns.is_some_and(|columns| columns > 1 && counts[*at] + 1 == columns);
    let most = (0..4).rev().max_by_key(|at| counts[*at]).expect("four candidates");
    (CANDIDATES[(0..4).find(fits).unwrap_or(most)], whole)
}

/// The extension of a file in lower case, without the dot.
pub(super) fn extension(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default()
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
            assert_eq!(sniff(header.as_bytes(), None).0, delimiter, "{header:?}");
        }
    }

    #[test]
    fn the_number_of_columns_tells_a_delimiter_from_decimal_commas() {
        assert_eq!(sniff(b"1,5;2,5\n", Some(2)).0, b';');
        assert_eq!(sniff(b"1,5;2,5\n", None).0, b',');
        assert_eq!(sniff(b"1;2\n", Some(7)).0, b';', "none fits");
    }

    #[test]
    fn a_sep_line_is_recognised_with_and_without_quotes() {
        for (start, found) in [
            (&b"sep=;\r\nid"[..], (Some((b';', 6)), true)),
            (b"SEP=\t\nid", (Some((b'\t', 6)), true)),
            (b"\"sep=|\"\nid", (Some((b'|', 8)), true)),
            (b"sep=;x\n", (None, true)),
            (b"\"sep=;x\"\n", (None, true)),
            (b"sep=a\n", (None, true)),
            (b"sep=\n", (None, true)),
            (b"separator;id\n", (None, true)),
            (b"id\n", (None, true)),
            (b"se", (None, false)),
            (b"sep=;", (None, false)),
            (b"", (None, false)),
        ] {
            assert_eq!(separator_line(start), found, "{start:?}");
        }
    }
}
