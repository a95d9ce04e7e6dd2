//! The files for a shell: completions and manual pages. They are made from the command line's own definition, and the
//! shells that this machine has read them.

use super::help::commands;
use crate::support::program::{Said, rescreen};
use std::process::Command;

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("SKIPPED: {program} is not installed; its part of this test did not run");
    }
    found
}

#[test]
fn completions_name_every_command_and_where_the_shell_can_every_check() {
    let folder = tempfile::tempdir().unwrap();
    let commands = commands();
    assert!(commands.len() > 15, "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let said = Said::of(&mut rescreen(folder.path(), &["completions", shell])).exits(0);
        assert_eq!(said.stderr, "");
        for word in commands.iter().map(String::as_str).chain(["max-credits"]) {
            assert!(said.stdout.contains(word), "{shell}: `{word}` is missing");
        }
        // clap offers the values of a flag only in these shells.
        if ["bash", "fish", "zsh"].contains(&shell) {
            assert!(said.stdout.contains("aml-screening") && said.stdout.contains("vin-decode"), "{shell}");
        }
    }
}

#[test]
fn bash_completes_a_check_after_the_flag() {
    if !has("bash") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = Said::of(&mut rescreen(folder.path(), &["completions", "bash"])).exits(0).stdout;
    let line = "\nCOMP_WORDS=(rescreen run --check aml-s)\nCOMP_CWORD=3\n_rescreen rescreen aml-s --check\n\
                echo \"${COMPREPLY[*]}\"\n";
    std::fs::write(folder.path().join("complete.sh"), script + line).unwrap();
    let said = Command::new("bash").arg(folder.path().join("complete.sh")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "aml-screening", "{said:?}");
}

#[test]
fn an_unknown_shell_is_refused_with_the_known_ones() {
    let folder = tempfile::tempdir().unwrap();
    let said = Said::of(&mut rescreen(folder.path(), &["completions", "tcsh"])).exits(2);
    said.says("tcsh").says("bash").says("powershell");
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    Said::of(&mut rescreen(folder.path(), &["man", "pages"])).exits(0).says("pages/rescreen.1");
    let page = |name: &str| std::fs::read_to_string(folder.path().join("pages").join(name)).unwrap();
    assert!(page("rescreen.1").contains("rate\\-limited"));
    for command in commands().iter().filter(|command| *command != "help") {
        let text = page(&format!("rescreen-{command}.1"));
        assert!(text.starts_with(".ie \\n(.g") && text.contains(".SH SYNOPSIS"), "{command}: {text}");
    }
    assert!(page("rescreen-templates.1").contains("Filters"), "{}", page("rescreen-templates.1"));
    let pages = std::fs::read_dir(folder.path().join("pages")).unwrap();
    let names = pages.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    // Only `book` has commands of its own.
    let (of_book, others): (Vec<_>, Vec<_>) = names.partition(|name| name.starts_with("rescreen-book-"));
    assert_eq!(others.len(), commands().len(), "a page for the program and for each command but `help`");
    assert_eq!(of_book.len(), if cfg!(feature = "book-postgres") { 5 } else { 0 }, "{of_book:?}");
}

#[test]
fn man_renders_the_pages_without_a_warning() {
    if !has("groff") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    Said::of(&mut rescreen(folder.path(), &["man", "pages"])).exits(0);
    for entry in std::fs::read_dir(folder.path().join("pages")).unwrap() {
        let path = entry.unwrap().path();
        let said =
            Command::new("groff").args(["-K", "utf8", "-man", "-Tutf8", "-ww", "-z"]).arg(&path).output().unwrap();
        assert!(said.status.success() && said.stderr.is_empty(), "{}: {said:?}", path.display());
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    Said::of(&mut rescreen(folder.path(), &["man", "file"])).exits(2).says("file: the manual pages cannot be written");
}
