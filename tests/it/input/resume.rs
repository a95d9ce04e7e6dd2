//! A source that was read before: appended rows are ingested. Any other change is reported with the rows it affects.

use super::{Source, csv, jsonl, place, shown};
use rescreen::source::{Encoding, KnownSource, Origin, SourceError, SourceOptions, SourceReader};
use sha2::{Digest, Sha256};

fn book(rows: u64) -> String {
    (1..=rows).fold("id,name\r\n".to_owned(), |book, n| book + &format!("{n:05},\"name\n{n}\"\r\n"))
}

fn resumed(source: &Source, known: &KnownSource) -> Vec<(String, (u64, u64, u64))> {
    let splits = source.splits(Some(known)).unwrap();
    splits.iter().flat_map(|split| &split.records).map(|record| (shown(record), place(record))).collect()
}

#[test]
fn an_unchanged_source_gives_nothing_and_an_appended_one_gives_the_new_rows() {
    for (old, new) in [
        ("a,b\n1,2\n", "3,4\n5\n"),
        ("a,b\r\n1,2\r\n", "3,4\r\n"),
        ("a,b\n1,2", "\n3,4"),
        ("a,b\r1,2", "\r3,4\r"),
        ("a,b\n1,2\r", "\n3,4\n"),
        ("\u{feff}a,b\n\n1,2\n", "\u{feff}3,4\n"),
        ("a;b\n1;2,5\n\n", "\n3;4,,,,\n"),
    ] {
        let whole = format!("{old}{new}");
        let known = csv(old).known();
        assert!(resumed(&csv(old), &known).is_empty(), "{old:?}");
        let all: Vec<_> = csv(&whole).records().iter().map(|record| (shown(record), place(record))).collect();
        assert_eq!(resumed(&csv(&whole), &known), all[1..], "{old:?} + {new:?}");
    }
    let known = jsonl("{\"a\":1}\n\n{\"a\":2}").known();
    let new = resumed(&jsonl("{\"a\":1}\n\n{\"a\":2}\r\n{\"a\":3}"), &known);
    assert_eq!(new, [(r#"{"a":3}"#.to_owned(), (3, 4, 18))]);
}

#[test]
fn a_digest_covers_all_bytes_up_to_the_end_of_its_split() {
    let book = book(3_500);
    let splits = csv(&book).splits(None).unwrap();
    assert_eq!(splits.len(), 4);
    for split in &splits {
        let end = split.checkpoint.end_offset as usize;
        assert_eq!(split.checkpoint.sha256, <[u8; 32]>::from(Sha256::digest(&book.as_bytes()[..end])));
        assert!(book[..end].ends_with("\"\r\n"));
    }
    assert_eq!(splits[3].checkpoint.end_offset, book.len() as u64);
    assert_eq!(splits[3].checkpoint.end_line, 7_002);
    assert_eq!(splits[3].checkpoint.next_row_number, 3_501);
}

#[test]
fn reading_in_two_runs_equals_reading_at_once_wherever_the_first_ended() {
    let book = book(2_500);
    let splits = csv(&book).splits(None).unwrap();
    let all: Vec<_> = splits.iter().flat_map(|split| &split.records).map(|r| (shown(r), place(r))).collect();
    let known = csv(&book).known();
    for taken in 1..=known.checkpoints.len() {
        let known = KnownSource { checkpoints: known.checkpoints[..taken].to_vec(), ..known.clone() };
        let rows_taken = known.checkpoints[taken - 1].next_row_number as usize - 1;
        assert_eq!(resumed(&csv(&book), &known), all[rows_taken..]);
    }
    // A source whose layout is known and from which nothing was ingested is read from its start.
    let known = KnownSource { checkpoints: Vec::new(), ..known };
    assert_eq!(resumed(&csv(&book), &known), all);
}

#[test]
fn an_edit_is_reported_with_the_rows_of_its_split() {
    let book = book(2_500);
    let known = csv(&book).known();
    let edited = book.replace("01500,", "01501,");
    match csv(&edited).splits(Some(&known)) {
        Err(SourceError::Changed { rows_known: 2_500, first_changed_rows, .. }) => {
            assert_eq!(first_changed_rows, 1_001..=2_000);
        }
        other => panic!("{other:?}"),
    }
    let message = csv(&book.replace("id,name", "id,Name")).refused(Some(&known));
    assert_eq!(
        message,
        "input: this input has changed since 2500 rows of it were read: the first change is in rows 1 to 1000, which may have \
         been sent. Restore the old file and run again. Then rows that were never sent can be changed in it, new rows can be \
         appended, and rows that failed can be corrected with --corrections FILE, an edited copy of failures.csv. Or put the \
         changed rows into another file, and check it with --campaign NAME"
    );
}

#[test]
fn a_completed_last_line_belongs_to_its_row_and_the_rows_after_it_are_read() {
    let of_csv = [
        ("a,b\n1,2\n3,4", "5\n6,7\n", vec!["6,7"]),
        ("a,b\n1,2\n3,4", "5", vec![]),
        ("a,b\n1,2\n3,4", "5\r\n6,7\r\n8,9", vec!["6,7", "8,9"]),
        ("a,b\n1,2\n3,4", "5\r6,7", vec!["6,7"]),
        ("a,b\n1,2\n3,\"4\"", ",5\n6,7\n", vec!["6,7"]),
        // The line ended inside quotes, so the rest of the value may contain line ends.
        ("a,b\n1,2\n3,\"4", "\n5,\"\"\n\"\n6,7\n", vec!["6,7"]),
    ];
    for (old, new, rows) in of_csv {
        let known = csv(old).known();
        let whole = format!("{old}{new}");
        let source = csv(&whole);
        assert_eq!(source.open(Some(&known)).unwrap().completed_row(), Some(2), "{old:?} + {new:?}");
        let found = resumed(&source, &known);
        let line = |text: &str| {
            let (a, b) = text.split_once(',').unwrap();
            format!("{{\"a\":\"{a}\",\"b\":\"{b}\"}}")
        };
        let texts: Vec<&String> = found.iter().map(|(text, _)| text).collect();
        assert_eq!(texts, rows.iter().map(|row| line(row)).collect::<Vec<_>>().iter().collect::<Vec<_>>(), "{whole:?}");
        if let Some((_, (number, at_line, offset))) = found.first() {
            let before = &whole[..*offset as usize];
            let lines = before.replace("\r\n", "\n").matches(['\n', '\r']).count() as u64;
            assert_eq!((*number, *at_line), (3, lines + 1), "{whole:?}");
        }
    }
    let known = jsonl("{\"a\":1}").known();
    let found = resumed(&jsonl("{\"a\":1}{\"a\":2}\n{\"a\":3}\n"), &known);
    assert_eq!(found, [(r#"{"a":3}"#.to_owned(), (2, 2, 15))]);
}

#[test]
fn a_truncated_source_is_distinguished_from_an_empty_stream() {
    let book = book(1_200);
    let known = csv(&book).known();
    let short = &book.as_bytes()[..book.len() - 3];
    let message = csv(short).refused(Some(&known));
    assert!(message.contains(&format!("the {} bytes (1200 rows)", book.len())), "{message}");
    assert!(message.contains(&format!("an input of {} bytes", short.len())), "{message}");
    for encoding in [None, Some(Encoding::Utf8), Some(Encoding::Utf16), Some(Encoding::WINDOWS_1252)] {
        let nothing = csv("").said(|options| options.encoding = encoding).splits(Some(&known));
        assert!(
            matches!(nothing, Err(SourceError::NothingOnStdin { rows_known: 1_200, .. })),
            "{encoding:?}: {nothing:?}"
        );
    }

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.csv");
    std::fs::write(&path, "").unwrap();
    let reader = SourceReader::open("f".into(), Origin::File(path), &SourceOptions::default(), Some(&known));
    assert!(matches!(reader.err(), Some(SourceError::Truncated { bytes_found: 0, .. })));
}

#[test]
fn a_row_limit_counts_over_all_runs() {
    let book = book(20);
    let reader = csv(&book).limit(7).open(None).unwrap();
    let (splits, known) = super::known_of(reader);
    assert_eq!(splits[0].records.len(), 7);
    assert!(resumed(&csv(&book).limit(7), &known).is_empty());
    assert_eq!(resumed(&csv(&book).limit(9), &known).len(), 2);
    assert_eq!(resumed(&csv(&book), &known).len(), 13);
}
