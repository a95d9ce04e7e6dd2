//! A campaign on a medium that cannot be written, such as an archive that an auditor mounts.

use super::{held, killed, out};
use crate::cli::Workspace;
use std::{fs, path::Path, process::Command};

/// Mounts the folder of the campaign read-only and runs the commands that only read. Returns what they said, or `None`
/// with a notice if this user may not mount.
fn said_while_read_only(workspace: &Workspace) -> Option<String> {
    let rescreen = env!("CARGO_BIN_EXE_rescreen");
    let commands = ["status", "show", "resolve --list", "export --to copy", "report --to page.html"];
    let said = commands.map(|words| format!("{rescreen} {words} out/2026-11 2>&1; echo {words} ended with $?"));
    let script = format!(
        "mount --bind out/2026-11 out/2026-11 && mount -o remount,ro,bind out/2026-11 || exit 77\n{}",
        said.join("\n")
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).current_dir(workspace.path());
    match command.output() {
        Ok(output) if output.status.success() => Some(String::from_utf8(output.stdout).unwrap()),
        _ => {
            println!("SKIPPED: this user may not mount a folder");
            None
        }
    }
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_campaign_on_a_medium_that_cannot_be_written_is_read() {
    let workspace = held(4);
    workspace.service.answers_all();
    workspace.run(&[]).exits(0);
    let before = files(&out(&workspace));
    let Some(said) = said_while_read_only(&workspace) else { return };
    assert_eq!(said.matches("ended with 0").count(), 5, "{said}");
    assert!(said.contains("credits charged") && said.contains("4 results"), "{said}");
    assert_eq!(files(&out(&workspace)), before);
}

#[test]
fn a_killed_campaign_there_is_read_with_its_log() {
    let workspace = held(60);
    killed(&workspace);
    let Some(said) = said_while_read_only(&workspace) else { return };
    assert!(said.contains("6 of 60 requests") && said.contains("6 results, 0 failures, 54 pending"), "{said}");
}
