//! Real specimens: images of passports, photos in every accepted format, and PDFs of several programs. They come from a
//! public data set, and the tests are skipped where it is absent.

use super::sample::{id_number, world};
use crate::support::{data::shared, ran::results, tables::text, world::World};
use rescreen::model::ExitCode;
use std::{fs, path::Path};

/// Copies the files of these folders into the files root. Returns their names.
fn copied(world: &World, folders: &[&str]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for folder in folders {
        let folder = shared(&format!("documents/{folder}"))?;
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            fs::copy(&path, world.path("files").join(&name)).unwrap();
            names.push(name);
        }
    }
    names.sort();
    Some(names)
}

fn book(names: &[String]) -> String {
    names.iter().enumerate().fold("no,id_number,file,password\n".to_owned(), |book, (at, name)| {
        let password = if name.contains("password") { "openpassword" } else { "" };
        book + &format!("{at},{},{name},{password}\n", id_number(at as u32 + 1))
    })
}

#[tokio::test]
async fn images_of_every_accepted_format_are_sent() {
    for (check, fields) in [
        ("facematch", &[("id_number", "id_number"), ("selfie_image_base64", "file")][..]),
        ("id-document", &[("front_image", "file")]),
        ("id-document", &[("front_image_base64", "file")]),
        ("proof-of-address", &[("document", "file")]),
    ] {
        let world = world(check, fields);
        let Some(names) = copied(&world, &["images", "passport_images"]) else { return };
        assert!(names.len() > 20, "{names:?}");
        let mut world = world.csv(&book(&names));
        let ran = world.run().await.exits(ExitCode::Complete).counts(results(names.len())).adds_up(true);
        assert_eq!(ran.stats.double_charges, 0);
    }
}

#[tokio::test]
async fn documents_of_several_programs_are_sent_and_a_password_is_never_shown() {
    let world = world("proof-of-address", &[("document", "file"), ("document_password", "password")]);
    let Some(names) = copied(&world, &["pdf"]) else { return };
    let mut world = world.csv(&book(&names));
    let ran = world.run().await.exits(ExitCode::Complete).charged(3 * names.len() as u64).counts(results(names.len()));
    for line in ran.results() {
        assert!(!text(line, "answer").contains("openpassword"));
    }
}

#[tokio::test]
async fn a_specimen_that_was_cut_off_is_a_failure_that_says_so() {
    let world = world("proof-of-address", &[("document", "file")]);
    let Some(names) = copied(&world, &["images", "passport_images", "pdf"]) else { return };
    let mut cut = Vec::new();
    for name in &names {
        let path = world.path("files").join(name);
        let content = fs::read(&path).unwrap();
        fs::write(&path, &content[..content.len() / 2]).unwrap();
        cut.push(Path::new(name).extension().unwrap().to_str().unwrap().to_owned());
    }
    let mut world = world.csv(&book(&names)).campaign(|file| {
        file.guards.max_errors = Some("100%".parse().unwrap());
    });
    let ran = world.run().await.exits(ExitCode::Failures).charged(0).counts(results(0).failures(names.len()));
    for line in ran.failures() {
        assert_eq!(text(line, "code"), "unreadable_file", "{}", text(line, "message"));
        assert!(text(line, "message").contains("found a damaged "), "{}", text(line, "message"));
    }
}
