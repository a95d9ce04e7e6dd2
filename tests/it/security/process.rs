//! The process itself: what a panic prints, and what a crash leaves behind.

use crate::{
    cli::Workspace,
    support::program::{Said, UnderWay, rescreen},
};
use std::{fs, process::Command};

/// Debug builds panic on request, because there is no other way to see what a panic prints.
#[cfg(debug_assertions)]
#[test]
fn a_panic_prints_its_place_and_never_its_message() {
    let folder = tempfile::tempdir().unwrap();
    for place in ["main", "thread", "task"] {
        for backtrace in ["0", "full"] {
            let mut command = rescreen(folder.path(), &["checks", "-vv"]);
            command.env("RESCREEN_PANIC", format!("{place}:Thandi Vexford 8001015009087"));
            let said = Said::of(command.env("RUST_BACKTRACE", backtrace)).exits(1).without_data();
            let at = said.stderr.find("src/cli/panic.rs:").unwrap_or_else(|| panic!("{}", said.stderr));
            assert!(said.stderr[at..].contains("bug in rescreen"), "{}", said.stderr);
            assert!(said.stderr.contains("run the same command again"), "{}", said.stderr);
            for planted in ["Thandi", "Vexford", "8001015009087"] {
                assert!(!said.stderr.contains(planted), "{}", said.stderr);
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_text_does_not_panic() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"book\xff.csv");
    fs::write(folder.path().join(name), "no,name\n1,Ada Vexford\n").unwrap();
    let words = "plan --check aml-screening --set entity=0 --set country=za --simulate";
    let mut command = rescreen(folder.path(), &words.split(' ').collect::<Vec<_>>());
    Said::of(command.arg(name)).exits(0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_is_aborted_leaves_no_core_dump() {
    let workspace = Workspace::that_answers_only(1, 40);
    let production = workspace.production("run", &["--yes", "--in-flight", "2"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -c unlimited && exec \"$@\"", "sh"]).arg(production.get_program());
    shell.args(production.get_args()).current_dir(workspace.path()).stdin(std::process::Stdio::null());
    shell.envs(production.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let under_way = UnderWay::start(&mut shell);
    workspace.service.wait_for_work(3);
    let of_process = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", under_way.id())).unwrap();
    let limits = of_process("limits");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().skip(4).collect::<Vec<_>>(), ["0", "0", "bytes"], "{limits}");
    under_way.signal("ABRT");
    assert_eq!(under_way.ends().code, -6);
    let left: Vec<_> = fs::read_dir(workspace.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("core")), "{left:?}");
}
