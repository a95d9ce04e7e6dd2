//! Any bytes as a file that a row names. Its kind is decided by how it begins, the same each time, and a file that has
//! lost its second half is never accepted as a larger file than it is: what is accepted is at least as long as its
//! shortest form.

use rescreen::model::file_kind::{FileKind, Unfit, recognise};

pub fn check(data: &[u8]) {
    let found = recognise(data);
    assert_eq!(found, recognise(data), "the same each time");
    match found {
        Ok(kind) | Err(Unfit::CutOff(kind, _)) => assert!(begins_as(data, kind), "{kind:?}"),
        Err(Unfit::Empty) => assert!(data.is_empty()),
        Err(Unfit::Other(_)) => assert!(FileKind::IMAGES.iter().all(|kind| !begins_as(data, *kind))),
    }
    // A file that ends within its first bytes is not whole.
    if data.len() < 12 {
        assert!(found.is_err(), "{found:?}");
    }
}

fn begins_as(data: &[u8], kind: FileKind) -> bool {
    match kind {
        FileKind::Jpeg => data.starts_with(&[0xff, 0xd8, 0xff]),
        FileKind::Png => data.starts_with(b"\x89PNG\r\n\x1a\n"),
        FileKind::Webp => data.starts_with(b"RIFF") && data.get(8..12) == Some(b"WEBP"),
        FileKind::Tiff => data.starts_with(b"II\x2a\0") || data.starts_with(b"MM\0\x2a"),
        FileKind::Pdf => String::from_utf8_lossy(&data[..data.len().min(1024)]).contains("%PDF-"),
    }
}
