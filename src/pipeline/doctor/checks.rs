//! What the doctor learns from sandbox requests: which spelling of a route and which header each check accepts, and
//! whether the service keeps its promises about idempotency keys.

use super::{
    caller::Caller,
    finding::{Finding, Recommended, Standing},
    sample,
};
use crate::{
    catalogue::{Declaration, Spelling},
    client::{Auth, Author, Exchange, ReplyKind, Said},
    model::ExitCode,
};
use serde_json::{Map, Value};
use std::time::Duration;

/// Longer than the documented cooldown of a sandbox payload.
const COOLDOWN: Duration = Duration::from_millis(2_500);

/// A check to examine.
pub(super) struct Examined<'a> {
    pub(super) declaration: &'a Declaration,
    /// The spelling in use.
    pub(super) spelling: Spelling,
    pub(super) auth: Auth,
    /// The campaign uses it, so a fault would stop a run.
    pub(super) is_used: bool,
}

/// How a route answered a sandbox request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answered {
    /// The route exists.
    Known,
    /// 404, 405 or a redirect.
    Unknown(u16),
    Refused(u16),
    Nothing(String),
}

/// A request that was answered, for the examination of keys.
pub(super) struct Sample<'a> {
    declaration: &'a Declaration,
    path: String,
    auth: Auth,
    body: Map<String, Value>,
    answer: Vec<u8>,
}

/// Examines the routes of a check. Returns a request that was answered, if any.
pub(super) async fn routes<'a>(
    caller: &Caller<'_>,
    one: &Examined<'a>,
    findings: &mut Vec<Finding>,
    recommended: &mut Recommended,
) -> Option<Sample<'a>> {
    let declaration = one.declaration;
    let subject = format!("route of {}", declaration.name);
    let Some(body) = sample::body(declaration, 0) else {
        findings.push(Finding::new(subject, Standing::Skipped, "it needs a file, and none is invented"));
        return None;
    };
    let (first, second) = match (one.spelling, &declaration.routes.alternate) {
        (_, None) => (Spelling::Guide, None),
        (Spelling::Guide, Some(_)) => (Spelling::Guide, Some(Spelling::Alternate)),
        (Spelling::Alternate, Some(_)) => (Spelling::Alternate, Some(Spelling::Guide)),
    };
    let path = declaration.routes.path(first).to_owned();
    let exchange = send(caller, one, &path, one.auth, &body, 0).await;
    let said = caller.said(&exchange);
    let bad = |code| if one.is_used { Standing::Bad(code) } else { Standing::Note };
    let (standing, detail) = match answered(&said) {
        Answered::Known => (Standing::Good, format!("{path} (HTTP {})", said.status().unwrap_or_default())),
        Answered::Nothing(fault) => (bad(ExitCode::Service), format!("{path}: {fault}")),
        Answered::Refused(status) => {
            let other = if one.auth == Auth::Bearer { Auth::XApiKey } else { Auth::Bearer };
            let again = send(caller, one, &path, other, &body, 1).await;
            if answered(&caller.said(&again)) == Answered::Known {
                recommended.checks.entry(declaration.name.clone()).or_default().0 = Some(other);
                (Standing::Note, format!("{path} accepts the API key only in the other header"))
            } else {
                (
                    bad(ExitCode::Refused),
                    format!("{path} refuses the API key (HTTP {status}), and accepts it elsewhere"),
                )
            }
        }
        Answered::Unknown(status) => {
            let other = second.map(|spelling| (spelling, declaration.routes.path(spelling).to_owned()));
            let found = match &other {
                Some((_, path)) => {
                    let other = send(caller, one, path, one.auth, &body, 2).await;
                    answered(&caller.said(&other)) == Answered::Known
                }
                None => false,
            };
            match other {
                Some((spelling, other)) if found => {
                    recommended.checks.entry(declaration.name.clone()).or_default().1 = Some(spelling);
                    (Standing::Note, format!("{path} is not known (HTTP {status}); {other} is"))
                }
                Some((_, other)) => {
                    (bad(ExitCode::Service), format!("neither {path} nor {other} is known (HTTP {status})"))
                }
                None => (bad(ExitCode::Service), format!("{path} is not known (HTTP {status})")),
            }
        }
    };
    findings.push(Finding::new(subject, standing, detail));
    let answer = said.body().filter(|_| said.kind == ReplyKind::Success)?.to_vec();
    Some(Sample { declaration, path, auth: one.auth, body, answer })
}

async fn send(
    caller: &Caller<'_>,
    one: &Examined<'_>,
    path: &str,
    auth: Auth,
    body: &Map<String, Value>,
    number: u32,
) -> Exchange {
    caller.post(path, auth, caller.key(&one.declaration.name, body, number), body).await
}

pub(super) fn answered(said: &Said<'_>) -> Answered {
    match (said.kind, said.status()) {
        (_, None) => Answered::Nothing(said.fault().unwrap_or_default()),
        (kind, Some(status)) if kind.is_unauthorised() => Answered::Refused(status),
        (kind, Some(status)) if kind.is_misrouted() => Answered::Unknown(status),
        (kind, _) if kind.is_success() && said.json.is_none() => Answered::Nothing("the reply is not JSON".to_owned()),
        // A proxy answers for any route, also if the server behind it does not.
        (kind, Some(status))
            if !kind.is_success()
                && (said.author == Author::Another || kind.is_outage() && said.author != Author::Service) =>
        {
            Answered::Nothing(format!("HTTP {status}, which may not be the service's reply"))
        }
        // A refusal of the sample or of the rate comes from a route that exists.
        _ => Answered::Known,
    }
}

/// Examines what the service does with a key that it knows: the same body is answered again, and another one is refused.
pub(super) async fn keys(caller: &Caller<'_>, sample: &Sample<'_>, findings: &mut Vec<Finding>) {
    let key = caller.key(&sample.declaration.name, &sample.body, 0);
    tokio::time::sleep(COOLDOWN).await;
    let again = caller.post(&sample.path, sample.auth, key, &sample.body).await;
    let said = caller.said(&again);
    findings.push(match (said.kind, said.status()) {
        (_, None) => Finding::new("replay", Standing::Note, said.fault().unwrap_or_default()),
        (ReplyKind::Success, _) if said.body() == Some(&sample.answer) => {
            Finding::new("replay", Standing::Good, "the same key and body get the same answer")
        }
        (kind, _) if kind.is_success() => Finding::new(
            "replay",
            Standing::Note,
            "the same key and body get another answer: in sandbox, the service may not keep answers",
        ),
        (_, Some(status)) => {
            let detail = format!("the same key and body get HTTP {status}: a lost reply could not be repeated");
            Finding::new("replay", Standing::Note, detail)
        }
    });
    let other = sample::body(sample.declaration, 1).filter(|other| *other != sample.body);
    let Some(other) = other else {
        findings.push(Finding::new("409", Standing::Skipped, "there is no second sample for this check"));
        return;
    };
    let conflict = caller.post(&sample.path, sample.auth, key, &other).await;
    let said = caller.said(&conflict);
    findings.push(match (said.kind, said.status()) {
        (ReplyKind::Conflict, _) => Finding::new("409", Standing::Good, "the same key with another body is refused"),
        (kind, _) if kind.is_success() => {
            let detail = "the same key with another body is answered: in sandbox, the service may not compare bodies";
            Finding::new("409", Standing::Note, detail)
        }
        (_, None) => Finding::new("409", Standing::Note, "no reply to the same key with another body"),
        (_, Some(status)) => {
            Finding::new("409", Standing::Note, format!("the same key with another body gets HTTP {status}"))
        }
    });
}
