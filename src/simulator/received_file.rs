//! A file that the service received: its format by its own look at the content, its size and its digest. Only the
//! digest is kept. It has its own code, so that it cannot inherit a mistake of the client.

use super::{digest::hex, field::FieldKind, reply::Refusal};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The service's API description, Limits: 5 MB per image decoded; a document of up to 4 MB directly and up to 15 MB by
/// upload.
const IMAGE_BYTES_MAX: usize = 5 << 20;
const DIRECT_BYTES_MAX: usize = 4 << 20;
pub(super) const UPLOAD_BYTES_MAX: usize = 15 << 20;

/// The value by which a received file is represented in the fields of an order.
pub(super) fn represented(content: &[u8]) -> Value {
    format!("sha256:{}", hex(&Sha256::digest(content))).into()
}

/// The image in a text of base64, as the value that represents it.
pub(super) fn of_base64(name: &str, value: &Value) -> Result<Value, Refusal> {
    let invalid = |what: &str| Refusal::new(400, "invalid_field", format!("{name}: {what}"));
    let text = value.as_str().ok_or_else(|| invalid("base64 text is expected"))?;
    if text.starts_with("sha256:") {
        return Err(invalid("base64 text is expected, found a digest"));
    }
    // Clients seen in the field send a prefix.
    let text = text.split_once(";base64,").map_or(text, |(_, text)| text);
    let image = STANDARD.decode(text).map_err(|_| invalid("base64 text with padding is expected"))?;
    check(name, FieldKind::Image, &image, None)?;
    Ok(represented(&image))
}

/// Checks the format and the size of a received file.
pub(super) fn check(name: &str, kind: FieldKind, content: &[u8], stated: Option<&str>) -> Result<(), Refusal> {
    let bytes_max = if kind == FieldKind::Document { DIRECT_BYTES_MAX } else { IMAGE_BYTES_MAX };
    if content.len() > bytes_max {
        return Err(Refusal::new(413, "file_too_large", format!("{name}: at most {bytes_max} bytes are accepted")));
    }
    format_of(name, kind, content, stated)
}

/// Checks the format of a file of any size.
pub(super) fn format_of(name: &str, kind: FieldKind, content: &[u8], stated: Option<&str>) -> Result<(), Refusal> {
    let found = media_type(content).filter(|found| kind == FieldKind::Document || *found != "application/pdf");
    let Some(found) = found else {
        return Err(Refusal::new(415, "unsupported_format", format!("{name}: this format is not accepted")));
    };
    if stated.is_some_and(|stated| stated != found) {
        return Err(Refusal::new(415, "wrong_content_type", format!("{name}: the content is {found}")));
    }
    Ok(())
}

/// The media type of the content, by its first bytes.
fn media_type(content: &[u8]) -> Option<&'static str> {
    let starts = |mark: &[u8]| content.starts_with(mark);
    match () {
        () if starts(b"\xff\xd8\xff") => Some("image/jpeg"),
        () if starts(b"\x89PNG\r\n\x1a\n") => Some("image/png"),
        () if starts(b"RIFF") && content.get(8..12) == Some(b"WEBP") => Some("image/webp"),
        () if starts(b"II*\0") || starts(b"MM\0*") => Some("image/tiff"),
        () if content
            .iter()
            .take(1024)
            .collect::<Vec<_>>()
            .windows(5)
            .any(|part| part.iter().copied().eq(b"%PDF-")) =>
        {
            Some("application/pdf")
        }
        () => None,
    }
}
