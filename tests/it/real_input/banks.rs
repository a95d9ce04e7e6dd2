//! Banks: a published list of South African branch codes, with a code that begins with zero, and with banks that the
//! check does not know.

use crate::support::{data::shared, ran::results, tables::text, world::World};
use rescreen::{
    mapping::FieldSource,
    model::{Credits, ExitCode},
    pipeline::campaign::file::CheckTable,
};
use std::collections::BTreeMap;

#[tokio::test]
async fn branch_codes_are_sent_as_they_are_printed_and_unknown_banks_fail_with_the_list() {
    let Some(path) = shared("bank/za_bank_branch_codes.csv") else { return };
    let printed: BTreeMap<String, String> =
        csv::Reader::from_path(&path).unwrap().into_deserialize().map(Result::unwrap).collect();
    assert_eq!((printed.len(), printed["Standard Bank"].as_str()), (39, "051001"), "the data changed");
    let constants = [
        ("firstName", "Thandi"),
        ("surname", "Nkosi"),
        ("identityNumber", "8001015009087"),
        ("bankAccountType", "cheque"),
    ];
    let constants = constants.map(|(name, value)| (name.to_owned(), FieldSource::Constant(value.into())));
    // Each row gets its own account number, so that it gets its own answer.
    let account = [("bankAccountNumber".to_owned(), FieldSource::from("{{ '1000' ~ universal_branch_code }}"))];
    let mut world = World::new().campaign(|file| {
        file.input.paths = vec![path];
        file.input.id = Some("bank".into());
        file.budget.prices.insert("bank-account".into(), Credits(1));
        file.checks = vec![CheckTable {
            fields: constants.into_iter().chain(account).collect(),
            ..CheckTable::of("bank-account")
        }];
    });
    let ran = world
        .run()
        .await
        .exits(ExitCode::Failures)
        .counts(results(13).failures(printed.len() - 13))
        .charged(13)
        .adds_up(true);
    for line in ran.results() {
        let sent: serde_json::Value = serde_json::from_str(text(line, "sent")).unwrap();
        assert_eq!(sent["bankBranchCode"], printed[text(line, "subject")].as_str(), "{sent}");
    }
    assert!(ran.results().iter().any(|line| text(line, "sent").contains(r#""bankBranchCode":"051001""#)));
    for line in ran.failures() {
        assert_eq!(text(line, "code"), "invalid_value");
        let message = text(line, "message");
        assert!(message.contains("bankName") && message.contains("Standard Bank"), "{message}");
    }
}
