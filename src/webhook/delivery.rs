//! What a genuine delivery is about. Its body is signed and its other headers are not, so the body decides.

use crate::model::{JobId, json_pointer, key::hex, printable::printable_cut};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The header with the id of the event. It stays the same when a delivery is repeated.
pub const EVENT_ID: &str = "x-service-event-id";

/// The longest id or kind of an event that is kept, in characters.
const TEXT_CHARACTERS_MAX: usize = 200;

/// The kind of a delivery that states none.
const UNKNOWN: &str = "unknown";

/// A delivery whose signature was checked.
#[derive(Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Identifies the event: a second delivery with the same id has no effect.
    pub event_id: String,
    /// Such as `foreign_bank.verification.completed`. Other kinds are kept too.
    pub kind: String,
    /// The job that the event is about, if it names one.
    pub job: Option<JobId>,
    /// The body as it arrived.
    pub body: Vec<u8>,
}

impl Delivery {
    /// Reads a body. The id of the event is the one in the body, or else the one in the header. `None` if neither states
    /// one: then a repeated delivery could not be told from a new one.
    pub fn read(body: Vec<u8>, header_id: Option<&str>) -> Option<Delivery> {
        let json: Value = serde_json::from_slice(&body).unwrap_or_default();
        let text = |at: &str| json_pointer::at(&json, at).and_then(Value::as_str).filter(|text| !text.is_empty());
        let job = text("/data/jobId").or_else(|| text("/jobId")).and_then(JobId::new);
        let event_id = text("/id").or(header_id.filter(|id| !id.is_empty())).map(shown)?;
        let kind = text("/type").map_or_else(|| UNKNOWN.to_owned(), shown);
        Some(Delivery { event_id, kind, job, body })
    }
}

impl Delivery {
    /// Reads a body whose events may have no id, because the service does not describe them. Then equal bodies are one
    /// event.
    pub fn read_or_digest(body: Vec<u8>, header_id: Option<&str>) -> Delivery {
        let digest = || hex(&Sha256::digest(&body));
        let id = header_id.filter(|id| !id.is_empty()).map_or_else(|| format!("sha256:{}", digest()), str::to_owned);
        let kind = UNKNOWN.to_owned();
        Delivery::read(body.clone(), Some(&id)).unwrap_or(Delivery { event_id: id, kind, job: None, body })
    }
}

fn shown(text: &str) -> String {
    printable_cut(text, TEXT_CHARACTERS_MAX)
}

impl std::fmt::Debug for Delivery {
    /// The body contains personal data.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Delivery {{ {}, {}, {} bytes, [redacted] }}", self.event_id, self.kind, self.body.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str, header: Option<&str>) -> Option<(String, String, Option<String>)> {
        let found = Delivery::read(body.as_bytes().to_vec(), header)?;
        Some((found.event_id, found.kind, found.job.map(|job| job.to_string())))
    }

    #[test]
    fn the_documented_event_names_its_job() {
        let body = r#"{"id": "evt_1", "type": "foreign_bank.verification.completed", "createdAt": "2026-11-23T08:00:00Z",
            "data": {"jobId": "job_1", "status": "completed", "mode": "production", "creditsUsed": 7}}"#;
        let wanted = ("evt_1".to_owned(), "foreign_bank.verification.completed".to_owned(), Some("job_1".to_owned()));
        assert_eq!(read(body, Some("evt_1")), Some(wanted.clone()));
        assert_eq!(read(body, Some("evt_of_another")), Some(wanted), "the header is not signed");
    }

    #[test]
    fn other_bodies_are_kept_under_the_id_of_the_header() {
        for body in ["", "not json", "[]", "{}", r#"{"id": 7, "data": {"jobId": "../my_credits"}}"#, r#"{"id": ""}"#] {
            assert_eq!(read(body, Some("evt_2")), Some(("evt_2".to_owned(), "unknown".to_owned(), None)), "{body}");
            assert_eq!(read(body, None), None, "{body}");
        }
    }

    #[test]
    fn an_event_without_any_id_gets_one_from_its_body() {
        let id = |body: &str, header| Delivery::read_or_digest(body.as_bytes().to_vec(), header).event_id;
        assert_eq!(id(r#"{"id": "evt_1"}"#, None), "evt_1");
        assert_eq!(id("{}", Some("evt_2")), "evt_2");
        assert_eq!(id("{}", None), "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
        assert_ne!(id("{}", None), id("[]", None));
    }

    #[test]
    fn texts_are_harmless_and_limited() {
        let body = format!(r#"{{"id": "evt\u001b[31m{}", "type": "a\nb"}}"#, "x".repeat(500));
        let (id, kind, _) = read(&body, None).unwrap();
        assert!(
            id.chars().count() <= TEXT_CHARACTERS_MAX + 1 && !id.contains('\u{1b}') && !kind.contains('\n'),
            "{id}"
        );
        let delivery = Delivery::read(br#"{"id": "evt_1", "name": "Thandi"}"#.to_vec(), None).unwrap();
        assert!(!format!("{delivery:?}").contains("Thandi"));
    }
}
