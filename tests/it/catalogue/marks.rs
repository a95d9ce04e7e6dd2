//! What the description does not show although it shows the check, part by part, written by hand from the description:
//! parts of a check, limits of a field, and single rules of a verdict.

use rescreen::catalogue::{Catalogue, Declaration};
use std::collections::BTreeSet;

/// One line for each check: its own parts, its fields with their parts, and its rules by finding.
const MARKS: &str = "
africa-verification answer.payload;;
business-bank-account fixed.bankBranchCode answer.payload;;
foreign-bank-account; firstName.required firstName.length_max surname.required surname.length_max passportNumber.required passportNumber.length_max passportCountry.required passportCountry.allowed passportCountry.letter_case bankName.required bankName.length_max bankAccountNumber.required bankAccountNumber.length_max bankBranchCode.required bankBranchCode.length_max bankAccountType.required consentConfirmed.required purpose.required purpose.length_max; in_review account_not_found account_closed passport_mismatch holder_mismatch verified
adverse-media answer.matches; name.required name.length_max entity.required; sanctions_match pep_match
aml-ongoing-enrol fixed.action answer.matches; name.required name.length_max;
aml-ongoing-rescreen routes.guide fixed.action answer.matches; name.required name.length_max;
aml-ongoing-withdraw routes.guide fixed.action; name.required name.length_max;
aml-screening answer.payload answer.compared answer.matches; name.required name.length_max entity.required country.required dataset.length_max dataset.default;
bank-account answer.payload answer.volatile; firstName.required firstName.length_max surname.required surname.length_max identityNumber.required bankName.required bankName.choices bankAccountNumber.required bankAccountNumber.kind bankAccountNumber.digits bankBranchCode.required bankBranchCode.kind bankBranchCode.digits bankAccountType.required bankAccountType.choices;
cipc-company answer.payload; registration_number.required registration_number.kind;
cipc-director flow routes.guide fixed.reportType answer.payload;;
consumer-trace routes.guide routes.alternate answer.payload; idNumber.required;
consumer-trace-lite flow routes.guide answer.payload;;
drivers-licence flow answer.payload; bundle.default bundle.length_max;
facematch; id_number.required selfie_image_base64.required;
facematch-standard; selfie_image_base64.required;
facematch-verified; id_number.required selfie_image_base64.required;
id-document routes.alternate cached_failure; front_image.kind front_image_base64.kind; fields_not_read document_expired
kyc-bundle flow answer.payload answer.volatile; idNumber.required;
licence-disc flow fixed.bundle answer.payload;;
number-plate flow routes.guide answer.payload;;
proof-of-address;; fields_not_read in_review
property-search answer.payload;;
said-verification flow; idNumber.required; invalid not_found
vehicle-check answer.payload; registrationNumber.length_max; no_vehicle
vin-decode flow routes.guide answer.payload;;
";

fn marks(line: &str) -> BTreeSet<String> {
    let mut parts = line.split(';');
    let mut own = parts.next().unwrap().split_whitespace();
    let check = own.next().unwrap();
    let mut words = |kind: &str| -> Vec<String> {
        parts.next().unwrap_or_default().split_whitespace().map(|word| format!("{check} {kind} {word}")).collect()
    };
    let (fields, rules) = (words("field"), words("rule"));
    own.map(|part| format!("{check} part {part}")).chain(fields).chain(rules).collect()
}

fn declared(check: &Declaration) -> BTreeSet<String> {
    let name = &check.name;
    let own = check.assumed_parts.iter().map(|part| format!("{name} part {part}"));
    let fields = check
        .fields
        .iter()
        .flat_map(|field| field.assumed_parts.iter().map(move |part| format!("{name} field {}.{part}", field.name)));
    let rules = check.verdict.rules.iter().filter(|rule| rule.assumed);
    own.chain(fields).chain(rules.map(|rule| format!("{name} rule {}", rule.finding))).collect()
}

#[test]
fn every_part_that_the_description_does_not_show_is_marked_and_no_other() {
    let wanted: BTreeSet<String> = MARKS.lines().filter(|line| !line.is_empty()).flat_map(marks).collect();
    let found: BTreeSet<String> = Catalogue::built_in().iter().flat_map(declared).collect();
    let differences: Vec<&String> = wanted.symmetric_difference(&found).collect();
    assert_eq!(differences, Vec::<&String>::new());
}
