//! The upload of a large document: a request for a place, and a PUT to it. Both are free. The reply that names the
//! place is untrusted: it decides neither which host gets the document, nor whether the API key is sent with it.

use super::{
    author::Author,
    key_mask::MASK,
    reply_kind::ReplyKind,
    said::Said,
    service::{Auth, Client, IDEMPOTENCY_KEY},
    transport::Exchange,
};
use crate::model::{Permit, json_pointer};
use reqwest::{
    Method, Url,
    header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, EXPECT, HOST},
    header::{HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE},
};
use serde_json::Value;

/// Places of the members in the reply. The description names `uploadUrl`, headers and a reference, and shows no
/// envelope for them.
const PARENTS: [&str; 4] = ["", "/data", "/results", "/upload"];
const URL_NAMES: [&str; 2] = ["uploadUrl", "upload_url"];
const HEADERS_NAMES: [&str; 2] = ["headers", "uploadHeaders"];
const REFERENCE_NAMES: [&str; 4] = ["reference", "document_reference", "documentReference", "uploadReference"];

/// The longest URL, reference and header value.
const TEXT_BYTES_MAX: usize = 8 * 1024;
const HEADERS_MAX: usize = 32;

/// Headers that the reply may not set: they carry a secret, or the transport sets them.
const REFUSED: [HeaderName; 13] = [
    AUTHORIZATION,
    PROXY_AUTHORIZATION,
    COOKIE,
    HOST,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    CONNECTION,
    EXPECT,
    TE,
    TRAILER,
    UPGRADE,
    IDEMPOTENCY_KEY,
    HeaderName::from_static("x-api-key"),
];

/// Where a document is uploaded to, and the reference that names it afterwards.
pub struct Ticket {
    url: Url,
    headers: HeaderMap,
    pub reference: String,
}

impl Ticket {
    /// The place: at the service, or at a host that the user allows.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The headers that the upload is sent with.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }
}

/// What the reply to the first step of an upload says.
pub enum Begun {
    Place(Ticket),
    /// The reply cannot be followed, and why.
    Unusable(String),
    /// It refuses the account or the request, as it would refuse the request that names the upload.
    Refused,
    /// It was not begun. It may be tried again.
    NotBegun,
}

/// What the reply to the second step says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    Kept,
    /// The storage refuses this document or what is sent with it, and repeating it will not help.
    Refused,
    /// It is not kept. It may be tried again.
    NotKept,
}

/// Reads the reply to an uploaded document. A sign-in page comes with a 2xx too.
pub fn stored(said: &Said<'_>) -> Stored {
    match said.kind {
        kind if kind.is_success() && !said.is_page() => Stored::Kept,
        kind if kind.is_final() => Stored::Refused,
        _ => Stored::NotKept,
    }
}

impl Client {
    /// Asks for a place to upload to. `key` is a separate idempotency key, because the key of the charged request
    /// must not be used with another body. `auth` is the header form of its check.
    pub async fn begin_upload(
        &self,
        _permit: Permit,
        (path, auth): (&str, Auth),
        key: &str,
        body: Vec<u8>,
    ) -> Exchange {
        let mut headers = self.headers(auth);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(key) = HeaderValue::from_str(key) {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        match self.url(path) {
            Ok(url) => self.exchange(Method::POST, url, headers, body).await,
            Err(fault) => Exchange::not_sent(fault),
        }
    }

    /// Reads the reply that names the place, and checks that the document may be sent there.
    pub fn begun(&self, said: &Said<'_>) -> Begun {
        match said.kind {
            _ if said.body().is_none() || said.author == Author::Another => Begun::NotBegun,
            ReplyKind::Success => self.ticket(said.value()).map_or_else(Begun::Unusable, Begun::Place),
            ReplyKind::Refused | ReplyKind::NoCredits | ReplyKind::TooMany => Begun::Refused,
            kind if kind.is_unauthorised() => Begun::Refused,
            _ => Begun::NotBegun,
        }
    }

    /// The place that a reply names.
    ///
    /// # Errors
    /// What is wrong with the reply, and what to do. It repeats a host at most.
    fn ticket(&self, reply: Option<&Value>) -> Result<Ticket, String> {
        let reply = reply.ok_or("expected JSON in its reply, found something else")?;
        let find = |names: &[&str]| {
            PARENTS.iter().find_map(|at| {
                let parent = json_pointer::at(reply, at)?;
                names.iter().find_map(|name| parent.get(name)).filter(|found| !found.is_null())
            })
        };
        let text = |names: &[&str]| {
            let found = find(names).and_then(Value::as_str).filter(|text| text.len() <= TEXT_BYTES_MAX);
            let found = found.filter(|text| !text.is_empty());
            let found = found.ok_or_else(|| format!("expected `{}` in its reply", names[0]))?;
            if found.contains(MASK) {
                return Err(format!("its `{}` repeats the API key, which is not passed on", names[0]));
            }
            Ok(found)
        };
        let url = self.target(text(&URL_NAMES)?)?;
        let headers = find(&HEADERS_NAMES).map_or(Ok(HeaderMap::new()), headers_of)?;
        Ok(Ticket { url, headers, reference: text(&REFERENCE_NAMES)?.to_owned() })
    }

    /// Sends the document, with the headers of the ticket only: the API key does not leave the service.
    pub async fn upload(&self, _permit: Permit, ticket: Ticket, document: Vec<u8>) -> Exchange {
        self.exchange(Method::PUT, ticket.url, ticket.headers, document).await
    }

    /// The URL to upload to: the origin of the service, or https to a host that the user allows.
    fn target(&self, text: &str) -> Result<Url, String> {
        let url: Url = text.parse().map_err(|_| "expected an URL as `uploadUrl`, found something else".to_owned())?;
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err("expected an `uploadUrl` without user, password and `#`".to_owned());
        }
        if url.origin() == self.service.origin() {
            return Ok(url);
        }
        let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
        let place = url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
        let allowed = self.upload_hosts.iter().any(|allowed| allowed.to_ascii_lowercase() == place);
        match (url.scheme(), allowed) {
            ("https", true) => Ok(url),
            ("https", false) => Err(format!(
                "it wants the document to be sent to another host, {place}; if that host belongs to the service, allow \
                 it with [service] upload_hosts = [\"{place}\"]"
            )),
            _ => Err("expected an `uploadUrl` with https".to_owned()),
        }
    }
}

/// Checks one entry of the allowed hosts.
///
/// # Errors
/// What was expected instead.
pub fn check_upload_host(text: &str) -> Result<(), String> {
    let fault = || format!("expected HOST or HOST:PORT such as `uploads.example`, found `{text}`");
    let url: Url = format!("https://{text}").parse().map_err(|_| fault())?;
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    if format!("{host}{port}") == text.to_ascii_lowercase() { Ok(()) } else { Err(fault()) }
}

fn headers_of(value: &Value) -> Result<HeaderMap, String> {
    let named = value.as_object().ok_or("expected the headers as a JSON object, found something else")?;
    if named.len() > HEADERS_MAX {
        return Err(format!("expected at most {HEADERS_MAX} headers, found {}", named.len()));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in named {
        let name: HeaderName = name.parse().map_err(|_| "expected names of headers, found something else")?;
        if REFUSED.contains(&name) {
            return Err(format!("it sets the header `{name}`, which only rescreen sets"));
        }
        let text = value.as_str().filter(|text| text.len() <= TEXT_BYTES_MAX);
        let visible = text.filter(|text| text.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
        let value = visible.and_then(|text| HeaderValue::from_str(text).ok());
        headers.insert(name, value.ok_or("expected headers of visible ASCII characters, found something else")?);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::{super::Settings, *};
    use serde_json::json;

    fn client(url: &str, upload_hosts: &[&str]) -> Client {
        let upload_hosts = upload_hosts.iter().map(|host| (*host).to_owned()).collect();
        Client::new(&Settings { upload_hosts, ..Settings::at(url) }).unwrap()
    }

    fn ticket(url: &str, headers: Value) -> Result<Ticket, String> {
        let reply = json!({"uploadUrl": url, "headers": headers, "reference": "r"});
        client("https://service.example/api", &["uploads.example", "other.example:8443"]).ticket(Some(&reply))
    }

    #[test]
    fn a_document_goes_to_the_service_or_to_an_allowed_host() {
        for url in [
            "https://service.example/put/1?signature=x",
            "https://SERVICE.example:443/put",
            "https://uploads.example/put",
            "https://uploads.example./put",
            "https://other.example:8443/put",
        ] {
            assert!(ticket(url, json!({})).is_ok(), "{url}");
        }
        for url in [
            "http://service.example/put",
            "https://service.example:444/put",
            "https://service.example.evil.example/put",
            "https://service.example@evil.example/put",
            "https://user:password@service.example/put",
            "https://uploads.example:444/put",
            "https://sub.uploads.example/put",
            "http://uploads.example/put",
            "https://other.example/put",
            "http://169.254.169.254/latest",
            "file:///etc/passwd",
            "/put",
            "",
        ] {
            assert!(ticket(url, json!({})).is_err(), "{url}");
        }
        let message = ticket("https://evil.example/put?secret=1", json!({})).err().unwrap();
        assert!(message.contains("evil.example") && !message.contains("secret"), "{message}");
    }

    #[test]
    fn only_harmless_headers_are_sent() {
        let url = "https://service.example/put";
        assert!(ticket(url, json!({"content-type": "application/pdf", "x-amz-acl": "private"})).is_ok());
        for headers in [
            json!({"X-Api-Key": "x"}),
            json!({"Authorization": "Bearer x"}),
            json!({"Host": "evil.example"}),
            json!({"content-length": "1"}),
            json!({"Idempotency-Key": "x"}),
            json!({"cookie": "x"}),
            json!({"transfer-encoding": "chunked"}),
            json!({"a b": "x"}),
            json!({"x-a": "b\r\nx-api-key: c"}),
            json!({"x-a": 1}),
            json!(["x-a"]),
        ] {
            assert!(ticket(url, headers.clone()).is_err(), "{headers}");
        }
    }

    #[test]
    fn an_incomplete_reply_names_what_is_missing() {
        let client = client("https://service.example", &[]);
        let read = |reply: Value| client.ticket(Some(&reply)).err();
        let url = "https://service.example/put";
        assert_eq!(read(json!({"data": {"uploadUrl": url, "document_reference": "r"}})), None);
        assert_eq!(read(json!({"reference": "r"})).unwrap(), "expected `uploadUrl` in its reply");
        assert_eq!(read(json!({"uploadUrl": url})).unwrap(), "expected `reference` in its reply");
        assert!(client.ticket(None).is_err());
    }

    #[test]
    fn an_allowed_host_is_a_host_and_nothing_else() {
        assert!(check_upload_host("uploads.example").is_ok() && check_upload_host("Uploads.example:8443").is_ok());
        for text in ["https://uploads.example", "uploads.example/path", "user@uploads.example", "", "*.example "] {
            assert!(check_upload_host(text).is_err(), "{text}");
        }
    }
}
