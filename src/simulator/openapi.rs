//! The OpenAPI document of the simulated service, generated from the catalogue: each route with the request of each of
//! its checks, the statuses that it can get, and both envelopes. It describes what the simulator serves, for tools that
//! test it and for clients in other languages.

use super::{
    answer_style::Envelope,
    check::Check,
    field::{Digits, Field, FieldKind, FieldRule, LetterCase},
    settings::Settings,
};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The statuses of a check: status, meaning. 500 and above come from faults, and from the reserved inputs of the sandbox.
const STATUSES: [(&str, &str); 15] = [
    ("202", "accepted: the same request under the same key is in progress"),
    ("400", "invalid parameters"),
    ("401", "invalid API key"),
    ("402", "insufficient credits"),
    ("403", "the host or the origin is not this machine"),
    ("405", "the route does not accept this method"),
    ("408", "the body took too long"),
    ("409", "the key was used with another body, or the job is not completed"),
    ("413", "the body is too large"),
    ("415", "the format of a file is not accepted"),
    ("429", "rate limited, or the cooldown of the sandbox"),
    ("500", "internal error"),
    ("502", "processing failure"),
    ("503", "service unavailable"),
    ("404", "no such route"),
];

/// The document for these routes.
pub(super) fn document(routes: &HashMap<String, Vec<Arc<Check>>>, settings: &Settings) -> Value {
    let sorted: BTreeMap<&String, &Vec<Arc<Check>>> = routes.iter().collect();
    let mut paths: Map<String, Value> =
        sorted.into_iter().map(|(path, checks)| (path.clone(), json!({"post": operation(checks)}))).collect();
    let balance =
        json!({"description": "the credit balance", "content": {"application/json": {"schema": {"type": "object"}}}});
    let mut of_balance = refusals(&["401", "403", "408", "413", "429", "500", "502", "503"]);
    of_balance.insert("200".to_owned(), balance);
    let get = json!({"operationId": "my_credits", "summary": "credit balance", "responses": of_balance});
    paths.insert("/my_credits".to_owned(), json!({ "get": get }));
    for check in routes.values().flatten() {
        if let Some(job) = &check.job {
            paths.insert(job.status.clone(), json!({ "get": job_state() }));
            if let Some(path) = &job.retry_webhook {
                paths.insert(path.clone(), json!({ "post": redelivery() }));
            }
        }
    }
    let envelope = if settings.envelope == Envelope::Results { results() } else { data() };
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Simulated verification service",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Generated from the catalogue of rescreen. What the service's description does not show is \
                            marked with x-assumed.",
        },
        "security": [{"apiKey": []}, {"bearer": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
                "bearer": {"type": "http", "scheme": "bearer"},
            },
            "parameters": {"IdempotencyKey": {
                "name": "Idempotency-Key",
                "in": "header",
                "required": false,
                "description": "required in production",
                "schema": {"type": "string", "minLength": 8, "maxLength": 160, "pattern": "^[!-~]+$"},
            }},
            "schemas": {"Answer": envelope, "Error": error(), "Pending": pending()},
        },
    })
}

fn operation(checks: &[Arc<Check>]) -> Value {
    let names: Vec<&str> = checks.iter().map(|check| check.name.as_str()).collect();
    let bodies: Vec<Value> = checks.iter().map(|check| body(check)).collect();
    let schema = match <[Value; 1]>::try_from(bodies) {
        Ok([body]) => body,
        Err(bodies) => json!({ "anyOf": bodies }),
    };
    let mut responses = refusals(&STATUSES.map(|(status, _)| status));
    let content = json!({"application/json": {"schema": {"$ref": "#/components/schemas/Answer"}}});
    responses.insert("200".to_owned(), json!({"description": "completed", "content": content}));
    json!({
        "operationId": names.join("_or_"),
        "summary": checks.iter().map(|check| check.summary.as_str()).collect::<Vec<_>>().join("; or "),
        "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
        "requestBody": {"required": true, "content": content_of(checks, schema)},
        "responses": responses,
    })
}

/// The state of a job. Reading it costs nothing.
fn job_state() -> Value {
    let schema = json!({"type": "object", "properties": {"status": {"enum": ["pending", "completed", "failed"]}}});
    let content = json!({"application/json": {"schema": schema}});
    let mut responses = refusals(&["400", "401", "403", "404", "405", "408", "413", "429", "500", "502", "503"]);
    responses.insert("200".to_owned(), json!({"description": "the state of the job", "content": content}));
    json!({"summary": "state of a job", "parameters": [job_id()], "responses": responses})
}

/// The repeated delivery of a job's result. It costs nothing.
fn redelivery() -> Value {
    let schema = json!({"type": "object", "properties": receiver(), "dependentRequired": both_of_receiver()});
    let body = json!({"required": true, "content": {"application/json": {"schema": schema}}});
    let statuses = ["400", "401", "403", "404", "405", "408", "409", "413", "429", "500", "502", "503"];
    let mut responses = refusals(&statuses);
    let content = json!({"application/json": {"schema": {"type": "object"}}});
    responses.insert("200".to_owned(), json!({"description": "the result is delivered again", "content": content}));
    json!({
        "summary": "delivers a completed result again, to the same receiver or to another one",
        "parameters": [job_id()],
        "requestBody": body,
        "responses": responses,
    })
}

fn job_id() -> Value {
    json!({"name": "jobId", "in": "path", "required": true, "schema": {"type": "string"}})
}

/// The fields that name the receiver of a job's webhooks.
fn receiver() -> Value {
    json!({
        "webhookUrl": {"type": "string", "description": "an https URL, or an http URL of this machine"},
        "webhookSecret": {"type": "string", "minLength": 32, "writeOnly": true},
    })
}

fn both_of_receiver() -> Value {
    json!({"webhookUrl": ["webhookSecret"], "webhookSecret": ["webhookUrl"]})
}

/// The body as JSON, or as a form if it has files in parts of their own.
fn content_of(checks: &[Arc<Check>], schema: Value) -> Value {
    let media_type =
        if checks.iter().any(|check| check.is_form()) { "multipart/form-data" } else { "application/json" };
    json!({media_type: {"schema": schema}})
}

fn refusals(statuses: &[&str]) -> Map<String, Value> {
    let of = |(status, meaning): (&str, &str)| {
        let schema = if status == "202" { "Pending" } else { "Error" };
        let content = json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{schema}")}}});
        (status.to_owned(), json!({"description": meaning, "content": content}))
    };
    let mut known: Vec<_> = STATUSES.into_iter().filter(|(status, _)| statuses.contains(status)).collect();
    known.sort();
    known.into_iter().map(of).collect()
}

/// The body of a check. Fields that it does not declare are ignored by the service.
fn body(check: &Check) -> Value {
    let mut properties = Map::new();
    properties.insert("mode".to_owned(), json!({"enum": ["sandbox", "production"]}));
    for (name, value) in &check.fixed {
        let mut schema = json!({ "const": value });
        mark(&mut schema, check.is_assumed(&format!("fixed.{name}")));
        properties.insert(name.clone(), schema);
    }
    for field in &check.fields {
        properties.insert(field.name.clone(), property(field));
    }
    if let (true, Value::Object(receiver)) = (check.job.is_some(), receiver()) {
        properties.extend(receiver);
    }
    let required = check.fields.iter().filter(|field| field.required).map(|field| field.name.clone());
    let required: Vec<String> =
        std::iter::once("mode".to_owned()).chain(check.fixed.keys().cloned()).chain(required).collect();
    let mut schema = json!({"title": check.name, "type": "object", "properties": properties, "required": required});
    let rules: Vec<Value> = check.rules.iter().map(rule).collect();
    if check.job.is_some() {
        schema["dependentRequired"] = both_of_receiver();
    }
    if !rules.is_empty() {
        schema["allOf"] = rules.into();
    }
    schema
}

fn rule(rule: &FieldRule) -> Value {
    match rule {
        FieldRule::Together(fields) => {
            let others: Map<String, Value> = fields.iter().map(|field| (field.clone(), json!(fields))).collect();
            json!({ "dependentRequired": others })
        }
        FieldRule::AtMostOne(fields) => json!({"not": {"required": fields}}),
        FieldRule::OneOf(fields) => {
            json!({"anyOf": fields.iter().map(|field| json!({"required": [field]})).collect::<Vec<_>>()})
        }
    }
}

fn property(field: &Field) -> Value {
    let letters = match field.letter_case {
        LetterCase::Lower => "a-z",
        LetterCase::Upper => "A-Z",
        LetterCase::AsIs => "A-Za-z",
    };
    let pattern = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let mut schema = match field.kind {
        FieldKind::Text if field.required => pattern("\\S"),
        FieldKind::Text => json!({"type": "string"}),
        FieldKind::Integer => json!({"type": "integer"}),
        FieldKind::Boolean => json!({"type": "boolean"}),
        FieldKind::SaId => pattern("^[0-9]{13}$"),
        FieldKind::Country2 => pattern(&format!("^[{letters}]{{2}}$")),
        FieldKind::Country3 => pattern(&format!("^[{letters}]{{3}}$")),
        FieldKind::Country => pattern(&format!("^[{letters}]{{2,3}}$")),
        FieldKind::Image | FieldKind::Base64 => json!({"type": "string", "contentEncoding": "base64"}),
        FieldKind::ImageFile | FieldKind::Document => json!({"type": "string", "format": "binary"}),
        FieldKind::Date => json!({"type": "string", "format": "date"}),
        FieldKind::RegistrationNumber => pattern("^[0-9]{4}/[0-9]{6}/[0-9]{2}$"),
        FieldKind::Vin => pattern("^[A-HJ-NPR-Z0-9]{17}$"),
        FieldKind::Plate => pattern("^[A-Za-z0-9]{1,12}$"),
        FieldKind::PlateAny => json!({"type": "string", "minLength": 1, "maxLength": 20}),
        FieldKind::Digits => {
            let bounds = field.digits.map(Digits::bounds);
            let count = bounds.map_or_else(|| "+".to_owned(), |(min, max)| format!("{{{min},{max}}}"));
            pattern(&format!("^[0-9]{count}$"))
        }
    };
    if let Some(length_max) = field.length_max {
        schema["maxLength"] = length_max.into();
    }
    if let Some(choices) = &field.choices {
        schema["enum"] = json!(choices.texts());
    }
    if !field.allowed.is_empty() {
        schema["enum"] = json!(field.allowed);
    }
    if let Some(default) = &field.default {
        schema["default"] = default.clone();
    }
    if !field.doc.is_empty() {
        schema["description"] = field.doc.as_str().into();
    }
    mark(&mut schema, field.assumed);
    schema
}

fn mark(schema: &mut Value, assumed: bool) {
    if assumed {
        schema["x-assumed"] = true.into();
    }
}

/// The results envelope of the service's API description.
fn results() -> Value {
    let text = || json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {
            "success": {"type": "boolean"},
            "requestId": text(),
            "user_id": text(),
            "remainingCredits": {"type": ["integer", "string", "number"]},
            "mode": text(),
            "reportType": text(),
            "input": {"type": "object"},
            "results": {"type": ["object", "null"]},
        },
        "required": ["success"],
    })
}

/// Its second envelope.
fn data() -> Value {
    json!({
        "type": "object",
        "properties": {"data": {"type": ["object", "null"]}, "meta": {"type": "object"}},
        "required": ["data", "meta"],
    })
}

fn error() -> Value {
    let structured = json!({
        "type": "object",
        "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        "required": ["code", "message"],
    });
    json!({
        "type": "object",
        "properties": {"success": {"const": false}, "error": {"anyOf": [structured, {"type": "string"}]}},
        "required": ["error"],
    })
}

fn pending() -> Value {
    json!({
        "type": "object",
        "properties": {"status": {"const": "pending"}, "jobId": {"type": "string"}},
        "required": ["status"],
    })
}
