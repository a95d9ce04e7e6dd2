//! `rescreen doctor` says before a campaign what would stop it, in sandbox and at no credit: the simulator in each of its
//! forms, and hand-made servers that misbehave.

mod misbehaving;
mod program;
mod simulated;

use axum::{
    Router,
    body::Body,
    http::{Method, Request, Response, StatusCode},
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
    runtime: Option<tokio::runtime::Runtime>,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
struct Sent {
    method: Method,
    path: String,
    body: String,
}

type Answer = Box<dyn Fn(&Sent, &axum::http::HeaderMap) -> Response<Body> + Send + Sync>;

impl Server {
    fn start(answer: Answer) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        let sent: Arc<Mutex<Vec<Sent>>> = Arc::default();
        let (noted, answer) = (Arc::clone(&sent), Arc::new(answer));
        let router = Router::new().fallback(move |request: Request<Body>| {
            let (noted, answer) = (Arc::clone(&noted), Arc::clone(&answer));
            async move {
                let (parts, body) = request.into_parts();
                let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
                let one = Sent {
                    method: parts.method,
                    path: parts.uri.path().to_owned(),
                    body: String::from_utf8(bytes.to_vec()).unwrap(),
                };
                noted.lock().unwrap().push(one.clone());
                answer(&one, &parts.headers)
            }
        });
        let entered = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(socket).unwrap();
        drop(entered);
        runtime.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Server { url, sent, runtime: Some(runtime) }
    }

    /// The simulator, behind a function that may answer in its place.
    fn before(settings: Settings, instead: impl Fn(&Sent) -> Option<Response<Body>> + Send + Sync + 'static) -> Server {
        let simulator = Simulator::new(settings);
        Server::start(Box::new(move |sent, headers| {
            if let Some(response) = instead(sent) {
                return response;
            }
            let mut request = Request::new(Body::from(sent.body.clone()));
            *request.method_mut() = sent.method.clone();
            *request.uri_mut() = sent.path.parse().unwrap();
            *request.headers_mut() = headers.clone();
            let simulator = simulator.clone();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(simulator.exchange(request))
            })
            .join()
            .unwrap()
        }))
    }

    fn posts(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().iter().filter(|sent| sent.method == Method::POST).cloned().collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A runtime must not wait for another one.
        self.runtime.take().unwrap().shutdown_background();
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
    file.service.per_minute = 6_000;
    file.service.per_minute_max = 12_000;
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
