//! Any bytes as `manifest.json`: what is read and written again reads the same, and one that says complete and is not is
//! never written.

use super::folder::folder;
use rescreen::sink::{MANIFEST_NAME, MANIFEST_VERSION, Manifest, SinkError};
use std::fs;

pub fn check(data: &[u8]) {
    let folder = folder();
    fs::write(folder.path().join(MANIFEST_NAME), data).expect("the folder takes a file");
    let Ok(found) = Manifest::read(folder.path()) else { return };
    let manifest = found.expect("the file is there");
    assert_eq!(manifest.manifest_version, MANIFEST_VERSION);
    let accounts = manifest.accounts();
    match manifest.write_atomically(folder.path()) {
        Ok(()) => assert!(!manifest.complete || accounts.is_ok(), "complete, and {accounts:?}"),
        Err(SinkError::NotComplete { .. }) => {
            assert!(manifest.complete, "what does not say complete may be written");
            let kept = fs::read(folder.path().join(MANIFEST_NAME)).expect("the file is still there");
            assert_eq!(kept, data, "a refused manifest changes nothing");
            let manifest = Manifest { complete: false, ..manifest.clone() };
            manifest.write_atomically(folder.path()).expect("nothing is wrong with the folder");
        }
        Err(other) => panic!("{other}"),
    }
    let again = Manifest::read(folder.path()).expect("what was written can be read").expect("the file is there");
    assert_eq!(Manifest { complete: manifest.complete, ..again }, manifest);
}
