//! Consent: each row says that its person agreed, or the user names the evidence, which the ledger records.

use super::{FOREIGN, foreigners, world};
use crate::support::{
    program::{Said, rescreen},
    ran::results,
    tables::{files, text},
};
use rescreen::{mapping::FieldSource, model::ExitCode};
use std::fs;

#[tokio::test]
async fn a_row_without_consent_fails_before_anything_is_paid() {
    let no = |word: &str| foreigners(3).replacen("true", word, 1);
    for word in ["false", "", "no"] {
        let ran = world(FOREIGN, 3, 6).csv(&no(word)).run().await.exits(ExitCode::Failures);
        let ran = ran.charged(12).counts(results(2).failures(1));
        let failure = &ran.failures()[0];
        assert_eq!((text(failure, "stage"), ran.posts()), ("map", 2), "{word}: {failure:?}");
        assert!(text(failure, "message").contains("consentConfirmed"), "{failure:?}");
    }
}

#[tokio::test]
async fn a_row_without_a_purpose_fails_before_anything_is_paid() {
    let csv = foreigners(2).replacen("supplier payment", "", 1);
    let ran = world(FOREIGN, 2, 6).csv(&csv).run().await.exits(ExitCode::Failures).charged(6);
    assert_eq!(ran.failure_codes(), [("missing_value".to_owned(), 1)].into());
}

#[tokio::test]
async fn one_value_for_every_row_sends_nothing_without_evidence() {
    let constant = |file: &mut rescreen::pipeline::campaign::file::CampaignFile| {
        let value = FieldSource::Constant(true.into());
        file.checks[0].fields.insert("consentConfirmed".to_owned(), value);
    };
    let ran = world(FOREIGN, 2, 6).campaign(constant).run().await.exits(ExitCode::Usage);
    assert!(ran.error().contains("--consent-evidence"), "{}", ran.error());
    assert_eq!(ran.stats.requests, 0);
    let mut with_evidence =
        world(FOREIGN, 2, 6).campaign(constant).campaign(|file| file.consent.evidence = Some("form 7".to_owned()));
    with_evidence.run().await.exits(ExitCode::Complete).charged(12);
    let status = rescreen::pipeline::status(&with_evidence.path("out")).unwrap();
    let found: Vec<_> = status.consents.iter().map(|one| (one.check.as_str(), one.evidence.as_str())).collect();
    assert_eq!(found, [(FOREIGN, "form 7")]);
}

#[test]
fn the_evidence_is_recorded_with_who_and_when_and_status_and_collect_show_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("book.csv"), foreigners(2)).unwrap();
    let run = |evidence: &[&str]| {
        let mut arguments = vec![
            "run",
            "book.csv",
            "--check",
            FOREIGN,
            "--set",
            "consentConfirmed=true",
            "--simulate",
            "--per-minute",
            "6000",
        ];
        arguments.extend(evidence);
        Said::of(rescreen(folder.path(), &arguments).env("USER", "thandi"))
    };
    let said = run(&[]).exits(2).says("--consent-evidence REF");
    assert!(said.stderr.contains("map it to a column"), "{}", said.stderr);
    let ran = run(&["--consent-evidence", "board minute 12"]);
    assert!([0, 3].contains(&ran.code), "{}", ran.stderr);
    // A rehearsal is never chosen without its folder.
    let ledger = files(folder.path(), "").into_iter().find(|file| file.ends_with("ledger.sqlite")).unwrap();
    let out = ledger.parent().unwrap().to_str().unwrap();
    let status = Said::of(&mut rescreen(folder.path(), &["status", out])).exits(0);
    let wanted = "consent of foreign-bank-account: board minute 12; recorded by thandi on ";
    assert!(status.stdout.contains(wanted), "{}", status.stdout);
    let json = Said::of(&mut rescreen(folder.path(), &["status", out, "--json"])).exits(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["consents"][0]["recorded_by"], "thandi");
    let collected = Said::of(&mut rescreen(folder.path(), &["collect", out]));
    assert!(collected.stderr.contains(wanted), "{}", collected.stderr);
}
