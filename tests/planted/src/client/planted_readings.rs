//! Classifies replies, with the planted bug if there is one.

use super::{
    classify::{self, Classified, ReplySpec, refusal},
    json_body::JsonBody,
    reply_kind::ReplyKind,
    said::{PushBack, Said},
};
use crate::model::{
    Credits,
    planted::{Bug, planted},
    state::Outcome,
};
use serde_json::{Map, Value};

/// Classifies what was said to a request of a check.
pub fn classify(said: Said<'_>, spec: &ReplySpec<'_>) -> Classified {
    let kind = said.kind;
    mistaken(kind, classify::classify(said, &mistaken_spec(*spec)))
}

/// The specification as a reader with the planted bug would use it.
fn mistaken_spec(spec: ReplySpec<'_>) -> ReplySpec<'_> {
    match spec.charge_pointer {
        Some(_) if planted(Bug::ConfiguredPointerIgnored) => ReplySpec { charge_pointer: None, ..spec },
        None if planted(Bug::MetaChargeUnread) => ReplySpec { charge_pointer: Some("/creditsUsed"), ..spec },
        _ if planted(Bug::AbsurdChargeBooked) => ReplySpec { price: Credits(u64::MAX), ..spec },
        _ => spec,
    }
}

/// The classification as a reader with the planted bug would return it.
fn mistaken(kind: ReplyKind, correct: Classified) -> Classified {
    let outcome = match (kind, correct.outcome) {
        (kind, Outcome::ChargedRefusal { stated }) if planted(Bug::RefusalChargeIgnored) => refusal(kind, stated),
        (ReplyKind::ServerError, Outcome::Unknown) if planted(Bug::HoldFreedBy502) => Outcome::Uncharged,
        (ReplyKind::Accepted, Outcome::Pending { stated }) if planted(Bug::PendingAnswered) => {
            Outcome::Answered { stated }
        }
        (ReplyKind::Success, Outcome::Pending { stated }) if planted(Bug::StatusAlone) => Outcome::Answered { stated },
        (ReplyKind::Success, Outcome::Unconvincing | Outcome::Unreadable | Outcome::Unknown)
            if planted(Bug::StatusAlone) =>
        {
            Outcome::Answered { stated: None }
        }
        (_, outcome) => outcome,
    };
    let empty = || JsonBody {
        value: Value::Object(Map::new()).into(),
        duplicate_names: false,
        wrong_encoding: false,
        unreadable_numbers: false,
    };
    let answer = match correct.answer {
        None if kind == ReplyKind::Success && planted(Bug::StatusAlone) => Some(empty()),
        answer => answer,
    };
    let push_back = match correct.push_back {
        Some(PushBack::Stated(_)) if planted(Bug::RetryAfterIgnored) => None,
        push_back => push_back,
    };
    Classified { outcome, answer, push_back, ..correct }
}
