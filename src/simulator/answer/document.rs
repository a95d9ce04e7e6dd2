//! The answers about documents: a passport or identity document with its machine-readable zone, and a proof of address.
//! All people and addresses in them are invented.

use super::{
    identity::{FEMALE, LAST, MALE},
    question::Question,
};
use crate::{digest::hex, rng::Rng};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

/// The start of a JPEG in base64, in place of a portrait.
const PORTRAIT: &str = "/9j/4AAQSkZJRgABAQAAAQABAAD/2Q==";

/// The authentication of a document. Every field of the description's table is present, and null where nothing was
/// extracted.
pub(super) fn identity(question: Question<'_>) -> Value {
    let mut rng = question.rng;
    let roll = rng.below(100);
    let (status, warnings) = match roll {
        _ if question.negative => (json!("Declined"), vec![]),
        0..70 => (json!("Approved"), vec![]),
        70..78 => (json!("Approved"), vec![warning("DOCUMENT_EXPIRED", "warning")]),
        78..84 => (json!("In Review"), vec![warning("MRZ_AND_DATA_EXTRACTED_FROM_OCR_NOT_SAME", "warning")]),
        84..90 => (json!("Declined"), vec![warning("MRZ_VALIDATION_FAILED", "error")]),
        90..94 => (json!("Declined"), vec![warning("SCREEN_CAPTURE_DETECTED", "error")]),
        94..97 => (Value::Null, vec![]),
        _ => (json!("Expired"), vec![]),
    };
    let code = match question.order.fields.get("issuing_country").and_then(Value::as_str) {
        Some(code) => code.to_owned(),
        None => "ZAF".to_owned(),
    };
    let is_male = rng.below(2) == 0;
    let first = *rng.pick(if is_male { &MALE } else { &FEMALE });
    let last = *rng.pick(&LAST);
    // No document of a rehearsal has expired, in whichever year it is.
    let next_year = question.at.to_zoned(TimeZone::UTC).year() as u64 + 1;
    let (year, month, day) = (1950 + rng.below(55), 1 + rng.below(12), 1 + rng.below(28));
    let number = format!("{}{:08}", char::from(b'A' + rng.below(26) as u8), rng.below(100_000_000));
    let born = format!("{:02}{month:02}{day:02}", year % 100);
    let mrz = mrz(&code, (first, last), &number, (&born, next_year), is_male, &mut rng);
    let back = ["back_image", "back_image_base64"].iter().any(|name| question.order.fields.contains_key(*name));
    let name = |text: &str| if roll >= 97 { Value::Null } else { Value::from(text) };
    let verification = json!({
        "status": status,
        "document_type": "Passport",
        "document_subtype": "TD3",
        "document_number": number,
        "personal_number": if rng.below(3) == 0 { Value::Null } else { json!(format!("{:013}", rng.below(10_u64.pow(13)))) },
        "first_name": name(first),
        "last_name": name(last),
        "full_name": name(&format!("{first} {last}")),
        "issuing_state": code,
        "issuing_state_name": "Simulated State",
        "nationality": "ZAF",
        "date_of_birth": format!("{year}-{month:02}-{day:02}"),
        "expiration_date": format!("{}-{month:02}-{day:02}", next_year + rng.below(8)),
        "date_of_issue": format!("{}-{month:02}-{day:02}", 2018 + rng.below(8)),
        "portrait_image": PORTRAIT,
        "front_image": PORTRAIT,
        "back_image": if back { json!(PORTRAIT) } else { Value::Null },
        "mrz": mrz,
        "warnings": warnings,
    });
    json!({"request_id": hex(&rng.roll().to_be_bytes()), "id_verification": verification})
}

fn warning(risk: &str, log_type: &str) -> Value {
    json!({"risk": risk, "log_type": log_type, "short_description": "simulated", "long_description": "a simulated finding"})
}

/// The machine-readable zone of a passport, with its check digits.
fn mrz(
    code: &str,
    (first, last): (&str, &str),
    number: &str,
    (birth, next_year): (&str, u64),
    is_male: bool,
    rng: &mut Rng,
) -> Value {
    let fill = |text: String, length: usize| format!("{text:<<length$}");
    let plain = |text: &str| text.to_uppercase().replace(['-', ' '], "<");
    let upper = fill(format!("P<{code}{}<<{}", plain(last), plain(first)), 44);
    let (sex, expiry) = (if is_male { "M" } else { "F" }, format!("{:02}0101", (next_year + rng.below(8)) % 100));
    let optional = fill(String::new(), 14);
    let [of_number, of_birth, of_expiry, of_optional] =
        [number, birth, &expiry, &optional].map(|text| check_digit(text).to_string());
    let key = format!("{number}{of_number}{birth}{of_birth}{expiry}{of_expiry}{optional}{of_optional}");
    let last_digit = check_digit(&key).to_string();
    let lower =
        format!("{number}{of_number}ZAF{birth}{of_birth}{sex}{expiry}{of_expiry}{optional}{of_optional}{last_digit}");
    json!({
        "mrz_type": "TD3", "mrz_string": format!("{upper}\n{lower}"), "surname": plain(last), "name": plain(first),
        "country": code, "nationality": "ZAF", "birth_date": birth, "expiry_date": expiry, "sex": sex,
        "document_type": "P", "document_number": number, "optional_data": "", "personal_number": Value::Null,
        "birth_date_hash": of_birth, "expiry_date_hash": of_expiry, "document_number_hash": of_number,
        "optional_data_hash": of_optional, "final_hash": last_digit, "mrz_key": key, "warnings": [], "errors": [],
    })
}

/// The check digit of ICAO 9303: weights 7, 3 and 1, letters from 10.
fn check_digit(text: &str) -> u32 {
    let value = |c: char| c.to_digit(36).unwrap_or_default();
    text.chars().zip([7, 3, 1].into_iter().cycle()).map(|(c, weight)| value(c) * weight).sum::<u32>() % 10
}

/// A proof of address. Expected fields that were not sent are left out of the comparison.
pub(super) fn address(question: Question<'_>) -> Value {
    let mut rng = question.rng;
    let person = format!("{} {}", rng.pick(&FEMALE), rng.pick(&LAST));
    let address = format!("{} Basalt Road, Emberfield, {:04}", 1 + rng.below(300), 1_000 + rng.below(8_000));
    let sent = |name: &str| question.order.fields.get(name).and_then(Value::as_str);
    let mut warnings = Vec::new();
    let mut finding = |code: &str, message: &str| warnings.push(json!({"code": code, "message": message}));
    let status = match rng.below(100) {
        _ if question.negative => "Declined",
        0..75 => "Approved",
        75..85 if sent("expected_address").is_some() => {
            finding("ADDRESS_MISMATCH", "the address differs from the expected one");
            "Approved"
        }
        75..85 => "Approved",
        85..90 => {
            finding("DOCUMENT_TOO_OLD", "the document was issued more than three months ago");
            "Declined"
        }
        _ => "Declined",
    };
    json!({
        "status": status,
        "name_on_document": person,
        "address": address,
        "formatted_address": format!("{address}, South Africa"),
        "warnings": warnings,
    })
}
