//! Where a word is in a campaign: as it is in the bytes of every file, in what the ledger compresses, and in the rows of Parquet
//! files.

use crate::support::tables;
use rescreen::files::files_in;
use rusqlite::{Connection, types::ValueRef};
use std::{collections::BTreeMap, fs, io::Read, path::Path};

/// The first bytes of a frame of zstd.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The dictionaries of a ledger.
pub fn dictionaries(ledger: &Path) -> Vec<Vec<u8>> {
    let conn = Connection::open(ledger).unwrap();
    let mut select = conn.prepare("SELECT text FROM dictionary").unwrap();
    select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Each file below a folder that has one of these words, with the words. Frames are restored with these dictionaries too: what is
/// left in a page that is free may have been compressed with one that is gone.
pub fn traces(folder: &Path, words: &[Vec<u8>], dictionaries: &[Vec<u8>]) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    // All bytes first, because opening the ledger moves its log into it.
    let files: Vec<(String, Vec<u8>)> = files_in(folder)
        .unwrap()
        .into_iter()
        .map(|path| {
            let bytes = fs::read(folder.join(&path)).unwrap();
            (path, bytes)
        })
        .collect();
    for (path, bytes) in files {
        let file = folder.join(&path);
        let mut texts = vec![bytes];
        if path.ends_with(".parquet") {
            texts.push(serde_json::to_vec(&tables::read(&file)).unwrap());
        }
        if path.contains("ledger.sqlite") {
            texts.extend(frames(&texts[0], dictionaries));
        }
        if path.ends_with("ledger.sqlite") {
            texts.extend(values(&file, dictionaries));
        }
        let has = |word: &&Vec<u8>| texts.iter().any(|text| contains(text, word));
        let of_file: Vec<String> =
            words.iter().filter(has).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        if !of_file.is_empty() {
            found.insert(path, of_file);
        }
    }
    found
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(text, word).is_some()
}

/// What the frames in a file restore to, wherever they are, as far as they are there.
fn frames(bytes: &[u8], dictionaries: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let starts = memchr::memmem::find_iter(bytes, &FRAME);
    starts.flat_map(|at| restored(&bytes[at..], dictionaries)).collect()
}

/// The values of every table, and what they restore to.
fn values(ledger: &Path, dictionaries: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let conn = Connection::open(ledger).unwrap();
    let mut tables = conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut values = Vec::new();
    for table in tables {
        let mut select = conn.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = select.column_count();
        let mut rows = select.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = row.get_ref(column).unwrap() {
                    values.push(bytes.to_vec());
                    values.extend(frames(bytes, dictionaries));
                }
            }
        }
    }
    values
}

fn restored(frame: &[u8], dictionaries: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let none: &[u8] = &[];
    let each = std::iter::once(none).chain(dictionaries.iter().map(Vec::as_slice));
    let restored = each.map(|dictionary| {
        let mut text = Vec::new();
        let mut buffer = [0; 512];
        let mut decoder = zstd::stream::read::Decoder::with_dictionary(frame, dictionary).unwrap();
        // A frame may go on elsewhere: what comes before its end counts too.
        while let Ok(read @ 1..) = decoder.read(&mut buffer) {
            text.extend_from_slice(&buffer[..read]);
        }
        text
    });
    restored.collect()
}
