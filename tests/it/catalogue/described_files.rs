//! What the service's description says about the checks that send files, written by hand from it and from nothing else.

use super::described::{Described, DescribedColumn, DescribedField, assumed, assumed_field, field, shown};
use rescreen::{
    catalogue::{ColumnKind, FieldRule, Flow},
    model::{Credits, field::FieldKind},
};
use serde_json::{Value, json};

/// "Credits (production): passport authentication 3 per completed check; proof of address 3 per completed result".
pub fn price(name: &str) -> Option<Credits> {
    ["id-document", "proof-of-address"].contains(&name).then_some(Credits(3))
}

/// "as `front_image` (file upload) or `front_image_base64` (JSON)"; "the back-of-card image or the complete barcode
/// payload"; "a disc image or decoded barcode text".
pub fn rules(name: &str) -> Vec<FieldRule> {
    let one_of = |names: [&str; 2]| vec![FieldRule::OneOf(names.map(str::to_owned).to_vec())];
    match name {
        // "`front_image` (file upload) or `front_image_base64` (JSON)".
        "id-document" => {
            let at_most_one = |names: [&str; 2]| FieldRule::AtMostOne(names.map(str::to_owned).to_vec());
            let mut rules = one_of(["front_image", "front_image_base64"]);
            rules.push(at_most_one(["front_image", "front_image_base64"]));
            rules.push(at_most_one(["back_image", "back_image_base64"]));
            rules
        }
        "drivers-licence" => one_of(["barcode_base64", "image_base64"]),
        "licence-disc" => one_of(["barcode_text", "image_base64"]),
        _ => Vec::new(),
    }
}

fn optional(field: DescribedField) -> DescribedField {
    DescribedField { required: false, ..field }
}

pub fn files() -> Vec<Described> {
    vec![
        face("facematch", &["id_number", "selfie_image_base64"], "facematch"),
        face("facematch-standard", &["selfie_image_base64", "reference_image_base64"], "facematch_standard"),
        face(
            "facematch-verified",
            &["id_number", "selfie_image_base64", "reference_image_base64"],
            "facematch_verified",
        ),
        id_document(),
        proof_of_address(),
    ]
}

/// "Face match request"; "POST /facematch"; "The alternate forms … /face-match (table: /facematch)"; "Response:
/// results.face_match.status and results.face_match.score".
fn face(name: &'static str, fields: &[&'static str], bundle: &str) -> Described {
    let kind = |name: &str| if name == "id_number" { FieldKind::SaId } else { FieldKind::Image };
    Described {
        name,
        guide: "/facematch",
        alternate: "/face-match",
        flow: Flow::Direct,
        key_life_hours: 72,
        fixed: json!({ "bundle": bundle }),
        fields: fields.iter().map(|name| field(name, kind(name))).collect(),
        payload: "/results",
        columns: vec![
            shown("/face_match/status", ColumnKind::Text),
            shown("/face_match/score", ColumnKind::Number),
            assumed("/face_match/warnings", ColumnKind::Json),
        ],
        verdict_is_shown: false,
    }
}

/// "Passport authentication (POST /id-document-verify, bundle id_document_verification)"; "/verify-document"; "a
/// concurrent retry with the same key may return {status: pending} (HTTP 202)".
fn id_document() -> Described {
    let texts = ["status", "document_type", "document_subtype", "document_number", "personal_number", "first_name"];
    let more = ["last_name", "full_name", "issuing_state", "issuing_state_name", "nationality"];
    let of = |kind: ColumnKind| move |name: &&str| column(name, kind);
    let dates = ["date_of_birth", "expiration_date", "date_of_issue"];
    let images = ["portrait_image", "front_image", "back_image"];
    let mut columns: Vec<DescribedColumn> = texts.iter().chain(&more).map(of(ColumnKind::Text)).collect();
    columns.extend(dates.iter().map(of(ColumnKind::Date)));
    columns.extend(images.iter().map(of(ColumnKind::Text)));
    columns.extend(["mrz", "warnings"].iter().map(of(ColumnKind::Json)));
    assert_eq!(columns.len(), 19, "the fields of the table");
    columns.push(shown("/request_id", ColumnKind::Text));
    Described {
        name: "id-document",
        guide: "/id-document-verify",
        alternate: "/verify-document",
        flow: Flow::Replay,
        key_life_hours: 72,
        fixed: json!({"bundle": "id_document_verification"}),
        fields: vec![
            optional(field("front_image", FieldKind::ImageFile)),
            optional(field("front_image_base64", FieldKind::Image)),
            optional(assumed_field("back_image", FieldKind::ImageFile)),
            optional(assumed_field("back_image_base64", FieldKind::Image)),
            optional(field("issuing_country", FieldKind::Text)),
        ],
        payload: "/results",
        columns,
        verdict_is_shown: true,
    }
}

fn column(name: &str, kind: ColumnKind) -> DescribedColumn {
    shown(Box::leak(format!("/id_verification/{name}").into_boxed_str()), kind)
}

/// "Request (POST /proof-of-address): multipart/form-data with document (file) and mode; optional …"; "Result fields".
fn proof_of_address() -> Described {
    let texts = ["expected_first_name", "expected_last_name", "expected_address"];
    let mut fields = vec![field("document", FieldKind::Document)];
    fields.extend(texts.map(|name| optional(field(name, FieldKind::Text))));
    fields.push(optional(field("expected_country", FieldKind::Country)));
    fields.push(optional(field("document_password", FieldKind::Text)));
    Described {
        name: "proof-of-address",
        guide: "/proof-of-address",
        alternate: "/proof-of-address",
        flow: Flow::Upload,
        key_life_hours: 72,
        fixed: Value::Object(Default::default()),
        fields,
        payload: "/results",
        columns: vec![
            shown("/status", ColumnKind::Text),
            shown("/name_on_document", ColumnKind::Text),
            shown("/address", ColumnKind::Text),
            shown("/formatted_address", ColumnKind::Text),
            shown("/warnings", ColumnKind::Json),
        ],
        verdict_is_shown: true,
    }
}
