//! The promise: whoever sent the list gets the failed rows back with their own columns and the reason, in a file that a
//! spreadsheet program can open.

use crate::support::{
    ran::results,
    world::{AML, World, book},
};
use rescreen::{model::ExitCode, pipeline::campaign::file::CheckTable};
use sha2::{Digest, Sha256};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

fn text(out: &Path) -> String {
    fs::read_to_string(out.join("failures.csv")).unwrap()
}

#[tokio::test]
async fn the_failed_rows_are_there_with_their_columns_and_the_manifest_names_the_file() {
    let csv = book(1..=3) + "4,,=HYPERLINK(1)\n5\n";
    let mut world = World::new().csv(&csv);
    let ran = world.run().await.exits(ExitCode::Failures).counts(results(3).failures(2)).adds_up(true);
    let text = text(&ran.out);
    let failures = ran.failures();
    let id = |row: u64| {
        failures.iter().find(|line| line["row_number"] == row).unwrap()["result_id"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        text,
        format!(
            "\u{feff}no,name,status,_source,_row_number,_code,_message,_result_id\n\
             4,,'=HYPERLINK(1),book.csv,4,missing_value,\"field `name` (column `name`): expected a value, found none\",{}\n\
             5,,,book.csv,5,ragged_row,\"expected 3 columns, found 1\",{}\n",
            id(4),
            id(5)
        )
    );
    let [file] = ran.manifest().files.as_slice() else { panic!("{:?}", ran.manifest().files) };
    let sha256: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        (file.path.as_str(), file.rows, file.bytes, &file.sha256),
        ("failures.csv", 2, text.len() as u64, &sha256)
    );
    let mode = fs::metadata(ran.out.join("failures.csv")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only the owner reads it");
}

#[tokio::test]
async fn without_a_failure_there_is_no_file_and_an_earlier_one_is_removed() {
    let mut world = World::new().csv(&(book(1..=2) + "3,,active\n"));
    let ran = world.run().await.exits(ExitCode::Failures);
    assert_eq!(text(&ran.out).lines().count(), 2);
    fs::write(ran.out.join(".rescreen-failures-1a2b.tmp"), "half a file of a run that was killed").unwrap();
    let mut world = world.campaign(|file| {
        file.checks[0]
            .fields
            .insert("name".into(), rescreen::mapping::FieldSource::Template("{{ name | default(no) }}".into()));
    });
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(3)).adds_up(true);
    assert!(!ran.out.join("failures.csv").exists() && ran.manifest().files.is_empty());
    let left: Vec<_> = fs::read_dir(&ran.out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".rescreen")), "{left:?}");
}

#[tokio::test]
async fn several_inputs_and_checks_share_one_file() {
    let mut world = World::new().csv("no,name,status\n1,,active\n").campaign(|file| {
        file.input.paths.push("more.csv".into());
        let mut again = file.checks[0].clone();
        again.name = Some("again".into());
        file.checks = vec![CheckTable { name: Some(AML.into()), ..file.checks[0].clone() }, again];
    });
    world.write("more.csv", "no,name,branch\n2,,north\n");
    let ran = world.run().await;
    let text = text(&ran.out);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "\u{feff}no,name,status,branch,_source,_row_number,_code,_message,_result_id");
    assert_eq!(lines.len(), 5, "{text}");
    assert!(lines[1].starts_with("1,,active,,book.csv,1,missing_value,\"aml-screening: field"), "{text}");
    assert!(lines[2].contains("again: field") && lines[4].starts_with("2,,,north,more.csv,1,"), "{text}");
}
