//! Faults on demand: what can go wrong between a client and the service, each with its probability, drawn from a seed.
//! The text format is that of `--faults`: a comma-separated list of `name:probability[:parameter]` or
//! `name@nth[:parameter]`.

use super::{
    digest::Digest,
    fault_text::{duration, hint},
    retry_after::{ODD, RetryAfter},
    rng::Rng,
    row::{self, RowTreatment},
    statement::ODD_CHARGES,
};
use std::{str::FromStr, time::Duration};

/// One kind of fault. With those above the line, the service does not act; with those below, it acts and charges first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// The connection is cut before anything is done.
    DropBefore,
    /// A web page with status 200, as from a captive portal.
    Html,
    /// A JSON object with status 200 that is not in an envelope of the service.
    Foreign,
    Error400,
    Error401,
    Error402,
    Error403,
    Error404,
    Error405,
    /// A redirect with this status.
    Redirect(u16),
    /// 429, and how long the client should wait.
    Rate429(RetryAfter),
    Error409,
    Error500,
    Error502,
    Error503,
    /// 503 that states `creditsUsed` 0.
    Error503Uncharged,
    /// 202 pending; the repeat is answered.
    Pending,
    // ---
    Latency(Duration),
    /// Acts and charges, then the connection is cut without a reply.
    DropAfter,
    /// Acts and charges, then half the body is sent.
    Truncate,
    /// Acts and charges, then every field of the answer is null.
    Nulls,
    /// Acts and charges, then refuses with this status and states the charge; the refusal is kept under the key.
    ChargedError(u16),
    /// Acts and charges, and states an invalid charge.
    OddCharge(usize),
    /// Acts and charges, then sends the answer to another request of the same check.
    Crossed,
    /// Acts and charges; the answer has its content twice, and the two differ.
    DuplicateNames,
    /// Acts and charges; the answer states the other mode.
    OtherMode,
    /// Acts and charges; the answer echoes another input.
    OtherInput,
    /// Not drawn for a request: a row that the seed picks always gets this.
    Row(RowTreatment),
}

/// Statuses that a refusal with a charge may have.
const CHARGED_STATUSES: [u16; 8] = [400, 402, 403, 404, 409, 422, 429, 500];

impl FaultKind {
    /// Whether the request is answered or cut before the service acts.
    pub(super) fn comes_first(self) -> bool {
        use FaultKind::{
            ChargedError, Crossed, DropAfter, DuplicateNames, Latency, Nulls, OddCharge, OtherInput, OtherMode,
            Pending, Row, Truncate,
        };
        let spoilt = matches!(self, Nulls | ChargedError(_) | OddCharge(_) | Crossed | DuplicateNames);
        let echoed = matches!(self, OtherMode | OtherInput);
        !(spoilt || echoed || matches!(self, Pending | Latency(_) | DropAfter | Truncate | Row(_)))
    }
}

const NAMES: [&str; 31] = [
    "charged_error",
    "crossed",
    "drop_after",
    "drop_before",
    "duplicate_names",
    "error400",
    "error401",
    "error402",
    "error403",
    "error404",
    "error405",
    "error409",
    "error500",
    "error502",
    "error503",
    "error503_uncharged",
    "foreign",
    "html",
    "latency",
    "nulls",
    "odd_charge",
    "other_input",
    "other_mode",
    "pending",
    "rate429",
    "rate429_bare",
    "rate429_date",
    "rate429_odd",
    "redirect",
    "row",
    "truncate",
];

/// The faults that take a parameter.
const PARAMETERS: [&str; 8] =
    ["charged_error", "latency", "odd_charge", "rate429", "rate429_date", "rate429_odd", "redirect", "row"];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Chance {
    Probability(f64),
    /// Exactly the nth request since start, reset or [`super::Simulator::set_faults`], from 1.
    Nth(u64),
}

#[derive(Debug, Clone, PartialEq)]
struct Fault {
    kind: FaultKind,
    chance: Chance,
}

/// What can go wrong, and how often. Parsed from text such as `"drop_after:0.05,latency:0.1:2s,error500@3"`. Faults
/// apply to every request that passes API key and rate limit, including the balance query. Faults that act, spoil an
/// answer or delay it apply only to checks. `row:0.05:404` picks rows by their content instead, and they always get
/// this fault.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Faults(Vec<Fault>);

/// Why a list of faults is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultsError {
    #[error("no fault is called `{name}`{hint}; the faults are {all}")]
    Unknown { name: String, hint: String, all: String },
    #[error("fault `{name}`: expected `{name}:PROBABILITY` (0 to 1) or `{name}@NTH` (from 1), found `{found}`")]
    Chance { name: String, found: String },
    #[error("fault `{name}`: expected `{name}:PROBABILITY` (0 to 1), found `{found}`")]
    Probability { name: String, found: String },
    #[error("fault `{name}`: expected {expected}, found `{found}`")]
    Parameter { name: String, expected: &'static str, found: String },
}

impl Faults {
    /// The names of all faults.
    pub const NAMES: [&str; 31] = NAMES;

    /// No faults.
    pub fn none() -> Faults {
        Faults::default()
    }

    /// Draws the faults for the nth request: the first that applies, and the added delay. Every fault is drawn each
    /// time, so that a seed has the same effect on each request.
    pub(super) fn draw(&self, rng: &mut Rng, nth: u64) -> (Option<FaultKind>, Duration) {
        let (mut first, mut delay) = (None, Duration::ZERO);
        for fault in &self.0 {
            let fraction = rng.fraction();
            let falls = match fault.chance {
                Chance::Probability(probability) => fraction < probability,
                Chance::Nth(wanted) => nth == wanted,
            };
            match (falls, fault.kind) {
                (false, _) | (true, FaultKind::Row(_)) => {}
                (true, FaultKind::Latency(extra)) => delay += extra,
                (true, kind) => first = first.or(Some(kind)),
            }
        }
        (first, delay)
    }

    /// The permanent treatment of a row with this content, if it is picked.
    pub(super) fn row(&self, seed: u64, content: Digest) -> Option<RowTreatment> {
        self.0.iter().zip(1u64..).find_map(|(fault, nth)| match (fault.kind, fault.chance) {
            (FaultKind::Row(treatment), Chance::Probability(probability)) => {
                row::is_picked(seed.wrapping_add(nth), content, probability).then_some(treatment)
            }
            _ => None,
        })
    }
}

impl FromStr for Faults {
    type Err = FaultsError;

    fn from_str(text: &str) -> Result<Faults, FaultsError> {
        text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(fault).collect::<Result<_, _>>().map(Faults)
    }
}

fn fault(item: &str) -> Result<Fault, FaultsError> {
    let name_end = item.find([':', '@']).unwrap_or(item.len());
    let (name, rest) = item.split_at(name_end);
    if !NAMES.contains(&name) {
        return Err(FaultsError::Unknown { name: name.to_owned(), hint: hint(name, NAMES), all: NAMES.join(", ") });
    }
    let (number, parameter) = match rest.get(1..).unwrap_or("").split_once(':') {
        Some((number, parameter)) => (number, Some(parameter)),
        None => (rest.get(1..).unwrap_or(""), None),
    };
    let chance = match rest.as_bytes().first() {
        Some(b'@') => number.parse().ok().filter(|nth| *nth > 0).map(Chance::Nth),
        _ => number.parse().ok().filter(|chance| (0.0..=1.0).contains(chance)).map(Chance::Probability),
    };
    let chance = chance.filter(|chance| name != "row" || matches!(chance, Chance::Probability(_)));
    let chance = chance.ok_or_else(|| FaultsError::Chance { name: name.to_owned(), found: item.to_owned() })?;
    Ok(Fault { kind: kind(name, parameter)?, chance })
}

fn kind(name: &str, parameter: Option<&str>) -> Result<FaultKind, FaultsError> {
    let wrong = |expected: &'static str| FaultsError::Parameter {
        name: name.to_owned(),
        expected,
        found: parameter.unwrap_or_default().to_owned(),
    };
    if let (Some(_), false) = (parameter, PARAMETERS.contains(&name)) {
        return Err(wrong("no parameter"));
    }
    let status = |default: u16, allowed: &[u16]| match parameter.map_or(Ok(default), str::parse) {
        Ok(status) if allowed.contains(&status) => Ok(status),
        _ => Err(wrong("a status that this fault supports")),
    };
    let seconds =
        || parameter.unwrap_or("1").parse::<u64>().map_err(|_| wrong("a whole number of seconds such as `30`"));
    Ok(match name {
        "latency" => {
            FaultKind::Latency(duration(parameter.unwrap_or("1s")).ok_or_else(|| wrong("a duration such as `2s`"))?)
        }
        "rate429" => FaultKind::Rate429(RetryAfter::Seconds(seconds()?)),
        "rate429_bare" => FaultKind::Rate429(RetryAfter::Absent),
        "rate429_date" => FaultKind::Rate429(RetryAfter::Date(seconds()?)),
        "rate429_odd" => match seconds()? {
            place if place < ODD.len() as u64 => FaultKind::Rate429(RetryAfter::Odd(place as usize)),
            _ => return Err(wrong("the index of an odd time, 0 to 5")),
        },
        "charged_error" => FaultKind::ChargedError(status(422, &CHARGED_STATUSES)?),
        "crossed" => FaultKind::Crossed,
        "drop_after" => FaultKind::DropAfter,
        "drop_before" => FaultKind::DropBefore,
        "duplicate_names" => FaultKind::DuplicateNames,
        "error400" => FaultKind::Error400,
        "error401" => FaultKind::Error401,
        "error402" => FaultKind::Error402,
        "error403" => FaultKind::Error403,
        "error404" => FaultKind::Error404,
        "error405" => FaultKind::Error405,
        "error409" => FaultKind::Error409,
        "error500" => FaultKind::Error500,
        "error502" => FaultKind::Error502,
        "error503" => FaultKind::Error503,
        "error503_uncharged" => FaultKind::Error503Uncharged,
        "foreign" => FaultKind::Foreign,
        "html" => FaultKind::Html,
        "nulls" => FaultKind::Nulls,
        "odd_charge" => match parameter.unwrap_or("0").parse() {
            Ok(place) if place < ODD_CHARGES => FaultKind::OddCharge(place),
            _ => return Err(wrong("the index of an odd charge, 0 to 5")),
        },
        "other_input" => FaultKind::OtherInput,
        "other_mode" => FaultKind::OtherMode,
        "pending" => FaultKind::Pending,
        "redirect" => FaultKind::Redirect(status(307, &[301, 302, 303, 307, 308])?),
        "row" => match parameter.and_then(RowTreatment::of) {
            Some(treatment) => FaultKind::Row(treatment),
            None => return Err(wrong("a status or a name such as `404` or `surrogate`")),
        },
        "truncate" => FaultKind::Truncate,
        other => unreachable!("`{other}` is not in the list of names"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_fault_is_parsed() {
        for name in NAMES {
            let parameter = if name == "row" { ":404" } else { "" };
            let faults: Faults = format!("{name}:0.5{parameter}").parse().unwrap();
            assert_eq!(faults.0.len(), 1, "{name}");
        }
        assert_eq!("".parse::<Faults>().unwrap(), Faults::none());
    }

    #[test]
    fn a_wrong_list_says_what_was_expected() {
        let message = |text: &str| text.parse::<Faults>().unwrap_err().to_string();
        let unknown =
            "no fault is called `drop_aftr`; did you mean `drop_after`?; the faults are charged_error, crossed, ";
        assert!(message("drop_aftr:1").starts_with(unknown), "{}", message("drop_aftr:1"));
        assert!(NAMES.iter().all(|name| message("bogus:1").contains(name)));
        assert!(message("html").contains("expected `html:PROBABILITY`"), "{}", message("html"));
        assert!(message("html:1.5").contains("0 to 1"));
        assert!(message("html@0").contains("from 1"));
        assert!(message("latency:1:soon").contains("a duration such as `2s`"));
        assert!(message("error500:1:2").contains("no parameter"));
        assert!(message("charged_error:1:418").contains("a status that this fault supports"));
        assert!(message("row:0.1:999").contains("such as `404` or `surrogate`"));
        assert!(message("row@3:404").contains("expected `row:PROBABILITY`"));
    }

    #[test]
    fn a_seed_draws_the_same_faults_and_the_nth_occurs_once() {
        let faults: Faults = "drop_before@2, error500:0.3, latency:1:2s".parse().unwrap();
        let draws = || {
            let mut rng = Rng::new(9);
            (1..=50).map(|nth| faults.draw(&mut rng, nth)).collect::<Vec<_>>()
        };
        assert_eq!(draws(), draws());
        assert_eq!(draws().iter().filter(|(kind, _)| *kind == Some(FaultKind::DropBefore)).count(), 1);
        assert!(draws().iter().all(|(_, delay)| *delay == Duration::from_secs(2)));
    }
}
