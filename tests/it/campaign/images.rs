//! The promise: images and secrets of an answer never sit in the outputs. Images are dropped, or written as files; the
//! ledger keeps the answer as it came.

use crate::support::{answering::Answering, ran::results, tables::text, world::World};
use axum::{http::StatusCode, response::IntoResponse};
use base64::{Engine, engine::general_purpose::STANDARD};
use rescreen::{
    catalogue::{ColumnKind, ColumnSpec, ImageSpec},
    model::ExitCode,
    sink::ImageOutput,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

fn portrait() -> Vec<u8> {
    let mut portrait = vec![0xff, 0xd8, 0xff, 0xe0];
    portrait.resize(48_213, 5);
    portrait
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A service that answers every check like this, and the number of checks that arrived.
fn answering(status: StatusCode, answer: Value) -> (Answering, Arc<AtomicU64>) {
    let arrived = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&arrived);
    let answering = Answering::start(move |_, _| async move {
        counted.fetch_add(1, Ordering::Relaxed);
        (status, answer.to_string()).into_response()
    });
    (answering, arrived)
}

/// A campaign against that service, with a column for the portrait.
fn world(service: &Answering, arrived: Arc<AtomicU64>) -> World {
    let column = |name: &str, pointer: &str, image| ColumnSpec {
        name: name.to_owned(),
        pointers: vec![pointer.to_owned()],
        kind: ColumnKind::Text,
        assumed: false,
        image,
        expect: None,
    };
    let world = World::new().sandbox().rows(2).declares(move |declaration| {
        declaration.answer.columns.push(column("portrait", "/portrait", true));
        declaration.answer.columns.push(column("undeclared", "/scan", false));
        declaration.answer.images.push(ImageSpec { pointer: "/small".to_owned() });
        declaration.fields.iter_mut().for_each(|field| field.secret = field.name == "name");
    });
    world.sending_to(&service.url, move || arrived.load(Ordering::Relaxed))
}

fn answer() -> Value {
    let large = STANDARD.encode(portrait());
    let small = STANDARD.encode(&portrait()[..300]);
    json!({ "success": true, "input": { "name": "echoed" },
            "results": { "match": [], "portrait": large, "scan": large, "small": small } })
}

#[tokio::test]
async fn an_image_in_an_answer_is_dropped_and_the_ledger_keeps_it() {
    let (service, arrived) = answering(StatusCode::OK, answer());
    let ran = world(&service, arrived).run().await.exits(ExitCode::Complete).counts(results(2));
    let shown = format!("(image, 48213 bytes, sha256 {})", digest(&portrait()));
    for line in ran.results() {
        assert_eq!((text(line, "portrait"), text(line, "undeclared")), (shown.as_str(), shown.as_str()));
        let answer: Value = serde_json::from_str(text(line, "answer")).unwrap();
        assert_eq!(answer["results"]["portrait"], shown.as_str());
        assert!(answer["results"]["small"].as_str().unwrap().starts_with("(image, 300 bytes"), "{answer}");
        assert_eq!((&answer["success"], &answer["results"]["match"]), (&json!(true), &json!([])));
    }
    assert!(!ran.out.join("images").exists() && ran.manifest().images.is_empty());
    let ledger = rusqlite::Connection::open(ran.out.join("ledger.sqlite")).unwrap();
    let kept: Vec<u8> = ledger.query_row("SELECT body FROM answer LIMIT 1", [], |row| row.get(0)).unwrap();
    let kept: Value = serde_json::from_slice(&zstd::decode_all(&kept[..]).unwrap()).unwrap();
    assert_eq!(kept["results"]["portrait"], STANDARD.encode(portrait()));
}

#[tokio::test]
async fn images_are_written_once_as_private_files_if_the_user_wants_them() {
    let (service, arrived) = answering(StatusCode::OK, answer());
    let mut world = world(&service, arrived).campaign(|file| file.output.images = Some(ImageOutput::Files));
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(2));
    let paths: Vec<&str> = ran.manifest().images.iter().map(|image| image.path.as_str()).collect();
    let path = format!("images/{}.jpg", digest(&portrait()));
    assert!(paths.contains(&path.as_str()) && paths.len() == 2, "{paths:?}");
    let file = ran.out.join(&path);
    assert_eq!(fs::read(&file).unwrap(), portrait());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let again = world.run().await.exits(ExitCode::Complete);
    assert_eq!(again.manifest().images, ran.manifest().images);
}

#[tokio::test]
async fn a_secret_field_is_sent_and_never_shown() {
    let (service, arrived) = answering(StatusCode::OK, answer());
    let ran = world(&service, arrived).run().await.exits(ExitCode::Complete).counts(results(2));
    for line in ran.results() {
        let sent: Value = serde_json::from_str(text(line, "sent")).unwrap();
        assert_eq!((&sent["name"], &sent["country"]), (&json!("…"), &json!("za")));
        let answer: Value = serde_json::from_str(text(line, "answer")).unwrap();
        assert_eq!(answer["input"]["name"], "…");
    }
    let ledger = rusqlite::Connection::open(ran.out.join("ledger.sqlite")).unwrap();
    let sent: Vec<u8> = ledger.query_row("SELECT body FROM request LIMIT 1", [], |row| row.get(0)).unwrap();
    assert!(String::from_utf8(sent).unwrap().contains("Vexford"), "the value itself is sent");
}

#[tokio::test]
async fn a_failed_row_shows_neither_the_cell_nor_the_value_of_a_secret_field() {
    let refusal = json!({ "success": false, "error": "cannot open with Jo Vexford-Marlow" });
    let (service, arrived) = answering(StatusCode::BAD_REQUEST, refusal);
    let world = World::new().sandbox().rows(1).declares(|declaration| {
        declaration.fields.iter_mut().for_each(|field| field.secret = field.name == "name");
    });
    world.write("book.csv", "no,name,status\n1,Jo Vexford-Marlow,active\n");
    let mut world = world.sending_to(&service.url, move || arrived.load(Ordering::Relaxed));
    let ran = world.run().await;
    let [line] = ran.lines(rescreen::sink::DatasetKind::Failures) else { panic!("one failure") };
    assert!(!format!("{line:?}").contains("Vexford"), "{line:?}");
    assert!(text(line, "message").contains("cannot open with …"), "{line:?}");
    assert!(text(line, "input").contains("active"), "{line:?}");
}
