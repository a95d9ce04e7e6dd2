//! Regular files. A named pipe or a device in place of a file could block its reader forever or have no end, so neither
//! is opened. This module decides what counts as a readable file.

use std::{
    fs::{self, File, FileType, OpenOptions},
    io::{self, Read},
    path::Path,
};

/// What happens to a symbolic link in the last part of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// It is followed, because the user named the file.
    Followed,
    /// It is an error, because rescreen created the file and never creates links.
    Refused,
}

/// Options that open a file without waiting for the other end of a pipe.
pub fn options(links: Links) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let no_follow = if links == Links::Refused { OFlags::NOFOLLOW } else { OFlags::empty() };
        let flags = OFlags::NONBLOCK | no_follow;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    let _ = links;
    options
}

/// Opens a regular file for reading.
///
/// # Errors
/// It cannot be opened, or is not a regular file; the message says what it is.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    opened(path, &options(links), links)
}

/// Opens a regular file with these [`options`], for the same `links`.
///
/// # Errors
/// It cannot be opened, or is not a regular file; the message says what it is.
pub fn opened(path: &Path, options: &OpenOptions, links: Links) -> io::Result<File> {
    check(path, links)?;
    let file = options.open(path)?;
    // Another file may have replaced it since the check.
    match file.metadata()?.file_type() {
        kind if kind.is_file() => Ok(file),
        kind => Err(not_regular(kind)),
    }
}

/// Refuses anything that is not a regular file. A missing file is accepted.
///
/// # Errors
/// It cannot be examined, or is not a regular file.
pub fn check(path: &Path, links: Links) -> io::Result<()> {
    let found = match links {
        Links::Followed => fs::metadata(path),
        Links::Refused => fs::symlink_metadata(path),
    };
    match found {
        Ok(found) if found.is_file() => Ok(()),
        Ok(found) => Err(not_regular(found.file_type())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Reads a regular file of at most `bytes_max` bytes.
///
/// # Errors
/// It cannot be read, is not a regular file, or is larger.
pub fn read(path: &Path, links: Links, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_open(open(path, links)?, bytes_max)
}

/// Reads a regular file like [`read`]; `None` if it is missing.
///
/// # Errors
/// Those of [`read`].
pub fn found(path: &Path, links: Links, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    match read(path, links, bytes_max) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Reads an open file of at most `bytes_max` bytes: the file that was examined, even if its name was reused since.
///
/// # Errors
/// It cannot be read, or is larger.
pub fn read_open(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        Err(invalid(format!("expected at most {bytes_max} bytes, found more")))
    } else {
        Ok(bytes)
    }
}

/// Reads a regular file as UTF-8 text.
///
/// # Errors
/// Those of [`read`], or it is not UTF-8.
pub fn read_text(path: &Path, links: Links, bytes_max: u64) -> io::Result<String> {
    text(read(path, links, bytes_max)?)
}

/// Converts bytes to text.
///
/// # Errors
/// They are not UTF-8.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| invalid("expected UTF-8 text".to_owned()))
}

fn not_regular(kind: FileType) -> io::Error {
    invalid(format!("expected a regular file, found {}", kind_of(kind)))
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

pub(super) fn kind_of(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        match () {
            () if kind.is_fifo() => return "a named pipe",
            () if kind.is_char_device() || kind.is_block_device() => return "a device",
            () if kind.is_socket() => return "a socket",
            () => {}
        }
    }
    match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_symlink() => "a symbolic link",
        () => "something else",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_not_beyond() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_text(&path, Links::Refused, 5).unwrap(), "12345");
        let error = read(&path, Links::Refused, 4).unwrap_err();
        assert_eq!(error.to_string(), "expected at most 4 bytes, found more");
        assert_eq!(found(&path, Links::Refused, 5).unwrap().as_deref(), Some(&b"12345"[..]));
        assert_eq!(found(&folder.path().join("none"), Links::Refused, 4).unwrap(), None);
    }

    #[cfg(unix)]
    #[test]
    fn pipes_devices_folders_and_unwanted_links_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        fs::write(at("file"), "x").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        let refused = |path: &Path, links| read(path, links, 9).unwrap_err().to_string();
        assert_eq!(refused(&at("pipe"), Links::Followed), "expected a regular file, found a named pipe");
        assert_eq!(refused(Path::new("/dev/zero"), Links::Followed), "expected a regular file, found a device");
        assert_eq!(refused(folder.path(), Links::Followed), "expected a regular file, found a folder");
        assert_eq!(refused(&at("link"), Links::Refused), "expected a regular file, found a symbolic link");
        assert_eq!(read(&at("link"), Links::Followed, 9).unwrap(), b"x");
        // This also holds if a pipe replaces the file between the check and the opening.
        assert!(options(Links::Followed).open(at("pipe")).is_ok(), "it does not wait for a writer");
    }
}
