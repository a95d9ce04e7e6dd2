//! A file that belongs to a request: what it contains, and how it is sent. Its content is never recorded. The path is
//! recorded, because the file is read again before each attempt.

use super::file_kind::FileKind;
use super::key::hex;
use serde_json::Value;
use std::fmt;

/// One mebibyte. The service's description states sizes in MB.
const MIB: u64 = 1024 * 1024;
/// The description: an image of at most 5 MB decoded. That a MB is 1,048,576 bytes is assumed.
pub const IMAGE_BYTES_MAX: u64 = 5 * MIB;
/// The description: a document of up to 4 MB is sent directly.
pub const DIRECT_BYTES_MAX: u64 = 4 * MIB;
/// A larger document is uploaded, where that is possible. The upload takes any size, so the smaller reading of 4 MB is safe:
/// a document between the two is not refused, whatever the service means.
pub const UPLOADED_ABOVE_BYTES: u64 = 4_000_000;
/// The description: a document of up to 15 MB is uploaded first.
pub const UPLOAD_BYTES_MAX: u64 = 15 * MIB;

/// The member of a body that names an upload, by the service's API description.
pub const UPLOAD_REFERENCE: &str = "document_reference";

/// How a file is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// As base64 text in a JSON body: the standard alphabet with padding, without a data-URL prefix.
    Base64,
    /// As a part of a multipart body.
    Part,
    /// Uploaded before the request, which names the upload by its reference.
    Upload,
}

impl Placement {
    pub const ALL: [Placement; 3] = [Placement::Base64, Placement::Part, Placement::Upload];

    /// The name used in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Placement::Base64 => "base64",
            Placement::Part => "part",
            Placement::Upload => "upload",
        }
    }
}

/// A file of a request.
#[derive(Clone, PartialEq, Eq)]
pub struct Attachment {
    /// The field that the file fills.
    pub field: String,
    /// Relative to the files root.
    pub path: String,
    pub sha256: [u8; 32],
    pub bytes: u64,
    pub kind: FileKind,
    pub placement: Placement,
}

impl Attachment {
    /// The file in the canonical fields, from which the key is made: equal bytes are one charge, whatever their path.
    pub fn digest_text(&self) -> String {
        digest_text(&self.sha256)
    }

    /// How many bytes of a request's body it takes.
    pub fn bytes_in_body(&self) -> u64 {
        match self.placement {
            Placement::Base64 => self.bytes.div_ceil(3).saturating_mul(4),
            Placement::Part => self.bytes,
            Placement::Upload => 0,
        }
    }
}

/// A digest as the canonical fields contain it.
pub fn digest_text(sha256: &[u8; 32]) -> String {
    format!("sha256:{}", hex(sha256))
}

/// Whether a value represents a file in the template of a body.
pub fn is_digest_text(value: &Value) -> bool {
    let digits = value.as_str().and_then(|text| text.strip_prefix("sha256:"));
    digits.is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

impl fmt::Debug for Attachment {
    /// A path often contains a name or an ID number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attachment {{ {}, {} bytes, {}, [redacted] }}", self.field, self.bytes, self.kind.as_str())
    }
}
