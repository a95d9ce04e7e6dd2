//! The library that makes the system's storage calls fail, built from its C source where there is a compiler for it.

use std::{path::PathBuf, process::Command};
use tempfile::TempDir;

/// C compilers, the first that is installed.
const COMPILERS: [&str; 3] = ["cc", "gcc", "clang"];

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
        let compile = |compiler: &&str| {
            let mut compiler = Command::new(compiler);
            compiler.args(["-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o"]).arg(&library).args([source, "-ldl"]);
            compiler.output().ok()
        };
        let output = COMPILERS.iter().find_map(compile).ok_or_else(|| format!("none of {COMPILERS:?} is installed"))?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(Preload { _folder: folder, library })
    }
}
