//! Bodies that contain files: a pure function of the template in the ledger, the files and the key, so that one key
//! always has the same bytes. Nothing of the user's file names is sent, and no file is changed.

use crate::model::{Attachment, IdempotencyKey, Placement, attachment::UPLOAD_REFERENCE, request::write_json};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

/// A body and its media type.
pub struct Form {
    pub body: Vec<u8>,
    pub content_type: String,
}

/// Why a body cannot be made. The ledger was changed, or this is a bug.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormFault {
    #[error("the template of its body is not a JSON object")]
    Template,
    #[error("the template of its body has no place for the file of `{0}`")]
    NoPlace(String),
}

/// The template of a body: a JSON object in which files are represented by their digests.
pub struct Template(Map<String, Value>);

impl Template {
    /// Reads a template, and checks that it has the place of each file.
    ///
    /// # Errors
    /// It is not an object, or a place is missing.
    pub fn read(text: &[u8], files: &[Attachment]) -> Result<Template, FormFault> {
        let members: Map<String, Value> = serde_json::from_slice(text).map_err(|_| FormFault::Template)?;
        for file in files {
            if members.get(&file.field).and_then(Value::as_str) != Some(file.digest_text().as_str()) {
                return Err(FormFault::NoPlace(file.field.clone()));
            }
        }
        Ok(Template(members))
    }

    /// The members without the files. An answer echoes some of them.
    pub fn without_files(&self, files: &[Attachment]) -> Map<String, Value> {
        let mut members = self.0.clone();
        members.retain(|name, _| files.iter().all(|file| file.field != *name));
        members
    }

    /// The body with the contents of the files, which are read one at a time by `content`. `reference` names the upload
    /// of a file that is uploaded.
    ///
    /// # Errors
    /// Those of `content`.
    pub fn filled<E>(
        &self,
        key: IdempotencyKey,
        files: &[Attachment],
        reference: Option<&str>,
        content: impl FnMut(&Attachment) -> Result<Vec<u8>, E>,
    ) -> Result<Form, E> {
        let capacity = self.capacity(files);
        if files.iter().any(|file| file.placement == Placement::Part) {
            self.multipart(key, files, capacity, content)
        } else {
            self.json(files, reference, capacity, content)
        }
    }

    /// The approximate length of the body, which is the memory it needs.
    pub fn capacity(&self, files: &[Attachment]) -> usize {
        let texts: usize = self.0.iter().map(|(name, value)| 160 + name.len() + value.to_string().len()).sum();
        let of_file = |file: &Attachment| usize::try_from(file.bytes_in_body()).unwrap_or(usize::MAX);
        files.iter().map(of_file).fold(256 + texts, usize::saturating_add)
    }

    fn json<E>(
        &self,
        files: &[Attachment],
        reference: Option<&str>,
        capacity: usize,
        mut content: impl FnMut(&Attachment) -> Result<Vec<u8>, E>,
    ) -> Result<Form, E> {
        let mut body = Vec::with_capacity(capacity);
        body.push(b'{');
        for (at, (name, value)) in self.0.iter().enumerate() {
            if at > 0 {
                body.push(b',');
            }
            let file = files.iter().find(|file| file.field == *name);
            let is_uploaded = file.is_some_and(|file| file.placement == Placement::Upload);
            write_json(&mut body, if is_uploaded { UPLOAD_REFERENCE } else { name });
            body.push(b':');
            match file {
                Some(_) if is_uploaded => write_json(&mut body, reference.unwrap_or_default()),
                Some(file) => {
                    body.push(b'"');
                    append_base64(&mut body, &content(file)?);
                    body.push(b'"');
                }
                None => write_json(&mut body, value),
            }
        }
        body.push(b'}');
        Ok(Form { body, content_type: "application/json".to_owned() })
    }

    /// The parts in the order of the template. The boundary is made from the key. It cannot occur in a file, because
    /// the key is made from the digest of the file.
    fn multipart<E>(
        &self,
        key: IdempotencyKey,
        files: &[Attachment],
        capacity: usize,
        mut content: impl FnMut(&Attachment) -> Result<Vec<u8>, E>,
    ) -> Result<Form, E> {
        let boundary = boundary(key);
        let mut body = Vec::with_capacity(capacity);
        for (name, value) in &self.0 {
            let field = escaped(name);
            body.extend_from_slice(
                format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{field}\"").as_bytes(),
            );
            match files.iter().find(|file| file.field == *name) {
                Some(file) if file.placement == Placement::Part => {
                    let (extension, media_type) = (file.kind.extension(), file.kind.media_type());
                    let head = format!("; filename=\"{field}.{extension}\"\r\ncontent-type: {media_type}\r\n\r\n");
                    body.extend_from_slice(head.as_bytes());
                    body.extend_from_slice(&content(file)?);
                }
                Some(file) => {
                    body.extend_from_slice(b"\r\n\r\n");
                    append_base64(&mut body, &content(file)?);
                }
                None => {
                    body.extend_from_slice(b"\r\n\r\n");
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    body.extend_from_slice(text.as_bytes());
                }
            }
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        Ok(Form { body, content_type: format!("multipart/form-data; boundary={boundary}") })
    }
}

/// One key always has the same bytes, so the boundary is the same in every attempt.
fn boundary(key: IdempotencyKey) -> String {
    format!("rescreen-{key}")
}

fn append_base64(body: &mut Vec<u8>, bytes: &[u8]) {
    let start = body.len();
    body.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = STANDARD.encode_slice(bytes, &mut body[start..]).expect("the text has exactly this length");
    debug_assert_eq!(start + written, body.len());
}

/// A name inside quotes, escaped as browsers do. A declaration may contain any name.
fn escaped(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::file_kind::FileKind;
    use std::convert::Infallible;

    fn file(field: &str, placement: Placement) -> Attachment {
        Attachment {
            field: field.to_owned(),
            path: "Thandi Nkosi.jpg".to_owned(),
            sha256: [7; 32],
            bytes: 4,
            kind: FileKind::Jpeg,
            placement,
        }
    }

    fn filled(template: &str, files: &[Attachment]) -> (String, String) {
        let template = Template::read(template.as_bytes(), files).unwrap();
        let key = IdempotencyKey::from_slice(&[1; 16]).unwrap();
        let content = |_: &Attachment| Ok::<_, Infallible>(b"\xff\xd8\xff\xd9".to_vec());
        let Ok(form) = template.filled(key, files, Some("ref-1"), content);
        assert!(form.body.len() <= template.capacity(files), "the capacity covers the body");
        (String::from_utf8_lossy(&form.body).into_owned(), form.content_type)
    }

    #[test]
    fn base64_has_the_standard_alphabet_and_no_prefix() {
        let digest = file("selfie", Placement::Base64).digest_text();
        let template = format!(r#"{{"mode":"sandbox","selfie":"{digest}","n":1}}"#);
        let (body, content_type) = filled(&template, &[file("selfie", Placement::Base64)]);
        assert_eq!(body, r#"{"mode":"sandbox","selfie":"/9j/2Q==","n":1}"#);
        assert_eq!(content_type, "application/json");
    }

    #[test]
    fn a_multipart_body_has_a_boundary_from_the_key_and_a_fixed_file_name() {
        let digest = file("document", Placement::Part).digest_text();
        let template = format!(r#"{{"mode":"sandbox","document":"{digest}","expected\"_name":"Ré"}}"#);
        let (body, content_type) = filled(&template, &[file("document", Placement::Part)]);
        let boundary = "rescreen-01010101-0101-0101-0101-010101010101";
        assert_eq!(content_type, format!("multipart/form-data; boundary={boundary}"));
        assert_eq!(
            body,
            format!(
                "--{boundary}\r\ncontent-disposition: form-data; name=\"mode\"\r\n\r\nsandbox\r\n--{boundary}\r\n\
                 content-disposition: form-data; name=\"document\"; filename=\"document.jpg\"\r\ncontent-type: image/jpeg\
                 \r\n\r\n\u{fffd}\u{fffd}\u{fffd}\u{fffd}\r\n--{boundary}\r\ncontent-disposition: form-data; \
                 name=\"expected%22_name\"\r\n\r\nRé\r\n--{boundary}--\r\n"
            )
        );
    }

    #[test]
    fn an_upload_is_named_by_its_reference() {
        let digest = file("document", Placement::Upload).digest_text();
        let template = format!(r#"{{"mode":"production","document":"{digest}"}}"#);
        let (body, _) = filled(&template, &[file("document", Placement::Upload)]);
        assert_eq!(body, r#"{"mode":"production","document_reference":"ref-1"}"#);
    }

    #[test]
    fn a_template_without_the_place_of_a_file_is_refused() {
        let files = [file("selfie", Placement::Base64)];
        for text in ["[]", "{}", r#"{"selfie":"sha256:00"}"#, "not json"] {
            assert!(Template::read(text.as_bytes(), &files).is_err(), "{text}");
        }
    }
}
