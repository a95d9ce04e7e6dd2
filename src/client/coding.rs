//! Content codings of replies. Every request asks for none, but a proxy or a server may compress a reply anyway, and its
//! answer was paid for: gzip, deflate and zstd are decoded, up to the limit of a body. A body that only claims to be
//! compressed is read as it is.

use super::{json_body::json_body, room::RESPONSE_BYTES_MAX};
use crate::model::printable::printable_cut;
use flate2::{Decompress, FlushDecompress, Status, bufread::MultiGzDecoder};
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use std::io::{self, ErrorKind, Read};

/// The most codings of one body. Servers apply one.
const CODINGS_MAX: usize = 4;
/// The bytes that are decoded before other tasks get their turn.
const STEP_BYTES: usize = 64 * 1024;
/// The largest window of zstd in HTTP is 8 MiB: RFC 9659. It is memory of the decoder.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// The longest name of a coding that is shown, in characters.
const NAME_CHARACTERS_MAX: usize = 30;

/// Why a body could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Undecoded {
    /// It is longer than a body may be.
    TooLong,
    /// The coding is not known, or the bytes are not in it. The text says which.
    Unreadable(String),
}

/// The codings that the headers state, in the order in which they were applied, without `identity`.
pub(super) fn stated(headers: &HeaderMap) -> Vec<String> {
    let lines = headers.get_all(CONTENT_ENCODING).into_iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let names = lines.flat_map(|line| line.split(',').map(|name| name.trim().to_ascii_lowercase()).collect::<Vec<_>>());
    names.filter(|name| !name.is_empty() && name != "identity").collect()
}

/// The body without these codings. It gives other tasks their turn while it decodes a long one.
pub(super) async fn decoded(mut body: Vec<u8>, codings: &[String]) -> Result<Vec<u8>, Undecoded> {
    if codings.len() > CODINGS_MAX {
        let fault = format!("the reply has {} content codings, and at most {CODINGS_MAX} are read", codings.len());
        return Err(Undecoded::Unreadable(fault));
    }
    for coding in codings.iter().rev() {
        // A reply without a body may still name a coding.
        if body.is_empty() {
            break;
        }
        body = match without(coding, &body).await {
            Ok(decoded) => decoded,
            Err(Undecoded::TooLong) => return Err(Undecoded::TooLong),
            // Some servers name a coding that they did not apply.
            Err(Undecoded::Unreadable(_)) if is_plain(&body) => break,
            Err(fault) => return Err(fault),
        };
    }
    Ok(body)
}

/// Whether bytes are a JSON document of a reply as they are.
fn is_plain(body: &[u8]) -> bool {
    json_body(body).is_some_and(|json| json.value.is_object() || json.value.is_array())
}

/// The bytes without one coding.
async fn without(coding: &str, bytes: &[u8]) -> Result<Vec<u8>, Undecoded> {
    let name = printable_cut(coding, NAME_CHARACTERS_MAX);
    let read = match coding {
        "gzip" | "x-gzip" => whole(MultiGzDecoder::new(bytes)).await,
        // The standard means zlib. Some servers send the bare format instead.
        "deflate" => match whole(Inflate::new(bytes, true)).await {
            Err(Fault::Damaged) => whole(Inflate::new(bytes, false)).await,
            read => read,
        },
        "zstd" => match zstd_decoder(bytes) {
            Ok(decoder) => whole(decoder).await,
            Err(_) => Err(Fault::Damaged),
        },
        _ => {
            let fault = format!("the body of the reply has the content coding `{name}`, which cannot be decoded");
            return Err(Undecoded::Unreadable(fault));
        }
    };
    read.map_err(|fault| match fault {
        Fault::TooLong => Undecoded::TooLong,
        Fault::Damaged => Undecoded::Unreadable(format!(
            "the body of the reply should have the content coding `{name}`, and is damaged, cut off or in another one"
        )),
    })
}

fn zstd_decoder(bytes: &[u8]) -> io::Result<zstd::Decoder<'static, &[u8]>> {
    let mut decoder = zstd::Decoder::with_buffer(bytes)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    Ok(decoder)
}

enum Fault {
    TooLong,
    Damaged,
}

/// Reads a decoder to its end. A result that is longer than a body may be is a fault.
async fn whole(mut decoder: impl Read) -> Result<Vec<u8>, Fault> {
    let (mut decoded, mut step) = (Vec::new(), vec![0; STEP_BYTES]);
    loop {
        let read = decoder.read(&mut step).map_err(|_| Fault::Damaged)?;
        let length = decoded.len() + read;
        if length > RESPONSE_BYTES_MAX {
            return Err(Fault::TooLong);
        }
        if read == 0 {
            return Ok(decoded);
        }
        // Reserved exactly, so that a body near the limit does not use twice the memory.
        if length > decoded.capacity() {
            let wanted = (decoded.capacity() * 2).clamp(length, RESPONSE_BYTES_MAX);
            decoded.reserve_exact(wanted - decoded.len());
        }
        decoded.extend_from_slice(&step[..read]);
        tokio::task::yield_now().await;
    }
}

/// Reads deflate, with or without the header of zlib. Unlike the decoder of flate2, it reports bytes that end too early
/// or continue after the end.
struct Inflate<'a> {
    left: &'a [u8],
    decompress: Decompress,
    has_ended: bool,
}

impl Inflate<'_> {
    fn new(bytes: &[u8], has_header: bool) -> Inflate<'_> {
        Inflate { left: bytes, decompress: Decompress::new(has_header), has_ended: false }
    }
}

impl Read for Inflate<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.has_ended {
            let (consumed, written) = (self.decompress.total_in(), self.decompress.total_out());
            let status = self.decompress.decompress(self.left, buffer, FlushDecompress::None)?;
            // Both are at most as long as the slices.
            let consumed = (self.decompress.total_in() - consumed) as usize;
            let written = (self.decompress.total_out() - written) as usize;
            self.left = &self.left[consumed..];
            self.has_ended = status == Status::StreamEnd;
            if written > 0 {
                return Ok(written);
            }
            if consumed == 0 && !self.has_ended {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        if self.left.is_empty() { Ok(0) } else { Err(ErrorKind::InvalidData.into()) }
    }
}

#[cfg(test)]
#[path = "coding_tests.rs"]
mod tests;
