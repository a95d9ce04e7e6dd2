//! The folder of evidence while it is written. Every file is digested as it is written, and only the owner can read it.

use super::checksums::{CHECKSUMS, Checksums};
use crate::{
    error::Error,
    files::{self, Links, open_private},
    model::{chain, key::hex},
    sink::{self, SinkError},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

const BUFFER_BYTES: usize = 64 << 10;

/// A folder that files are added to.
pub struct Bundle {
    folder: PathBuf,
    checksums: Checksums,
    bytes: u64,
}

/// The end of a file of chained lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainEnd {
    pub lines: u64,
    /// The chain that ends with the last line; empty without lines.
    pub chain: String,
}

/// A file of the folder that is being written.
pub struct NewLines {
    file: Hashed,
    pub end: ChainEnd,
}

struct Hashed {
    path: PathBuf,
    writer: BufWriter<File>,
    hasher: Sha256,
    bytes: u64,
}

impl Bundle {
    pub fn new(folder: &Path) -> Bundle {
        Bundle { folder: folder.to_owned(), checksums: Checksums::default(), bytes: 0 }
    }

    /// Adds a file with this content.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, path: &str, content: &[u8]) -> Result<(), Error> {
        let mut file = self.begin(path)?;
        file.write(content)?;
        self.end(path, file)
    }

    /// Adds a copy of the file `from`, which is open as `source` and must have this digest.
    ///
    /// # Errors
    /// It has another digest, or cannot be copied.
    pub fn copy(&mut self, mut source: File, from: &Path, path: &str, sha256: &str) -> Result<(), Error> {
        let reading = |fault| SinkError::Storage { path: from.to_owned(), step: "reading", fault };
        let mut file = self.begin(path)?;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match source.read(&mut buffer).map_err(reading)? {
                0 => break,
                bytes => file.write(&buffer[..bytes])?,
            }
        }
        self.end(path, file)?;
        match self.checksums.0.get(path) {
            Some(found) if found == sha256 => Ok(()),
            _ => Err(SinkError::Changed { path: from.to_owned() }.into()),
        }
    }

    /// Adds the first lines of a file.
    ///
    /// # Errors
    /// It cannot be copied.
    pub fn copy_lines(&mut self, from: &Path, path: &str, count: u64) -> Result<(), Error> {
        let reading = |fault| SinkError::Storage { path: from.to_owned(), step: "reading", fault };
        let mut source = BufReader::new(files::open(from, Links::Followed).map_err(reading)?);
        let (mut file, mut line) = (self.begin(path)?, Vec::new());
        for _ in 0..count {
            line.clear();
            source.read_until(b'\n', &mut line).map_err(reading)?;
            file.write(&line)?;
        }
        self.end(path, file)
    }

    /// Begins a file of chained lines.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn lines(&self, path: &str) -> Result<NewLines, Error> {
        Ok(NewLines { file: self.begin(path)?, end: ChainEnd { lines: 0, chain: String::new() } })
    }

    /// Adds a file of chained lines once it is complete.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end_lines(&mut self, path: &str, lines: NewLines) -> Result<ChainEnd, Error> {
        self.end(path, lines.file).map(|()| lines.end)
    }

    /// Writes the list of the files. Returns the number of files in it, the size of all, and the seal.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn seal(mut self) -> Result<(u64, u64, String), Error> {
        let (text, seal, files) = (self.checksums.text(), self.checksums.seal(), self.checksums.0.len() as u64);
        self.add(CHECKSUMS, text.as_bytes())?;
        Ok((files, self.bytes, seal))
    }

    fn begin(&self, path: &str) -> Result<Hashed, Error> {
        let path = self.folder.join(path);
        sink::create_folder(files::folder_of(&path))?;
        let file = open_private(&path);
        let file = file.map_err(|fault| SinkError::Storage { path: path.clone(), step: "creating", fault })?;
        let writer = BufWriter::with_capacity(BUFFER_BYTES, file);
        Ok(Hashed { path, writer, hasher: Sha256::new(), bytes: 0 })
    }

    fn end(&mut self, path: &str, mut file: Hashed) -> Result<(), Error> {
        let written = file.writer.flush().and_then(|()| file.writer.get_ref().sync_all());
        written.map_err(|fault| file.failed(fault))?;
        self.bytes += file.bytes;
        self.checksums.0.insert(path.to_owned(), hex(&file.hasher.finalize()));
        Ok(())
    }
}

impl NewLines {
    /// Adds a line.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, line: &impl Serialize) -> Result<(), Error> {
        let object = serde_json::to_string(line).map_err(|fault| Error::Internal(fault.to_string()))?;
        let (line, chain) = chain::line(&object, &self.end.chain);
        self.end = ChainEnd { lines: self.end.lines + 1, chain };
        self.file.write(line.as_bytes())?;
        self.file.write(b"\n")
    }
}

impl Hashed {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.writer.write_all(bytes).map_err(|fault| self.failed(fault))?;
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn failed(&self, fault: io::Error) -> Error {
        SinkError::Storage { path: self.path.clone(), step: "writing", fault }.into()
    }
}
