//! How the service processes one HTTP request: account, rate, route, validation, idempotency and answer. Each step may
//! end it with a refusal. This file decides the order of the steps.

use super::{
    Simulator,
    answer::{compose, request_id},
    answer_style::Dialect,
    check::{Check, Mode},
    digest::{Digest, digest, hex},
    fault::FaultKind,
    keys::Receipt,
    openapi,
    order::Order,
    reply::{Delivery, Refusal, Reply},
    request_body::{BODY_BYTES_MAX, FILES_BYTES_MAX, body_bytes, discard},
    row::RowTreatment,
    seen_routes::{self, ServedRoutes},
    serve::Peer,
    settings::AuthAccepted,
    spoil,
    state::{Accepted, Admission, Ticket},
    uploads::PLACES,
};
use axum::{
    body::Body,
    extract::ConnectInfo,
    http::{HeaderMap, Method, Request, Response, header, request::Parts},
};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const STATS: &str = "/_simulator/stats";
const RESET: &str = "/_simulator/reset";
const BOOK: &str = "/_simulator/book";
const OPENAPI: &str = "/_simulator/openapi.json";
const BALANCE: &str = "/my_credits";
const HEALTH: &str = "/health";

impl Simulator {
    /// One exchange in process, without a socket, for tests under tokio's paused time. A reply that a socket would lose
    /// has a body that ends in an error.
    pub async fn exchange(&self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let reply = match self.own_page(&parts) {
            Some(page) => page,
            None => {
                self.finish_jobs();
                self.state().receive(&self.route_label(&parts), self.now_us());
                let reply = self.reply(&parts, body).await;
                let status = if reply.delivery == Delivery::Nothing { 0 } else { reply.status };
                self.state().count_reply(status);
                reply
            }
        };
        if let (Delivery::Nothing, Some(ConnectInfo(peer))) = (reply.delivery, parts.extensions.get()) {
            Peer::cut(peer);
        }
        reply.into_response(self.date())
    }

    /// The simulator's own routes, which are not part of the service. They have no rate limit and are not counted. Only
    /// a reset needs the API key, if one is set.
    fn own_page(&self, parts: &Parts) -> Option<Reply> {
        match (&parts.method, parts.uri.path()) {
            (&Method::GET, STATS) => {
                Some(Reply::json(200, &serde_json::to_value(self.stats()).expect("counters are plain JSON")))
            }
            (&Method::POST, RESET) => {
                if let (Some(_), Err(refusal)) = (&self.settings().api_key, self.account(&parts.headers)) {
                    return Some(Reply::refusal(&refusal, self.style()));
                }
                self.reset();
                Some(Reply::json(200, &json!({"reset": true})))
            }
            (&Method::GET, BOOK) => {
                Some(Reply::json(200, &serde_json::to_value(self.charges()).expect("keys and numbers are plain JSON")))
            }
            (&Method::GET, OPENAPI) => Some(Reply::json(200, &openapi::document(&self.0.routes, self.settings()))),
            (&Method::GET, HEALTH) if self.settings().routes == ServedRoutes::Seen => {
                Some(Reply::json(200, &seen_routes::health(self.date())))
            }
            (_, STATS | RESET | BOOK | OPENAPI) => Some(Reply::json(405, &json!({"error": "method not allowed"}))),
            _ => None,
        }
    }

    /// `METHOD /path` for a known route, else `other`, so that the number of counters is bounded.
    fn route_label(&self, parts: &Parts) -> String {
        let path = parts.uri.path();
        match self.job_at(path) {
            _ if path == BALANCE || self.checks_at(path).is_some() => format!("{} {path}", parts.method),
            Some(job) => format!("{} {}", parts.method, job.template),
            None => "other".to_owned(),
        }
    }

    async fn reply(&self, parts: &Parts, body: Body) -> Reply {
        let style = self.style();
        if parts.method == Method::PUT && parts.uri.path().starts_with(PLACES) {
            return self.placed(parts, body).await.unwrap_or_else(|refusal| Reply::refusal(&refusal, style));
        }
        let account = match self.account(&parts.headers) {
            Ok(account) => account,
            // A client without a valid key must not use memory.
            Err(refusal) => {
                discard(&parts.headers, body).await;
                return Reply::refusal(&refusal, style);
            }
        };
        let free = self.settings().quirks.free_balance && parts.uri.path() == BALANCE;
        let admitted = self.state().admit(account, self.now_us(), free);
        // The body is read before the answer: closing a connection with unread bytes loses the reply.
        let has_files = self.checks_at(parts.uri.path()).unwrap_or_default().iter().any(|check| check.has_files());
        let bytes_max = if has_files { FILES_BYTES_MAX } else { BODY_BYTES_MAX };
        let body = match body_bytes(&parts.headers, body, bytes_max).await {
            Ok(body) => body,
            Err(refusal) => return Reply::refusal(&refusal, style),
        };
        let admission = match admitted {
            Ok(admission) => admission,
            Err(refusal) => return Reply::refusal(&refusal, style),
        };
        let key = idempotency_key(&parts.headers).ok().flatten().map(|key| digest(&[&account, key.as_bytes()]));
        if let Some(kept) = key.and_then(|key| self.state().kept_refusal(key, self.settings().clock.now_us())) {
            return Reply::refusal(&kept, style);
        }
        let done = match admission.fault.filter(|fault| fault.comes_first()).map(fail) {
            Some(failed) => failed,
            None => self.answer(account, parts, &body, admission).await,
        };
        let reply = done.unwrap_or_else(|refusal| {
            // A key with a request that is completed or in progress has no failure.
            let has_failed = refusal.status == 502 && !key.is_some_and(|key| self.state().has_work(key));
            let kept = match self.caches_failures(parts.uri.path()) && has_failed {
                true => Some(Refusal::new(409, "cached_failure", "processing failed for this Idempotency-Key")),
                false => self.settings().quirks.keeps(refusal.status).then(|| refusal.clone()),
            };
            if let (Some(key), Some(kept)) = (key, kept) {
                self.state().keep_refusal(key, kept, self.settings().clock.now_us());
            }
            Reply::refusal(&refusal, style)
        });
        match admission.fault {
            Some(FaultKind::DropAfter) => reply.delivered(Delivery::Nothing),
            Some(FaultKind::Truncate) => reply.delivered(Delivery::Half),
            _ => reply,
        }
    }

    async fn answer(
        &self,
        account: Digest,
        parts: &Parts,
        body: &[u8],
        admission: Admission,
    ) -> Result<Reply, Refusal> {
        match (parts.uri.path(), self.checks_at(parts.uri.path())) {
            (BALANCE, _) if parts.method == Method::GET => Ok(self.balance()),
            (_, Some(_)) if parts.method == Method::POST => self.check(account, parts, body, admission).await,
            (path, None) if self.job_at(path).is_some() => self.about_job(account, &parts.method, path, body),
            (BALANCE, _) | (_, Some(_)) => {
                Err(Refusal::new(405, "method_not_allowed", "this route does not accept this method"))
            }
            _ => Err(Refusal::new(404, "not_found", "no such route")),
        }
    }

    /// The account of a request. The service's description states two headers but not which one applies where, so both
    /// are accepted.
    fn account(&self, headers: &HeaderMap) -> Result<Digest, Refusal> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        let bearer = || match text(header::AUTHORIZATION.as_str())?.split_once(' ')? {
            (scheme, key) if scheme.eq_ignore_ascii_case("bearer") => Some(key.trim()),
            _ => None,
        };
        let given = match self.settings().auth {
            AuthAccepted::Both => text("x-api-key").or_else(bearer),
            AuthAccepted::XApiKey => text("x-api-key"),
            AuthAccepted::Bearer => bearer(),
        };
        let given = given.filter(|key| !key.is_empty());
        match (given, &self.settings().api_key) {
            (Some(given), Some(wanted)) if given != wanted => {
                Err(Refusal::new(401, "invalid_api_key", "this API key is not known"))
            }
            (Some(given), _) => Ok(digest(&[given.as_bytes()])),
            (None, _) => Err(Refusal::new(401, "invalid_api_key", "an API key is required")),
        }
    }

    fn balance(&self) -> Reply {
        let credits = self.state().balance();
        let body = match self.settings().dialect {
            Dialect::Described => json!({"available_credits": credits}),
            Dialect::Field => {
                let last_refresh = self.settings().clock.now().to_string();
                json!({"Status": "Success", "Result": {"credits": credits.to_string(), "last_refresh": last_refresh}})
            }
        };
        Reply::json(200, &body)
    }

    async fn check(&self, account: Digest, parts: &Parts, body: &[u8], admission: Admission) -> Result<Reply, Refusal> {
        let path = parts.uri.path();
        let idempotency_key = idempotency_key(&parts.headers)?;
        let checks = self.checks_at(path).unwrap_or_default();
        let received = match self.received(parts, checks, body)? {
            Ok(received) => received,
            Err(announced) => return Ok(announced),
        };
        let order = Order::read(checks, path, account, idempotency_key, body, received)?;
        if order.mode == Mode::Sandbox {
            let address = peer_address(parts).to_string();
            let cooldown = self.settings().cooldown;
            self.state().cool_down(digest(&[address.as_bytes(), &order.content]), self.now_us(), cooldown)?;
        }
        let row = self.state().row(order.subject);
        if let Some(row) = row.filter(|row| !row.acts(self.settings().seed, order.subject)) {
            return without_acting(row, &order);
        }
        let price = self.price_of(&order);
        let at_us = self.settings().clock.now_us();
        let defer = admission.fault == Some(FaultKind::Pending);
        let accepted = self.state().accept(&order, price, at_us, defer)?;
        let receipt = match accepted {
            Accepted::Replay(receipt) => receipt,
            Accepted::Pending => return Ok(Reply::json(202, &pending(&order))),
            Accepted::Job(id) => return Ok(self.accepted(&order, &id)),
            Accepted::Work(ticket) if order.check.job.is_some() && self.is_later(&order) => {
                return self.later(account, &order, ticket).await;
            }
            Accepted::Work(ticket) => self.work(order.clone(), ticket, admission).await,
        };
        if let Some(status) = receipt.refused {
            let refusal = Refusal::new(status, "no_match", "the search was completed and charged, and found nothing");
            return Err(Refusal { charged: Some(receipt.credits), ..refusal });
        }
        if let Some(refusal) = row.and_then(RowTreatment::refusal) {
            return Err(refusal);
        }
        let answer = self.completed(&order, &receipt);
        Ok(match row {
            Some(row) => spoil::row(row, answer),
            None => self.spoilt(&order, answer, admission.fault),
        })
    }

    /// The completed answer to an order.
    pub(super) fn completed(&self, order: &Order, receipt: &Receipt) -> Value {
        let expected = self.settings().expected.as_ref().map(|expected| expected.of(order));
        compose(order, receipt, self.style_of(order), expected.as_ref())
    }

    /// An answer as it is sent: unchanged, or corrupted by the fault that was chosen for its request.
    fn spoilt(&self, order: &Order, mut answer: Value, fault: Option<FaultKind>) -> Reply {
        match fault {
            Some(FaultKind::Nulls) => spoil::empty(&mut answer),
            Some(FaultKind::OddCharge(place)) => self.style().statement.odd(&mut answer, place),
            Some(FaultKind::Crossed) => answer = self.state().cross(order, &answer).unwrap_or(answer),
            Some(FaultKind::OtherMode) => spoil::other_mode(&mut answer),
            Some(FaultKind::OtherInput) => spoil::other_input(&mut answer),
            Some(FaultKind::DuplicateNames) => return spoil::duplicate_names(&answer),
            _ => {}
        }
        Reply::json(200, &answer)
    }

    pub(super) fn price(&self, check: &Check) -> u64 {
        let set = self.state().price(&check.name);
        set.or(check.price).unwrap_or(1)
    }

    /// Processes and charges the request. A service does not notice that its client has disconnected: the slow part
    /// continues in its own task and is charged.
    async fn work(&self, order: Order, ticket: Ticket, admission: Admission) -> Receipt {
        let refused = match admission.fault {
            Some(FaultKind::ChargedError(status)) => Some(status),
            _ => None,
        };
        let delay = self.settings().latency + admission.delay;
        if delay.is_zero() {
            return self.state().complete(&order, ticket, refused);
        }
        let simulator = self.clone();
        let task = tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            simulator.state().complete(&order, ticket, refused)
        });
        task.await.expect("nothing aborts this task and it does not panic")
    }
}

/// The permanent reply for a row whose requests the service does not process.
fn without_acting(row: RowTreatment, order: &Order) -> Result<Reply, Refusal> {
    match row.refusal() {
        Some(refusal) => Err(refusal),
        None if row == RowTreatment::Job => Ok(Reply::json(202, &job(order))),
        None => Ok(Reply::json(202, &pending(order))),
    }
}

/// The reply for a fault that prevents the service from processing the request.
fn fail(fault: FaultKind) -> Result<Reply, Refusal> {
    Err(match fault {
        FaultKind::Html => return Ok(Reply::html()),
        FaultKind::Foreign => return Ok(Reply::foreign()),
        FaultKind::Error400 => Refusal::new(400, "invalid_parameters", "the request is invalid"),
        FaultKind::Error401 => Refusal::new(401, "invalid_api_key", "this API key is not known"),
        FaultKind::Error402 => Refusal::insufficient_credits(1, 0),
        FaultKind::Error403 => Refusal::new(403, "forbidden", "this API key is not allowed to use this route"),
        FaultKind::Error404 => Refusal::new(404, "not_found", "no record"),
        FaultKind::Error405 => Refusal::new(405, "method_not_allowed", "this route does not accept this method"),
        FaultKind::Redirect(status) => Refusal::new(status, "moved", "this route has moved"),
        FaultKind::Rate429(retry_after) => Refusal::rate_limited(retry_after),
        FaultKind::Error409 => Refusal::new(409, "conflict", "another request is in progress"),
        FaultKind::Error500 => Refusal::new(500, "internal_error", "an internal error occurred"),
        FaultKind::Error502 => Refusal::new(502, "processing_failure", "processing failed or timed out"),
        FaultKind::Error503 => Refusal::new(503, "service_unavailable", "the service is unavailable"),
        FaultKind::Error503Uncharged => {
            let message = "the real-time check cannot complete and no webhook was given";
            let refusal = Refusal::new(503, "ASYNC_FALLBACK_REQUIRES_WEBHOOK", message);
            Refusal { states_no_charge: true, ..refusal }
        }
        // Of these, only `DropBefore` happens before the service processes the request; the others never get here.
        FaultKind::DropBefore
        | FaultKind::DropAfter
        | FaultKind::Truncate
        | FaultKind::Nulls
        | FaultKind::Pending
        | FaultKind::Latency(_)
        | FaultKind::ChargedError(_)
        | FaultKind::OddCharge(_)
        | FaultKind::Crossed
        | FaultKind::DuplicateNames
        | FaultKind::OtherMode
        | FaultKind::OtherInput
        | FaultKind::Row(_) => return Ok(Reply::json(200, &json!({})).delivered(Delivery::Nothing)),
    })
}

/// A pending reply. The service's description, Errors: a 202 whose `status` is `pending`; the same key returns the
/// answer later.
fn pending(order: &Order) -> Value {
    json!({"success": true, "status": "pending", "requestId": request_id(order), "mode": order.mode})
}

/// A 202 as bank verification returns it.
fn job(order: &Order) -> Value {
    json!({"success": true, "jobId": format!("job_{}", hex(&order.content)), "status": "pending", "mode": order.mode})
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let text = |value: &header::HeaderValue| value.to_str().map(str::to_owned);
    headers.get("idempotency-key").map(text).transpose().map_err(|_| {
        Refusal::new(400, "invalid_idempotency_key", "an Idempotency-Key must consist of visible ASCII characters")
    })
}

/// The address of the client; a constant if there is no socket.
fn peer_address(parts: &Parts) -> IpAddr {
    let ours = parts.extensions.get().map(|ConnectInfo(peer): &ConnectInfo<Peer>| peer.address());
    let plain = || parts.extensions.get().map(|ConnectInfo(peer): &ConnectInfo<SocketAddr>| peer.ip());
    ours.or_else(plain).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}
