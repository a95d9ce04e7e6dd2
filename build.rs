//! Tells the program the commit it is built from, for `--version`: `RESCREEN_COMMIT` if it is set, as a package or a
//! container may do, else that of git. The same source gives the same build: no time and no path is in
//! it.

use std::{env, path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RESCREEN_COMMIT");
    let given = env::var("RESCREEN_COMMIT").ok().filter(|commit| !commit.is_empty());
    let built = match given.map(|commit| format!("commit {commit}")) {
        Some(built) => built,
        // A new commit would build everything again, which only a release is worth.
        None if env::var("PROFILE").as_deref() == Ok("debug") => "development build".to_owned(),
        None => of_git().map_or_else(|| "commit unknown".to_owned(), |commit| format!("commit {commit}")),
    };
    println!("cargo::rustc-env=RESCREEN_BUILD={built}");
}

fn of_git() -> Option<String> {
    // The source may lie inside the repository of another project.
    let root = git(&["rev-parse", "--show-toplevel"])?;
    if Path::new(&root).canonicalize().ok()? != Path::new(".").canonicalize().ok()? {
        return None;
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    // Each of these changes with a commit or a checkout. A file that is missing would run this script every time.
    let branch = git(&["symbolic-ref", "-q", "HEAD"]);
    for name in ["HEAD".to_owned(), "logs/HEAD".to_owned()].into_iter().chain(branch) {
        if let Some(path) = git(&["rev-parse", "--git-path", &name]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    Some(commit)
}

fn git(arguments: &[&str]) -> Option<String> {
    let said = Command::new("git").args(arguments).output().ok().filter(|said| said.status.success())?;
    let text = String::from_utf8(said.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
