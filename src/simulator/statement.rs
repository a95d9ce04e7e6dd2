//! How a reply states credits: where, and in which format. The service's description names three places
//! (`remainingCredits` in the results envelope, "credits spent" in `meta`, `creditsUsed` with some bank replies) and
//! promises none of them, so each is simulated alone. A service that states nothing is simulated too.

use serde_json::{Value, json};

/// Where a reply states credits. Only one of these at a time, because the description does not promise two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChargeStated {
    /// `creditsUsed`, in `meta` if there is one. Described for bank verification.
    Used,
    /// Only `remainingCredits`, the balance after the charge. Described for the results envelope.
    Remaining,
    /// `meta.credits_spent`. The description says only "credits spent"; the spelling is assumed.
    Meta,
    /// Neither a charge nor a balance.
    Nothing,
    /// [`ELSEWHERE`], which is found only with a configured pointer.
    Elsewhere,
}

/// Where [`ChargeStated::Elsewhere`] states the charge and the balance.
pub const ELSEWHERE: [&str; 2] = ["/billing/charged", "/billing/left"];

/// The format of an amount of credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CreditsFormat {
    /// `7`
    #[default]
    Integer,
    /// `7.0`
    Float,
    /// `"7.00"`
    Text,
    /// A charge of 7 is stated as `6.5`, and a balance of 7 as `7.5`: a charge must be rounded up, and a balance down.
    Fraction,
}

/// Invalid charges: negative, far too large, or not a number.
pub(super) fn odd_charge(place: usize) -> Value {
    [json!(-7), json!(1e23), json!(u64::MAX), json!("seven"), json!(true), json!([7])][place % ODD_CHARGES].clone()
}

/// The number of invalid charges.
pub(super) const ODD_CHARGES: usize = 6;

/// Where and in which format credits are stated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Statement {
    pub(super) stated: ChargeStated,
    pub(super) format: CreditsFormat,
}

impl Statement {
    /// Adds the statement of a completed answer.
    pub(super) fn of_answer(self, body: &mut Value, credits: u64, remaining: u64) {
        let pointer = match self.stated {
            ChargeStated::Nothing => return,
            ChargeStated::Remaining => {
                let pointer = if body.get("meta").is_some() { "/meta/remainingCredits" } else { "/remainingCredits" };
                return set(body, pointer, self.balance(remaining));
            }
            ChargeStated::Elsewhere => {
                set(body, ELSEWHERE[1], self.balance(remaining));
                ELSEWHERE[0]
            }
            ChargeStated::Used if body.get("meta").is_some() => "/meta/creditsUsed",
            ChargeStated::Used => "/creditsUsed",
            ChargeStated::Meta => "/meta/credits_spent",
        };
        set(body, pointer, self.charge(credits));
    }

    /// Adds the charge of a refusal. It is always stated, because the contract is that a refusal without a stated
    /// charge costs nothing.
    pub(super) fn of_refusal(self, body: &mut Value, credits: u64) {
        set(body, self.charge_pointer(), self.charge(credits));
    }

    /// States that a refusal was not charged, at a place that the description does not name. Without it, a program that
    /// is told to look there would find no proof.
    pub(super) fn no_charge(self, body: &mut Value) {
        if self.stated == ChargeStated::Elsewhere {
            set(body, ELSEWHERE[0], 0.into());
        }
    }

    /// Replaces the charge with an invalid one.
    pub(super) fn odd(self, body: &mut Value, place: usize) {
        set(body, self.charge_pointer(), odd_charge(place));
    }

    fn charge_pointer(self) -> &'static str {
        match self.stated {
            ChargeStated::Meta => "/meta/credits_spent",
            ChargeStated::Elsewhere => ELSEWHERE[0],
            _ => "/creditsUsed",
        }
    }

    fn charge(self, credits: u64) -> Value {
        match self.format {
            CreditsFormat::Integer => credits.into(),
            CreditsFormat::Float => (credits as f64).into(),
            CreditsFormat::Text => format!("{credits}.00").into(),
            CreditsFormat::Fraction if credits == 0 => 0.into(),
            CreditsFormat::Fraction => (credits as f64 - 0.5).into(),
        }
    }

    fn balance(self, credits: u64) -> Value {
        match self.format {
            CreditsFormat::Integer => credits.into(),
            CreditsFormat::Float => (credits as f64).into(),
            CreditsFormat::Text => format!("{credits}.00").into(),
            CreditsFormat::Fraction => (credits as f64 + 0.5).into(),
        }
    }
}

/// Sets a value one or two levels deep, and creates the parent object.
fn set(body: &mut Value, pointer: &str, value: Value) {
    let mut names = pointer.split('/').skip(1);
    match (names.next(), names.next()) {
        (Some(outer), Some(inner)) => body[outer][inner] = value,
        (Some(name), None) => body[name] = value,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(stated: ChargeStated, format: CreditsFormat) -> Value {
        let mut body = json!({});
        Statement { stated, format }.of_answer(&mut body, 7, 93);
        body
    }

    #[test]
    fn each_setting_states_credits_only_in_its_own_place() {
        let integer = CreditsFormat::Integer;
        assert_eq!(stated(ChargeStated::Used, integer), json!({"creditsUsed": 7}));
        assert_eq!(stated(ChargeStated::Remaining, integer), json!({"remainingCredits": 93}));
        assert_eq!(stated(ChargeStated::Meta, integer), json!({"meta": {"credits_spent": 7}}));
        assert_eq!(stated(ChargeStated::Nothing, integer), json!({}));
        assert_eq!(stated(ChargeStated::Elsewhere, integer), json!({"billing": {"charged": 7, "left": 93}}));
    }

    #[test]
    fn fractions_texts_and_floats_are_stated_in_their_format() {
        assert_eq!(stated(ChargeStated::Used, CreditsFormat::Fraction), json!({"creditsUsed": 6.5}));
        assert_eq!(stated(ChargeStated::Remaining, CreditsFormat::Fraction), json!({"remainingCredits": 93.5}));
        assert_eq!(stated(ChargeStated::Used, CreditsFormat::Text), json!({"creditsUsed": "7.00"}));
        assert_eq!(stated(ChargeStated::Used, CreditsFormat::Float).to_string(), r#"{"creditsUsed":7.0}"#);
    }
}
