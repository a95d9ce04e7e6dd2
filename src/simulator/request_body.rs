//! Reads the body of a request, within limits of size and time.

use super::reply::Refusal;
use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, header},
};
use futures::StreamExt;
use std::time::Duration;

/// A larger body is refused with 413. The service's description states no limit. This one is more than any mapped
/// request needs.
pub(super) const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The same for a check with files: two images of 5 MB as base64 text.
pub(super) const FILES_BYTES_MAX: usize = 16 * 1024 * 1024;
/// A body that takes longer than this is refused with 408.
const BODY_TIME: Duration = Duration::from_secs(10);
/// The body of a request without a valid API key is read and discarded up to this size and time, so that its reply is
/// not lost.
const DISCARDED_BYTES_MAX: usize = 1024 * 1024;
const DISCARDED_TIME: Duration = Duration::from_secs(1);

/// Reads a body of at most this size.
///
/// # Errors
/// It is larger, shorter than stated, or too slow.
pub(super) async fn body_bytes(
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
) -> Result<axum::body::Bytes, Refusal> {
    let message = || format!("the body is larger than {} MiB", bytes_max >> 20);
    let too_large = || Refusal::new(413, "payload_too_large", message());
    let stated = stated_length(headers);
    if stated.is_some_and(|length| length > bytes_max) {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIME, to_bytes(body, bytes_max)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(_)) if stated.is_some() => Err(Refusal::new(400, "incomplete_body", "the body is shorter than stated")),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => Err(Refusal::new(408, "request_timeout", "the body took too long")),
    }
}

fn stated_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok())
}

/// Reads a body and discards it.
pub(super) async fn discard(headers: &HeaderMap, body: Body) {
    if stated_length(headers).is_some_and(|length| length > DISCARDED_BYTES_MAX) {
        return;
    }
    let mut chunks = body.into_data_stream();
    let mut left = DISCARDED_BYTES_MAX;
    let reading = async {
        while let Some(Ok(chunk)) = chunks.next().await {
            left = left.saturating_sub(chunk.len());
            if left == 0 {
                return;
            }
        }
    };
    // Does not wait for a slow body.
    drop(tokio::time::timeout(DISCARDED_TIME, reading).await);
}
