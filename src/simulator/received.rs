//! The body of a POST as the service reads it: JSON or multipart, with files. A file is represented by its
//! digest from here on, so that no image stays in memory after its request.

use super::{
    check::Check,
    field::FieldKind,
    multipart,
    received_file::{self, represented},
    reply::Refusal,
};
use serde_json::{Map, Value};

/// The content of a body.
pub(super) struct Received {
    pub(super) fields: Map<String, Value>,
    /// Name, media type and content of each file in a multipart body.
    files: Vec<(String, Option<String>, Vec<u8>)>,
    /// What represents the document that `document_reference` names.
    pub(super) document: Option<Value>,
}

impl Received {
    /// Reads a body by its `Content-Type`.
    pub(super) fn read(content_type: Option<&str>, body: &[u8]) -> Result<Received, Refusal> {
        let (mut fields, mut files) = (Map::new(), Vec::new());
        match content_type.and_then(multipart::boundary) {
            Some(boundary) => {
                for part in multipart::parts(body, boundary)? {
                    match (part.file_name, std::str::from_utf8(part.content)) {
                        (Some(_), _) => files.push((part.name, part.media_type, part.content.to_vec())),
                        (None, Ok(text)) => drop(fields.insert(part.name, text.into())),
                        (None, Err(_)) => {
                            let message = format!("{}: UTF-8 text is expected", part.name);
                            return Err(Refusal::new(400, "invalid_field", message));
                        }
                    }
                }
            }
            None => match serde_json::from_slice(body) {
                Ok(Value::Object(members)) => fields = members,
                _ => return Err(Refusal::new(400, "invalid_json", "the body must be one JSON object")),
            },
        }
        Ok(Received { fields, files, document: None })
    }

    /// The fields of a check, with a digest in place of each file.
    pub(super) fn fields_of(self, check: &Check) -> Result<Map<String, Value>, Refusal> {
        let Received { mut fields, files, document } = self;
        for field in &check.fields {
            match field.kind {
                FieldKind::Image => {
                    if let Some(value) = fields.get_mut(&field.name) {
                        *value = received_file::of_base64(&field.name, value)?;
                    }
                }
                FieldKind::ImageFile | FieldKind::Document if fields.contains_key(&field.name) => {
                    let message = format!("{}: a file is expected, found text", field.name);
                    return Err(Refusal::new(400, "invalid_field", message));
                }
                kind @ (FieldKind::ImageFile | FieldKind::Document) => {
                    if let Some((name, media_type, content)) = files.iter().find(|(name, ..)| *name == field.name) {
                        received_file::check(name, kind, content, media_type.as_deref())?;
                        fields.insert(field.name.clone(), represented(content));
                    } else if let (FieldKind::Document, Some(document)) = (kind, &document) {
                        fields.insert(field.name.clone(), document.clone());
                    }
                }
                _ => {}
            }
        }
        Ok(fields)
    }
}

/// Whether a value represents a received file.
pub(super) fn is_received(value: &Value) -> bool {
    value.as_str().and_then(|text| text.strip_prefix("sha256:")).is_some_and(|hex| hex.len() == 64)
}
