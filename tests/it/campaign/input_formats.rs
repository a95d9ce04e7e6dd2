//! Input formats: compressed, in another encoding, without a header, as a spreadsheet. A run resumes in the middle of
//! each, nothing is paid twice, and an edited file is refused.

use crate::{
    fuzzed::checks::xlsx::{Workbook, rows, text},
    support::{
        ran::results,
        world::{World, book, people},
    },
};
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use flate2::{Compression, write::GzEncoder};
use parquet::{arrow::ArrowWriter, file::properties::WriterProperties};
use rescreen::model::ExitCode;
use std::{io::Write, sync::Arc};

fn gzip(text: &str) -> Vec<u8> {
    let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
    compressed.write_all(text.as_bytes()).unwrap();
    compressed.finish().unwrap()
}

fn spreadsheet(text_of_a_book: &str) -> Vec<u8> {
    let cells: Vec<Vec<String>> = text_of_a_book.lines().map(|line| line.split(',').map(text).collect()).collect();
    let cells: Vec<Vec<&str>> = cells.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let cells: Vec<&[&str]> = cells.iter().map(Vec::as_slice).collect();
    Workbook::new().sheet("Customers", &rows(&cells)).compressed().bytes()
}

type Form = (&'static str, fn(&str) -> Vec<u8>);

/// The rows in row groups of 400, all columns as text.
fn parquet(text_of_a_book: &str) -> Vec<u8> {
    let mut lines = text_of_a_book.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let rows: Vec<Vec<&str>> = lines.collect();
    let column = |at: usize| Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row[at]))) as ArrayRef;
    let columns = header.iter().enumerate().map(|(at, name)| (*name, column(at)));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(400)).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

const FORMS: [Form; 5] = [
    ("book.csv.gz", gzip),
    ("book.csv.zst", |text| zstd::encode_all(text.as_bytes(), 3).unwrap()),
    ("book.xlsx", spreadsheet),
    ("book.parquet", parquet),
    ("book.csv", |text| format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()),
];

fn world(name: &str, bytes: &[u8]) -> World {
    let world = World::new().campaign(|file| file.input.paths = vec![name.into()]);
    std::fs::write(world.path(name), bytes).unwrap();
    world
}

#[tokio::test]
async fn an_interrupted_run_of_a_compressed_book_resumes_and_pays_nothing_twice() {
    an_interrupted_run_resumes(&FORMS[..2]).await;
}

#[tokio::test]
async fn an_interrupted_run_of_a_table_resumes_and_pays_nothing_twice() {
    an_interrupted_run_resumes(&FORMS[2..4]).await;
}

#[tokio::test]
async fn an_interrupted_run_of_a_book_in_utf_16_resumes_and_pays_nothing_twice() {
    an_interrupted_run_resumes(&FORMS[4..]).await;
}

async fn an_interrupted_run_resumes(forms: &[Form]) {
    for (name, form) in forms {
        // The reply to the third message is lost, and the run is interrupted while rows wait.
        let mut world = world(name, &form(&book(1..=1_500))).in_flight(4).fault("drop_after@3");
        let part = world.run_until("40 charges", |stats| stats.credits_charged >= 40).await;
        let part = part.exits(ExitCode::Interrupted);
        assert!(part.stats.credits_charged < 1_500, "{name}: interrupted in the middle");
        // Edit rows that were not sent: they are read again.
        let edited = |rows: String| rows.replace("P01100", "Q01100").replace("P01499", "Qu01499");
        std::fs::write(world.path(name), form(&edited(book(1..=1_500)))).unwrap();
        let ran = world.run().await.exits(ExitCode::Complete).charged(1_500).counts(results(1_500)).adds_up(true);
        let has = |name: &str| ran.results().iter().filter(|row| format!("{row:?}").contains(name)).count();
        assert_eq!([has("Q01100"), has("P01100"), has("Qu01499"), has("P01499")], [1, 0, 1, 0], "{name}");
        // Append: a new member, or a longer sheet.
        let longer = match *name {
            "book.csv.gz" => [gzip(&edited(book(1..=1_500))), gzip(&people(1_501..=1_503))].concat(),
            _ => form(&(edited(book(1..=1_500)) + &people(1_501..=1_503))),
        };
        std::fs::write(world.path(name), longer).unwrap();
        let ran = world.run().await.exits(ExitCode::Complete).charged(1_503).counts(results(1_503)).adds_up(true);
        assert_eq!(ran.stats.double_charges, 0);
        // Edit: refused with its rows, before anything is sent.
        std::fs::write(world.path(name), form(&edited(book(1..=1_503)).replace("P01200", "P91200"))).unwrap();
        let again = world.run().await.exits(ExitCode::Usage);
        assert_eq!(again.stats.credits_charged, 1_503);
        let message = again.error();
        assert!(message.contains(name) && message.contains("row 1200 was sent, and has changed."), "{message}");
    }
}

#[tokio::test]
async fn an_encoding_declared_later_is_reported_as_such_and_not_as_an_edited_book() {
    let text = book(1..=3) + "4,Ren\u{e9} Vexford,active\n";
    let bytes = encoding_rs::WINDOWS_1252.encode(&text).0.into_owned();
    let mut world = world("book.csv", &bytes);
    world.run().await.exits(ExitCode::Failures).charged(3).counts(results(3).failures(1));
    let mut world = world.campaign(|file| file.input.encoding = Some(rescreen::source::Encoding::WINDOWS_1252));
    let again = world.run().await.exits(ExitCode::Usage);
    assert_eq!(again.stats.credits_charged, 3);
    let message = again.error();
    assert!(
        message.contains(
            "was started with encoding none, but encoding `windows-1252` is given now: use the same as before"
        ),
        "{message}"
    );
    let mut world = world.campaign(|file| file.input.encoding = None);
    world.run().await.exits(ExitCode::Failures).charged(3).counts(results(3).failures(1));
}

#[tokio::test]
async fn a_truncated_book_pays_for_its_complete_rows_and_the_full_book_for_the_rest() {
    let text = book(1..=3_000);
    let compressed = gzip(&text);
    let mut world = world("book.csv.gz", &compressed[..compressed.len() * 2 / 3]);
    let message = world.run().await.exits(ExitCode::Usage).error();
    assert!(message.contains("the gzip file is damaged or truncated") && message.contains("run again"), "{message}");
    std::fs::write(world.path("book.csv.gz"), &compressed).unwrap();
    world.run().await.exits(ExitCode::Complete).charged(3_000).counts(results(3_000)).adds_up(true);
}

#[tokio::test]
async fn a_book_without_a_header_uses_the_column_names_of_the_campaign_file() {
    let mut world = World::new().csv(&people(1..=5)).campaign(|file| {
        file.input.header = Some(false);
        file.input.columns = Some(["no", "name", "status"].map(str::to_owned).to_vec());
    });
    let ran = world.run().await.exits(ExitCode::Complete).charged(5).counts(results(5));
    assert!(ran.result_of(1)["sent"].as_str().unwrap().contains("P00001 Vexford"));
}

#[tokio::test]
async fn conflicting_input_settings_are_refused() {
    for (header, columns, fault) in [
        (None, &["a"][..], "columns: expected header = false (--no-header) as well"),
        (Some(true), &["a"], "columns: expected header = false (--no-header) as well"),
        (Some(false), &["a", "a"], "columns 1 and 2 are both called `a`"),
        (Some(false), &["a", ""], "expected a name for column 2"),
        (Some(false), &[], "expected 1 to 1024 columns, found 0"),
    ] {
        let mut world = World::new().rows(1).campaign(|file| {
            file.input.header = header;
            file.input.columns = Some(columns.iter().map(|name| (*name).to_owned()).collect());
        });
        let message = world.run().await.exits(ExitCode::Usage).error();
        assert!(message.starts_with("[input] ") && message.contains(fault), "{message}");
    }
}

#[tokio::test]
async fn null_words_are_compared_after_trimming_and_by_column() {
    let text = "no,name,status\n1,-0- ,x\n2, n/a,x\n3,-0-,x\n4,P00004 Vexford,x\n";
    let run = async |null_in: &[(&str, &str)]| {
        let mut world = World::new().csv(text).campaign(|file| {
            file.input.null = Some(vec!["-0-".to_owned()]);
            file.input.null_in =
                null_in.iter().map(|(column, word)| ((*column).to_owned(), vec![(*word).to_owned()])).collect();
            file.guards.max_errors = Some("100%".parse().unwrap());
        });
        world.run().await.failure_codes().get("missing_value").copied().unwrap_or(0)
    };
    assert_eq!(run(&[]).await, 2);
    assert_eq!(run(&[("NAME", "n/a")]).await, 1, "the list of a column replaces the general one");
    assert_eq!(run(&[("status", "n/a")]).await, 2, "and does not apply to other columns");
}

#[tokio::test]
async fn a_table_from_a_file_translates_values() {
    let mut world =
        World::new().csv("no,name,status\n1,P00001 Vexford,Dutch\n2,P00002 Vexford,Martian\n").campaign(|file| {
            file.tables = toml::from_str("nationality = \"demonyms.csv\"").unwrap();
            file.checks[0].fields.insert("country".into(), "{{ status | table('nationality') }}".into());
            file.guards.max_errors = Some("100%".parse().unwrap());
        });
    world.write("demonyms.csv", "demonym;code\nDutch;nl\n");
    let ran = world.run().await.exits(ExitCode::Failures).counts(results(1).failures(1));
    assert!(ran.result_of(1)["sent"].as_str().unwrap().contains(r#""country":"nl""#));
    assert_eq!(ran.failure_codes().get("missing_value"), Some(&1));
}
