//! Libraries in C that are preloaded before the system's, built where a compiler is installed.

use std::{path::PathBuf, process::Command};
use tempfile::TempDir;

/// The names of C compilers; the first one installed is used.
const COMPILERS: [&str; 3] = ["cc", "gcc", "clang"];

/// Builds the shared library of a C source in `tests/it`. It exists as long as the folder is held.
///
/// # Errors
/// Why the library is not available here.
pub fn library(source: &str) -> Result<(TempDir, PathBuf), String> {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return Err("it is written for Linux with glibc".to_owned());
    }
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("preloaded.so");
    let source = format!("{}/tests/it/{source}", env!("CARGO_MANIFEST_DIR"));
    let compile = |compiler: &&str| {
        let mut compiler = Command::new(compiler);
        compiler.args(["-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o"]).arg(&library).args([&source, "-ldl"]);
        compiler.output().ok()
    };
    let output = COMPILERS.iter().find_map(compile).ok_or_else(|| format!("none of {COMPILERS:?} is installed"))?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok((folder, library))
}
