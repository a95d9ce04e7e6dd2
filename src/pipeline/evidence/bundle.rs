//! The folder of evidence while it is written. Every file is digested as it is written, and only the owner can read it.

use super::checksums::{CHECKSUMS, Checksums};
use crate::{
    error::Error,
    files::{self, Links},
    model::chain,
    sink::{self, NewFile, SinkError},
};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
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

/// A file of chained lines that is being written.
pub struct NewLines {
    path: PathBuf,
    file: NewFile,
    pub end: ChainEnd,
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
        file.write_all(content).map_err(unwritten(&self.folder.join(path)))?;
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
                bytes => file.write_all(&buffer[..bytes]).map_err(unwritten(&self.folder.join(path)))?,
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
            file.write_all(&line).map_err(unwritten(&self.folder.join(path)))?;
        }
        self.end(path, file)
    }

    /// Begins a file of chained lines.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn lines(&self, path: &str) -> Result<NewLines, Error> {
        let end = ChainEnd { lines: 0, chain: String::new() };
        Ok(NewLines { path: self.folder.join(path), file: self.begin(path)?, end })
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

    fn begin(&self, path: &str) -> Result<NewFile, Error> {
        let path = self.folder.join(path);
        sink::create_folder(files::folder_of(&path))?;
        Ok(NewFile::create_new(&path)?)
    }

    fn end(&mut self, path: &str, file: NewFile) -> Result<(), Error> {
        let written = file.publish()?;
        self.bytes += written.bytes;
        self.checksums.0.insert(path.to_owned(), written.sha256);
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
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.write_all(b"\n"));
        Ok(written.map_err(unwritten(&self.path))?)
    }
}

fn unwritten(path: &Path) -> impl FnOnce(io::Error) -> SinkError {
    move |fault| SinkError::Storage { path: path.to_owned(), step: "writing", fault }
}
