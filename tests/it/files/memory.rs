//! Many rows with large images take bounded memory, because bodies are made just before they are sent.

use super::sample::{id_number, webp};
use crate::support::{
    http::{Connection, Port, json},
    number_given,
    program::{Said, UnderWay, rescreen},
};
use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::sleep,
    time::Duration,
};

/// Every row is read twice, hashed and encoded without optimisation. `RESCREEN_IMAGE_ROWS=2000` takes long.
const ROWS: u32 = 40;
const IMAGES: u64 = 8;
const IMAGE_BYTES: usize = 4 * 1024 * 1024;
const FACE: &str = r#"{"success":true,"results":{"face_match":{"status":"Approved","score":91}}}"#;

/// A service that discards each body, approves it after a while, and charges one credit. Where a balance does not move, a
/// run sends one request after another.
fn service(answered: Arc<AtomicU64>) -> String {
    let port = Port::open(move |stream| {
        let mut connection = Connection::of(stream);
        loop {
            if connection.read()?.is_check() {
                sleep(Duration::from_millis(100));
                answered.fetch_add(1, Ordering::Relaxed);
                connection.write(json("200 OK", FACE))?;
            } else {
                let credits = 1_000_000 - answered.load(Ordering::Relaxed);
                connection.write(json("200 OK", &format!(r#"{{"available_credits": {credits}}}"#)))?;
            }
        }
    });
    port.url()
}

/// Runs the program to its end, and measures its peak memory in MiB.
fn run_to_its_end(folder: &Path, words: &[&str]) -> (u64, Said) {
    let under_way = UnderWay::start(&mut rescreen(folder, words));
    let status = format!("/proc/{}/status", under_way.id());
    let mut peak = 0;
    while let Ok(text) = fs::read_to_string(&status) {
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let Some(kib) = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()) else { break };
        peak = peak.max(kib / 1024);
        sleep(Duration::from_millis(10));
    }
    (peak, under_way.wait())
}

#[test]
#[ignore = "memory: make gauntlet"]
fn rows_with_two_images_of_four_mebibytes_stay_within_128_mib() {
    if !Path::new("/proc/self/status").exists() {
        eprintln!("SKIPPED: memory is measured in /proc, which is not here");
        return;
    }
    let rows = number_given("RESCREEN_IMAGE_ROWS").unwrap_or(ROWS);
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("files")).unwrap();
    for number in 0..IMAGES {
        let mut image = webp(IMAGE_BYTES);
        image[20..28].copy_from_slice(&number.to_be_bytes());
        fs::write(folder.path().join(format!("files/{number}")), image).unwrap();
    }
    let book = (0..rows).fold("no,id,a,b\n".to_owned(), |book, row| {
        let (a, b) = (u64::from(row) % IMAGES, u64::from(row / 3) % IMAGES);
        book + &format!("{row},{},{a},{b}\n", id_number(row))
    });
    fs::write(folder.path().join("book.csv"), book).unwrap();
    let answered = Arc::new(AtomicU64::new(0));
    let url = service(Arc::clone(&answered));
    let words = "run book.csv --check facematch-verified --map id_number=id --map selfie_image_base64=a --map \
                 reference_image_base64=b --files-root files --mode production --campaign c --id no --price \
                 facematch-verified=1 --max-credits 1000000 --per-minute 600000 --per-minute-max 900000 --yes --out out \
                 --service";
    let words: Vec<&str> = words.split_whitespace().chain([url.as_str()]).collect();
    let (peak, said) = run_to_its_end(folder.path(), &words);
    println!("{rows} rows with two images of 4 MiB: at most {peak} MiB");
    said.exits(0);
    assert_eq!(answered.load(Ordering::Relaxed), u64::from(rows));
    assert!((16..=128).contains(&peak), "{peak} MiB");
}
