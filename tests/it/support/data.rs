//! Public data that is not part of the project: tests use it where it is present, and otherwise are skipped with a
//! notice.

use std::path::PathBuf;

/// The path of a file of the public data set, or `None` with a notice where the set is absent. It is expected in the
/// folder `RESCREEN_TEST_DATA`, by default `../shared/data` next to the checkout.
pub fn shared(name: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data");
    let folder = std::env::var_os("RESCREEN_TEST_DATA").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: the public data file {name} is not here (set RESCREEN_TEST_DATA to its folder)");
    None
}
