//! The digest of a file, in constant memory.

use crate::model::key::hex;
use sha2::{Digest, Sha256};
use std::io::{self, Read};

const BUFFER_BYTES: usize = 64 << 10;

/// The SHA-256 of everything that is left to read, in hexadecimal.
///
/// # Errors
/// It cannot be read.
pub fn sha256_of(mut file: impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hasher.finalize())),
            bytes => hasher.update(&buffer[..bytes]),
        }
    }
}
