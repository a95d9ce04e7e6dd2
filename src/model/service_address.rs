//! Addresses of the service, as a user writes them and as a ledger records them.

/// Whether two addresses are the same service: without regard to the case of scheme and host, a default port, a dot at the
/// end of the host, and slashes at the end.
pub fn same_service(one: &str, other: &str) -> bool {
    normal(one) == normal(other)
}

fn normal(address: &str) -> String {
    let address = address.trim().trim_end_matches('/');
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let (scheme, host) = (scheme.to_ascii_lowercase(), host.to_ascii_lowercase());
    let port = if scheme == "https" { ":443" } else { ":80" };
    let host = host.strip_suffix(port).unwrap_or(&host).trim_end_matches('.');
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_and_host_have_no_case_and_a_path_has() {
        for same in ["HTTPS://API.Example.com/V1", "https://api.example.com:443/V1/", "https://api.example.com./V1"] {
            assert!(same_service("https://api.example.com/V1", same), "{same}");
        }
        for other in [
            "https://api.example.com/v1",
            "http://api.example.com/V1",
            "https://api.example.com:8443/V1",
            "https://api.example.com.evil/V1",
            "https://api.example.com",
            "simulated",
        ] {
            assert!(!same_service("https://api.example.com/V1", other), "{other}");
        }
        assert!(same_service("simulated", "simulated"));
    }
}
