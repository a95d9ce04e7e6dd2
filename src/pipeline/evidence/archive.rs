//! The folder as one ZIP file. A ZIP file has bytes that no reader looks at, such as times and unused bits, so the digest of all
//! that is before it is at its end, as the last 64 characters of the archive's comment.

use crate::{
    error::Error,
    files::{self, Links},
    sink::SinkError,
};
use jiff::{Timestamp, tz::TimeZone};
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter, write::SimpleFileOptions};

/// The comment before the digest.
const SAYS: &str = "Evidence of rescreen. SHA-256 of all bytes before this digest: ";
const DIGEST_CHARACTERS: usize = 64;
/// A file of this size needs larger fields in the archive.
const LARGE_BYTES: u64 = u32::MAX as u64;

/// Writes a folder into an archive.
///
/// # Errors
/// It cannot be written.
pub fn write(folder: &Path, to: &Path, made_at_us: i64) -> Result<(), Error> {
    let failed = |fault| SinkError::Storage { path: to.to_owned(), step: "writing", fault };
    let file = files::open_private(to).map_err(failed)?;
    let file = zipped(folder, file, made_at_us).map_err(failed)?;
    sign(file, to).map_err(failed)?;
    Ok(())
}

fn zipped(folder: &Path, file: File, made_at_us: i64) -> io::Result<File> {
    let mut archive = ZipWriter::new(file);
    let placeholder = "0".repeat(DIGEST_CHARACTERS);
    archive.set_comment(format!("{SAYS}{placeholder}"))?;
    for path in files::files_in(folder)? {
        let mut source = files::open(&folder.join(&path), Links::Refused)?;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(utc(made_at_us))
            .unix_permissions(0o600)
            .large_file(source.metadata()?.len() >= LARGE_BYTES);
        archive.start_file(path, options)?;
        io::copy(&mut source, &mut archive)?;
    }
    Ok(archive.finish()?)
}

/// The time of the files in the archive. One that the format does not have is left out.
fn utc(at_us: i64) -> DateTime {
    let at = Timestamp::from_microsecond(at_us).unwrap_or_default().to_zoned(TimeZone::UTC).datetime();
    let [month, day, hour, minute, second] =
        [at.month(), at.day(), at.hour(), at.minute(), at.second()].map(i8::unsigned_abs);
    let year = u16::try_from(at.year()).unwrap_or_default();
    DateTime::from_date_and_time(year, month, day, hour, minute, second).unwrap_or_default()
}

/// Puts the digest of the archive in the place that its comment keeps for it.
fn sign(mut file: File, path: &Path) -> io::Result<()> {
    file.flush()?;
    let digest = digest_before(files::open(path, Links::Refused)?)?;
    file.seek(SeekFrom::End(-(DIGEST_CHARACTERS as i64)))?;
    file.write_all(digest.as_bytes())?;
    file.sync_all()
}

/// Whether the name of a file is that of an archive.
pub fn is_named(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().to_ascii_lowercase().ends_with(".zip"))
}

/// Whether an archive is, byte for byte, as it was written, and every reader finds the same files in it.
///
/// # Errors
/// What is wrong with it.
pub fn check(path: &Path, archive: &mut ZipArchive<File>) -> Result<(), String> {
    // The digest needs no secret, so it could be made again around entries that other readers take.
    archive.validate_header_consistency().map_err(|fault| fault.to_string())?;
    if archive.offset() > 0 {
        return Err("expected an archive from its first byte, found other bytes before it".to_owned());
    }
    let open = || files::open(path, Links::Followed).map_err(|fault| fault.to_string());
    let end = end_of(open()?).map_err(|fault| fault.to_string())?;
    let Some(stated) = end.strip_prefix(SAYS.as_bytes()) else {
        return Err(
            "expected the digest of the archive as its last bytes, found none; if the files were packed again, unpack them \
             and verify the folder"
                .to_owned(),
        );
    };
    let found = digest_before(open()?).map_err(|fault| fault.to_string())?;
    if found.as_bytes() == stated {
        Ok(())
    } else {
        Err("expected the bytes that the digest at its end was made of, found others".to_owned())
    }
}

/// The comment, with the digest.
fn end_of(mut file: File) -> io::Result<Vec<u8>> {
    let mut end = Vec::new();
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub((SAYS.len() + DIGEST_CHARACTERS) as u64)))?;
    file.read_to_end(&mut end)?;
    Ok(end)
}

/// The SHA-256 of all bytes before the digest, in hexadecimal.
fn digest_before(file: File) -> io::Result<String> {
    let bytes = file.metadata()?.len().saturating_sub(DIGEST_CHARACTERS as u64);
    files::sha256_of(file.take(bytes))
}
