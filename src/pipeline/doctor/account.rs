//! What the doctor learns from `GET /my_credits`: whether the service can be reached and accepts the API key, in which
//! header, where its balance is, its clock, and what it says about its rate.

use super::{
    caller::Caller,
    finding::{Finding, Recommended, Standing},
};
use crate::{
    client::{Auth, BALANCE_POINTERS, Balance, Exchange, Reply, TransportFault, balance_in, json_body},
    model::{ExitCode, clock::are_apart},
};
use jiff::Timestamp;
use serde_json::Value;

/// How many places of a number are suggested for an unknown balance.
const SUGGESTED_MAX: usize = 5;

/// The header form that works; `None` if nothing more can be learned from the service.
pub(super) async fn examine(
    caller: &Caller<'_>,
    pointer: Option<&str>,
    findings: &mut Vec<Finding>,
    recommended: &mut Recommended,
) -> Option<Auth> {
    let own = caller.auth();
    let first = caller.get(own).await;
    let reply = match reached(&first, findings) {
        Some(reply) => reply.clone(),
        None => return None,
    };
    let other = if own == Auth::XApiKey { Auth::Bearer } else { Auth::XApiKey };
    let second = caller.get(other).await.reply.ok();
    let (accepted, auth) = match (is_accepted(&reply), second.as_ref().is_some_and(is_accepted)) {
        (true, true) => (reply, own),
        (true, false) => (reply, own),
        (false, true) => {
            recommended.auth = Some(other);
            (second.clone()?, other)
        }
        (false, false) => {
            findings.push(refused(&reply));
            return None;
        }
    };
    let both = auth == own && second.as_ref().is_some_and(is_accepted);
    let header = |auth| if auth == Auth::Bearer { "Authorization: Bearer" } else { "x-api-key" };
    findings.push(Finding::new("API key", Standing::Good, "accepted"));
    findings.push(match (both, auth == own) {
        (true, _) => Finding::new("header form", Standing::Good, "both headers are accepted"),
        (false, true) => Finding::new("header form", Standing::Good, format!("only {} is accepted", header(auth))),
        (false, false) => {
            let detail = format!("only {} is accepted, and [service] auth names the other one", header(auth));
            Finding::new("header form", Standing::Note, detail)
        }
    });
    findings.push(balance(&accepted, pointer, recommended));
    findings.push(clock(&accepted, caller.now()));
    findings.push(rate(&accepted));
    Some(auth)
}

/// The reply, if the service was reached.
fn reached<'a>(exchange: &'a Exchange, findings: &mut Vec<Finding>) -> Option<&'a Reply> {
    let bad = |detail: String| Finding::new("reachability", Standing::Bad(ExitCode::Service), detail);
    let reply = match &exchange.reply {
        Ok(reply) => reply,
        Err(TransportFault::Untrusted { host, fault }) => {
            let detail = format!("the certificate of {host} is not trusted: {fault}; see [service] ca_file");
            findings.push(bad(detail));
            return None;
        }
        Err(TransportFault::NotWritten(fault) | TransportFault::Unknown(fault)) => {
            findings.push(bad(format!("{fault}; check [service] url and the network")));
            return None;
        }
    };
    match reply.status {
        300..=399 => findings.push(bad(format!(
            "GET {} answers HTTP {}, a redirect, which is never followed; set [service] url to the address it leads to",
            Balance::PATH,
            reply.status
        ))),
        404 | 405 => findings.push(bad(format!(
            "GET {} answers HTTP {}: the service has no such route; check the path in [service] url",
            Balance::PATH,
            reply.status
        ))),
        500.. => findings.push(bad(format!("GET {} answers HTTP {}", Balance::PATH, reply.status))),
        200..=299 if reply.undecoded.is_some() => {
            let fault = reply.undecoded.as_deref().unwrap_or_default();
            findings
                .push(bad(format!("GET {}: {fault}; check the servers between here and the service", Balance::PATH)));
        }
        200..=299 if reply.body.as_deref().and_then(json_body).is_none() => findings.push(bad(format!(
            "GET {} answers with something that is not JSON, such as a page of a proxy or of another site",
            Balance::PATH
        ))),
        _ => {
            let detail = format!("answered in {} ms", exchange.latency.as_millis());
            findings.push(Finding::new("reachability", Standing::Good, detail));
            return Some(reply);
        }
    }
    None
}

fn is_accepted(reply: &Reply) -> bool {
    (200..300).contains(&reply.status)
}

fn refused(reply: &Reply) -> Finding {
    match reply.status {
        401 | 403 => {
            let detail = format!("refused in both headers (HTTP {}); check what [service] api_key names", reply.status);
            Finding::new("API key", Standing::Bad(ExitCode::Refused), detail)
        }
        429 => {
            let detail = "the service refuses requests because of the rate (HTTP 429); try again later";
            Finding::new("API key", Standing::Bad(ExitCode::Service), detail)
        }
        status => Finding::new("API key", Standing::Bad(ExitCode::Service), format!("HTTP {status}")),
    }
}

/// The balance's place. Its value is not shown: it belongs to the account.
fn balance(reply: &Reply, pointer: Option<&str>, recommended: &mut Recommended) -> Finding {
    let subject = "balance";
    let body = reply.body.as_deref().unwrap_or_default();
    if let Some(found) = balance_in(body, pointer) {
        return Finding::new(subject, Standing::Good, format!("at {}", found.pointer));
    }
    let (known, places) = (balance_in(body, None), numbers(body));
    let at = pointer.map_or_else(|| BALANCE_POINTERS.join(" and "), str::to_owned);
    let (standing, detail) = match (known, places.as_slice()) {
        (Some(known), _) => {
            recommended.balance_pointer = Some(known.pointer.clone());
            (Standing::Note, format!("none at {at}, but at {}", known.pointer))
        }
        (None, [only]) => {
            recommended.balance_pointer = Some(only.clone());
            (Standing::Note, format!("none at {at}; the only number is at {only}, which may be it"))
        }
        // Sandbox needs no balance, and production stops without one.
        (None, []) => (Standing::Bad(ExitCode::Service), format!("none at {at}, and no number elsewhere")),
        (None, several) => {
            let places = several.join(", ");
            let detail = format!("none at {at}; set [service] balance_pointer to the right one of {places}");
            (Standing::Bad(ExitCode::Service), detail)
        }
    };
    Finding::new(subject, standing, detail)
}

/// JSON pointers to the numbers in a body.
fn numbers(body: &[u8]) -> Vec<String> {
    fn collect(at: &str, value: &Value, found: &mut Vec<String>) {
        let is_number = value.is_u64() || value.as_str().is_some_and(|text| text.trim().parse::<u64>().is_ok());
        match value {
            _ if found.len() == SUGGESTED_MAX => {}
            Value::Object(members) => {
                for (name, member) in members {
                    collect(&format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), member, found);
                }
            }
            _ if is_number && !at.is_empty() => found.push(at.to_owned()),
            _ => {}
        }
    }
    let mut found = Vec::new();
    if let Some(json) = json_body(body) {
        collect("", &json.value, &mut found);
    }
    found
}

fn clock(reply: &Reply, now: Timestamp) -> Finding {
    let date = reply.date.as_deref().and_then(|date| httpdate::parse_http_date(date.trim()).ok());
    let Some(server) = date.and_then(|at| Timestamp::try_from(at).ok()) else {
        return Finding::new(
            "clock",
            Standing::Note,
            "the service states no time: keys age by this machine's clock only",
        );
    };
    let apart_us = server.as_microsecond() - now.as_microsecond();
    let detail = format!("{} s apart from the service's", apart_us.abs() / 1_000_000);
    if are_apart(apart_us) {
        let detail =
            format!("{detail}; set the clock: with such a difference, rescreen does not repeat requests in doubt");
        return Finding::new("clock", Standing::Note, detail);
    }
    Finding::new("clock", Standing::Good, detail)
}

fn rate(reply: &Reply) -> Finding {
    if reply.rate_headers.is_empty() {
        return Finding::new("rate", Standing::Good, "no header about the rate; see [service] per_minute");
    }
    Finding::new(
        "rate",
        Standing::Note,
        format!("{}; compare with [service] per_minute", reply.rate_headers.join(", ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str, pointer: Option<&str>) -> (Standing, Option<String>) {
        let reply = Reply { status: 200, body: Some(body.into()), ..Reply::default() };
        let mut recommended = Recommended::default();
        (balance(&reply, pointer, &mut recommended).standing, recommended.balance_pointer)
    }

    #[test]
    fn a_balance_elsewhere_is_suggested_if_there_is_one_number() {
        let suggested = |place: &str| (Standing::Note, Some(place.to_owned()));
        assert_eq!(found(r#"{"available_credits": 5}"#, None), (Standing::Good, None));
        assert_eq!(found(r#"{"wallet": {"left": "12"}}"#, None), suggested("/wallet/left"));
        assert_eq!(found(r#"{"available_credits": 5}"#, Some("/x")), suggested("/available_credits"));
        let bad = (Standing::Bad(ExitCode::Service), None);
        assert_eq!(found(r#"{"a": 1, "b": 2}"#, None), bad);
        assert_eq!(found(r#"{"plan": "gold"}"#, None), bad);
    }
}
