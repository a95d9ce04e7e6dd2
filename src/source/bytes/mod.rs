//! Bytes on their way in: the stream that decompression, decoding and the readers of workbooks hand on.

pub mod compression;
pub mod cursor;
pub mod encoding;

use std::io::Read;

/// A stream of bytes that another thread may read.
pub type Bytes = Box<dyn Read + Send>;
