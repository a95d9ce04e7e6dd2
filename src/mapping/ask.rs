//! The result of mapping a row: a request, a failure, or a skipped ask. It defines the exact bytes of a body, and that
//! a key is made from the mapped fields only.

use super::planned::Frame;
use crate::{
    catalogue::Declaration,
    model::{Attachment, CanonicalRequest, Failure, IdempotencyKey, Mode, Note, request::write_json},
};
use serde_json::{Map, Value};
use std::fmt;

/// The result of mapping one check on one row.
#[derive(Debug, Clone, PartialEq)]
pub enum Mapped {
    /// A request to send.
    Ask(AskRequest),
    /// No request can be made.
    Failed(Failure),
    /// Skipped, with the reason.
    Skipped(String),
}

/// The request that an ask needs.
#[derive(Clone, PartialEq)]
pub struct AskRequest {
    /// The key of generation 0.
    pub key: IdempotencyKey,
    /// The exact bytes of the JSON body.
    pub body: Vec<u8>,
    /// The mapped fields as sent. The key is made from them.
    pub fields: Map<String, Value>,
    /// The index of the check in the campaign, from 0.
    pub check_index: usize,
    /// What the row expects of the answer. It is not part of the body or the key.
    pub expected: Map<String, Value>,
    /// Notes on its values. They are not part of the body or the key.
    pub notes: Vec<Note>,
    /// Its files. If there are any, `body` contains their digests, and the body that is sent is made just before.
    pub files: Box<[Attachment]>,
}

/// The filled fields of a request, with the notes and files that belong to them.
#[derive(Default)]
pub(super) struct Filled {
    pub(super) fields: Map<String, Value>,
    pub(super) notes: Vec<Note>,
    pub(super) files: Vec<Attachment>,
}

impl fmt::Debug for AskRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskRequest")
            .field("check_index", &self.check_index)
            .field("request", &format_args!("[redacted]"))
            .finish()
    }
}

impl AskRequest {
    pub(super) fn new(
        frame: &Frame,
        declaration: &Declaration,
        Filled { fields, notes, files }: Filled,
        expected: Map<String, Value>,
        check_index: usize,
    ) -> AskRequest {
        let request = CanonicalRequest::first(&frame.campaign, frame.mode, &declaration.name, &fields);
        let key = IdempotencyKey::of(&request, frame.key_secret.as_ref());
        let body = body(frame.mode, declaration, &fields);
        AskRequest { key, body, fields, check_index, expected, notes, files: files.into() }
    }
}

/// The body: `mode`, the fixed fields, then the declared fields in order, mapped or with their default. Equal content
/// has equal bytes.
fn body(mode: Mode, declaration: &Declaration, fields: &Map<String, Value>) -> Vec<u8> {
    let mut body = Vec::with_capacity(128);
    let mut member = |name: &str, value: &Value| {
        body.push(if body.is_empty() { b'{' } else { b',' });
        write_json(&mut body, &name);
        body.push(b':');
        write_json(&mut body, value);
    };
    member("mode", &Value::from(mode.as_str()));
    for (name, value) in &declaration.fixed {
        member(name, value);
    }
    for field in &declaration.fields {
        if let Some(value) = fields.get(&field.name).or(field.default.as_ref()) {
            member(&field.name, value);
        }
    }
    body.push(b'}');
    body
}
