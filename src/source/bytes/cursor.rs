//! The bytes of a source, with the offset, the physical line and the running SHA-256 of what was consumed. A checkpoint
//! covers exactly the bytes up to the last boundary, however far ahead the reading is.
//!
//! The bytes are decompressed and in UTF-8. A file is read in the calling thread. Anything else may stall, so a thread
//! reads it into a bounded channel, and the caller can wait for bytes with a deadline.

use super::Bytes;
use crate::{model::Checkpoint, source::SourceError};
use sha2::{Digest, Sha256};
use std::{
    io::{self, Read},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    time::Instant,
};

const FILE_CHUNK_BYTES: u64 = 256 << 10;
const STREAM_CHUNK_BYTES: usize = 64 << 10;
/// Chunks read ahead of a stream: 1 MiB.
const STREAM_CHUNKS: usize = 16;

/// Where bytes come from.
pub enum ByteSource {
    /// Read in the calling thread.
    Here(Bytes),
    Stream(Receiver<io::Result<Vec<u8>>>),
}

impl ByteSource {
    /// Reads a stream in its own thread, which ends with the stream or when the receiver is dropped.
    pub fn stream(mut reader: Bytes) -> io::Result<ByteSource> {
        let (sender, receiver) = sync_channel(STREAM_CHUNKS);
        std::thread::Builder::new().name("source".to_owned()).spawn(move || {
            loop {
                let mut chunk = vec![0; STREAM_CHUNK_BYTES];
                let read = match reader.read(&mut chunk) {
                    Ok(0) => return,
                    Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
                    Ok(count) => {
                        chunk.truncate(count);
                        Ok(chunk)
                    }
                    Err(fault) => Err(fault),
                };
                let over = read.is_err();
                if sender.send(read).is_err() || over {
                    return;
                }
            }
        })?;
        Ok(ByteSource::Stream(receiver))
    }
}

/// The result of waiting for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled {
    Bytes,
    Ended,
    /// The deadline passed.
    Stalled,
}

/// The bytes of a source.
pub struct ByteCursor {
    source_name: Arc<str>,
    source: ByteSource,
    buffer: Vec<u8>,
    /// Index in the buffer of the first byte that is not consumed.
    at: usize,
    /// Index in the buffer of the first byte that is not hashed.
    hashed: usize,
    hasher: Sha256,
    /// Index of the boundary in the buffer. If it was in an earlier buffer, `marked` holds the digest up to it.
    mark: usize,
    marked: Option<Sha256>,
    boundary_offset: u64,
    boundary_line: u64,
    offset: u64,
    /// The physical line of the next byte, from 1; counted by the record reader.
    pub line: u64,
    last: Option<u8>,
    ended: bool,
    /// An error from a read that also returned bytes. The bytes are returned first.
    fault: Option<io::Error>,
}

impl ByteCursor {
    pub fn new(source_name: Arc<str>, source: ByteSource) -> ByteCursor {
        ByteCursor {
            source_name,
            source,
            buffer: Vec::new(),
            at: 0,
            hashed: 0,
            hasher: Sha256::new(),
            mark: 0,
            marked: None,
            boundary_offset: 0,
            boundary_line: 1,
            offset: 0,
            line: 1,
            last: None,
            ended: false,
            fault: None,
        }
    }

    /// The bytes that were read and are not consumed.
    pub fn available(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// The offset of the next byte, from 0.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The last byte consumed.
    pub fn last(&self) -> Option<u8> {
        self.last
    }

    /// Waits until a byte is available, the input has ended, or the deadline has passed.
    pub fn fill(&mut self, deadline: Option<Instant>) -> Result<Filled, SourceError> {
        if self.at < self.buffer.len() {
            return Ok(Filled::Bytes);
        }
        self.turn_over();
        self.extend(deadline)
    }

    /// Reads more bytes and keeps the available ones, to look ahead.
    pub fn extend(&mut self, deadline: Option<Instant>) -> Result<Filled, SourceError> {
        if self.ended {
            return Ok(Filled::Ended);
        }
        let before = self.buffer.len();
        let read = match &mut self.source {
            _ if self.fault.is_some() => self.fault.take().map_or(Ok(()), Err),
            ByteSource::Here(bytes) => bytes.take(FILE_CHUNK_BYTES).read_to_end(&mut self.buffer).map(|_| ()),
            ByteSource::Stream(receiver) => {
                let chunk = match deadline {
                    None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
                    Some(at) => receiver.recv_timeout(at.saturating_duration_since(Instant::now())),
                };
                match chunk {
                    Ok(chunk) => chunk.map(|chunk| self.buffer.extend_from_slice(&chunk)),
                    Err(RecvTimeoutError::Timeout) => return Ok(Filled::Stalled),
                    Err(RecvTimeoutError::Disconnected) => Ok(()),
                }
            }
        };
        if let Err(fault) = read {
            if self.buffer.len() > before {
                self.fault = Some(fault);
                return Ok(Filled::Bytes);
            }
            let offset = self.offset + (self.buffer.len() - self.at) as u64;
            return Err(SourceError::Read { source_name: self.source_name.clone(), offset, fault });
        }
        self.ended = self.buffer.len() == before;
        Ok(if self.ended { Filled::Ended } else { Filled::Bytes })
    }

    /// Consumes `count` of the available bytes.
    pub fn consume(&mut self, count: usize) {
        if count > 0 {
            self.at += count;
            self.offset += count as u64;
            self.last = Some(self.buffer[self.at - 1]);
        }
    }

    /// Sets the boundary here: the end of a record, or of what is between two records.
    pub fn set_boundary(&mut self) {
        self.mark = self.at;
        self.marked = None;
        self.boundary_offset = self.offset;
        self.boundary_line = self.line;
    }

    /// The offset of the last boundary.
    pub fn boundary_offset(&self) -> u64 {
        self.boundary_offset
    }

    /// The last boundary, with the digest of all bytes before it.
    pub fn checkpoint(&mut self, next_row_number: u64) -> Checkpoint {
        let hasher = match &self.marked {
            Some(hasher) => hasher.clone(),
            None => {
                self.hash_to(self.mark);
                self.hasher.clone()
            }
        };
        Checkpoint {
            end_offset: self.boundary_offset,
            end_line: self.boundary_line,
            next_row_number,
            sha256: hasher.finalize().into(),
        }
    }

    fn hash_to(&mut self, end: usize) {
        self.hasher.update(&self.buffer[self.hashed..end]);
        self.hashed = end;
    }

    /// Empties a consumed buffer, and keeps the digest at a boundary inside it.
    fn turn_over(&mut self) {
        if self.marked.is_none() && self.mark < self.buffer.len() {
            self.hash_to(self.mark);
            self.marked = Some(self.hasher.clone());
        }
        self.hash_to(self.buffer.len());
        self.buffer.clear();
        (self.at, self.hashed, self.mark) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_covers_the_bytes_up_to_the_boundary_and_none_read_ahead() {
        let bytes: Vec<u8> = (0..700_000u32).map(|n| n as u8).collect();
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(path.path(), &bytes).unwrap();
        for boundary in [0usize, 1, 262_143, 262_144, 262_145, 500_000, 700_000] {
            let mut input =
                ByteCursor::new("x".into(), ByteSource::Here(Box::new(std::fs::File::open(path.path()).unwrap())));
            let mut set = boundary == 0;
            while input.fill(None).unwrap() == Filled::Bytes {
                let left = boundary.saturating_sub(input.offset() as usize);
                let count = if set { input.available().len() } else { left.min(input.available().len()) };
                input.consume(count);
                if !set && input.offset() as usize == boundary {
                    input.set_boundary();
                    set = true;
                }
            }
            let checkpoint = input.checkpoint(1);
            assert_eq!(checkpoint.end_offset, boundary as u64);
            assert_eq!(checkpoint.sha256, <[u8; 32]>::from(Sha256::digest(&bytes[..boundary])), "{boundary}");
        }
    }
}
