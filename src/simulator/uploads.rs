//! The uploads of large documents: a place is given, the document is put there, and a reference names it for 15
//! minutes. Only the digest of a document is kept. The names of the members and the errors are assumed.

use super::reply::Refusal;
use serde_json::Value;
use std::collections::HashMap;

/// The service's API description, Limits: a reference is valid for 15 minutes.
const VALID_US: i64 = 15 * 60 * 1_000_000;
/// The path of the places. It is not part of the description.
pub(super) const PLACES: &str = "/_uploads/";

/// An announced document.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    pub(super) size: u64,
    pub(super) media_type: String,
    made_at_us: i64,
    /// What represents the document, once it is there.
    document: Option<Value>,
}

/// All uploads, by reference.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    by_reference: HashMap<String, Upload>,
}

impl Uploads {
    /// Gives a place for a document. Returns its reference.
    pub(super) fn begin(&mut self, size: u64, media_type: String, now_us: i64) -> String {
        let reference = format!("upl_{:06}_{now_us:x}", self.by_reference.len() + 1);
        let upload = Upload { size, media_type, made_at_us: now_us, document: None };
        self.by_reference.insert(reference.clone(), upload);
        reference
    }

    /// The announced document of a reference that is still valid.
    pub(super) fn announced(&self, reference: &str, now_us: i64) -> Result<Upload, Refusal> {
        let unknown = || Refusal::new(404, "unknown_upload", "there is no such upload");
        let upload = self.by_reference.get(reference).ok_or_else(unknown)?;
        if now_us.saturating_sub(upload.made_at_us) >= VALID_US {
            return Err(Refusal::new(403, "expired_upload", "this place has expired"));
        }
        Ok(upload.clone())
    }

    /// Notes that the document is there.
    pub(super) fn put(&mut self, reference: &str, document: Value) {
        if let Some(upload) = self.by_reference.get_mut(reference) {
            upload.document = Some(document);
        }
    }

    /// The document that a reference names. A reference that expired is still known: a request that was completed
    /// with it is answered again.
    pub(super) fn document(&self, reference: &str) -> Result<Value, Refusal> {
        let refused = |what: &str| Refusal::new(400, "invalid_reference", format!("document_reference: {what}"));
        let upload = self.by_reference.get(reference).ok_or_else(|| refused("this reference is not known"))?;
        upload.document.clone().ok_or_else(|| refused("nothing was uploaded for it"))
    }

    /// Refuses a reference that has expired.
    pub(super) fn check_valid(&self, reference: &str, now_us: i64) -> Result<(), Refusal> {
        let age = |upload: &Upload| now_us.saturating_sub(upload.made_at_us);
        match self.by_reference.get(reference) {
            Some(upload) if age(upload) < VALID_US => Ok(()),
            _ => Err(Refusal::new(400, "expired_reference", "document_reference: this reference has expired")),
        }
    }
}
