//! Reads the file that a row names, once, and records what it contains. It decides which files may be sent: below the
//! files root, of an accepted format, whole, and not larger than the service's description allows.

use super::planned::Frame;
use crate::{
    catalogue::{Declaration, FieldSpec, Flow},
    files::RootFault,
    model::{
        Attachment, Failure, FailureCode, Mode, Note, Placement,
        attachment::{DIRECT_BYTES_MAX, IMAGE_BYTES_MAX, UPLOAD_BYTES_MAX, UPLOADED_ABOVE_BYTES},
        field::{FieldKind, refusal::FieldRefusal},
        file_kind::{FileKind, Unfit, recognise},
    },
};
use sha2::{Digest, Sha256};

/// The file at a path below the files root, as the file of this field.
pub(super) fn attach(
    frame: &Frame,
    declaration: &Declaration,
    spec: &FieldSpec,
    path: String,
) -> Result<Attachment, FieldRefusal> {
    let refused = |code, message: String| FieldRefusal { code, message };
    let (Some(root), Some(placement)) = (&frame.files_root, spec.kind.file()) else {
        return Err(refused(FailureCode::UnreadableFile, "expected a files root, found none".to_owned()));
    };
    let limit = Limit::of(frame.mode, declaration, spec.kind);
    let bytes = root.read(&path, limit.bytes_max).map_err(|fault| match fault {
        RootFault::TooLarge { bytes } => refused(FailureCode::FileTooLarge, limit.exceeded(bytes)),
        fault => {
            let expected = "expected the path of a file below the files root";
            refused(FailureCode::UnreadableFile, format!("{expected}, {fault}"))
        }
    })?;
    let expected = names(spec.kind.formats());
    let kind = match recognise(&bytes) {
        Ok(kind) if spec.kind.formats().contains(&kind) => kind,
        Ok(kind) => {
            let message = format!("expected {expected}, found a {} file", kind.as_str());
            return Err(refused(FailureCode::WrongFileFormat, message));
        }
        Err(unfit @ (Unfit::Empty | Unfit::CutOff(..))) => {
            let message = format!("expected a whole file of {expected}, found {unfit}; replace it with a good copy");
            return Err(refused(FailureCode::UnreadableFile, message));
        }
        Err(unfit) => {
            let message = format!("expected {expected}, found {unfit}; convert it");
            return Err(refused(FailureCode::WrongFileFormat, message));
        }
    };
    let length = bytes.len() as u64;
    let can_upload = declaration.flow == Flow::Upload && frame.mode == Mode::Production;
    let is_uploaded = spec.kind == FieldKind::Document && can_upload && length > UPLOADED_ABOVE_BYTES;
    Ok(Attachment {
        field: spec.name.clone(),
        path,
        sha256: Sha256::digest(&bytes).into(),
        bytes: length,
        kind,
        placement: if is_uploaded { Placement::Upload } else { placement },
    })
}

/// A body of more bytes than this was refused by some services, although each file was within its own limit.
const LARGE_BODY_BYTES: u64 = 4_500_000;

/// Compares the size of a body, which is nearly that of its files, with the limit that the user states.
///
/// # Errors
/// The body is larger than that.
pub(super) fn check_body_size(limit: Option<u64>, files: &[Attachment]) -> Result<Option<Note>, Failure> {
    let bytes: u64 = files.iter().map(Attachment::bytes_in_body).sum();
    match limit {
        Some(limit) if bytes > limit => {
            let message = format!(
                "expected files of at most {limit} bytes in one request ([service] body_bytes_max), found {bytes} bytes; \
                 base64 counts a third more than the file"
            );
            Err(Failure::map(FailureCode::FileTooLarge, message))
        }
        _ => Ok((bytes > limit.unwrap_or(LARGE_BODY_BYTES)).then_some(Note::LargeBody)),
    }
}

/// The largest file of a field, and why.
struct Limit {
    bytes_max: u64,
    why: &'static str,
}

impl Limit {
    fn of(mode: Mode, declaration: &Declaration, kind: FieldKind) -> Limit {
        let (bytes_max, why) = match (kind, declaration.flow, mode) {
            (FieldKind::Document, Flow::Upload, Mode::Production) => (UPLOAD_BYTES_MAX, "the limit of the service"),
            (FieldKind::Document, Flow::Upload, Mode::Sandbox) => {
                (DIRECT_BYTES_MAX, "larger documents are uploaded, which the service describes for production only")
            }
            (FieldKind::Document, ..) => (DIRECT_BYTES_MAX, "the limit of the service"),
            _ => (IMAGE_BYTES_MAX, "the limit of the service for an image"),
        };
        Limit { bytes_max, why }
    }

    fn exceeded(&self, bytes: u64) -> String {
        let Limit { bytes_max, why } = self;
        format!("expected a file of at most {bytes_max} bytes ({why}), found {bytes} bytes")
    }
}

fn names(kinds: &[FileKind]) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    match names.split_last() {
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(bytes: u64, placement: Placement) -> Attachment {
        let (field, path) = ("selfie".to_owned(), "a.jpg".to_owned());
        Attachment { field, path, sha256: [0; 32], bytes, kind: FileKind::Jpeg, placement }
    }

    #[test]
    fn a_body_is_as_large_as_its_files_are_in_it() {
        let pair = |bytes, placement| [image(bytes, placement), image(bytes, placement)];
        assert_eq!(check_body_size(None, &pair(2_250_000, Placement::Part)), Ok(None));
        assert_eq!(check_body_size(None, &pair(2_250_001, Placement::Part)), Ok(Some(Note::LargeBody)));
        assert_eq!(check_body_size(None, &pair(1_800_000, Placement::Base64)), Ok(Some(Note::LargeBody)));
        assert_eq!(check_body_size(None, &pair(15_000_000, Placement::Upload)), Ok(None));
        assert_eq!(check_body_size(Some(4_500_000), &pair(2_250_000, Placement::Part)), Ok(None));
        let refused = check_body_size(Some(4_499_999), &pair(2_250_000, Placement::Part)).unwrap_err();
        assert_eq!(refused.code, FailureCode::FileTooLarge);
        assert!(refused.message.contains("at most 4499999 bytes"), "{}", refused.message);
    }
}
