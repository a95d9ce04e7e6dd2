//! Which paths the simulated service serves. Besides the two spellings of its description there is the set that was
//! seen in practice, which differs: a plate and a VIN are asked at one route, a director at the route of companies, and
//! most of the alternate spellings do not exist.

use super::{check::Check, checks::Checks};
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc};

/// The paths that are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServedRoutes {
    /// The first spelling of the description.
    Guide,
    /// The second spelling, where there is one.
    Alternate,
    /// Both.
    #[default]
    Both,
    /// The routes that were seen in practice, and `GET /health`.
    Seen,
}

/// The alternate spellings that were seen in practice.
const SEEN_ALTERNATES: [&str; 3] = ["/verify", "/bank-account-verification", "/consumer-trace-lite"];
/// The checks that were seen at another path than that of their declaration: check, path, fixed fields. A declaration
/// that already names the path is served as it is.
const SEEN_ELSEWHERE: [(&str, &str, &str, &str); 3] = [
    ("cipc-director", "/cipc", "reportType", "cipc_director_search"),
    ("number-plate", "/vehicle", "bundle", "vehicle_lookup"),
    ("vin-decode", "/vehicle", "bundle", "vehicle_lookup"),
];

/// The checks at each path.
pub(super) fn routes(checks: &Checks, served: ServedRoutes) -> HashMap<String, Vec<Arc<Check>>> {
    let mut routes: HashMap<String, Vec<Arc<Check>>> = HashMap::new();
    for declared in checks.iter() {
        let (check, paths) = served_at(declared, served);
        for path in paths {
            let checks = routes.entry(path).or_default();
            if !checks.iter().any(|known| known.name == check.name) {
                checks.push(Arc::clone(&check));
            }
        }
    }
    routes
}

/// A check as it is served, and its paths.
fn served_at(declared: &Arc<Check>, served: ServedRoutes) -> (Arc<Check>, Vec<String>) {
    let (guide, alternate) = (declared.routes.guide.clone(), declared.routes.alternate.clone());
    let mut check = Arc::clone(declared);
    let elsewhere = SEEN_ELSEWHERE.iter().find(|(name, path, ..)| *name == check.name && *path != guide);
    let paths = match (served, elsewhere) {
        (ServedRoutes::Guide, _) => vec![guide],
        (ServedRoutes::Alternate, _) => vec![alternate.unwrap_or(guide)],
        (ServedRoutes::Both, _) => std::iter::once(guide).chain(alternate).collect(),
        (ServedRoutes::Seen, Some((_, path, field, value))) => {
            Arc::make_mut(&mut check).fixed.insert((*field).to_owned(), Value::from(*value));
            vec![(*path).to_owned()]
        }
        (ServedRoutes::Seen, None) => {
            let seen = alternate.filter(|path| SEEN_ALTERNATES.contains(&path.as_str()));
            std::iter::once(guide).chain(seen).collect()
        }
    };
    (check, paths)
}

/// The reply of `GET /health`, which needs no API key.
pub(super) fn health(now: jiff::Timestamp) -> Value {
    json!({"status": "ok", "timestamp": now.to_string(), "version": "simulated"})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(served: ServedRoutes) -> Vec<String> {
        let mut paths: Vec<String> = routes(&Checks::built_in(), served).into_keys().collect();
        paths.sort();
        paths
    }

    #[test]
    fn the_seen_routes_have_three_alternate_spellings_and_one_route_for_vehicles() {
        let seen = paths(ServedRoutes::Seen);
        for path in
            ["/verify", "/bank-account-verification", "/consumer-trace-lite", "/vehicle", "/cipc", "/vehicle-check"]
        {
            assert!(seen.iter().any(|known| known == path), "{path}");
        }
        for path in ["/aml-pep", "/cipc/company", "/cipc/director", "/consumer-trace", "/number-plate", "/vin-decode"] {
            assert!(!seen.iter().any(|known| known == path), "{path}");
            assert!(paths(ServedRoutes::Both).iter().any(|known| known == path), "{path}");
        }
    }

    #[test]
    fn each_spelling_is_served_alone_or_with_the_other() {
        let (guide, alternate) = (paths(ServedRoutes::Guide), paths(ServedRoutes::Alternate));
        assert!(guide.contains(&"/aml-screening".to_owned()) && !guide.contains(&"/aml-pep".to_owned()));
        assert!(alternate.contains(&"/aml-pep".to_owned()) && !alternate.contains(&"/aml-screening".to_owned()));
        assert!(alternate.contains(&"/adverse-media".to_owned()), "it has only one spelling");
        let checks = routes(&Checks::built_in(), ServedRoutes::Seen);
        let fixed = |path: &str| checks[path].iter().map(|check| check.fixed.clone()).collect::<Vec<_>>();
        assert!(fixed("/vehicle").iter().all(|fixed| fixed["bundle"] == "vehicle_lookup"));
        assert!(fixed("/cipc").iter().any(|fixed| fixed["reportType"] == "cipc_director_search"));
    }
}
