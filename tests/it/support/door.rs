//! A service whose door the test watches: every message is recorded as it came, and a script decides whether it gets
//! through to the simulator, gets another answer, or is left without one.

use super::{answering::Answering, service::lifted};
use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, Request, Response, request::Parts},
};
use rescreen::{
    model::SIMULATOR_MARKER,
    simulator::{Settings, Simulator},
};
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Balance,
    /// The announcement of a document.
    Announce,
    /// The document.
    Put,
    /// A request that may be charged.
    Check,
}

/// A message as it came.
#[derive(Clone)]
pub struct Seen {
    pub step: Step,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What happens to a message.
pub enum Act {
    Pass,
    Answer(u16, String),
    /// The service never sees it, and there is no reply.
    Stall,
    /// The service acts on it, and there is no reply.
    StallAfter,
}

type Script = Arc<dyn Fn(&Seen, usize) -> Act + Send + Sync>;

pub struct Door {
    pub simulator: Simulator,
    pub url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// The messages without a reply that the service has acted on.
    acted: Arc<Mutex<Vec<Step>>>,
    _answering: Answering,
}

impl Door {
    /// The script gets each message and how many of its kind came before.
    pub fn open(script: impl Fn(&Seen, usize) -> Act + Send + Sync + 'static) -> Door {
        Door::with(Settings { prices: [("proof-of-address".to_owned(), 3)].into(), ..lifted() }, script)
    }

    pub fn with(settings: Settings, script: impl Fn(&Seen, usize) -> Act + Send + Sync + 'static) -> Door {
        let (simulator, seen, acted) = (Simulator::new(settings), Arc::default(), Arc::default());
        let (inside, recorded, script): (_, _, Script) = (simulator.clone(), Arc::clone(&seen), Arc::new(script));
        let done = Arc::clone(&acted);
        let answering = Answering::start(move |parts, body| async move {
            answer(&inside, &recorded, &done, &script, parts, body).await
        });
        Door { simulator, url: answering.url.clone(), seen, acted, _answering: answering }
    }

    /// The messages of one kind.
    pub fn seen(&self, step: Step) -> Vec<Seen> {
        self.seen.lock().unwrap().iter().filter(|seen| seen.step == step).cloned().collect()
    }

    /// Whether the service has acted on a message of this kind that gets no reply.
    pub fn has_acted(&self, step: Step) -> bool {
        self.acted.lock().unwrap().contains(&step)
    }

    /// Counts the requests that may be charged.
    pub fn arrivals(&self) -> impl Fn() -> u64 + Send + Sync + 'static {
        let seen = Arc::clone(&self.seen);
        move || seen.lock().unwrap().iter().filter(|seen| seen.step == Step::Check).count() as u64
    }
}

async fn answer(
    simulator: &Simulator,
    recorded: &Mutex<Vec<Seen>>,
    acted: &Mutex<Vec<Step>>,
    script: &Script,
    parts: Parts,
    body: Bytes,
) -> Response<Body> {
    let is_announcement =
        serde_json::from_slice::<Value>(&body).is_ok_and(|body| body.get("action") == Some(&"upload".into()));
    let step = match parts.method.as_str() {
        "PUT" => Step::Put,
        "POST" if is_announcement => Step::Announce,
        "POST" => Step::Check,
        _ => Step::Balance,
    };
    let path = parts.uri.to_string();
    let seen = Seen { step, path, headers: parts.headers.clone(), body: body.to_vec() };
    let before = {
        let mut recorded = recorded.lock().unwrap();
        let before = recorded.iter().filter(|known| known.step == step).count();
        recorded.push(seen.clone());
        before
    };
    let act = script(&seen, before);
    let pass = async || {
        let response = simulator.exchange(Request::from_parts(parts, Body::from(body))).await;
        assert!(response.headers().contains_key(SIMULATOR_MARKER));
        response
    };
    match act {
        Act::Pass => pass().await,
        Act::Answer(status, text) => {
            let mut response = Response::new(Body::from(text));
            *response.status_mut() = status.try_into().unwrap();
            response.headers_mut().insert(SIMULATOR_MARKER, "1".parse().unwrap());
            response
        }
        Act::Stall => std::future::pending().await,
        Act::StallAfter => {
            drop(pass().await);
            acted.lock().unwrap().push(step);
            std::future::pending().await
        }
    }
}
