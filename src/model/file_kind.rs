//! The kind of a file, from its content and not from its name, and whether the file is whole. A file that was cut off
//! would be paid for and declined. Nothing is decoded: only the structure that shows the end of a file is read.

use super::tiff;
use std::fmt;

/// A kind of file that the service accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    Jpeg,
    Png,
    Webp,
    Tiff,
    Pdf,
}

impl FileKind {
    pub const ALL: [FileKind; 5] = [FileKind::Jpeg, FileKind::Png, FileKind::Webp, FileKind::Tiff, FileKind::Pdf];
    pub const IMAGES: [FileKind; 4] = [FileKind::Jpeg, FileKind::Png, FileKind::Webp, FileKind::Tiff];

    /// The name used in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            FileKind::Jpeg => "JPEG",
            FileKind::Png => "PNG",
            FileKind::Webp => "WebP",
            FileKind::Tiff => "TIFF",
            FileKind::Pdf => "PDF",
        }
    }

    /// The media type that is sent.
    pub fn media_type(self) -> &'static str {
        match self {
            FileKind::Jpeg => "image/jpeg",
            FileKind::Png => "image/png",
            FileKind::Webp => "image/webp",
            FileKind::Tiff => "image/tiff",
            FileKind::Pdf => "application/pdf",
        }
    }

    /// The kind with this media type.
    pub fn of_media_type(text: &str) -> Option<FileKind> {
        FileKind::ALL.into_iter().find(|kind| kind.media_type() == text)
    }

    /// The extension of the file name that is sent. The user's own file name is never sent.
    pub fn extension(self) -> &'static str {
        match self {
            FileKind::Jpeg => "jpg",
            FileKind::Png => "png",
            FileKind::Webp => "webp",
            FileKind::Tiff => "tiff",
            FileKind::Pdf => "pdf",
        }
    }
}

/// Why a file cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    Empty,
    /// Another format, by its name.
    Other(&'static str),
    /// An accepted kind, but the file has no proper end. The second value says what is missing.
    CutOff(FileKind, &'static str),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Empty => f.write_str("an empty file"),
            Unfit::Other(name) => f.write_str(name),
            Unfit::CutOff(kind, missing) => write!(f, "a damaged {} file: {missing}", kind.as_str()),
        }
    }
}

/// The kind of a whole file.
///
/// # Errors
/// It is empty, cut off, or of a format that the service does not accept.
pub fn recognise(bytes: &[u8]) -> Result<FileKind, Unfit> {
    let Some(kind) = begins_as(bytes) else { return Err(other(bytes)) };
    let whole = match kind {
        FileKind::Jpeg => whole_jpeg(bytes),
        FileKind::Png => whole_png(bytes),
        FileKind::Webp => whole_webp(bytes),
        FileKind::Tiff => tiff::whole(bytes),
        FileKind::Pdf => whole_pdf(bytes),
    };
    whole.map(|()| kind).map_err(|missing| Unfit::CutOff(kind, missing))
}

/// PDF readers accept other bytes before the header and after the end, up to this many.
const PDF_SLACK: usize = 1024;

fn begins_as(bytes: &[u8]) -> Option<FileKind> {
    match bytes {
        [0xff, 0xd8, 0xff, ..] => Some(FileKind::Jpeg),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(FileKind::Png),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(FileKind::Webp),
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => Some(FileKind::Tiff),
        _ if contains(&bytes[..bytes.len().min(PDF_SLACK)], b"%PDF-") => Some(FileKind::Pdf),
        _ => None,
    }
}

/// The format of a file that is not accepted, so that the user knows what to convert.
fn other(bytes: &[u8]) -> Unfit {
    let name = match bytes {
        [] => return Unfit::Empty,
        [b'G', b'I', b'F', b'8', ..] => "a GIF image",
        [b'B', b'M', ..] if bytes.len() > 14 && !is_text(bytes) => "a BMP image",
        [b'I', b'I', 43, 0, ..] | [b'M', b'M', 0, 43, ..] => "a BigTIFF image",
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => match brand.get(..4) {
            Some(b"heic" | b"heix" | b"hevc" | b"heim" | b"heis" | b"mif1" | b"msf1") => "a HEIC image",
            Some(b"avif" | b"avis") => "an AVIF image",
            _ => "an MP4 or QuickTime file",
        },
        [b'P', b'K', 3, 4, ..] if contains(bytes, b"word/") => "a DOCX document",
        [b'P', b'K', 3, 4, ..] if contains(bytes, b"xl/") => "an XLSX spreadsheet",
        [b'P', b'K', 3 | 5, 4 | 6, ..] => "a ZIP archive",
        [0xd0, 0xcf, 0x11, 0xe0, ..] => "an old Office document",
        [b'{', b'\\', b'r', b't', b'f', ..] => "an RTF document",
        [0, 0, 0, 12, b'j', b'P', ..] => "a JPEG 2000 image",
        [0x1f, 0x8b, ..] => "a gzip archive",
        _ if is_text(bytes) => "a text file",
        _ => "an unknown format",
    };
    Unfit::Other(name)
}

fn is_text(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(PDF_SLACK)];
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        // A character may be cut at the end.
        Err(error) if start.len() - error.valid_up_to() < 4 && start.len() < bytes.len() => {
            std::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.is_empty() && !text.chars().any(|c| c.is_control() && !c.is_whitespace())
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// Walks the segments to the end marker. A thumbnail inside a segment has its own end marker, which is skipped
/// with its segment. Cameras add data after the end, which is kept.
fn whole_jpeg(bytes: &[u8]) -> Result<(), &'static str> {
    const NO_END: &str = "the end marker is missing";
    let mut at = 2;
    loop {
        // A marker begins with any number of 0xff.
        match bytes.get(at) {
            Some(0xff) => at += 1,
            _ => return Err(NO_END),
        }
        while bytes.get(at) == Some(&0xff) {
            at += 1;
        }
        let marker = *bytes.get(at).ok_or(NO_END)?;
        at += 1;
        match marker {
            0xd9 => return Ok(()),
            // Markers without a length.
            0x01 | 0xd0..=0xd8 => continue,
            _ => {}
        }
        let (Some(high), Some(low)) = (bytes.get(at), bytes.get(at + 1)) else { return Err(NO_END) };
        at += usize::from(u16::from_be_bytes([*high, *low])).max(2);
        if marker == 0xda {
            at = end_of_scan(bytes, at).ok_or(NO_END)?;
        }
    }
}

/// Where the marker after the compressed data of a scan begins.
fn end_of_scan(bytes: &[u8], from: usize) -> Option<usize> {
    let data = bytes.get(from..)?;
    let is_end = |pair: &[u8]| pair[0] == 0xff && !matches!(pair[1], 0x00 | 0xd0..=0xd7 | 0xff);
    data.windows(2).position(is_end).map(|offset| from + offset)
}

fn whole_png(bytes: &[u8]) -> Result<(), &'static str> {
    const NO_END: &str = "the end chunk is missing";
    let mut at = 8_usize;
    loop {
        let head = bytes.get(at..at + 8).ok_or(NO_END)?;
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
        let next = at.checked_add(12).and_then(|at| at.checked_add(length as usize)).ok_or(NO_END)?;
        if next > bytes.len() {
            return Err(NO_END);
        }
        if &head[4..] == b"IEND" {
            return Ok(());
        }
        at = next;
    }
}

fn whole_webp(bytes: &[u8]) -> Result<(), &'static str> {
    let stated = u64::from(u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]])) + 8;
    let found = bytes.len() as u64;
    // An odd length may or may not be padded.
    if found == stated || found == stated + stated % 2 {
        Ok(())
    } else {
        Err("its length is not the length that its header states")
    }
}

fn whole_pdf(bytes: &[u8]) -> Result<(), &'static str> {
    if contains(&bytes[bytes.len().saturating_sub(PDF_SLACK)..], b"%%EOF") { Ok(()) } else { Err("%%EOF is missing") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest files that count as whole.
    fn whole() -> [(FileKind, Vec<u8>); 6] {
        let png = [&b"\x89PNG\r\n\x1a\n"[..], b"\0\0\0\0IDAT1234", b"\0\0\0\0IEND1234"].concat();
        let jpeg = [&b"\xff\xd8\xff\xe0\0\x04\xff\xd9"[..], b"\xff\xda\0\x02ab\xff\0c\xff\xd9"].concat();
        [
            (FileKind::Jpeg, jpeg),
            (FileKind::Png, png),
            (FileKind::Webp, b"RIFF\x06\0\0\0WEBPxy".to_vec()),
            (FileKind::Tiff, b"II\x2a\0\x08\0\0\0\0\0\0\0\0\0".to_vec()),
            (FileKind::Tiff, b"MM\0\x2a\0\0\0\x08\0\0\0\0\0\0".to_vec()),
            (FileKind::Pdf, b"%PDF-1.4\n%%EOF\n".to_vec()),
        ]
    }

    #[test]
    fn the_content_decides_and_a_cut_file_is_named() {
        for (kind, bytes) in whole() {
            assert_eq!(recognise(&bytes), Ok(kind));
            for length in 12..bytes.len() - 1 {
                let cut = recognise(&bytes[..length]);
                let is_cut = matches!(cut, Err(Unfit::CutOff(found, _)) if found == kind);
                assert!(is_cut || cut == Ok(kind) && kind == FileKind::Pdf, "{kind:?} to {length}: {cut:?}");
            }
        }
    }

    #[test]
    fn the_end_of_a_thumbnail_is_not_the_end_of_the_image() {
        let thumbnail = b"\xff\xd8\xff\xe1\0\x06\xff\xd8\xff\xd9";
        assert!(matches!(recognise(thumbnail), Err(Unfit::CutOff(FileKind::Jpeg, _))));
        let whole = [&thumbnail[..], b"\xff\xd9"].concat();
        assert_eq!(recognise(&whole), Ok(FileKind::Jpeg));
    }

    #[test]
    fn foreign_formats_are_named() {
        for (bytes, name) in [
            (&b""[..], "an empty file"),
            (b"GIF89a...", "a GIF image"),
            (b"BM\x8a\0\0\0\0\0\0\0\x8a\0\0\0\x28", "a BMP image"),
            (b"\0\0\0\x18ftypheic\0\0\0\0", "a HEIC image"),
            (b"\0\0\0\x18ftypavif\0\0\0\0", "an AVIF image"),
            (b"PK\x03\x04....word/document.xml", "a DOCX document"),
            (b"PK\x03\x04....", "a ZIP archive"),
            (b"\xd0\xcf\x11\xe0....", "an old Office document"),
            (b"BMW owner, 12 Long Street", "a text file"),
            (b"<svg xmlns='x'/>", "a text file"),
            (b"\x01\x02\x03\x04", "an unknown format"),
            (b"\xff", "an unknown format"),
        ] {
            assert_eq!(recognise(bytes).unwrap_err().to_string(), name);
        }
    }

    #[test]
    fn random_bytes_after_a_known_beginning_never_panic() {
        let mut rng = crate::model::rng::Rng::new(7);
        for (_, bytes) in whole() {
            for _ in 0..2_000 {
                let mut mangled = bytes.clone();
                let at = rng.below(mangled.len() as u64) as usize;
                mangled[at] = rng.below(256) as u8;
                mangled.truncate(rng.below(mangled.len() as u64 + 1) as usize);
                let _known_or_not = recognise(&mangled);
            }
        }
    }
}
