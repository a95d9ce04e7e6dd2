//! Any bytes as `manifest.json`: a manifest that is read and written again is the same, and one that wrongly says
//! `complete` is never written.

use super::folder::folder;
use rescreen::sink::{MANIFEST_NAME, MANIFEST_VERSION, Manifest, SinkError};
use std::fs;

pub fn check(data: &[u8]) {
    let folder = folder();
    fs::write(folder.path().join(MANIFEST_NAME), data).expect("the file can be written");
    let Ok(found) = Manifest::read(folder.path()) else { return };
    let manifest = found.expect("the file is there");
    assert_eq!(manifest.manifest_version, MANIFEST_VERSION);
    let accounts = manifest.accounts();
    match manifest.write_atomically(folder.path()) {
        Ok(()) => assert!(!manifest.complete || accounts.is_ok(), "complete, but {accounts:?}"),
        Err(SinkError::NotComplete { .. }) => {
            assert!(manifest.complete, "an incomplete manifest can be written");
            let kept = fs::read(folder.path().join(MANIFEST_NAME)).expect("the file is still there");
            assert_eq!(kept, data, "a refused manifest changes nothing");
            let manifest = Manifest { complete: false, ..manifest.clone() };
            manifest.write_atomically(folder.path()).expect("the folder can be written to");
        }
        Err(other) => panic!("{other}"),
    }
    let again = Manifest::read(folder.path()).expect("what was written can be read").expect("the file is there");
    assert_eq!(Manifest { complete: manifest.complete, ..again }, manifest);
}
