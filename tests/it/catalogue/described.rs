//! What the service's description says about each check, written by hand from it and from nothing else. "Shown" means
//! that the description says so; everything else must be declared assumed.

use rescreen::{
    catalogue::{ColumnKind, Flow},
    model::field::FieldKind,
};
use serde_json::{Value, json};

/// What the description says about one check.
pub struct Described {
    pub name: &'static str,
    pub guide: &'static str,
    pub alternate: &'static str,
    pub flow: Flow,
    pub key_life_hours: u32,
    pub fixed: Value,
    pub fields: Vec<DescribedField>,
    pub payload: &'static str,
    pub columns: Vec<DescribedColumn>,
    /// Whether the description shows values that the rules use. `marks` lists the rules that it does not show.
    pub verdict_is_shown: bool,
}

pub struct DescribedField {
    pub name: &'static str,
    /// The type in the table: `string` or `integer`, as the notes refine it.
    pub kind: FieldKind,
    pub required: bool,
    /// As JSON text; empty where any value is allowed.
    pub allowed: &'static [i64],
    pub default: Option<&'static str>,
    /// Whether the description shows it.
    pub shown: bool,
}

pub struct DescribedColumn {
    /// The first place in the payload.
    pub pointer: &'static str,
    pub kind: ColumnKind,
    /// Whether the description shows it.
    pub shown: bool,
}

pub const fn field(name: &'static str, kind: FieldKind) -> DescribedField {
    DescribedField { name, kind, required: true, allowed: &[], default: None, shown: true }
}

pub const fn assumed_field(name: &'static str, kind: FieldKind) -> DescribedField {
    DescribedField { shown: false, ..field(name, kind) }
}

pub const fn shown(pointer: &'static str, kind: ColumnKind) -> DescribedColumn {
    DescribedColumn { pointer, kind, shown: true }
}

pub const fn assumed(pointer: &'static str, kind: ColumnKind) -> DescribedColumn {
    DescribedColumn { pointer, kind, shown: false }
}

pub fn described() -> Vec<Described> {
    vec![
        // "Request: name (string), entity (0 person, 1 company), mode. Response: results.articles (article evidence)
        // and results.screening (premium screening findings where available)"; "Adverse-media replay window: 48 hours";
        // "202: adverse-media concurrent retry still processing". The alternate list has no path for it.
        Described {
            name: "adverse-media",
            guide: "/adverse-media",
            alternate: "/adverse-media",
            flow: Flow::Replay,
            key_life_hours: 48,
            fixed: json!({}),
            fields: vec![
                field("name", FieldKind::Text),
                DescribedField { allowed: &[0, 1], ..field("entity", FieldKind::Integer) },
            ],
            payload: "/results",
            columns: vec![
                shown("/articles", ColumnKind::Count),
                assumed("/articles/0/title", ColumnKind::Text),
                assumed("/articles/0/url", ColumnKind::Text),
                assumed("/articles/0/published_at", ColumnKind::Date),
                shown("/screening", ColumnKind::Json),
            ],
            verdict_is_shown: true,
        },
        // "AML screening request"; "POST /aml-screening: mode, name, entity, country, dataset"; "/aml-pep";
        // "Idempotency key lifetime: 72 hours"; "Response fields of the aml-screening record: not shown".
        Described {
            name: "aml-screening",
            guide: "/aml-screening",
            alternate: "/aml-pep",
            flow: Flow::Direct,
            key_life_hours: 72,
            fixed: json!({}),
            fields: vec![
                field("name", FieldKind::Text),
                DescribedField { allowed: &[0, 1], ..field("entity", FieldKind::Integer) },
                field("country", FieldKind::Country2),
                DescribedField { required: false, default: Some("all"), ..field("dataset", FieldKind::Text) },
            ],
            payload: "/results",
            columns: vec![
                assumed("/match", ColumnKind::Count),
                assumed("/match/0/name", ColumnKind::Text),
                assumed("/match/0/type", ColumnKind::Text),
                assumed("/match/0/score", ColumnKind::Number),
                assumed("/Header/DatasetVersion", ColumnKind::Text),
                assumed("/Header/DatasetPublishedAt", ColumnKind::Text),
            ],
            verdict_is_shown: false,
        },
        // "/cipc request: reportType = cipc_company_match, registration_number (string), mode"; "/cipc/company (table:
        // /cipc)"; "Response fields of the … company … records: not shown".
        Described {
            name: "cipc-company",
            guide: "/cipc",
            alternate: "/cipc/company",
            flow: Flow::Direct,
            key_life_hours: 72,
            fixed: json!({"reportType": "cipc_company_match"}),
            fields: vec![field("registration_number", FieldKind::RegistrationNumber)],
            payload: "/results/cipc_company_match",
            columns: vec![
                assumed("/company_name", ColumnKind::Text),
                assumed("/registration_number", ColumnKind::Text),
                assumed("/company_status", ColumnKind::Text),
                assumed("/company_type", ColumnKind::Text),
                assumed("/registration_date", ColumnKind::Date),
                assumed("/vat_number", ColumnKind::Text),
                assumed("/physical_address", ColumnKind::Text),
                assumed("/director_count", ColumnKind::Count),
            ],
            verdict_is_shown: false,
        },
        // "reportType: values seen: … consumer_trace"; "/verify request: idNumber, reportType or bundle, mode";
        // "returns in one call four groups: AddressData, EmploymentData, ContactData, DefiniteMatchData";
        // "/consumer-trace: request and response shapes not shown".
        Described {
            name: "consumer-trace",
            guide: "/verify",
            alternate: "/consumer-trace",
            flow: Flow::Direct,
            key_life_hours: 72,
            fixed: json!({"reportType": "consumer_trace"}),
            fields: vec![field("idNumber", FieldKind::SaId)],
            payload: "/results/consumer_trace",
            columns: vec![
                shown("/AddressData", ColumnKind::Count),
                shown("/EmploymentData", ColumnKind::Count),
                shown("/ContactData", ColumnKind::Count),
                shown("/DefiniteMatchData", ColumnKind::Json),
                assumed("/EmploymentData/0/employer", ColumnKind::Text),
                assumed("/full_name", ColumnKind::Text),
                assumed("/gender", ColumnKind::Text),
                assumed("/date_of_birth", ColumnKind::Date),
                assumed("/AddressData/0/address_line_1", ColumnKind::Text),
                assumed("/ContactData/0/number", ColumnKind::Text),
            ],
            verdict_is_shown: false,
        },
        // "/number-plate" in the alternate list alone; "Request and response shapes … not shown".
        Described {
            name: "number-plate",
            guide: "/number-plate",
            alternate: "/number-plate",
            flow: Flow::Direct,
            key_life_hours: 72,
            fixed: json!({}),
            fields: vec![assumed_field("registrationNumber", FieldKind::PlateAny)],
            payload: "/results/vehicle_lookup",
            columns: vehicle_columns(),
            verdict_is_shown: false,
        },
        // "POST /property-search: ID number, mode; search result with found"; "a valid South African ID number; a
        // completed search with found = false is still charged". How the field is spelt is not shown.
        Described {
            name: "property-search",
            guide: "/property-search",
            alternate: "/property-search",
            flow: Flow::Direct,
            key_life_hours: 72,
            fixed: json!({}),
            fields: vec![assumed_field("idNumber", FieldKind::SaId)],
            payload: "/results/property_search",
            columns: vec![
                shown("/found", ColumnKind::Boolean),
                assumed("/properties", ColumnKind::Count),
                assumed("/properties/0/title_deed", ColumnKind::Text),
                assumed("/properties/0/address", ColumnKind::Text),
            ],
            verdict_is_shown: true,
        },
        // "POST /verify: reportType or bundle, idNumber, mode"; "Inside results.said_verification: …"; only the status
        // `ID Number Valid` is shown, so the rules about others are assumed.
        Described {
            name: "said-verification",
            guide: "/verify",
            alternate: "/verify",
            flow: Flow::Replay,
            key_life_hours: 72,
            fixed: json!({"reportType": "said_verification"}),
            fields: vec![field("idNumber", FieldKind::SaId)],
            payload: "/results/said_verification",
            columns: vec![
                shown("/realTimeResults/Status", ColumnKind::Text),
                shown("/realTimeResults/Verification/Firstnames", ColumnKind::Text),
                shown("/realTimeResults/Verification/Lastname", ColumnKind::Text),
                shown("/realTimeResults/Verification/Dob", ColumnKind::Date),
                shown("/realTimeResults/Verification/Age", ColumnKind::Integer),
                shown("/realTimeResults/Verification/Gender", ColumnKind::Text),
                shown("/realTimeResults/Verification/Citizenship", ColumnKind::Text),
                shown("/realTimeResults/Verification/DateIssued", ColumnKind::Text),
                shown("/realTimeResults/transaction_id", ColumnKind::Text),
                shown("/Status", ColumnKind::Text),
                shown("/meta/environment", ColumnKind::Text),
                shown("/meta/timestamp", ColumnKind::Timestamp),
            ],
            verdict_is_shown: true,
        },
        // "POST /vehicle-check: registrationNumber, optional vin"; "registrationNumber (South African plate), optional
        // vin (17 characters). Plate-only requests return lookupType = registration and vehicleMatched = null. The
        // response groups vehicle identity, licensing, technical specifications, roadworthy details, security fields"
        // and shows none of them.
        Described {
            name: "vehicle-check",
            guide: "/vehicle-check",
            alternate: "/vehicle-check",
            flow: Flow::Direct,
            key_life_hours: 72,
            fixed: json!({}),
            fields: vec![
                field("registrationNumber", FieldKind::Plate),
                DescribedField { required: false, ..field("vin", FieldKind::Vin) },
            ],
            payload: "/results/vehicle_check",
            columns: [
                vec![shown("/lookupType", ColumnKind::Text), shown("/vehicleMatched", ColumnKind::Boolean)],
                vehicle_columns(),
                ["/licensing", "/technical", "/roadworthy", "/security", "/supplementary"]
                    .map(|at| assumed(at, ColumnKind::Json))
                    .into(),
            ]
            .into_iter()
            .flatten()
            .collect(),
            verdict_is_shown: true,
        },
        // "17-character VIN decode"; "/vin-decode" in the alternate list alone; "Request and response shapes … not
        // shown".
        Described {
            name: "vin-decode",
            guide: "/vin-decode",
            alternate: "/vin-decode",
            flow: Flow::Direct,
            key_life_hours: 72,
            fixed: json!({}),
            fields: vec![assumed_field("vin", FieldKind::Vin)],
            payload: "/results/vehicle_lookup",
            columns: vehicle_columns(),
            verdict_is_shown: false,
        },
    ]
}

fn vehicle_columns() -> Vec<DescribedColumn> {
    vec![
        assumed("/vehicle/make", ColumnKind::Text),
        assumed("/vehicle/model", ColumnKind::Text),
        assumed("/vehicle/year", ColumnKind::Integer),
        assumed("/vehicle/colour", ColumnKind::Text),
        assumed("/vehicle/engineNumber", ColumnKind::Text),
        assumed("/vehicle/vin", ColumnKind::Text),
    ]
}
