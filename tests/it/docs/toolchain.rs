//! What `make demo` and `make test` say on a machine that cannot build rescreen, and that the container file uses the
//! same version of Rust as Cargo.toml.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The text of `make demo` on a machine where `change` was made. Nothing is built: the check comes first and fails.
fn make_demo(change: impl FnOnce(&mut Command)) -> String {
    let mut command = Command::new("make");
    command.current_dir(ROOT).arg("demo").env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    change(&mut command);
    let Output { status, stderr, stdout } = command.output().unwrap();
    let (said, built) = (String::from_utf8(stderr).unwrap(), String::from_utf8(stdout).unwrap());
    assert!(!status.success() && !built.contains("cargo run"), "{status} {built} {said}");
    assert!(said.contains("docker build"), "{said}");
    said
}

/// A program that prints `text`.
fn program(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\necho '{text}'\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn make_says_how_to_install_rust_where_cargo_is_missing() {
    let said = make_demo(|make| _ = make.env("CARGO", "no-such-cargo"));
    assert!(said.contains("`no-such-cargo` was not found") && said.contains("https://rustup.rs"), "{said}");
}

#[test]
fn make_says_how_to_update_an_old_rust() {
    let folder = tempfile::tempdir().unwrap();
    for version in ["1.94.1", "1.9.0", "0.99.0", "1.71.0-nightly"] {
        program(&folder.path().join("rustc"), &format!("rustc {version} (0000000 2020-01-01)"));
        let said = make_demo(|make| _ = make.env("RUSTC", folder.path().join("rustc")));
        let shown = version.trim_end_matches("-nightly");
        assert!(said.contains(&format!("this is Rust {shown}.")) && said.contains("rustup update"), "{said}");
    }
}

#[test]
fn make_accepts_the_version_of_cargo_toml_and_later_ones() {
    let folder = tempfile::tempdir().unwrap();
    for version in ["1.95.0", "1.100.0", "2.0.0", "1.95.0-beta.3"] {
        program(&folder.path().join("rustc"), &format!("rustc {version} (0000000 2026-01-01)"));
        let mut make = Command::new("make");
        make.current_dir(ROOT).arg("toolchain").env("RUSTC", folder.path().join("rustc"));
        let said = make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").output().unwrap();
        assert!(said.status.success() && said.stderr.is_empty(), "{version}: {said:?}");
    }
}

#[test]
fn make_says_how_to_install_a_c_compiler_and_one_that_fails_counts_as_missing() {
    for compiler in ["no-such-compiler", "false", "no-such-compiler -m64"] {
        let said = make_demo(|make| _ = make.env("CC", compiler));
        assert!(said.contains(compiler) && said.contains("build-essential"), "{said}");
    }
}

#[test]
fn the_container_is_built_with_the_version_of_cargo_toml_from_everything_that_a_build_reads() {
    let read = |name: &str| fs::read_to_string(Path::new(ROOT).join(name)).unwrap();
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let needed = manifest["workspace"]["package"]["rust-version"].as_str().unwrap();
    assert!(read("Dockerfile").contains(&format!("FROM rust:{needed}-")), "{needed}");
    let ignored = read(".dockerignore");
    for folder in ["Cargo.toml", "Cargo.lock", ".cargo", "src", "sample-data", "benches", "examples", "tests"] {
        assert!(ignored.lines().any(|line| line == format!("!{folder}")), "{folder} is missing in .dockerignore");
    }
}

#[test]
fn the_container_is_built_from_every_folder_that_the_program_includes() {
    let listed = fs::read_to_string(Path::new(ROOT).join(".dockerignore")).unwrap();
    let mut includes = 0;
    for file in crate::support::tables::files(&Path::new(ROOT).join("src"), "")
        .iter()
        .filter(|file| file.extension().is_some_and(|end| end == "rs"))
    {
        let text = fs::read_to_string(Path::new(ROOT).join("src").join(file)).unwrap();
        for path in text.split("include_str!(\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let depth = file.components().count();
            let Some(outside) = path.strip_prefix(&"../".repeat(depth)) else { continue };
            let folder = outside.split('/').next().unwrap();
            assert!(listed.lines().any(|line| line == format!("!{folder}")), "{path} in {}", file.display());
            includes += 1;
        }
    }
    assert!(includes >= 3, "{includes}");
}
