//! Files one byte under, at and over each limit, and files that are empty, cut off or of another format. A row that
//! fails costs nothing, and its message names the field and what was found, never the file.

use super::sample::{addresses, faces, jpeg, pdf, png, put, tiff, webp, world};
use crate::support::{
    ran::{Ran, results},
    tables::{number, text},
};
use rescreen::model::ExitCode;

const MIB: usize = 1024 * 1024;

#[track_caller]
fn failure(ran: &Ran, row: i64) -> (String, String) {
    let line = ran.failures().iter().find(|line| number(line, "row_number") == row).expect("the row failed");
    (text(line, "code").to_owned(), text(line, "message").to_owned())
}

#[tokio::test]
async fn an_image_of_five_mebibytes_is_sent_and_one_byte_more_is_not() {
    let images = [jpeg(1, 5 * MIB - 1), jpeg(2, 5 * MIB), jpeg(3, 5 * MIB + 1)];
    let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    let ran = faces(&images).run().await.exits(ExitCode::Failures).charged(6).counts(results(2).failures(1));
    let (code, message) = failure(&ran, 3);
    assert_eq!(code, "file_too_large");
    assert_eq!(
        message,
        "field `selfie_image_base64` (column `selfie`): expected a file of at most 5242880 bytes (the limit of the service \
         for an image), found 5242881 bytes"
    );
}

#[tokio::test]
async fn a_document_is_sent_directly_up_to_four_megabytes_and_uploaded_up_to_fifteen_mebibytes() {
    let sizes = [4_000_000, 4_000_001, 4 * MIB, 15 * MIB - 1, 15 * MIB, 15 * MIB + 1];
    let documents: Vec<Vec<u8>> = sizes.iter().enumerate().map(|(at, size)| pdf(at as u64, *size)).collect();
    let documents: Vec<&[u8]> = documents.iter().map(Vec::as_slice).collect();
    let ran = addresses(&documents).run().await.exits(ExitCode::Failures).charged(15).counts(results(5).failures(1));
    assert_eq!(ran.stats.by_route["upload /proof-of-address"], 4);
    assert_eq!(failure(&ran, 6).0, "file_too_large");
}

#[tokio::test]
async fn in_sandbox_a_document_that_would_be_uploaded_fails() {
    let mut world = addresses(&[&pdf(1, 4 * MIB), &pdf(2, 4 * MIB + 1)]).sandbox();
    let ran = world.run().await.exits(ExitCode::Failures).charged(0).counts(results(1).failures(1));
    let (code, message) = failure(&ran, 2);
    assert!(code == "file_too_large" && message.contains("production only"), "{code}: {message}");
}

#[tokio::test]
async fn files_that_cannot_be_used_fail_their_row_and_are_described() {
    let heic = b"\0\0\0\x18ftypheic\0\0\0\0mif1".to_vec();
    let cut = |file: Vec<u8>| file[..file.len() - 3].to_vec();
    let cases: [(&str, Vec<u8>, &str, &str); 10] = [
        ("empty", vec![], "unreadable_file", "found an empty file"),
        ("gif", b"GIF89a......".to_vec(), "wrong_file_format", "found a GIF image"),
        ("heic", heic, "wrong_file_format", "found a HEIC image"),
        ("docx", b"PK\x03\x04....word/document.xml".to_vec(), "wrong_file_format", "found a DOCX document"),
        ("text", b"Thandi Nkosi, 12 Long Street".to_vec(), "wrong_file_format", "found a text file"),
        ("jpeg", cut(jpeg(1, 200)), "unreadable_file", "found a damaged JPEG file: the end marker is missing"),
        ("png", cut(png(200)), "unreadable_file", "found a damaged PNG file: the end chunk is missing"),
        ("webp", cut(webp(200)), "unreadable_file", "found a damaged WebP file: its length"),
        ("tiff", tiff(200)[..12].to_vec(), "unreadable_file", "found a damaged TIFF file: its directory"),
        ("pdf", cut(pdf(1, 200)), "unreadable_file", "found a damaged PDF file: %%EOF is missing"),
    ];
    let world = world("proof-of-address", &[("document", "file")]);
    let mut book = "no,file\n".to_owned();
    for (name, content, ..) in &cases {
        put(&world, &format!("thandi-nkosi-{name}"), content);
        book += &format!("{name},thandi-nkosi-{name}\n");
    }
    put(&world, "good", &pdf(9, 300));
    let mut world = world.csv(&(book + "good,good\n")).campaign(|file| {
        file.guards.max_errors = Some("100%".parse().unwrap());
    });
    let ran = world.run().await.exits(ExitCode::Failures).charged(3).counts(results(1).failures(cases.len()));
    for (at, (name, _, wanted_code, wanted)) in cases.iter().enumerate() {
        let (code, message) = failure(&ran, at as i64 + 1);
        assert_eq!(code, *wanted_code, "{name}: {message}");
        assert!(message.starts_with("field `document` (column `file`): expected "), "{message}");
        assert!(message.contains("JPEG, PNG, WebP, TIFF or PDF") && message.contains(wanted), "{name}: {message}");
        assert!(!message.contains("nkosi") && !message.contains("Nkosi"), "{message}");
    }
    // A PDF is not an image.
    let ran = faces(&[&pdf(1, 200)]).run().await.exits(ExitCode::Failures);
    assert!(failure(&ran, 1).1.ends_with("expected JPEG, PNG, WebP or TIFF, found a PDF file"));
}

#[tokio::test]
async fn a_file_that_was_corrected_is_sent_by_the_next_run() {
    let mut world = faces(&[&jpeg(1, 200), b"GIF89a..."]);
    world.run().await.exits(ExitCode::Failures).charged(3).counts(results(1).failures(1));
    put(&world, "s1.jpg", &jpeg(2, 200));
    world.run().await.exits(ExitCode::Complete).charged(6).counts(results(2));
}
