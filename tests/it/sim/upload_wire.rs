//! The steps of an upload on the wire, and what goes wrong with them: a refusal, a lost reply, a page of somebody else,
//! and replies that must not be followed.

use super::{life::Step, rng::Rng};
use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, Response, StatusCode},
};
use futures::stream;
use rescreen::{client::InProcessRequest, model::SIMULATOR_MARKER};
use serde_json::{Value, json};
use std::io;

/// The charge that a step of an upload states.
pub const UPLOAD_CHARGE: u64 = 3;

/// What goes wrong with a step of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    LostBefore,
    LostAfter,
    Status(u16),
    /// A page that is not the service's.
    Page,
    /// The document should go to another host.
    OtherHost,
    /// A header that would carry the API key.
    Header,
    /// The place of another document.
    PlaceOfAnother,
    /// It states a charge.
    Charge,
}

impl Trouble {
    /// What goes wrong with a message of this step, if anything does.
    pub fn draw(rng: &mut Rng, step: Step, percent: u64) -> Option<Trouble> {
        use Trouble::{Charge, Header, LostAfter, LostBefore, OtherHost, Page, PlaceOfAnother, Status};
        const OF_ANNOUNCEMENT: [Trouble; 16] = [
            LostBefore,
            LostAfter,
            Charge,
            Status(500),
            Status(404),
            Status(503),
            Status(401),
            Status(415),
            Page,
            OtherHost,
            Header,
            Charge,
            PlaceOfAnother,
            PlaceOfAnother,
            PlaceOfAnother,
            PlaceOfAnother,
        ];
        const OF_DOCUMENT: [Trouble; 8] =
            [LostBefore, LostAfter, Charge, Status(403), Status(404), Status(500), Status(503), Charge];
        let list: &[Trouble] = match step {
            Step::Announce => &OF_ANNOUNCEMENT,
            Step::Put => &OF_DOCUMENT,
            Step::Balance | Step::Question | Step::Check => return None,
        };
        (percent > 0 && rng.chance(percent)).then(|| rng.pick(list))
    }

    /// A reply that never comes.
    pub fn lost() -> Response<Body> {
        let cut = stream::once(async { Err::<Bytes, _>(io::Error::from(io::ErrorKind::ConnectionReset)) });
        let mut response = Response::new(Body::from_stream(cut));
        response.headers_mut().insert(SIMULATOR_MARKER, HeaderValue::from_static("true"));
        response
    }
}

/// The step that a message is.
pub fn step_of(request: &InProcessRequest) -> Step {
    match request.method().as_str() {
        "PUT" => Step::Put,
        "POST" if request.body().starts_with(br#"{"action":"upload""#) => Step::Announce,
        "POST" => Step::Check,
        _ if request.uri().path().contains("/jobs/") => Step::Question,
        _ => Step::Balance,
    }
}

/// The reply with what goes wrong. `other` is the reply that announced the place of another document.
pub async fn spoilt(trouble: Trouble, response: Response<Body>, other: Option<Bytes>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let mut reply: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    parts.headers.remove("content-length");
    let mut answer = |status: u16, body: String| {
        parts.status = StatusCode::from_u16(status).expect("a status");
        Response::from_parts(parts.clone(), Body::from(body))
    };
    match trouble {
        Trouble::LostBefore | Trouble::LostAfter => Trouble::lost(),
        Trouble::Status(status) => {
            answer(status, json!({"error": {"code": "odd", "message": "an odd refusal"}}).to_string())
        }
        Trouble::Page => {
            parts.headers.insert("content-type", HeaderValue::from_static("text/html"));
            Response::from_parts(parts, Body::from("<html>sign in</html>"))
        }
        Trouble::OtherHost => {
            reply["uploadUrl"] = "https://elsewhere.example/put".into();
            answer(200, reply.to_string())
        }
        Trouble::Header => {
            reply["headers"] = json!({"x-api-key": "stolen"});
            answer(200, reply.to_string())
        }
        Trouble::PlaceOfAnother => match other {
            Some(other) => Response::from_parts(parts, Body::from(other)),
            None => Response::from_parts(parts, Body::from(bytes)),
        },
        // At the usual place, and at the one that some campaigns configure.
        Trouble::Charge => {
            let charge = json!({"creditsUsed": UPLOAD_CHARGE, "billing": {"charged": UPLOAD_CHARGE}});
            answer(500, charge.to_string())
        }
    }
}
