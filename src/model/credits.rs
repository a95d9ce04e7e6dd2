//! Credits: the unit in which the service charges. They are whole numbers, never negative.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt, iter::Sum, ops::Add, str::FromStr};

/// A number of the service's credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Credits(pub u64);

impl Credits {
    pub const ZERO: Credits = Credits(0);
    /// The largest number of credits that is accepted in a reply: 2^53 - 1. It is more than any account holds, and
    /// small enough for the ledger to sum over all requests of a run that are under way.
    pub const STATED_MAX: Credits = Credits((1 << 53) - 1);

    /// A stated charge above this many times the table price is not accepted.
    pub const ABSURD_TIMES: u64 = 100;

    /// Subtraction that stops at zero.
    pub fn saturating_sub(self, other: Credits) -> Credits {
        Credits(self.0.saturating_sub(other.0))
    }

    /// The price of `count` requests at this price each; the maximum number if that overflows.
    pub fn times(self, count: u64) -> Credits {
        Credits(self.0.saturating_mul(count))
    }
}

/// How a fraction of a credit is rounded: always so that more is counted as spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// For charges.
    Up,
    /// For balances. A balance below zero is zero.
    Down,
}

/// The content of a field that may hold an amount of credits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amount {
    /// The field is missing or null.
    Absent,
    Credits(Credits),
    /// The field is present and is not an amount. This is its text, shortened so that a message may show it.
    Unreadable(String),
}

impl Amount {
    /// The credits, if it is an amount.
    pub fn credits(&self) -> Option<Credits> {
        if let Amount::Credits(credits) = self { Some(*credits) } else { None }
    }
}

/// Reads an amount of credits: an integer, a float, or either as text. A negative charge is unreadable. All amounts are
/// read here.
pub fn read_amount(field: Option<&Value>, rounding: Rounding) -> Amount {
    let Some(field) = field.filter(|field| !field.is_null()) else { return Amount::Absent };
    match whole(field, rounding) {
        Some(credits) => Amount::Credits(credits.min(Credits::STATED_MAX)),
        None => Amount::Unreadable(shown(field)),
    }
}

fn whole(field: &Value, rounding: Rounding) -> Option<Credits> {
    // Integers first: a float cannot represent the largest ones.
    let number = match field {
        Value::Number(number) => match number.as_u64() {
            Some(credits) => return Some(Credits(credits)),
            None => number.as_f64()?,
        },
        Value::String(text) => match text.trim().parse() {
            Ok(credits) => return Some(Credits(credits)),
            Err(_) => text.trim().parse::<f64>().ok()?,
        },
        _ => return None,
    };
    match rounding {
        _ if !number.is_finite() => None,
        Rounding::Up if number < 0.0 => None,
        Rounding::Up => Some(Credits(number.ceil() as u64)),
        Rounding::Down => Some(Credits(number.max(0.0).floor() as u64)),
    }
}

/// The text of a field, shortened. It comes from the service, so only printable ASCII is shown.
fn shown(field: &Value) -> String {
    let text = field.as_str().map_or_else(|| field.to_string(), str::to_owned);
    let kept: String = text.chars().take(24).map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
    if text.chars().count() > 24 { format!("{kept}…") } else { kept }
}

impl Add for Credits {
    type Output = Credits;

    fn add(self, other: Credits) -> Credits {
        Credits(self.0.saturating_add(other.0))
    }
}

impl Sum for Credits {
    fn sum<I: Iterator<Item = Credits>>(iter: I) -> Credits {
        iter.fold(Credits::ZERO, Add::add)
    }
}

impl fmt::Display for Credits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Credits {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Credits, Self::Err> {
        text.parse().map(Credits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn charge(field: Value) -> Amount {
        read_amount(Some(&field), Rounding::Up)
    }

    #[test]
    fn integers_floats_and_numeric_text_are_amounts_and_a_fraction_of_a_charge_rounds_up() {
        for (field, credits) in [
            (json!(7), 7),
            (json!(7.0), 7),
            (json!("7"), 7),
            (json!(" 7.00 "), 7),
            (json!(7.5), 8),
            (json!("7.01"), 8),
            (json!(6.5), 7),
            (json!(0), 0),
            (json!(0.0), 0),
            (json!(1e3), 1_000),
            (json!(u64::MAX), Credits::STATED_MAX.0),
            (json!(1e23), Credits::STATED_MAX.0),
            (json!("1e300"), Credits::STATED_MAX.0),
            (json!(9_007_199_254_740_993_u64), Credits::STATED_MAX.0),
        ] {
            assert_eq!(charge(field.clone()), Amount::Credits(Credits(credits)), "{field}");
        }
    }

    #[test]
    fn a_field_with_an_invalid_amount_is_never_treated_as_absent() {
        let unreadable = ["-0.5", "-7", "seven", "7 credits", "7,00", "", "NaN"].map(Value::from);
        for field in unreadable.into_iter().chain([json!(-1), json!([7])]) {
            assert!(matches!(charge(field.clone()), Amount::Unreadable(_)), "{field}");
        }
        for field in [json!(true), json!({"amount": 7})] {
            assert!(matches!(charge(field.clone()), Amount::Unreadable(_)), "{field}");
        }
        assert_eq!(read_amount(None, Rounding::Up), Amount::Absent);
        assert_eq!(charge(Value::Null), Amount::Absent);
    }

    #[test]
    fn a_balance_rounds_down_and_a_debt_is_zero() {
        let balance = |field: Value| read_amount(Some(&field), Rounding::Down);
        assert_eq!(balance(json!(992.5)), Amount::Credits(Credits(992)));
        assert_eq!(balance(json!("12.9")), Amount::Credits(Credits(12)));
        assert_eq!(balance(json!(-100)), Amount::Credits(Credits::ZERO));
        assert!(matches!(balance(json!("1,000")), Amount::Unreadable(_)));
    }
}
