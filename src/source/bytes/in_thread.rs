//! A file whose reader produces text, read in a separate thread into a bounded channel. The thread also contains a panic
//! of the library that reads the file: it then ends without its last message, which is reported as a fault and never as
//! the end of the text.

use super::Bytes;
use std::{
    io::{self, Read},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
};

/// Messages that the thread may be ahead.
const PIECES: usize = 4;

/// A message from the thread.
enum Piece<F> {
    /// The file can be read.
    Begun,
    Bytes(Vec<u8>),
    Fault(F),
    End,
}

/// Where the thread sends its text.
pub struct Pieces<F>(SyncSender<Piece<F>>);

impl<F> Pieces<F> {
    /// Says that the file can be read. Returns whether anyone still wants the text.
    pub fn begin(&self) -> bool {
        self.0.send(Piece::Begun).is_ok()
    }

    /// Sends text. Returns whether anyone still wants more.
    pub fn send(&self, bytes: Vec<u8>) -> bool {
        self.0.send(Piece::Bytes(bytes)).is_ok()
    }
}

/// Starts the thread, and returns its text once it has begun. `broke_off` is the fault of a thread that panicked.
///
/// # Errors
/// The fault with which `read` ended before it began, or the thread cannot be started.
pub fn open<F: std::error::Error + Send + Sync + 'static>(
    name: &str,
    broke_off: fn() -> F,
    not_started: fn(io::Error) -> F,
    read: impl FnOnce(&Pieces<F>) -> Result<(), F> + Send + 'static,
) -> Result<Bytes, F> {
    let (sender, receiver) = sync_channel(PIECES);
    let run = move || {
        let pieces = Pieces(sender);
        let last = match read(&pieces) {
            Ok(()) => Piece::End,
            Err(fault) => Piece::Fault(fault),
        };
        // An error means that the receiver was dropped.
        _ = pieces.0.send(last);
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(run).map_err(not_started)?;
    match receiver.recv() {
        Ok(Piece::Begun) => Ok(Box::new(Text { receiver, broke_off, chunk: Vec::new(), at: 0, ended: false })),
        Ok(Piece::Fault(fault)) => Err(fault),
        _ => Err(broke_off()),
    }
}

/// The messages from the thread, as one stream of bytes.
struct Text<F> {
    receiver: Receiver<Piece<F>>,
    broke_off: fn() -> F,
    chunk: Vec<u8>,
    at: usize,
    ended: bool,
}

impl<F: std::error::Error + Send + Sync + 'static> Read for Text<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() && !self.ended {
            match self.receiver.recv() {
                Ok(Piece::Bytes(chunk)) => (self.chunk, self.at) = (chunk, 0),
                Ok(Piece::Begun) => {}
                Ok(Piece::End) => self.ended = true,
                Ok(Piece::Fault(fault)) => return Err(io::Error::other(fault)),
                Err(_) => return Err(io::Error::other((self.broke_off)())),
            }
        }
        let count = buffer.len().min(self.chunk.len() - self.at);
        buffer[..count].copy_from_slice(&self.chunk[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
