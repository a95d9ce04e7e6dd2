//! Which clients may use a simulator on a socket: programs that address this machine. A web page can make a browser
//! send requests here, with the page's host name or origin. Those are refused before they have any effect.

use super::reply::Refusal;
use axum::http::{
    HeaderMap, Uri,
    header::{HOST, ORIGIN},
    uri::Authority,
};
use std::net::IpAddr;

/// Decides which requests are accepted, by the address that the simulator listens on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visitors {
    bound: IpAddr,
}

impl Visitors {
    pub(super) fn of(bound: IpAddr) -> Visitors {
        Visitors { bound: bound.to_canonical() }
    }

    /// Why a request is refused. A request without a host and an origin does not come from a browser.
    pub(super) fn refusal(self, uri: &Uri, headers: &HeaderMap) -> Option<Refusal> {
        let hosts = headers.get_all(HOST).iter().map(|host| host.as_bytes());
        let stated = uri.authority().map(|authority| authority.as_str().as_bytes());
        if !hosts.chain(stated).all(|host| self.is_ours(host)) {
            let message = "the simulator accepts only localhost and this machine's IP addresses as host; use one of them in the URL";
            return Some(Refusal::new(403, "foreign_host", message));
        }
        let own = headers.get(HOST).map(|host| [b"http://", host.as_bytes()].concat());
        let is_own = |origin: &[u8]| own.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(origin));
        let is_from_here = headers.get_all(ORIGIN).iter().all(|origin| is_own(origin.as_bytes()));
        let site = headers.get_all("sec-fetch-site").iter();
        if !is_from_here || !site.map(|site| site.as_bytes()).all(|site| matches!(site, b"same-origin" | b"none")) {
            return Some(Refusal::new(403, "foreign_origin", "web pages may not use the simulator"));
        }
        None
    }

    fn is_ours(self, host: &[u8]) -> bool {
        let Ok(authority) = Authority::try_from(host) else { return false };
        if authority.as_str().contains('@') {
            return false;
        }
        let name = authority.host();
        match name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            // An address, unlike a name, cannot be redirected here by someone else.
            Ok(address) => {
                let address = address.to_canonical();
                address.is_loopback() || address == self.bound || self.bound.is_unspecified()
            }
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_accepted_by_name_loopback_or_listening_address() {
        let loopback = Visitors::of([127, 0, 0, 1].into());
        let (one, all) = (Visitors::of([192, 0, 2, 7].into()), Visitors::of([0, 0, 0, 0].into()));
        let is_ours = |host: &str| [loopback, one, all].map(|visitors| visitors.is_ours(host.as_bytes()));
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:8787", "127.9.9.9", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(is_ours(host), [true; 3], "{host}");
        }
        assert_eq!(is_ours("192.0.2.7:1"), [false, true, true]);
        assert_eq!(is_ours("198.51.100.1"), [false, false, true]);
        for host in
            ["", "evil.example", "127.0.0.1.evil.example", "localhost.", "a@localhost", "x localhost", "0x7f000001"]
        {
            assert_eq!(is_ours(host), [false; 3], "{host}");
        }
    }
}
