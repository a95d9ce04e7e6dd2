//! Bodies that contain files, read independently of the program: what the ledger keeps of such a request, and what was
//! sent for it.

use super::stated_credits::repeats_a_name;
use base64::{Engine, engine::general_purpose::STANDARD};
use rescreen::model::key::hex;
use rusqlite::{Connection, params};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// What the ledger keeps of a request with files.
#[derive(Debug)]
pub struct Kept {
    pub request: i64,
    /// The members of its body, with a digest in place of each file.
    members: Map<String, Value>,
    /// Field, digest and place of each file.
    pub files: Vec<(String, String, String)>,
    /// The reference of its upload under the current key.
    pub reference: Option<String>,
}

impl Kept {
    /// Reads it; `None` if the request has no files.
    pub fn read(ledger: &Connection, request: i64, template: &[u8]) -> rusqlite::Result<Option<Kept>> {
        let sql = "SELECT field, sha256, place FROM attachment WHERE request = ?1";
        let file = |row: &rusqlite::Row<'_>| {
            Ok((row.get(0)?, format!("sha256:{}", hex(&row.get::<_, Vec<u8>>(1)?)), row.get(2)?))
        };
        let files = ledger.prepare_cached(sql)?.query_map([request], file)?.collect::<Result<Vec<_>, _>>()?;
        let sql = "SELECT reference FROM upload JOIN request ON request.id = upload.request
                   WHERE request.id = ?1 AND upload.generation = request.generation";
        let mut references = ledger.prepare_cached(sql)?;
        let reference = references.query_map(params![request], |row| row.get(0))?.next().transpose()?;
        let members = serde_json::from_slice(template).unwrap_or_default();
        Ok((!files.is_empty()).then_some(Kept { request, members, files, reference }))
    }

    /// What is wrong with a body that was sent for it. `placed` is the digest of the document that a reference names.
    pub fn wrong(&self, content_type: &str, body: &[u8], placed: impl Fn(&str) -> Option<String>) -> Option<String> {
        let Some(mut sent) = members(content_type, body) else {
            return Some(format!("a body of `{content_type}` cannot be read"));
        };
        for (field, digest, place) in &self.files {
            let found = match place.as_str() {
                "upload" => {
                    let reference = sent.remove("document_reference");
                    let reference = reference.as_ref().and_then(Value::as_str);
                    if reference.is_none() || reference != self.reference.as_deref() {
                        return Some(format!("it names the upload {reference:?}, recorded is {:?}", self.reference));
                    }
                    reference.and_then(&placed)
                }
                "base64" => {
                    let text = sent.remove(field);
                    let bytes = text.as_ref().and_then(Value::as_str).and_then(|text| STANDARD.decode(text).ok());
                    bytes.map(|bytes| digest_text(&bytes))
                }
                _ => sent.remove(field).and_then(|digest| digest.as_str().map(str::to_owned)),
            };
            if found.as_ref() != Some(digest) {
                return Some(format!("for `{field}` the ledger keeps {digest}, and {found:?} was sent"));
            }
        }
        let rest = |members: &Map<String, Value>| -> Vec<(String, String)> {
            let others = members.iter().filter(|(name, _)| self.files.iter().all(|(field, ..)| field != *name));
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            others.map(|(name, value)| (name.clone(), text(value))).collect()
        };
        (rest(&sent) != rest(&self.members)).then(|| "its other members are not those of the ledger".to_owned())
    }
}

/// A digest as the ledger's templates state it.
pub fn digest_text(content: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(content)))
}

/// The members of a body. A file in a multipart body is represented by its digest.
fn members(content_type: &str, body: &[u8]) -> Option<Map<String, Value>> {
    let Some(boundary) = content_type.strip_prefix("multipart/form-data; boundary=") else {
        let text = std::str::from_utf8(body).ok()?;
        return serde_json::from_str(text).ok().filter(|_| content_type == "application/json" && !repeats_a_name(text));
    };
    let mut members = Map::new();
    let mut rest = body.strip_prefix(format!("--{boundary}\r\n").as_bytes())?;
    let (next, last) = (format!("\r\n--{boundary}\r\n"), format!("\r\n--{boundary}--\r\n"));
    loop {
        let head_end = position(rest, b"\r\n\r\n")?;
        let (head, content) = (std::str::from_utf8(&rest[..head_end]).ok()?, &rest[head_end + 4..]);
        let name = head.split("name=\"").nth(1)?.split('"').next()?;
        let end = position(content, next.as_bytes());
        let (content, after) = match end {
            Some(end) => (&content[..end], Some(&content[end + next.len()..])),
            None => (content.strip_suffix(last.as_bytes())?, None),
        };
        let value = if head.contains("filename=\"") {
            digest_text(content)
        } else {
            String::from_utf8(content.to_vec()).ok()?
        };
        if members.insert(name.to_owned(), value.into()).is_some() {
            return None;
        }
        match after {
            Some(after) => rest = after,
            None => return Some(members),
        }
    }
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|part| part == wanted)
}

#[test]
fn a_body_with_a_file_is_read_in_both_formats() {
    let digest = digest_text(b"\xff\xd8");
    let body = b"--b\r\ncontent-disposition: form-data; name=\"mode\"\r\n\r\nproduction\r\n--b\r\ncontent-disposition: \
                 form-data; name=\"document\"; filename=\"document.jpg\"\r\ncontent-type: image/jpeg\r\n\r\n\xff\xd8\r\n\
                 --b--\r\n";
    let found = members("multipart/form-data; boundary=b", body).unwrap();
    assert_eq!(found, *serde_json::json!({"mode": "production", "document": digest}).as_object().unwrap());
    assert!(members("multipart/form-data; boundary=c", body).is_none());
    let kept = |place: &str, reference: Option<&str>| Kept {
        request: 1,
        members: serde_json::from_str(&format!(r#"{{"mode":"production","document":"{digest}"}}"#)).unwrap(),
        files: vec![("document".to_owned(), digest.clone(), place.to_owned())],
        reference: reference.map(str::to_owned),
    };
    let none = |_: &str| None;
    assert_eq!(kept("part", None).wrong("multipart/form-data; boundary=b", body, none), None);
    let text = br#"{"mode":"production","document":"/9g="}"#;
    assert_eq!(kept("base64", None).wrong("application/json", text, none), None);
    let other = kept("base64", None).wrong("application/json", br#"{"mode":"production","document":"/9k="}"#, none);
    assert!(other.unwrap().contains("was sent"));
    let named = br#"{"mode":"production","document_reference":"r"}"#;
    let placed = |reference: &str| (reference == "r").then(|| digest.clone());
    assert_eq!(kept("upload", Some("r")).wrong("application/json", named, placed), None);
    assert!(kept("upload", Some("s")).wrong("application/json", named, placed).unwrap().contains("recorded is"));
    assert!(kept("upload", Some("r")).wrong("application/json", named, none).unwrap().contains("was sent"));
}
