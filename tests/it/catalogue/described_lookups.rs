//! What the service's description says about bundles, ongoing monitoring, directors, bank accounts and licences, written
//! by hand from it and from nothing else.

use super::described::{Described, DescribedColumn, DescribedField, assumed, assumed_field, field, shown};
use rescreen::{
    catalogue::{ColumnKind, Flow},
    model::field::FieldKind,
};
use serde_json::{Value, json};

/// A check without anything that is special.
fn plain(name: &'static str, path: &'static str, fixed: Value, fields: Vec<DescribedField>) -> Described {
    Described {
        name,
        guide: path,
        alternate: path,
        flow: Flow::Direct,
        key_life_hours: 72,
        fixed,
        fields,
        payload: "/results",
        columns: Vec::new(),
        verdict_is_shown: false,
    }
}

fn optional(field: DescribedField) -> DescribedField {
    DescribedField { required: false, ..field }
}

fn all_assumed(columns: &[(&'static str, ColumnKind)]) -> Vec<DescribedColumn> {
    columns.iter().map(|(pointer, kind)| assumed(pointer, *kind)).collect()
}

pub fn lookups() -> Vec<Described> {
    use ColumnKind::{Boolean, Count, Date, Json, Text};
    vec![
        // "type Individual; firstName, surname; identityNumber; identityType IDNumber; bankName one of the supported
        // bank names; bankAccountNumber; bankBranchCode; bankAccountType"; the answer is not shown.
        Described {
            payload: "/results/bank_account_verification",
            columns: all_assumed(&[
                ("/outcome", Text),
                ("/identity_and_account_verified", Boolean),
                ("/checks/accountFound", Boolean),
                ("/checks/accountOpen", Boolean),
                ("/checks/accountNumberLengthValid", Boolean),
                ("/checks/accountTypeMatch", Boolean),
                ("/verification_results/identityMatch", Boolean),
                ("/checks/initialsMatch", Boolean),
                ("/checks/surnameMatch", Boolean),
                ("/checks/acceptsDebits", Boolean),
                ("/checks/acceptsCredits", Boolean),
                ("/bank/name", Text),
                ("/bank/accountNumberLast4", Text),
                ("/verification_results/bankReference", Text),
            ]),
            ..plain(
                "bank-account",
                "/bank-account-verification",
                json!({"type": "Individual", "identityType": "IDNumber"}),
                vec![
                    field("firstName", FieldKind::Text),
                    field("surname", FieldKind::Text),
                    field("identityNumber", FieldKind::SaId),
                    field("bankName", FieldKind::Text),
                    field("bankAccountNumber", FieldKind::Digits),
                    field("bankBranchCode", FieldKind::Digits),
                    field("bankAccountType", FieldKind::Text),
                ],
            )
        },
        // "/cipc/director" in the alternate list alone; "request and response shapes not shown".
        Described {
            payload: "/results/cipc_director_search",
            columns: all_assumed(&[
                ("/full_name", Text),
                ("/directorships", Count),
                ("/directorships/0/company_name", Text),
                ("/directorships/0/registration_number", Text),
                ("/directorships/0/company_status", Text),
                ("/directorships", Json),
            ]),
            ..plain(
                "cipc-director",
                "/cipc/director",
                json!({"reportType": "cipc_director_search"}),
                vec![assumed_field("idNumber", FieldKind::SaId)],
            )
        },
        // "/consumer-trace-lite" in the alternate list alone; "a lighter contact/address lookup".
        Described {
            payload: "/results/consumer_trace_lite",
            columns: all_assumed(&[
                ("/AddressData", Count),
                ("/ContactData", Count),
                ("/AddressData/0/address_line_1", Text),
                ("/ContactData/0/number", Text),
            ]),
            ..plain(
                "consumer-trace-lite",
                "/consumer-trace-lite",
                json!({}),
                vec![assumed_field("idNumber", FieldKind::SaId)],
            )
        },
        // "input is the back-of-card image or the complete barcode payload; additive bundles"; "POST /drivers-licence: … optional bundle"; no value of it
        // and no other name is shown.
        Described {
            payload: "/results/drivers_licence",
            columns: all_assumed(&[
                ("/licenceNumber", Text),
                ("/surname", Text),
                ("/initials", Text),
                ("/idNumber", Text),
                ("/validFrom", Date),
                ("/validTo", Date),
                ("/vehicleCategories", Count),
                ("/vehicleCategories", Json),
                ("/validationChecks", Json),
            ]),
            ..plain(
                "drivers-licence",
                "/drivers-licence",
                json!({}),
                vec![
                    DescribedField {
                        default: Some("drivers_licence_barcode"),
                        ..optional(field("bundle", FieldKind::Text))
                    },
                    optional(assumed_field("authority_confirmed", FieldKind::Boolean)),
                    optional(assumed_field("barcode_base64", FieldKind::Base64)),
                    optional(assumed_field("image_base64", FieldKind::Image)),
                ],
            )
        },
        // "/verify request: idNumber, reportType or bundle, mode"; "kyc_bundle (/verify)"; its parts are not shown.
        Described {
            flow: Flow::Replay,
            payload: "/results/kyc_bundle",
            columns: all_assumed(&[
                ("/said_verification/realTimeResults/Status", Text),
                ("/said_verification/realTimeResults/Verification/Firstnames", Text),
                ("/said_verification/realTimeResults/Verification/Lastname", Text),
                ("/said_verification/realTimeResults/Verification/Dob", Date),
                ("/said_verification/realTimeResults/Verification/Gender", Text),
                ("/aml_screening/match", Count),
                ("/consumer_trace/AddressData", Count),
            ]),
            ..plain("kyc-bundle", "/verify", json!({"bundle": "kyc_bundle"}), vec![field("idNumber", FieldKind::SaId)])
        },
        // "input is a disc image or decoded barcode text; a barcode or number-plate comparison report is chosen;
        // include_visual_fields (boolean); allow_visual_fallback (boolean)".
        Described {
            payload: "/results/vehicle_licence_disc",
            columns: all_assumed(&[
                ("/registrationNumber", Text),
                ("/vin", Text),
                ("/make", Text),
                ("/model", Text),
                ("/colour", Text),
                ("/engineNumber", Text),
                ("/vehicleClass", Text),
                ("/expiryDate", Date),
                ("/expired", Boolean),
            ]),
            ..plain(
                "licence-disc",
                "/vehicle-licence-disc",
                json!({"bundle": "vehicle_licence_disc"}),
                vec![
                    DescribedField {
                        default: Some("barcode"),
                        ..optional(assumed_field("report_type", FieldKind::Text))
                    },
                    optional(assumed_field("authority_confirmed", FieldKind::Boolean)),
                    optional(field("include_visual_fields", FieldKind::Boolean)),
                    optional(field("allow_visual_fallback", FieldKind::Boolean)),
                    optional(assumed_field("barcode_text", FieldKind::Text)),
                    optional(assumed_field("image_base64", FieldKind::Image)),
                ],
            )
        },
    ]
    .into_iter()
    .chain(["enrol", "rescreen", "withdraw"].map(ongoing))
    .collect()
}

/// "POST /aml-ongoing: enrol / rescreen / withdraw with name plus identifier"; "Responses carry
/// results.Header.DatasetVersion and results.Header.DatasetPublishedAt"; "Paths and payloads of the ongoing-AML rescreen
/// and withdraw operations: not shown".
fn ongoing(operation: &'static str) -> Described {
    let (name, hits) = match operation {
        "enrol" => ("aml-ongoing-enrol", true),
        "rescreen" => ("aml-ongoing-rescreen", true),
        _ => ("aml-ongoing-withdraw", false),
    };
    let mut columns = vec![
        shown("/Header/DatasetVersion", ColumnKind::Text),
        shown("/Header/DatasetPublishedAt", ColumnKind::Text),
        assumed("/status", ColumnKind::Text),
        assumed("/enrolment/id", ColumnKind::Text),
    ];
    if hits {
        columns.push(assumed("/match", ColumnKind::Count));
        columns.push(assumed("/match/0/name", ColumnKind::Text));
        columns.push(assumed("/match/0/type", ColumnKind::Text));
    }
    Described {
        columns,
        ..plain(
            name,
            "/aml-ongoing",
            json!({"action": operation}),
            vec![field("name", FieldKind::Text), assumed_field("identifier", FieldKind::Text)],
        )
    }
}
