//! The balance from `GET /my_credits`. Its fields are not documented, so the formats seen in public are tried, and a
//! JSON pointer can be configured. An answer without a known format has no balance, and production stops without one.

use super::said::{NotAnswered, Said};
use crate::model::{
    credits::{Amount, Credits, Rounding, read_amount},
    json_pointer,
};
use serde_json::Value;

/// JSON pointers where a balance was seen in public: `{"available_credits": 1000}` (also with more fields)
/// and `{"Status": "Success", "Result": {"credits": "1000"}}`. Assumed.
pub const BALANCE_POINTERS: [&str; 2] = ["/available_credits", "/Result/credits"];

/// A balance, and where it was in the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance {
    pub credits: Credits,
    pub pointer: String,
}

impl Balance {
    /// The path of the balance query. The service's API description, Endpoints.
    pub const PATH: &'static str = "/my_credits";
}

/// What the reply to a balance query says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BalanceReply {
    Balance(Balance),
    /// An answer without a balance in a known place.
    Unreadable,
    /// The service has no such route.
    Misrouted {
        status: u16,
    },
    NotAnswered(NotAnswered),
}

/// Reads the reply to a balance query.
pub fn balance_reply(said: &Said<'_>, configured: Option<&str>) -> BalanceReply {
    if let Some(not_answered) = said.not_answered() {
        return BalanceReply::NotAnswered(not_answered);
    }
    let status = said.status().unwrap_or_default();
    match said.value().filter(|_| said.kind.is_success()) {
        Some(answer) => balance_in(answer, configured).map_or(BalanceReply::Unreadable, BalanceReply::Balance),
        None if said.kind.is_misrouted() => BalanceReply::Misrouted { status },
        None => BalanceReply::NotAnswered(NotAnswered::Unavailable { message: format!("HTTP {status}") }),
    }
}

/// The balance in an answer: at the configured pointer if there is one, otherwise at the first known pointer that has
/// one. A fraction is rounded down, and a balance below zero is zero.
pub fn balance_in(answer: &Value, configured: Option<&str>) -> Option<Balance> {
    let known = BALANCE_POINTERS.iter().copied();
    let pointers: Vec<&str> = configured.map_or_else(|| known.collect(), |pointer| vec![pointer]);
    pointers.into_iter().find_map(|pointer| match read_amount(json_pointer::at(answer, pointer), Rounding::Down) {
        Amount::Credits(credits) => Some(Balance { credits, pointer: pointer.to_owned() }),
        Amount::Absent | Amount::Unreadable(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credits(body: &str, pointer: Option<&str>) -> Option<u64> {
        balance_in(&serde_json::from_str(body).ok()?, pointer).map(|balance| balance.credits.0)
    }

    #[test]
    fn the_three_formats_seen_in_public_are_read() {
        assert_eq!(credits(r#"{"available_credits": 1000}"#, None), Some(1000));
        assert_eq!(credits(r#"{"available_credits": 7, "source": "org", "organizationName": "x"}"#, None), Some(7));
        let nested = r#"{"Status": "Success", "Result": {"credits": "1000", "last_refresh": "2026-01-01"}}"#;
        assert_eq!(credits(nested, None), Some(1000));
    }

    #[test]
    fn only_a_configured_pointer_is_read() {
        assert_eq!(credits(r#"{"wallet": {"left": 12.9}, "available_credits": 5}"#, Some("/wallet/left")), Some(12));
        assert_eq!(credits(r#"{"available_credits": 5}"#, Some("/wallet/left")), None);
    }

    #[test]
    fn anything_else_is_not_a_balance() {
        for body in ["", "{}", "[]", "<html>", r#"{"available_credits": null}"#, r#"{"available_credits": "NaN"}"#] {
            assert_eq!(credits(body, None), None, "{body}");
        }
        assert_eq!(credits(r#"{"available_credits": -3}"#, None), Some(0));
    }
}
