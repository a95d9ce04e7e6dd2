//! Whose words a reply is. Firewalls, proxies and sign-in pages reply in the place of the service, with any status, and
//! what they say is not about a row.

use super::{json_body::JsonBody, reply_kind::ReplyKind};
use crate::model::json_pointer;
use serde_json::Value;

/// Who wrote a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// A success in JSON, or an error with the content that the service's API description promises: `error.code` and
    /// `error.message`.
    Service,
    /// The reply does not show it: another JSON document, part of one, or nothing beside a status that the service has.
    Unclear,
    /// Something between here and the service, such as a firewall: a redirect, a page, or a text.
    Another,
}

impl Author {
    /// The author of a reply with this body: `json` is the body, if it is JSON.
    pub(super) fn of(kind: ReplyKind, body: Option<&[u8]>, json: Option<&JsonBody>) -> Author {
        match (kind, body, json) {
            // The description has no redirect, and the others are not a service's by their definition.
            (ReplyKind::Redirect | ReplyKind::ProxyLogin | ReplyKind::SignIn, ..) => Author::Another,
            (kind, _, Some(json)) if kind.is_success() && is_notice(&json.value, is_of_portal) => Author::Another,
            (kind, _, Some(_)) if kind.is_success() => Author::Service,
            (_, _, Some(json)) if has_documented_error(json) => Author::Service,
            // What these mean is not read from the body: a request may be repeated after each of them.
            (kind, _, Some(_)) if kind.is_about_account() || kind.is_outage() => Author::Unclear,
            (_, None, None) => Author::Unclear,
            (_, _, Some(json)) if is_notice(&json.value, is_of_gateway) => Author::Another,
            (_, _, Some(_)) => Author::Unclear,
            // Proxies limit rates too, and a request is repeated in the same way.
            (ReplyKind::TooMany, ..) => Author::Unclear,
            (_, Some(body), None) => of_text(kind, body),
        }
    }
}

fn has_documented_error(json: &JsonBody) -> bool {
    ["/error/code", "/error/message"].iter().any(|at| json_pointer::at(&json.value, at).is_some_and(|at| !at.is_null()))
}

/// What a gateway says in JSON in the place of the service has only these members.
fn is_of_gateway(member: &str) -> bool {
    ["message", "msg", "status", "statuscode", "status_code", "request_id"].contains(&member)
}

/// What a sign-in page says in JSON with a 2xx has only these members, and links.
fn is_of_portal(member: &str) -> bool {
    const WORDS: [&str; 11] = [
        "message",
        "msg",
        "status",
        "statuscode",
        "status_code",
        "error",
        "error_description",
        "detail",
        "reason",
        "title",
        "code",
    ];
    let is_link = ["url", "uri", "link", "location", "redirect"].iter().any(|end| member.ends_with(end));
    is_link || WORDS.contains(&member)
}

/// Whether an object has nothing but such members, with texts and numbers, or the `fault` of a gateway. The service's
/// replies have `success`, a result, an `error` with a code, or the id of a request or job.
fn is_notice(json: &Value, is_member: fn(&str) -> bool) -> bool {
    let is_text = |value: &Value| value.is_string() || value.is_number() || value.is_null();
    let is_word = |(name, value): (&String, &Value)| {
        let name = name.to_ascii_lowercase();
        name == "fault" || is_text(value) && is_member(&name)
    };
    json.as_object().is_some_and(|object| !object.is_empty() && object.iter().all(is_word))
}

/// Whether a body is a web page.
pub(super) fn is_page(body: Option<&[u8]>) -> bool {
    let text = body.map(|body| String::from_utf8_lossy(body.trim_ascii()).to_ascii_lowercase()).unwrap_or_default();
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<') && text.contains("<html")
}

/// Whether a text begins like a list in JSON, and not like a sentence with a word in brackets.
fn is_list(text: &[u8]) -> bool {
    text.strip_prefix(b"[")
        .is_some_and(|rest| matches!(rest.trim_ascii_start().first(), None | Some(b'{' | b'[' | b'"' | b']')))
}

/// The author of a body that is not JSON.
fn of_text(kind: ReplyKind, body: &[u8]) -> Author {
    let text = body.trim_ascii();
    match kind {
        // A part of an answer, or one with a mistake.
        _ if text.starts_with(b"{") || is_list(text) => Author::Unclear,
        // Gateways of a service refuse an API key in a word. A proxy would use 407.
        ReplyKind::Unauthorised if !text.starts_with(b"<") => Author::Unclear,
        ReplyKind::NoCredits if text.is_empty() => Author::Unclear,
        kind if kind.is_outage() && text.is_empty() => Author::Unclear,
        _ => Author::Another,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::json_body::json_body, *};

    fn of(status: u16, body: Option<&str>) -> Author {
        let body = body.map(str::as_bytes);
        Author::of(ReplyKind::of(status), body, body.and_then(json_body).as_ref())
    }

    #[test]
    fn a_page_a_text_and_a_redirect_are_not_the_services() {
        for (status, body) in [
            (200, "<!DOCTYPE html><title>Sign in</title>"),
            (200, "sign in first"),
            (200, ""),
            (204, ""),
            (302, r#"{"error": {"code": "MOVED"}}"#),
            (400, "<html>400 Bad Request</html>"),
            (400, ""),
            (401, "<html>401</html>"),
            (403, "\u{feff} \n<html>"),
            (403, "RBAC: access denied"),
            (403, ""),
            (404, "<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>"),
            (405, "<html>"),
            (407, r#"{"error": {"code": "PROXY"}}"#),
            (413, "<html>"),
            (451, "blocked"),
            (502, "<html>502 Bad Gateway</html>"),
            (503, "upstream connect error"),
            (511, r#"{"error": {"code": "SIGN_IN"}}"#),
        ] {
            assert_eq!(of(status, Some(body)), Author::Another, "{status} {body}");
        }
    }

    #[test]
    fn an_error_with_the_documented_content_is_the_services_and_other_json_is_unclear() {
        for status in [400, 401, 403, 404, 409, 429, 500, 503] {
            assert_eq!(of(status, Some(r#"{"error": {"code": "X"}}"#)), Author::Service, "{status}");
            assert_eq!(of(status, Some(r#"{"errors": ["no such bank"]}"#)), Author::Unclear, "{status}");
            assert_eq!(of(status, Some(r#"{"error": {"code": "#)), Author::Unclear, "{status}");
            assert_eq!(of(status, None), Author::Unclear, "{status}: cut off");
        }
        for status in [401, 402, 403, 429, 503] {
            assert_eq!(of(status, Some(r#"{"message": "Forbidden"}"#)), Author::Unclear, "{status}");
        }
        assert_eq!(of(200, Some("{}")), Author::Service);
        for status in [401, 402, 429, 500, 502] {
            assert_eq!(of(status, Some("")), Author::Unclear, "{status}");
        }
        assert_eq!(of(401, Some("Unauthorized")), Author::Unclear);
        assert_eq!(of(429, Some("<html>")), Author::Unclear);
    }

    #[test]
    fn the_notice_of_a_gateway_or_a_portal_in_json_is_not_the_services() {
        for status in [400, 404, 405, 409, 413, 415, 422] {
            for body in [
                r#"{"message": "no Route matched", "request_id": "8a"}"#,
                r#"{"statusCode": 404, "message": "Resource not found"}"#,
                r#"{"fault": {"faultstring": "Body buffer overflow"}}"#,
                "[policy 7] blocked by the gateway",
            ] {
                assert_eq!(of(status, Some(body)), Author::Another, "{status} {body}");
            }
            for body in
                [r#"{"success": false, "message": "x"}"#, r#"{"message": "x", "errors": []}"#, "{}", r#"[{"a": "#]
            {
                assert_eq!(of(status, Some(body)), Author::Unclear, "{status} {body}");
            }
        }
        for body in [
            r#"{"error": "login_required", "login_url": "https://wifi.example/"}"#,
            r#"{"status": "authentication_required", "portal_url": "https://wifi.example/", "message": "Sign in"}"#,
            r#"{"message": "Please sign in"}"#,
        ] {
            assert_eq!(of(200, Some(body)), Author::Another, "{body}");
        }
        for body in
            [r#"{"error": {"code": "X"}}"#, r#"{"status": "Approved", "score": 3}"#, r#"{"success": true}"#, "[]"]
        {
            assert_eq!(of(200, Some(body)), Author::Service, "{body}");
        }
    }

    #[test]
    fn a_page_is_told_from_other_markup() {
        assert!(is_page(Some(b"\xef\xbb\xbf <!DOCTYPE html>\n<HTML lang='en'>")) && is_page(Some(b"<html>")));
        assert!(!is_page(Some(b"<?xml version='1.0'?><PostResponse/>")) && !is_page(Some(b"")) && !is_page(None));
    }
}
