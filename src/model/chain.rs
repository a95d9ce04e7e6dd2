//! A chain of lines: each is a JSON object whose last member, `chain`, is the digest of the line and of the chain before it. So a
//! change to any byte of a file of such lines is found, and names the line. The form never changes, because old files are read
//! for years.

use super::key::hex;
use sha2::{Digest, Sha256};

/// What is before and after the digest at the end of a line.
const BEFORE: &str = ",\"chain\":\"";
const AFTER: &str = "\"}";
const CHAIN_CHARACTERS: usize = 64;

/// The line of a JSON object, without the end of the line, and the chain that ends with it. `before` is the chain before it, which
/// is empty for the first line.
pub fn line(object: &str, before: &str) -> (String, String) {
    let chain = digest(before, object);
    let open = object.strip_suffix('}').unwrap_or(object);
    (format!("{open}{BEFORE}{chain}{AFTER}"), chain)
}

/// The JSON object of a line, and the chain that ends with it.
///
/// # Errors
/// The line or one before it was changed.
pub fn of_line(line: &str, before: &str) -> Result<(String, String), String> {
    let ended = || -> Option<(&str, &str)> {
        let body = line.strip_suffix(AFTER)?;
        let (rest, chain) = body.split_at_checked(body.len().checked_sub(CHAIN_CHARACTERS)?)?;
        Some((rest.strip_suffix(BEFORE)?, chain))
    };
    let (open, chain) = ended().ok_or("expected a line that ends with its digest, found another one")?;
    let object = format!("{open}}}");
    if digest(before, &object) == chain {
        Ok((object, chain.to_owned()))
    } else {
        Err("expected the digest of this line and of those before it, found another one".to_owned())
    }
}

/// SHA-256 of the chain before, in hexadecimal, and of an object.
fn digest(before: &str, object: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(before);
    hasher.update(object);
    hex(&hasher.finalize())
}
