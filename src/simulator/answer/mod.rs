//! Completed answers: a pure function of the order, its receipt and the seed, so that a replay is the same text without
//! being kept. This file owns the two envelopes; what is inside is a file per check and a generic one.

mod aml;
mod generic;
mod identity;

use super::{Dialect, Envelope, dice::Dice, digest::digest_of_fields, keys::Receipt, order::Order};
use crate::model::{Mode, key::hex};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// How answers are shaped, for all of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    pub(super) seed: u64,
    pub(super) dialect: Dialect,
    pub(super) envelope: Envelope,
}

/// What the content of an answer is made from.
struct Question<'a> {
    order: &'a Order,
    at: Timestamp,
    /// A sandbox input ending in 90: the path without a finding.
    negative: bool,
    dice: Dice,
}

impl Question<'_> {
    fn text(&self, name: &str) -> &str {
        self.order.fields.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// The completed answer to an order.
pub(super) fn compose(order: &Order, receipt: &Receipt, manner: Manner) -> Value {
    let mut subject = order.fields.clone();
    subject.retain(|name, _| !["mode", "webhookUrl", "webhookSecret"].contains(&name.as_str()));
    let mut dice = Dice::of(manner.seed, digest_of_fields(&subject));
    let latency_ms = 40 + dice.below(900);
    let at = Timestamp::from_microsecond(receipt.at_us).unwrap_or(Timestamp::UNIX_EPOCH);
    let negative = order.mode == Mode::Sandbox && order.ends_in("90");
    let question = Question { order, at, negative, dice };
    let content = match order.check.name.as_str() {
        "aml-screening" => aml::content(question),
        "said-verification" => identity::content(question),
        _ => generic::content(question),
    };
    match manner.envelope {
        Envelope::Results => results(order, receipt, manner.dialect, subject, content),
        Envelope::DataMeta => data_meta(order, receipt, manner.dialect, latency_ms, content),
    }
}

/// The id of a request: its key, as seen in the field; one made of its content where it has none.
pub(super) fn request_id(order: &Order) -> String {
    order.idempotency_key.clone().unwrap_or_else(|| format!("req_{}", hex(&order.content)))
}

/// Service-api, "Verification response envelope".
fn results(order: &Order, receipt: &Receipt, dialect: Dialect, input: Map<String, Value>, content: Value) -> Value {
    let input: Map<String, Value> =
        input.into_iter().filter(|(name, _)| !order.check.fixed.contains_key(name)).collect();
    let report_type = match order.check.fixed.get("reportType") {
        Some(report_type) => report_type.clone(),
        None => order.check.name.replace('-', "_").into(),
    };
    let mut answer = json!({
        "success": true,
        "requestId": request_id(order),
        "user_id": "usr_simulated",
        "remainingCredits": receipt.remaining,
        "mode": order.mode,
        "reportType": report_type,
        "input": input,
    });
    if dialect == Dialect::Described {
        answer["creditsUsed"] = receipt.credits.into();
    }
    let pointers = &order.check.answer.payload;
    let pointer = pointers.iter().find(|pointer| pointer.starts_with("/results")).or(pointers.first());
    place(&mut answer, pointer.map_or("/results", String::as_str), content);
    answer
}

/// Service-api, the second envelope: a `data` object beside a `meta` object.
fn data_meta(order: &Order, receipt: &Receipt, dialect: Dialect, latency_ms: u64, content: Value) -> Value {
    let mut answer = json!({});
    let pointers = &order.check.answer.payload;
    let shortest = pointers.iter().filter(|pointer| pointer.starts_with("/data")).min_by_key(|pointer| pointer.len());
    place(&mut answer, shortest.or(pointers.first()).map_or("/data", String::as_str), content);
    let mut meta = json!({"requestId": request_id(order)});
    if dialect == Dialect::Described {
        meta["creditsUsed"] = receipt.credits.into();
    }
    meta["latency"] = latency_ms.into();
    meta["remainingCredits"] = receipt.remaining.into();
    answer["meta"] = meta;
    answer
}

/// Puts a value where a JSON pointer points, making what is on the way: a number makes a list. At the root, or where
/// something stands already, objects are joined.
fn place(root: &mut Value, pointer: &str, value: Value) {
    let mut at = root;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        at = match token.parse::<usize>() {
            Ok(index) if !at.is_object() && index < 100 => {
                if !at.is_array() {
                    *at = Value::Array(Vec::new());
                }
                let list = at.as_array_mut().expect("it was made a list above");
                while list.len() <= index {
                    list.push(Value::Null);
                }
                &mut list[index]
            }
            _ => {
                if !at.is_object() {
                    *at = Value::Object(Map::new());
                }
                at.as_object_mut().expect("it was made an object above").entry(token).or_insert(Value::Null)
            }
        };
    }
    match (at, value) {
        (Value::Object(there), Value::Object(more)) => there.extend(more),
        (at, value) => *at = value,
    }
}
