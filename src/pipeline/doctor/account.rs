//! What the doctor learns from `GET /my_credits`: whether the service can be reached and accepts the API key, in which
//! header, where its balance is, its clock, and what it says about its rate.

use super::{
    caller::Caller,
    finding::{Finding, Recommended, Standing},
};
use crate::{
    client::{Auth, BALANCE_POINTERS, Balance, Exchange, NotAnswered, ReplyKind, Said, balance_in},
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
    let said = caller.said(&first);
    if let Some(fault) = unreachable(&said) {
        findings.push(Finding::new("reachability", Standing::Bad(ExitCode::Service), fault));
        return None;
    }
    let detail = format!("answered in {} ms", first.latency.as_millis());
    findings.push(Finding::new("reachability", Standing::Good, detail));
    let other = if own == Auth::XApiKey { Auth::Bearer } else { Auth::XApiKey };
    let second = caller.get(other).await;
    let said_second = caller.said(&second);
    let is_second_accepted = said_second.kind.is_success();
    let (accepted, exchange, auth) = match (said.kind.is_success(), is_second_accepted) {
        (true, _) => (&said, &first, own),
        (false, true) => {
            recommended.auth = Some(other);
            (&said_second, &second, other)
        }
        (false, false) => {
            findings.push(refused(&said));
            return None;
        }
    };
    let both = auth == own && is_second_accepted;
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
    findings.push(balance(accepted.value(), pointer, recommended));
    findings.push(clock(accepted, caller.now()));
    findings.push(rate(exchange));
    Some(auth)
}

/// Why nothing can be learned from a reply.
pub(super) fn unreachable(said: &Said<'_>) -> Option<String> {
    let path = Balance::PATH;
    let status = said.status().unwrap_or_default();
    match (said.kind, said.not_answered()) {
        (_, Some(NotAnswered::Untrusted { host, fault })) => {
            Some(format!("the certificate of {host} is not trusted: {fault}; see [service] ca_file"))
        }
        (_, Some(NotAnswered::Redirect { .. })) => Some(format!(
            "GET {path} answers HTTP {status}, a redirect, which is never followed; set [service] url to the address it \
             leads to"
        )),
        (kind, _) if kind.is_misrouted() => Some(format!(
            "GET {path} answers HTTP {status}: the service has no such route; check the path in [service] url"
        )),
        (kind, _) if kind.is_server_error() => Some(format!("GET {path} answers HTTP {status}")),
        (kind, _) if kind.is_outage() => {
            let fault = said.fault().unwrap_or_else(|| format!("HTTP {status}"));
            Some(format!("{fault}; check [service] url and the network"))
        }
        (kind, _) if kind.is_success() && said.body().is_none() => {
            let fault = said.unreadable().unwrap_or_default();
            Some(format!("GET {path}: {fault}; check the servers between here and the service"))
        }
        (kind, _) if kind.is_success() && said.json.is_none() => Some(format!(
            "GET {path} answers with something that is not JSON, such as a page of a proxy or of another site"
        )),
        _ => None,
    }
}

fn refused(said: &Said<'_>) -> Finding {
    let status = said.status().unwrap_or_default();
    let (exit_code, detail) = match said.kind {
        kind if kind.is_unauthorised() => {
            (ExitCode::Refused, format!("refused in both headers (HTTP {status}); check what [service] api_key names"))
        }
        ReplyKind::TooMany => (
            ExitCode::Service,
            format!("the service refuses requests because of the rate (HTTP {status}); try again later"),
        ),
        _ => (ExitCode::Service, format!("HTTP {status}")),
    };
    Finding::new("API key", Standing::Bad(exit_code), detail)
}

/// The balance's place. Its value is not shown: it belongs to the account.
fn balance(answer: Option<&Value>, pointer: Option<&str>, recommended: &mut Recommended) -> Finding {
    let subject = "balance";
    let balance_at = |pointer| balance_in(answer?, pointer);
    if let Some(found) = balance_at(pointer) {
        return Finding::new(subject, Standing::Good, format!("at {}", found.pointer));
    }
    let (known, places) = (balance_at(None), answer.map(numbers).unwrap_or_default());
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

/// JSON pointers to the numbers in an answer.
fn numbers(answer: &Value) -> Vec<String> {
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
    collect("", answer, &mut found);
    found
}

fn clock(said: &Said<'_>, now: Timestamp) -> Finding {
    let Some(server_us) = said.server_now_us() else {
        return Finding::new(
            "clock",
            Standing::Note,
            "the service states no time: keys age by this machine's clock only",
        );
    };
    let apart_us = server_us - now.as_microsecond();
    let detail = format!("{} s apart from the service's", apart_us.abs() / 1_000_000);
    if are_apart(apart_us) {
        let detail =
            format!("{detail}; set the clock: with such a difference, rescreen does not repeat requests in doubt");
        return Finding::new("clock", Standing::Note, detail);
    }
    Finding::new("clock", Standing::Good, detail)
}

fn rate(exchange: &Exchange) -> Finding {
    let headers = exchange.reply.as_ref().map(|reply| reply.rate_headers.as_slice()).unwrap_or_default();
    if headers.is_empty() {
        return Finding::new("rate", Standing::Good, "no header about the rate; see [service] per_minute");
    }
    Finding::new("rate", Standing::Note, format!("{}; compare with [service] per_minute", headers.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str, pointer: Option<&str>) -> (Standing, Option<String>) {
        let answer = serde_json::from_str(body).unwrap();
        let mut recommended = Recommended::default();
        (balance(Some(&answer), pointer, &mut recommended).standing, recommended.balance_pointer)
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
