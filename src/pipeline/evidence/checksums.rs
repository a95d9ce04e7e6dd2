//! The list of the files with their digests, in the format of `sha256sum`. Its last line is the seal: the digest of everything
//! above it. The seal changes if any byte of the evidence changes, also one of the list.

use crate::model::key::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The name of the list.
pub const CHECKSUMS: &str = "SHA256SUMS";

/// `sha256sum` ignores lines that begin so.
const FIRST: &str =
    "# Evidence of rescreen, version 1: the SHA-256 of each file, and the seal, which is that of all lines above it\n";
const SEAL: &str = "# seal ";
const HEX_CHARACTERS: usize = 64;

/// The SHA-256 of each file, in hexadecimal, by its path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checksums(pub BTreeMap<String, String>);

impl Checksums {
    /// The seal.
    pub fn seal(&self) -> String {
        hex(&Sha256::digest(self.lines()))
    }

    /// The text of the list.
    pub fn text(&self) -> String {
        let lines = self.lines();
        let seal = hex(&Sha256::digest(&lines));
        format!("{lines}{SEAL}{seal}\n")
    }

    fn lines(&self) -> String {
        let lines = self.0.iter().map(|(path, sha256)| format!("{sha256}  {path}\n"));
        std::iter::once(FIRST.to_owned()).chain(lines).collect()
    }

    /// Reads a list. Any text but the one that was written is refused.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Checksums, String> {
        let mut lines = text.split_inclusive('\n');
        if lines.next() != Some(FIRST) {
            return Err("line 1: expected the first line of evidence of this version, found another one".to_owned());
        }
        let mut files = BTreeMap::new();
        for (number, line) in (2..).zip(lines) {
            if line.starts_with(SEAL) {
                break;
            }
            let entry = line.strip_suffix('\n').and_then(|line| line.split_once("  "));
            let (sha256, path) = entry.filter(|(sha256, _)| sha256.len() == HEX_CHARACTERS).ok_or_else(|| {
                format!(
                    "line {number}: expected a digest of {HEX_CHARACTERS} characters and a path, found another line"
                )
            })?;
            files.insert(path.to_owned(), sha256.to_owned());
        }
        let read = Checksums(files);
        if read.text() == text {
            Ok(read)
        } else {
            Err("expected the seal of these lines as the last one, found another text".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written_and_with_any_byte_changed_it_is_refused() {
        let files = [("evidence.json", 1), ("outputs/results/a b.parquet", 2)];
        let files = files.map(|(path, byte)| (path.to_owned(), hex(&Sha256::digest([byte]))));
        let list = Checksums(files.into());
        let text = list.text();
        assert_eq!(Checksums::parse(&text), Ok(list.clone()));
        assert!(text.ends_with(&format!("# seal {}\n", list.seal())));
        for at in 0..text.len() {
            for bit in 0..7 {
                let mut changed = text.clone().into_bytes();
                changed[at] ^= 1 << bit;
                let changed = String::from_utf8(changed).unwrap();
                assert!(Checksums::parse(&changed).is_err(), "byte {at}, bit {bit}");
            }
        }
        for other in ["", FIRST, &text[..text.len() - 1], &format!("{text}\n"), &text.replace('\n', "\r\n")] {
            assert!(Checksums::parse(other).is_err(), "{other}");
        }
    }
}
