//! The upload of large documents: the service announces a place, receives the document there, and finds it by its
//! reference. The names in the replies are assumed.

use super::{
    Simulator,
    check::{Check, Flow, Mode},
    field::FieldKind,
    received::Received,
    received_file::{self, UPLOAD_BYTES_MAX, represented},
    reply::{Refusal, Reply},
    uploads::PLACES,
};
use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, header, request::Parts},
};
use serde_json::{Map, Value, json};
use std::{sync::Arc, time::Duration};

/// How long a document may take.
const UPLOAD_TIME: Duration = Duration::from_secs(60);
/// A header that the reply to an announcement tells the client to send.
const TOKEN: &str = "x-upload-token";
const REFERENCE: &str = "document_reference";
const MEDIA_TYPES: [&str; 5] = ["application/pdf", "image/jpeg", "image/png", "image/webp", "image/tiff"];

impl Simulator {
    /// The service's API description, Errors: a 502 of passport authentication is a cached failure, which a repeat of
    /// the key gets as a 409.
    pub(super) fn caches_failures(&self, path: &str) -> bool {
        let checks = self.checks_at(path).unwrap_or_default();
        checks.iter().any(|check| check.cached_failure.is_some())
    }

    /// Reads a body and finds the document that it refers to. An announcement of an upload is answered at once.
    pub(super) fn received(
        &self,
        parts: &Parts,
        checks: &[Arc<Check>],
        body: &[u8],
    ) -> Result<Result<Received, Reply>, Refusal> {
        let content_type = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let mut received = Received::read(content_type, body)?;
        if checks.iter().any(|check| check.flow == Flow::Upload) {
            if received.fields.get("action").and_then(Value::as_str) == Some("upload") {
                self.state().announced(parts.uri.path());
                return self.announced(parts, &received.fields).map(Err);
            }
            if let Some(reference) = received.fields.get(REFERENCE).and_then(Value::as_str) {
                received.document = Some(self.state().uploads.document(reference)?);
            }
        }
        Ok(Ok(received))
    }

    /// Answers the announcement of a document with a place for it.
    fn announced(&self, parts: &Parts, fields: &Map<String, Value>) -> Result<Reply, Refusal> {
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let refused = |status, code, message: &str| Err(Refusal::new(status, code, message));
        if text("mode") != Mode::Production.as_str() {
            return refused(400, "invalid_mode", "uploads are for production");
        }
        if !parts.headers.contains_key("idempotency-key") {
            let message = "production requests must have an Idempotency-Key header";
            return refused(400, "idempotency_key_required", message);
        }
        let size = fields.get("size").and_then(Value::as_u64).unwrap_or_default();
        match size {
            0 => return refused(400, "invalid_field", "size: the number of bytes is expected"),
            _ if size > UPLOAD_BYTES_MAX as u64 => return refused(413, "file_too_large", "at most 15 MB are accepted"),
            _ => {}
        }
        let media_type = text("content_type").to_owned();
        if !MEDIA_TYPES.contains(&media_type.as_str()) || text("filename").is_empty() {
            return refused(415, "unsupported_format", "content_type and filename of an accepted format are expected");
        }
        let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or(parts.uri.authority().map(|authority| authority.as_str())).unwrap_or("localhost").to_owned();
        let scheme = parts.uri.scheme_str().unwrap_or("http").to_owned();
        let now_us = self.settings().clock.now_us();
        let reference = self.state().uploads.begin(size, media_type.clone(), now_us);
        Ok(Reply::json(
            200,
            &json!({
                "success": true,
                "uploadUrl": format!("{scheme}://{host}{PLACES}{reference}?signature=simulated"),
                "headers": {"content-type": media_type, TOKEN: token(&reference)},
                "reference": reference,
            }),
        ))
    }

    /// Receives a document at its place. No API key belongs here.
    pub(super) async fn placed(&self, parts: &Parts, body: Body) -> Result<Reply, Refusal> {
        let has_key =
            |headers: &HeaderMap| headers.contains_key("x-api-key") || headers.contains_key(header::AUTHORIZATION);
        let refused = |status, code, message: &str| Err(Refusal::new(status, code, message));
        let Ok(Ok(document)) = tokio::time::timeout(UPLOAD_TIME, to_bytes(body, UPLOAD_BYTES_MAX)).await else {
            return refused(413, "file_too_large", "the document is too large or took too long");
        };
        if has_key(&parts.headers) {
            return refused(400, "api_key_leaked", "an API key must not be sent to the storage");
        }
        let reference = parts.uri.path().strip_prefix(PLACES).unwrap_or_default();
        let upload = self.state().uploads.announced(reference, self.settings().clock.now_us())?;
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if header(TOKEN) != token(reference) || header(header::CONTENT_TYPE.as_str()) != upload.media_type {
            return refused(403, "invalid_signature", "the headers of the announcement are expected");
        }
        if document.len() as u64 != upload.size {
            return refused(400, "wrong_size", "the document does not have the announced size");
        }
        received_file::format_of("document", FieldKind::Document, &document, Some(&upload.media_type))?;
        self.state().uploads.put(reference, represented(&document));
        Ok(Reply::json(200, &json!({})))
    }
}

fn token(reference: &str) -> String {
    format!("token-{reference}")
}
