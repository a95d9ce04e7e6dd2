//! A campaign with two built-in checks, run through the whole pipeline against replies that a case provides, in this
//! thread, in memory and under paused time.

use super::folder::folder;
use axum::{body::Body, http::Response};
use rescreen::{
    Error,
    client::{InProcess, InProcessRequest, Reply, TransportFault},
    ledger::CommitMode,
    model::{Clock, SIMULATOR_MARKER},
    pipeline::{
        Campaign, Prepared, Progress, RunOptions, RunReport,
        campaign::{file::CampaignFile, parse},
    },
};
use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};

pub const AML: &str = "/aml-screening";
pub const SAID: &str = "/verify";

const CAMPAIGN: &str = r#"
    campaign = "2026-11"
    mode = "production"
    [service]
    url = "http://127.0.0.1:9"
    per_minute = 600_000
    per_minute_max = 900_000
    [input]
    paths = ["book.csv"]
    id = "no"
    [budget]
    max_credits = 1_000
    prices = { aml-screening = 2, said-verification = 3 }
    [[check]]
    use = "aml-screening"
    fields.name = "name"
    fields.entity = { value = 0 }
    fields.country = { value = "za" }
    [[check]]
    use = "said-verification"
    fields.idNumber = "id_number"
    [output]
    dir = "out"
    format = "jsonl"
"#;

/// A campaign in its own folder.
pub struct Stage {
    folder: TempDir,
}

/// The result of a run.
pub struct Ran {
    pub ended: Result<RunReport, Error>,
    /// The paths of the chargeable requests, in order.
    pub posts: Vec<String>,
}

impl Ran {
    pub fn posts_to(&self, path: &str) -> usize {
        self.posts.iter().filter(|post| *post == path).count()
    }
}

impl Stage {
    /// Writes an input with the columns `no`, `name` and `id_number`.
    pub fn new(book: &str) -> Stage {
        let folder = folder();
        fs::write(folder.path().join("book.csv"), book).expect("the input can be written");
        Stage { folder }
    }

    pub fn ledger(&self) -> PathBuf {
        self.folder.path().join("out/ledger.sqlite")
    }

    /// One run, this many hours after the first. `reply` is called for each chargeable request, with its path and the
    /// number of earlier requests to it. `None` is a refused connection.
    pub fn run(&self, hours: i64, reply: impl Fn(&str, usize) -> Option<Reply> + Send + Sync + 'static) -> Ran {
        let posts = Arc::new(Mutex::new(Vec::new()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let ended = runtime.expect("a runtime without threads always starts").block_on(async {
            let file = CampaignFile { simulate: true, ..parse(CAMPAIGN).expect("a campaign file") };
            let mut campaign = Campaign::new(file, self.folder.path())?;
            let begun: jiff::Timestamp = "2026-11-20T10:00:00Z".parse().expect("a moment");
            campaign.clock = Clock::driven(begun + jiff::SignedDuration::from_hours(hours));
            campaign.commit_mode = CommitMode::Inline;
            campaign.service.in_process = Some(service(Arc::clone(&posts), reply));
            let (_tell, signals) = mpsc::channel(1);
            let orders = RunOptions { at_most: Some(Duration::from_secs(60)), ..RunOptions::default() };
            Prepared::open(campaign).await?.go(orders, signals, watch::Sender::new(Progress::default())).await
        });
        let posts = posts.lock().expect("nothing panics while it writes down a message").clone();
        Ran { ended, posts }
    }
}

fn service(
    posts: Arc<Mutex<Vec<String>>>,
    reply: impl Fn(&str, usize) -> Option<Reply> + Send + Sync + 'static,
) -> InProcess {
    InProcess::new(move |request: InProcessRequest| {
        let reply = match request.method().as_str() {
            "POST" => {
                let path = request.uri().path().to_owned();
                let mut posts = posts.lock().expect("nothing panics while it writes down a message");
                let before = posts.iter().filter(|post| **post == path).count();
                posts.push(path.clone());
                reply(&path, before)
            }
            _ => Some(well(r#"{"available_credits": 100000}"#)),
        };
        std::future::ready(match reply {
            None => Err(TransportFault::NotWritten("no server accepts the connection".to_owned())),
            Some(Reply { body: None, .. }) => Err(TransportFault::Unknown("the reply was cut off".to_owned())),
            Some(reply) => Ok(response(reply)),
        })
    })
}

/// A 200 with this body.
pub fn well(body: &str) -> Reply {
    Reply {
        status: 200,
        body: Some(body.into()),
        undecoded: None,
        retry_after: None,
        location: None,
        date: None,
        rate_headers: Vec::new(),
        simulated: true,
    }
}

/// Headers that a server cannot send are left out.
fn response(reply: Reply) -> Response<Body> {
    let mut response = Response::new(Body::from(reply.body.unwrap_or_default()));
    *response.status_mut() = reply.status.try_into().expect("a status is between 100 and 599");
    let headers = response.headers_mut();
    headers.insert(SIMULATOR_MARKER, "1".parse().expect("a header"));
    for (name, value) in [("retry-after", reply.retry_after), ("date", reply.date)] {
        if let Some(Ok(value)) = value.map(|text| text.parse()) {
            headers.insert(name, value);
        }
    }
    response
}
