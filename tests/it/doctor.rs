//! `rescreen doctor` says before a campaign what would stop it, in sandbox and at no credit: the simulator in each of its
//! forms, and hand-made servers that misbehave.

mod misbehaving;
mod program;
mod simulated;

use crate::support::answering::Answering;
use axum::{
    body::Body,
    http::{HeaderMap, Method, Request, Response, StatusCode},
};
use rescreen::{
    pipeline::{
        campaign::file::{CampaignFile, CheckTable},
        doctor::{Diagnosis, Examination, Standing},
    },
    simulator::{Settings, Simulator},
};
use std::{
    path::Path,
    sync::{Arc, Mutex},
};

/// A hand-made server on a socket, and what it was sent.
struct Server {
    url: String,
    sent: Arc<Mutex<Vec<Sent>>>,
    _answering: Answering,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
struct Sent {
    method: Method,
    path: String,
    body: String,
}

impl Server {
    fn start(answer: impl Fn(&Sent, &HeaderMap) -> Response<Body> + Send + Sync + 'static) -> Server {
        Server::with(Settings::default(), move |sent, headers| Some(answer(sent, headers)))
    }

    /// The simulator, behind a function that may answer in its place.
    fn before(settings: Settings, instead: impl Fn(&Sent) -> Option<Response<Body>> + Send + Sync + 'static) -> Server {
        Server::with(settings, move |sent, _| instead(sent))
    }

    fn with(
        settings: Settings,
        instead: impl Fn(&Sent, &HeaderMap) -> Option<Response<Body>> + Send + Sync + 'static,
    ) -> Server {
        let (simulator, sent) = (Simulator::new(settings), Arc::<Mutex<Vec<Sent>>>::default());
        let (noted, instead) = (Arc::clone(&sent), Arc::new(instead));
        let answering = Answering::start(move |parts, body| async move {
            let text = String::from_utf8(body.to_vec()).unwrap();
            let one = Sent { method: parts.method.clone(), path: parts.uri.path().to_owned(), body: text };
            noted.lock().unwrap().push(one.clone());
            match instead(&one, &parts.headers) {
                Some(response) => response,
                None => simulator.exchange(Request::from_parts(parts, Body::from(body))).await,
            }
        });
        Server { url: answering.url.clone(), sent, _answering: answering }
    }

    fn posts(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().iter().filter(|sent| sent.method == Method::POST).cloned().collect()
    }
}

fn page(status: u16, body: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_owned()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

/// A campaign file for a service, with these checks.
fn file(folder: &Path, url: &str, checks: &[&str]) -> CampaignFile {
    let mut file = CampaignFile::default();
    std::fs::write(folder.join("api-key"), "0123456789abcdef").unwrap();
    std::fs::set_permissions(folder.join("api-key"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    file.service.url = Some(url.to_owned());
    file.service.api_key = Some(rescreen::pipeline::campaign::file::SecretSource::File("api-key".into()));
    file.service.per_minute = Some(6_000);
    file.service.per_minute_max = Some(12_000);
    file.checks = checks.iter().map(|check| CheckTable::of(check)).collect();
    file.campaign = Some("2026-11".to_owned());
    file
}

/// Examines a service.
async fn diagnosed(url: &str, checks: &[&str], change: impl FnOnce(&mut CampaignFile)) -> Diagnosis {
    let folder = tempfile::tempdir().unwrap();
    let mut file = file(folder.path(), url, checks);
    change(&mut file);
    let mut examination = Examination::new(&file, folder.path()).unwrap();
    examination.service.state_folder = Some(folder.path().join("state"));
    examination.run().await.unwrap()
}

/// The finding about a subject.
#[track_caller]
fn found<'a>(diagnosis: &'a Diagnosis, subject: &str) -> (Standing, &'a str) {
    let finding = diagnosis.findings.iter().find(|finding| finding.subject == subject);
    let finding = finding.unwrap_or_else(|| panic!("nothing about {subject} in {:#?}", diagnosis.findings));
    (finding.standing, finding.detail.as_str())
}
