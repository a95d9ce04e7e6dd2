//! The bytes of a source: the stream that decompression, decoding and the spreadsheet reader produce.

pub mod compression;
pub mod cursor;
pub mod encoding;
pub mod in_thread;

use std::io::Read;

/// A stream of bytes that can be read in another thread.
pub type Bytes = Box<dyn Read + Send>;
