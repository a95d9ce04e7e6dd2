//! Golden requests: method, path, headers and body of each check with files, byte for byte. A change of them is a new
//! body under an old key, which a service refuses. `RESCREEN_WRITE_GOLDEN=1` writes the files.

use super::sample::{jpeg, pdf, put, world};
use crate::support::{
    door::{Act, Door, Seen, Step},
    service::lifted,
};
use rescreen::{model::ExitCode, simulator::Settings};
use std::{fs, path::PathBuf};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/files/golden").join(name)
}

/// A message as text. Bytes that are not ASCII, and carriage returns, are escaped.
fn written(seen: &Seen) -> String {
    let mut text = format!("{:?} {}\n", seen.step, seen.path.split('?').next().unwrap());
    let mut names: Vec<&str> = seen.headers.keys().map(|name| name.as_str()).collect();
    names.sort();
    for name in names.into_iter().filter(|name| !["host", "user-agent"].contains(name)) {
        text += &format!("{name}: {}\n", seen.header(name).unwrap());
    }
    text += "\n";
    for byte in &seen.body {
        match byte {
            b'\n' | 0x20..0x7f => text.push(char::from(*byte)),
            byte => text += &format!("\\x{byte:02x}"),
        }
    }
    text + "\n"
}

#[tokio::test]
async fn requests_with_files_are_those_of_the_golden_files() {
    for (name, check, fields) in [
        ("facematch", "facematch", &[("id_number", "id"), ("selfie_image_base64", "a")][..]),
        (
            "facematch-verified",
            "facematch-verified",
            &[("id_number", "id"), ("selfie_image_base64", "a"), ("reference_image_base64", "b")],
        ),
        ("facematch-standard", "facematch-standard", &[("selfie_image_base64", "a"), ("reference_image_base64", "b")]),
        (
            "id-document-multipart",
            "id-document",
            &[("front_image", "a"), ("back_image", "b"), ("issuing_country", "c")],
        ),
        ("id-document-base64", "id-document", &[("front_image_base64", "a"), ("issuing_country", "c")]),
        (
            "proof-of-address-direct",
            "proof-of-address",
            &[
                ("document", "d"),
                ("expected_first_name", "first"),
                ("expected_country", "c"),
                ("document_password", "p"),
            ],
        ),
        ("proof-of-address-upload", "proof-of-address", &[("document", "e"), ("expected_first_name", "first")]),
    ] {
        let door = Door::with(Settings { prices: [(check.to_owned(), 3)].into(), ..lifted() }, |_, _| Act::Pass);
        let world = world(check, fields).sending_to(&door.url, door.arrivals());
        put(&world, "Thandi.jpg", &jpeg(1, 60));
        put(&world, "Sipho.jpg", &jpeg(2, 60));
        put(&world, "bill.pdf", &pdf(3, 60));
        put(&world, "large.pdf", &pdf(4, 4 * 1024 * 1024 + 1));
        let mut world = world.csv(
            "no,id,a,b,c,d,e,first,p\n1,8001015009087,Thandi.jpg,Sipho.jpg,zaf,bill.pdf,large.pdf,Zoë \"Z\",pass word\n",
        );
        world.run().await.exits(ExitCode::Complete);
        let check = door.seen(Step::Check).remove(0);
        let mut text = written(&check);
        if let Some(reference) = check.json()["document_reference"].as_str() {
            // It comes from the service and contains the time.
            text = text.replace(reference, "REFERENCE");
            text = text.replace(&format!("content-length: {}", check.body.len()), "content-length: N");
        }
        if std::env::var_os("RESCREEN_WRITE_GOLDEN").is_some() {
            fs::create_dir_all(file("")).unwrap();
            fs::write(file(&format!("{name}.txt")), &text).unwrap();
        }
        let golden = fs::read_to_string(file(&format!("{name}.txt"))).unwrap_or_default();
        assert!(golden == text, "{name}: the request differs from its golden file:\n{text}");
        assert!(!text.contains("Thandi.jpg") && !text.contains("bill"), "no name of the user is sent");
    }
}
