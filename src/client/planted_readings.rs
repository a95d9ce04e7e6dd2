//! Classifies replies, with the planted bug if there is one.

use super::{
    classify::{self, Classified, PushBack, ReplySpec, refusal},
    json_body::JsonBody,
    transport::{Exchange, Reply},
};
use crate::model::{
    Credits,
    planted::{Bug, planted},
    state::Outcome,
};
use serde_json::{Map, Value};
use std::time::SystemTime;

/// Classifies an exchange. `now` is this machine's clock.
pub fn classify(exchange: &Exchange, spec: &ReplySpec<'_>, now: SystemTime) -> Classified {
    let classified = classify::classify(exchange, &mistaken_spec(*spec), now);
    match &exchange.reply {
        Ok(reply) => mistaken(reply, classified),
        Err(_) => classified,
    }
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
fn mistaken(reply: &Reply, correct: Classified) -> Classified {
    let outcome = match (reply.status, correct.outcome) {
        (status @ 300.., Outcome::ChargedRefusal { stated }) if planted(Bug::RefusalChargeIgnored) => {
            refusal(status, stated)
        }
        (502, Outcome::Unknown) if planted(Bug::HoldFreedBy502) => Outcome::Uncharged,
        (202, Outcome::Pending { stated }) if planted(Bug::PendingAnswered) => Outcome::Answered { stated },
        (200, Outcome::Pending { stated }) if planted(Bug::StatusAlone) => Outcome::Answered { stated },
        (200, Outcome::Unconvincing | Outcome::Unreadable | Outcome::Unknown) if planted(Bug::StatusAlone) => {
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
        None if reply.status == 200 && planted(Bug::StatusAlone) => Some(empty()),
        answer => answer,
    };
    let push_back = match correct.push_back {
        Some(PushBack::Stated(_)) if planted(Bug::RetryAfterIgnored) => None,
        push_back => push_back,
    };
    Classified { outcome, answer, push_back, ..correct }
}
