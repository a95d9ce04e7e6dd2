//! The files of a campaign: one for each person, named by the ID number. Some are equal, some are large, and some cannot
//! be sent. Between two lives they are replaced, deleted, cut, or replaced by a link that leads out of the folder.

use super::book::said;
use crate::files::sample::{jpeg, pdf};
use rescreen::model::key::hex;
use rusqlite::Connection;
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock},
};

/// The persons of a book that is not large.
pub const PERSONS: u64 = 70;
/// One byte more than may be sent directly: the service's description, Limits.
const LARGE: usize = 4 * 1024 * 1024 + 1;
const ORIGINAL: u64 = 0;
const REPLACED: u64 = 1;

/// What happens to a file between two lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMove {
    Replace,
    Delete,
    /// Its second half is missing.
    Cut,
    /// A link to a file outside the folder takes its place.
    Link,
    Restore,
}

/// Writes the files of all persons. `documents` are PDF files, of which some are large; otherwise they are images.
pub fn put_all(folder: &Path, documents: bool) {
    fs::create_dir(folder.join("files")).expect("the folder is writable");
    fs::write(folder.join("outside.scan"), outside(documents)).expect("the folder is writable");
    for person in 1..=PERSONS {
        let first = match (person % 19, person % 29, person % 23) {
            (5, ..) => FileMove::Link,
            (_, 13, _) => FileMove::Delete,
            (.., 11) => FileMove::Cut,
            _ => FileMove::Restore,
        };
        change(folder, documents, person, first);
    }
}

/// Changes the file of a person.
pub fn change(folder: &Path, documents: bool, person: u64, change: FileMove) {
    let path = folder.join(path_of(person));
    // Removed first, because a link must not be written through.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("a file cannot be removed: {error}"),
        _ => {}
    }
    let write = |content: &[u8]| fs::write(&path, content).expect("the folder is writable");
    match change {
        FileMove::Replace => write(&content(documents, person, REPLACED)),
        FileMove::Delete => {}
        FileMove::Cut => {
            let whole = content(documents, person, ORIGINAL);
            write(&whole[..whole.len() / 2]);
        }
        FileMove::Link => symlink("../outside.scan", &path).expect("links can be made"),
        FileMove::Restore => write(&content(documents, person, ORIGINAL)),
    }
}

/// Puts the files back that the requests in doubt were made with. Of two that share a path, each life gets another one.
pub fn restore_for_doubts(folder: &Path, documents: bool, life: usize) {
    let Ok(ledger) = Connection::open(folder.join("out/ledger.sqlite")) else { return };
    let sql = "SELECT attachment.path, sha256 FROM attachment JOIN request ON request.id = attachment.request
               WHERE state IN (2, 3) ORDER BY request.id";
    let mut select = match ledger.prepare(sql) {
        // The first commit never happened.
        Err(error) if error.to_string().contains("no such table") => return,
        select => select.expect("a query"),
    };
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?));
    let found = select.query_map([], row).and_then(Iterator::collect::<Result<Vec<_>, _>>).expect("the ledger's files");
    let mut wanted: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (path, sha256) in found {
        let person = (1..=PERSONS).find(|person| path_of(*person).ends_with(&path)).expect("a file of a person");
        wanted.entry(person).or_default().push(hex(&sha256));
    }
    for (person, digests) in wanted {
        let replaced = digests[life % digests.len()] == digest(documents, person, REPLACED);
        change(folder, documents, person, if replaced { FileMove::Replace } else { FileMove::Restore });
    }
}

/// Whether a file of the person with this ID number has this digest.
pub fn is_of(documents: bool, id_number: &str, found: &str) -> bool {
    let person = (1..=PERSONS).find(|person| said(*person) == id_number);
    let versions = person.into_iter().flat_map(|person| [ORIGINAL, REPLACED].map(|version| (person, version)));
    versions.into_iter().any(|(person, version)| format!("sha256:{}", digest(documents, person, version)) == found)
}

/// The digest of the file outside the folder, which must never be sent.
pub fn outside_digest(documents: bool) -> String {
    format!("sha256:{}", hex(&Sha256::digest(outside(documents))))
}

fn path_of(person: u64) -> PathBuf {
    PathBuf::from(format!("files/{}.scan", said(person)))
}

fn outside(documents: bool) -> Vec<u8> {
    if documents { pdf(999_999, 500) } else { jpeg(999_999, 500) }
}

fn content(documents: bool, person: u64, version: u64) -> Vec<u8> {
    // Two persons in one household have the same document.
    let owner = if person % 10 == 7 { person - 1 } else { person };
    let number = owner * 10 + version;
    let length = 400 + owner as usize;
    match documents {
        // Of one size, so that one could be put at the place of another.
        true => pdf(number, if owner % 9 == 3 { LARGE } else { length }),
        false => jpeg(number, length),
    }
}

/// Files are the same in all campaigns, so each digest is made once.
fn digest(documents: bool, person: u64, version: u64) -> String {
    type Digests = HashMap<(bool, u64, u64), String>;
    static DIGESTS: OnceLock<Mutex<Digests>> = OnceLock::new();
    let mut digests = DIGESTS.get_or_init(Mutex::default).lock().expect("making a digest does not panic");
    let made = || hex(&Sha256::digest(content(documents, person, version)));
    digests.entry((documents, person, version)).or_insert_with(made).clone()
}
