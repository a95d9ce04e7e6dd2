//! The library that makes the system's storage calls fail, built from its C source where there is a compiler for it.

use std::{path::PathBuf, process::Command};
use tempfile::TempDir;

/// The library, as long as this is held.
pub struct Preload {
    _folder: TempDir,
    pub library: PathBuf,
}

impl Preload {
    /// # Errors
    /// Why there is none here.
    pub fn built() -> Result<Preload, String> {
        if !cfg!(all(target_os = "linux", target_env = "gnu")) {
            return Err("it is written for Linux with glibc".to_owned());
        }
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("failing_storage.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/faults/failing_storage.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o"]).arg(&library).args([source, "-ldl"]);
        let output = compiler.output().map_err(|error| format!("there is no C compiler `cc`: {error}"))?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(Preload { _folder: folder, library })
    }
}
