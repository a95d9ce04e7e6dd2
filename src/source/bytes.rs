//! Bytes on their way in: the stream that decompression, decoding and the readers of workbooks hand on.

use std::io::Read;

/// A stream of bytes that another thread may read.
pub(super) type Bytes = Box<dyn Read + Send>;
