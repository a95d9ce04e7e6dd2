//! Each check with files, from a book to its rows, in both dialects and envelopes.

use super::sample::{addresses, faces, id_number, jpeg, pdf, png, put, tiff, webp, world};
use crate::support::{
    dialects::{self, assert_has},
    ran::results,
    service::checks_with,
    tables::text,
};
use rescreen::{
    model::{Credits, ExitCode},
    pipeline::campaign::file::CheckTable,
};
use std::collections::BTreeMap;

const ROWS: usize = 60;

/// How often each verdict and finding of a check occurs, with fields from columns of the same name.
async fn findings(check: &str, fields: &[(&str, &str)]) -> BTreeMap<String, usize> {
    let filled = || {
        let world = world(check, fields);
        let mut book = "no,id,one,two,country\n".to_owned();
        for row in 0..ROWS {
            put(&world, &format!("{row}-one"), &jpeg(row as u64, 400));
            put(&world, &format!("{row}-two"), &jpeg(1_000 + row as u64, 500));
            book += &format!("{},{},{row}-one,{row}-two,zaf\n", row + 1, id_number(row as u32 + 1));
        }
        world.csv(&book)
    };
    dialects::findings(check, ROWS, || results(ROWS), filled).await
}

#[tokio::test]
async fn faces_are_matched_with_the_register_and_with_a_reference() {
    let wanted = ["clear match", "review in_review", "adverse declined"];
    let selfie = ("selfie_image_base64", "one");
    let reference = ("reference_image_base64", "two");
    assert_has(&findings("facematch", &[("id_number", "id"), selfie]).await, &wanted);
    assert_has(&findings("facematch-verified", &[("id_number", "id"), selfie, reference]).await, &wanted);
    assert_has(&findings("facematch-standard", &[selfie, reference]).await, &wanted);
}

#[tokio::test]
async fn documents_are_authenticated_as_an_upload_and_as_base64() {
    let wanted = ["clear approved", "review warnings", "review in_review", "adverse declined"];
    let country = ("issuing_country", "country");
    let parts = findings("id-document", &[("front_image", "one"), ("back_image", "two"), country]).await;
    assert_has(&parts, &wanted);
    let texts = [("front_image_base64", "one"), ("back_image_base64", "two"), country];
    assert_has(&findings("id-document", &texts).await, &wanted);
}

#[tokio::test]
async fn a_proof_of_address_is_approved_or_declined() {
    let wanted = ["clear approved", "adverse declined", "review warnings"];
    let fields = [("document", "one"), ("expected_address", "{{ no }} Long Street"), ("expected_country", "country")];
    assert_has(&findings("proof-of-address", &fields).await, &wanted);
}

#[tokio::test]
async fn every_accepted_format_is_sent_with_its_own_media_type() {
    let files: [&[u8]; 5] = [&jpeg(1, 100), &png(100), &webp(100), &tiff(100), &pdf(1, 100)];
    // The service compares the stated media type with the content.
    addresses(&files).run().await.exits(ExitCode::Complete).charged(15).counts(results(5));
    faces(&files[..4]).run().await.exits(ExitCode::Complete).charged(12).counts(results(4));
}

#[tokio::test]
async fn equal_bytes_at_another_path_are_one_charge() {
    let mut world = addresses(&[&pdf(1, 200), &pdf(1, 200), &pdf(2, 200)]);
    let ran = world.run().await.exits(ExitCode::Complete).charged(6).counts(results(3));
    let sent = text(ran.result_of(1), "sent");
    assert!(sent.starts_with(r#"{"document":"sha256:"#), "{sent}");
    assert_eq!(sent, text(ran.result_of(2), "sent"));
    assert_ne!(sent, text(ran.result_of(3), "sent"));
}

#[tokio::test]
async fn a_campaign_with_files_needs_the_folder_that_contains_them() {
    let mut world = faces(&[&jpeg(1, 100)]).campaign(|file| file.input.files_root = None);
    let error = world.run().await.exits(ExitCode::Usage).error();
    assert!(error.contains("field `selfie_image_base64`") && error.contains("--files-root DIR"), "{error}");
    let mut world = faces(&[&jpeg(1, 100)]).campaign(|file| file.input.files_root = Some("nowhere".into()));
    let error = world.run().await.exits(ExitCode::Usage).error();
    assert!(error.contains("--files-root nowhere"), "{error}");
}

#[tokio::test]
async fn a_document_check_without_any_image_is_a_mistake_of_the_mapping() {
    let mut world = world("id-document", &[]).csv("no,file\n1,a.jpg\n");
    let error = world.run().await.exits(ExitCode::Usage).error();
    assert!(error.contains("needs field `front_image` or `front_image_base64`"), "{error}");
    assert!(error.contains("--map front_image=COLUMN"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn pending_lost_and_failing_replies_are_repeated_with_the_same_body() {
    // The service compares the bodies of one key.
    let files: Vec<Vec<u8>> = (0..8).map(|number| jpeg(number, 3_000)).collect();
    let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let faults = "pending:0.1,drop_after:0.15,truncate:0.1,drop_before:0.1";
    for check in ["front_image", "front_image_base64"] {
        let world = world("id-document", &[(check, "file")]);
        let mut book = "no,file\n".to_owned();
        for (at, file) in files.iter().enumerate() {
            put(&world, &format!("{at}"), file);
            book += &format!("{at},{at}\n");
        }
        let mut world = world.csv(&book).fault(faults).under_paused_time();
        let mut ran = world.run().await;
        for _ in 0..3 {
            if ran.report().exit_code != ExitCode::Complete {
                ran = world.run().await;
            }
        }
        let ran = ran.exits(ExitCode::Complete).charged(24).counts(results(8));
        assert_eq!(ran.stats.conflicts, 0, "{check}");
        assert!(ran.attempts().len() > 8, "{check}: {} attempts", ran.attempts().len());
    }
}

#[tokio::test(start_paused = true)]
async fn a_cached_failure_of_a_document_fails_uncharged_and_is_retried_under_a_new_key() {
    let world = world("id-document", &[("front_image", "file")]).csv("no,file\n1,a\n");
    put(&world, "a", &jpeg(1, 300));
    let mut world = world.fault("error502@2").under_paused_time();
    let ran = world.run().await.exits(ExitCode::Failures).charged(0).counts(results(0).failures(1)).adds_up(true);
    assert_eq!((ran.replies(502), ran.replies(409)), (1, 1), "the first 409 settles it");
    assert_eq!(ran.failure_codes(), [("cached_failure".to_owned(), 1)].into());
    world.retry().await.exits(ExitCode::Complete).charged(3).counts(results(1));
}

#[tokio::test(start_paused = true)]
async fn a_technical_failure_of_a_proof_of_address_is_refunded_and_repeated() {
    let mut world = addresses(&[&pdf(1, 200)]).fault("charged_error@2:500").under_paused_time();
    let ran = world.run().await.exits(ExitCode::Complete).charged(3).counts(results(1));
    assert_eq!((ran.replies(500), ran.stats.charges), (1, 1));
}

#[tokio::test]
async fn a_check_of_the_user_can_have_files() {
    let declaration = r#"
        name = "licence-scan"
        summary = "a licence from its image"
        flow = "direct"
        routes = { guide = "/licence-scan" }
        [[field]]
        name = "image_base64"
        kind = "image"
        [[field]]
        name = "barcode"
        kind = "text"
        [[rule]]
        one_of = ["image_base64", "barcode"]
        [answer]
        payload = ["/results", "/data"]
        [[answer.column]]
        name = "surname"
        pointers = ["/surname"]
        type = "text"
        [verdict]
        recognised = "payload.surname is defined"
        otherwise = { verdict = "data", finding = "read" }
    "#;
    let declaration: rescreen::catalogue::Declaration = toml::from_str(declaration).unwrap();
    let mut world = faces(&[&jpeg(1, 100), &jpeg(2, 100)]).csv("no,scan,code\n1,s0.jpg,\n2,,ABC\n3,,\n");
    world = world.campaign(|file| {
        let fields = [("image_base64".to_owned(), "scan".into()), ("barcode".to_owned(), "code".into())].into();
        file.checks = vec![CheckTable { fields, ..CheckTable::of("licence-scan") }];
        file.budget.prices.insert("licence-scan".to_owned(), Credits(1));
        file.declarations = vec![declaration.clone()];
    });
    let mut world = world.service(|settings| {
        settings.checks = checks_with(declaration);
    });
    let ran = world.run().await.exits(ExitCode::Failures).charged(2).counts(results(2).failures(1));
    assert_eq!(ran.failure_codes(), [("invalid_value".to_owned(), 1)].into());
}

#[tokio::test]
async fn a_row_with_both_forms_of_an_image_fails_by_name_and_sends_nothing() {
    let both = [("front_image", "file"), ("front_image_base64", "copy")];
    let world = world("id-document", &both).csv("no,file,copy\n1,a,a\n2,a,\n");
    put(&world, "a", &jpeg(1, 300));
    let mut world = world;
    let ran = world.run().await.exits(ExitCode::Failures).charged(3).counts(results(1).failures(1));
    let message = text(&ran.failures()[0], "message").to_owned();
    assert!(message.contains("at most one of front_image, front_image_base64"), "{message}");
}
