//! The texts of the catalogue: the built-in declarations, and the lists of texts that they name. The crate of the
//! simulated service includes this file too. The two crates share nothing else.

/// The built-in declarations, by name.
pub const CHECKS: &[(&str, &str)] = &[
    ("adverse-media", include_str!("adverse-media.toml")),
    ("africa-verification", include_str!("africa-verification.toml")),
    ("aml-ongoing-enrol", include_str!("aml-ongoing-enrol.toml")),
    ("aml-ongoing-rescreen", include_str!("aml-ongoing-rescreen.toml")),
    ("aml-ongoing-withdraw", include_str!("aml-ongoing-withdraw.toml")),
    ("aml-screening", include_str!("aml-screening.toml")),
    ("bank-account", include_str!("bank-account.toml")),
    ("business-bank-account", include_str!("business-bank-account.toml")),
    ("cipc-company", include_str!("cipc-company.toml")),
    ("cipc-director", include_str!("cipc-director.toml")),
    ("consumer-trace", include_str!("consumer-trace.toml")),
    ("consumer-trace-lite", include_str!("consumer-trace-lite.toml")),
    ("drivers-licence", include_str!("drivers-licence.toml")),
    ("foreign-bank-account", include_str!("foreign-bank-account.toml")),
    ("kyc-bundle", include_str!("kyc-bundle.toml")),
    ("licence-disc", include_str!("licence-disc.toml")),
    ("facematch", include_str!("facematch.toml")),
    ("facematch-standard", include_str!("facematch-standard.toml")),
    ("facematch-verified", include_str!("facematch-verified.toml")),
    ("id-document", include_str!("id-document.toml")),
    ("number-plate", include_str!("number-plate.toml")),
    ("proof-of-address", include_str!("proof-of-address.toml")),
    ("property-search", include_str!("property-search.toml")),
    ("said-verification", include_str!("said-verification.toml")),
    ("vehicle-check", include_str!("vehicle-check.toml")),
    ("vin-decode", include_str!("vin-decode.toml")),
];

/// The built-in lists of texts, by name, one text on each line.
pub const LISTS: [(&str, &str); 1] = [("issuing-codes", include_str!("issuing-codes.txt"))];
