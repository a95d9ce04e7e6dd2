//! The answer to a bank account verification. The service's description shows no answer for domestic accounts: as
//! described, it has the result object of the other bank checks, with booleans; in the field dialect the strings `Yes`
//! and `No` that such services were seen to return. Four accounts in five are verified.

use super::question::Question;
use crate::{answer_style::Dialect, digest::hex};
use serde_json::{Value, json};

/// What the bank found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Account {
    Verified,
    Absent,
    Closed,
    OfSomebodyElse,
    OfAnotherType,
    RefusesDebits,
    /// The bank does not say whether the initials match.
    Undecided,
}

pub(super) fn content(mut question: Question<'_>) -> Value {
    let account = match question.rng.below(1_000) {
        _ if question.negative => Account::Absent,
        0..820 => Account::Verified,
        820..865 => Account::Absent,
        865..905 => Account::Closed,
        905..945 => Account::OfSomebodyElse,
        945..965 => Account::OfAnotherType,
        965..985 => Account::RefusesDebits,
        _ => Account::Undecided,
    };
    if question.dialect == Dialect::Field { strings(&mut question, account) } else { booleans(&question, account) }
}

fn booleans(question: &Question<'_>, account: Account) -> Value {
    let found = account != Account::Absent;
    let holder = found && account != Account::OfSomebodyElse;
    let number = question.text("bankAccountNumber");
    let last4 = number.get(number.len().saturating_sub(4)..).unwrap_or_default();
    json!({
        "outcome": if account == Account::Verified { "verified" } else { "not_verified" },
        "checks": {
            "accountFound": found,
            "accountOpen": found && account != Account::Closed,
            "accountNumberLengthValid": true,
            "accountTypeMatch": found && account != Account::OfAnotherType,
            "initialsMatch": (account != Account::Undecided).then_some(holder),
            "surnameMatch": holder,
            "acceptsDebits": found && account != Account::RefusesDebits,
            "acceptsCredits": found,
        },
        "bank": {"name": question.text("bankName"), "accountNumberLast4": format!("******{last4}")},
    })
}

fn strings(question: &mut Question<'_>, account: Account) -> Value {
    let word = |holds: bool| if holds { "Yes" } else { "No" };
    let found = account != Account::Absent;
    let reference = hex(&question.rng.roll().to_be_bytes());
    json!({
        "identity_and_account_verified": account == Account::Verified,
        "verification_results": {
            "Status": "Success",
            "accountFound": word(found),
            "accountOpen": word(found && account != Account::Closed),
            "identityMatch": word(found && account != Account::OfSomebodyElse),
            "accountTypeMatch": word(found && account != Account::OfAnotherType),
            "acceptsCredits": word(found),
            "acceptsDebits": word(found && account != Account::RefusesDebits),
            "lengthOpen": if account == Account::Undecided { Value::Null } else { "Yes".into() },
            "bankReference": reference,
            "bankResponseTimestamp": question.at.to_string(),
        },
    })
}
