//! The checks of a campaign: two of them, drawn for each seed; what a row of a book requests from each, and which
//! answer is clear. Written from the service's description and the field notes, not from the declarations.

use super::rng::Rng;
use serde_json::Value;

/// One check in a campaign of the simulation.
#[derive(Debug)]
pub struct Check {
    pub name: &'static str,
    /// The sources of its fields, as lines of the campaign file.
    fields: &'static str,
    /// The field that sends a file.
    pub file: Option<&'static str>,
}

const PERSON: &str = "fields.name = \"name\"\nfields.entity = { value = 0 }\n";
/// No identifier ends in a number that the sandbox reserves.
const CUSTOMER: &str = "fields.name = \"name\"\nfields.identifier = \"{{ no }}x\"\n";
const ACCOUNT: &str = "fields.firstName = \"name\"\nfields.surname = { value = \"Vexford\" }\n\
                       fields.identityNumber = \"id_number\"\nfields.bankName = { value = \"FNB\" }\n\
                       fields.bankAccountNumber = { value = \"6212345678\" }\n\
                       fields.bankBranchCode = { value = \"051001\" }\n\
                       fields.bankAccountType = { value = \"Cheque\" }\n";
const AML: &Check = &CHECKS[0];
const SAID: &Check = &CHECKS[1];
const CHECKS: [Check; 15] = [
    Check {
        name: "aml-screening",
        fields: "fields.name = \"name\"\nfields.entity = { value = 0 }\nfields.country = \"country\"\nfields.dataset = \"dataset\"\n",
        file: None,
    },
    Check { name: "said-verification", fields: "", file: None },
    Check { name: "adverse-media", fields: PERSON, file: None },
    Check { name: "cipc-company", fields: "fields.registration_number = \"company\"\n", file: None },
    Check {
        name: "vehicle-check",
        fields: "fields.registrationNumber = \"plate\"\nfields.vin = \"vin\"\n",
        file: None,
    },
    Check { name: "vin-decode", fields: "", file: None },
    Check { name: "number-plate", fields: "", file: None },
    Check { name: "property-search", fields: "", file: None },
    Check { name: "consumer-trace", fields: "", file: None },
    Check { name: "consumer-trace-lite", fields: "", file: None },
    Check { name: "cipc-director", fields: "", file: None },
    Check { name: "kyc-bundle", fields: "", file: None },
    Check { name: "aml-ongoing-enrol", fields: CUSTOMER, file: None },
    Check { name: "aml-ongoing-withdraw", fields: CUSTOMER, file: None },
    Check { name: "bank-account", fields: ACCOUNT, file: None },
];

/// Checks that are answered later as a job.
pub const OF_JOBS: [Check; 3] = [
    Check {
        name: BUSINESS,
        fields: "fields.businessName = \"name\"\nfields.registrationNumber = \"company\"\n\
                 fields.bankName = { value = \"FNB\" }\nfields.bankAccountNumber = \"id_number\"\n\
                 fields.bankAccountType = { value = \"current\" }\n",
        file: None,
    },
    Check {
        name: FOREIGN,
        fields: "fields.firstName = \"name\"\nfields.surname = { value = \"Vexford\" }\n\
                 fields.passportNumber = \"id_number\"\nfields.passportCountry = { value = \"NG\" }\n\
                 fields.bankName = { value = \"FNB\" }\nfields.bankAccountNumber = { value = \"6212345678\" }\n\
                 fields.bankBranchCode = { value = \"051001\" }\nfields.bankAccountType = { value = \"savings\" }\n\
                 fields.consentConfirmed = { value = true }\nfields.purpose = { value = \"supplier payment\" }\n",
        file: None,
    },
    Check {
        name: "africa-verification",
        fields: "fields.country = { value = \"ng\" }\nfields.id_type = { value = \"NIN_V2\" }\n\
                 fields.id_number = \"id_number\"\n",
        file: None,
    },
];
pub const BUSINESS: &str = "business-bank-account";
/// It may be answered at once.
pub const FOREIGN: &str = "foreign-bank-account";
pub const ADDRESS: &str = "proof-of-address";
/// Checks that send a file: as base64 text, as a part of a multipart body, or by an upload.
pub const OF_FILES: [Check; 4] = [
    Check {
        name: ADDRESS,
        fields: "fields.document = \"{{ id_number }}.scan\"\nfields.expected_last_name = { value = \"Vexford\" }\n",
        file: Some("document"),
    },
    Check {
        name: "id-document",
        fields: "fields.front_image = \"{{ id_number }}.scan\"\nfields.issuing_country = { value = \"ZAF\" }\n",
        file: Some("front_image"),
    },
    Check {
        name: "id-document",
        fields: "fields.front_image_base64 = \"{{ id_number }}.scan\"\n",
        file: Some("front_image_base64"),
    },
    Check {
        name: "facematch",
        fields: "fields.id_number = \"id_number\"\nfields.selfie_image_base64 = \"{{ id_number }}.scan\"\n",
        file: Some("selfie_image_base64"),
    },
];

/// The checks of a seed. Half of the seeds have the two original ones. A separate rng leaves the rest of a script as it
/// was before there were others.
pub fn pair(seed: u64) -> [&'static Check; 2] {
    let mut rng = Rng::new(seed.rotate_left(23) ^ 0x5eed);
    if rng.chance(50) {
        return [AML, SAID];
    }
    let first = rng.below(CHECKS.len());
    let second = (first + 1 + rng.below(CHECKS.len() - 1)) % CHECKS.len();
    [&CHECKS[first], &CHECKS[second]]
}

/// What the rows of a seed expect of a person's ID number, in half of the seeds. All people of the books are men.
pub fn expects(seed: u64) -> Option<&'static str> {
    Rng::new(seed.rotate_left(41) ^ 0x0e15).pick(&[None, None, Some("MALE"), Some("female")])
}

/// What a row of a book has to ask about.
#[derive(Debug, Default)]
pub struct Cells {
    pub name: String,
    pub id_number: String,
    pub company: String,
    pub plate: String,
    pub vin: String,
}

impl Check {
    /// The check in a campaign file. `when` is one line or empty.
    pub fn table(&self, when: &str, expects: Option<&str>) -> String {
        let expect = match (self.name, expects) {
            ("said-verification", Some(gender)) => format!("expect.gender = {{ value = \"{gender}\" }}\n"),
            _ => String::new(),
        };
        format!("[[check]]\nuse = \"{}\"\n{when}{}{expect}", self.name, self.fields)
    }

    /// Whether an answer has the expected value. `None` where it does not state one, or nothing was expected.
    pub fn meets(&self, answer: &Value, expected: &str) -> Option<bool> {
        let gender = find(answer, "Gender").filter(|_| self.name == "said-verification")?;
        gender.as_str().map(|gender| gender.eq_ignore_ascii_case(expected))
    }

    /// The subject that must be sent for a row, however it is typed.
    pub fn wanted(&self, cells: &Cells) -> String {
        let signs = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_uppercase();
        match self.name {
            "aml-screening" | "adverse-media" | "aml-ongoing-enrol" | "aml-ongoing-withdraw" => {
                cells.name.trim().to_owned()
            }
            "cipc-company" | BUSINESS => {
                let digits: String = cells.company.chars().filter(char::is_ascii_digit).collect();
                let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
                format!("{}/{}/{}", part(0, 4), part(4, 10), part(10, digits.len()))
            }
            "vehicle-check" => format!("{} {}", signs(&cells.plate), signs(&cells.vin)),
            "vin-decode" => signs(&cells.vin),
            "number-plate" => signs(&cells.plate),
            _ => cells.id_number.trim().to_owned(),
        }
    }

    /// The subject that was sent.
    pub fn sent(&self, sent: &Value) -> String {
        let text = |name: &str| sent[name].as_str().unwrap_or_default().to_owned();
        match self.name {
            "aml-screening" | "adverse-media" | "aml-ongoing-enrol" | "aml-ongoing-withdraw" => text("name"),
            "bank-account" => text("identityNumber"),
            BUSINESS => text("registrationNumber"),
            FOREIGN => text("passportNumber"),
            "africa-verification" => text("id_number"),
            "cipc-company" => text("registration_number"),
            "vehicle-check" => format!("{} {}", text("registrationNumber"), text("vin")),
            "vin-decode" => text("vin"),
            "number-plate" => text("registrationNumber"),
            _ => text("idNumber"),
        }
    }

    /// Whether an answer is favourable. A look-up never is.
    pub fn is_clear(&self, answer: &Value) -> bool {
        let no_list = Value::Array(Vec::new());
        let empty = |name: &str| find(answer, name).and_then(Value::as_array).is_some_and(Vec::is_empty);
        match self.name {
            "aml-screening" | "aml-ongoing-enrol" => empty("match"),
            "kyc-bundle" => {
                let status = find(answer, "realTimeResults").map(|found| &found["Status"]);
                status.is_some_and(|status| status == "ID Number Valid") && empty("match")
            }
            ADDRESS => {
                content(answer).is_some_and(|found| found["status"] == "Approved" && found["warnings"] == no_list)
            }
            "id-document" => find(answer, "id_verification")
                .is_some_and(|found| found["status"] == "Approved" && found["warnings"] == no_list),
            "facematch" => find(answer, "face_match").is_some_and(|found| {
                found["status"] == "Approved" && found.get("warnings").is_none_or(|warnings| *warnings == no_list)
            }),
            "bank-account" | FOREIGN => {
                let verified = find(answer, "identity_and_account_verified");
                verified.or_else(|| find(answer, "outcome")).is_some_and(|word| word == true || word == "verified")
            }
            BUSINESS => {
                let checks = find(answer, "checks").and_then(Value::as_object);
                find(answer, "outcome").is_some_and(|word| word == "verified")
                    && checks.is_some_and(|checks| checks.values().all(|check| *check == true))
            }
            "adverse-media" => empty("articles") && (find(answer, "screening").is_none() || empty("screening")),
            "said-verification" => {
                find(answer, "realTimeResults").is_some_and(|found| found["Status"] == "ID Number Valid")
            }
            _ => false,
        }
    }

    /// Whether its requests may become jobs at the service.
    pub fn is_job(&self) -> bool {
        OF_JOBS.iter().any(|one| one.name == self.name)
    }

    /// Whether it sends documents, which may be large.
    pub fn has_documents(&self) -> bool {
        self.name == ADDRESS
    }

    /// Whether the service forgets its keys sooner than others.
    pub fn is_short_lived(&self) -> bool {
        self.name == "adverse-media"
    }

    /// How long the service remembers a key. Service description, Limits: 72 hours, adverse media 48.
    pub fn key_life_hours(path: &str) -> i64 {
        if path == "/adverse-media" { 48 } else { 72 }
    }
}

/// The content of an answer in either envelope.
fn content(answer: &Value) -> Option<&Value> {
    find(answer, "results").or_else(|| answer.get("data"))
}

/// The first value with this name, at any depth.
fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let object = value.as_object()?;
    object.get(name).or_else(|| object.values().find_map(|inner| find(inner, name)))
}

#[test]
fn half_of_the_seeds_have_the_first_two_checks_and_the_others_each_check_in_both_places() {
    let pairs: Vec<[&str; 2]> = (1..=1_000).map(|seed| pair(seed).map(|check| check.name)).collect();
    let first_two = pairs.iter().filter(|pair| **pair == ["aml-screening", "said-verification"]).count();
    assert!((450..580).contains(&first_two), "{first_two}");
    assert!(pairs.iter().all(|pair| pair[0] != pair[1]));
    for check in &CHECKS {
        for place in 0..2 {
            let count = pairs.iter().filter(|pair| pair[place] == check.name).count();
            assert!(count >= 15, "{} in place {place}: {count}", check.name);
        }
    }
}
