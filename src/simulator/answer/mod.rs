//! Completed answers: a pure function of the order, its receipt, the seed and what its row expects, so that a replay gives the same text
//! without being stored. This file builds the two envelopes. Their content comes from one file per check, and a generic
//! one.

mod aml;
mod bank;
mod company;
mod director;
mod document;
mod face;
mod generic;
mod identity;
mod job_result;
mod licence;
mod media;
mod ongoing;
mod property;
mod question;
mod trace;
mod vehicle;

use super::{
    answer_style::{AnswerStyle, Dialect, Envelope},
    check::{Check, Mode},
    digest::{digest_of_fields, hex},
    expected,
    jobs::report_type,
    keys::Receipt,
    order::Order,
    received::is_received,
    revision::Revision,
    rng::Rng,
    statement::Statement,
};
use jiff::Timestamp;
use question::{Question, place};
use serde_json::{Map, Value, json};

/// The completed answer to an order. `expected` is what its row expects of the answer, if that is known.
pub(super) fn compose(
    order: &Order,
    receipt: &Receipt,
    style: AnswerStyle,
    expected: Option<&Map<String, Value>>,
) -> Value {
    let mut subject = order.fields.clone();
    subject.retain(|name, _| !["mode", "webhookUrl", "webhookSecret", "document_reference"].contains(&name.as_str()));
    let mut rng = Rng::of(style.seed, digest_of_fields(&subject));
    let latency_ms = 40 + rng.below(900);
    let at = Timestamp::from_microsecond(receipt.at_us).unwrap_or(Timestamp::UNIX_EPOCH);
    let negative = order.mode == Mode::Sandbox && order.ends_in("90");
    let (mut details, dataset) = (None, style.dataset);
    match dataset.map(|day| Revision::of(style.seed, day, digest_of_fields(&subject))) {
        Some(Revision::Answer(revised)) => rng = revised,
        Some(Revision::Details(revised)) => details = Some(revised),
        Some(Revision::None) | None => {}
    }
    let question = Question { order, at, negative, dialect: style.dialect, rng, dataset, details };
    let mut content = match order.check.name.as_str() {
        "adverse-media" => media::content(question),
        "aml-ongoing-enrol" => ongoing::content(question, "enrolled"),
        "aml-ongoing-rescreen" => ongoing::content(question, "rescreened"),
        "aml-ongoing-withdraw" => ongoing::content(question, "withdrawn"),
        "africa-verification" => job_result::african(question),
        "business-bank-account" => job_result::of_business(question),
        "foreign-bank-account" => job_result::of_foreigner(question),
        "aml-screening" => aml::content(question),
        "bank-account" => bank::content(question),
        "cipc-company" => company::content(question),
        "cipc-director" => director::content(question),
        "consumer-trace" => trace::content(question),
        "consumer-trace-lite" => trace::lite(question),
        "drivers-licence" => licence::card(question),
        "kyc-bundle" => identity::bundle(question),
        "licence-disc" => licence::disc(question),
        "facematch" | "facematch-standard" | "facematch-verified" => face::content(question),
        "id-document" => document::identity(question),
        "proof-of-address" => document::address(question),
        "number-plate" => vehicle::of_plate(question),
        "property-search" => property::content(question),
        "said-verification" => identity::content(question),
        "vehicle-check" => vehicle::checked(question),
        "vin-decode" => vehicle::decoded(question),
        _ => generic::content(question),
    };
    if let Some(expected) = expected {
        expected::put(&order.check, &mut content, expected, style.seed, digest_of_fields(&subject));
    }
    // A separate generator, so that the place of the content does not change the content.
    let mut places = Rng::of(!style.seed, digest_of_fields(&subject));
    match style.envelope {
        Envelope::Results => {
            let place = place_of(order, "/results", style.dialect, &mut places);
            results(order, receipt, style.statement, subject, (place, content))
        }
        Envelope::DataMeta => {
            let place = place_of(order, "/data", style.dialect, &mut places);
            data_meta(order, receipt, style.statement, latency_ms, (place, content))
        }
    }
}

/// The result in an answer.
pub(super) fn result_of(order: &Order, answer: &Value) -> Value {
    order.check.answer.content(answer).cloned().unwrap_or_default()
}

/// Where the content is. As described: keyed by the report type under `results`, and directly under `data`. In the
/// field dialect: at any place of the declaration, because such services were seen to use several.
fn place_of<'a>(order: &'a Order, under: &'a str, dialect: Dialect, rng: &mut Rng) -> &'a str {
    let pointers = &order.check.answer.payload;
    // The description shows a singular `result` for checks with jobs.
    if order.check.job.is_some() && under == "/results" {
        return pointers.first().map_or(under, String::as_str);
    }
    let fitting: Vec<&String> = pointers.iter().filter(|pointer| pointer.starts_with(under)).collect();
    let described = match under {
        "/results" => fitting.first().copied(),
        _ => fitting.iter().copied().min_by_key(|pointer| pointer.len()),
    };
    match dialect {
        Dialect::Field if fitting.len() > 1 => fitting[rng.below(fitting.len() as u64) as usize],
        _ => described.or(pointers.first()).map_or(under, String::as_str),
    }
}

/// The id of a request: its key, as seen in the field, or one made from its content if it has no key.
pub(super) fn request_id(order: &Order) -> String {
    order.idempotency_key.clone().unwrap_or_else(|| format!("req_{}", hex(&order.content)))
}

/// Whether the input of an answer shows a field. The description: it echoes the submitted identifiers, so neither files
/// nor passwords.
fn is_echoed(check: &Check, name: &str, value: &Value) -> bool {
    let is_secret = check.fields.iter().any(|field| field.name == name && field.secret);
    !(check.fixed.contains_key(name) || is_received(value) || is_secret)
}

/// The results envelope. The service's API description, "Verification response envelope".
fn results(
    order: &Order,
    receipt: &Receipt,
    statement: Statement,
    input: Map<String, Value>,
    (at, content): (&str, Value),
) -> Value {
    let input: Map<String, Value> =
        input.into_iter().filter(|(name, value)| is_echoed(&order.check, name, value)).collect();
    let report_type = match order.check.fixed.get("reportType") {
        Some(report_type) => report_type.clone(),
        None if order.check.job.is_some() => report_type(&order.check).into(),
        None => order.check.name.replace('-', "_").into(),
    };
    let mut answer = json!({
        "success": true,
        "requestId": request_id(order),
        "user_id": "usr_simulated",
        "mode": order.mode,
        "reportType": report_type,
        "input": input,
    });
    statement.of_answer(&mut answer, receipt.credits, receipt.remaining);
    if order.check.job.is_some() {
        (answer["processingMode"], answer["status"]) = ("realtime".into(), "completed".into());
    }
    place(&mut answer, at, content);
    answer
}

/// The second envelope of the service's API description: a `data` object and a `meta` object.
fn data_meta(
    order: &Order,
    receipt: &Receipt,
    statement: Statement,
    latency_ms: u64,
    (at, content): (&str, Value),
) -> Value {
    let mut answer = json!({});
    place(&mut answer, at, content);
    answer["meta"] = json!({"requestId": request_id(order), "latency": latency_ms});
    statement.of_answer(&mut answer, receipt.credits, receipt.remaining);
    answer
}
