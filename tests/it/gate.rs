//! The promise: the last line of the gate and of the gauntlet is true. What `tests/ci/steps.sh` says about a project with a
//! broken, a hanging or a flaky test, about a missing tool, and about a step for which no time is left.

use std::{
    env, fs,
    path::Path,
    process::{Command, Output},
};
use tempfile::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Each test does what the environment says.
const TESTS: &str = r#"
    use std::{env::var_os, fs, thread::sleep, time::Duration};

    #[test]
    fn holds() {
        assert!(var_os("BROKEN").is_none(), "this assertion is broken");
    }

    #[test]
    fn ends() {
        if var_os("HANGING").is_some() {
            sleep(Duration::from_secs(600));
        }
    }

    #[test]
    fn has_its_data() {
        if var_os("SKIPPING").is_some() {
            println!("SKIPPED: the data is not here");
        }
    }

    #[test]
    fn holds_at_once() {
        let Some(mark) = var_os("FLAKY") else { return };
        let again = fs::exists(&mark).unwrap();
        fs::write(mark, "").unwrap();
        assert!(again, "it holds only the second time");
    }
"#;

/// A project with these tests and the settings of this one, where a hang is noticed after three seconds.
fn project() -> Option<TempDir> {
    let has_nextest =
        Command::new("cargo").args(["nextest", "--version"]).output().is_ok_and(|said| said.status.success());
    if !has_nextest {
        println!("SKIPPED: cargo-nextest is not installed, and the gate is not tried without it");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let settings = fs::read_to_string(Path::new(ROOT).join(".config/nextest.toml")).unwrap();
    let quick = settings.replace("period = \"60s\"", "period = \"1s\"").replace("delay = \"5s\"", "delay = \"0s\"");
    assert_ne!(settings, quick);
    write(".config/nextest.toml", &quick);
    write(".gitignore", "/target\n/Cargo.lock\n");
    write("Cargo.toml", "[package]\nname = \"tried\"\nedition = \"2024\"\n\n[workspace]\n");
    write("src/lib.rs", &format!("#[cfg(test)]\nmod tests {{{TESTS}}}\n"));
    let git = "git init --quiet && git add . && git -c user.name=x -c user.email=x@example.com commit --quiet -m tried";
    assert!(run(folder.path(), git, &[]).status.success());
    Some(folder)
}

/// Runs a script in the project. Only what a build needs is taken from this environment.
fn run(project: &Path, script: &str, environment: &[(&str, &str)]) -> Output {
    let kept =
        ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME"].into_iter().filter_map(|name| Some((name, env::var_os(name)?)));
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", script]).current_dir(project).env_clear().envs(kept);
    command.env("CARGO_NET_OFFLINE", "true").envs(environment.iter().copied()).output().unwrap()
}

/// The exit code and the last line of these steps, without the seconds.
fn result(project: &Path, steps: &str, environment: &[(&str, &str)]) -> (i32, String) {
    let said = run(project, &format!(". {ROOT}/tests/ci/steps.sh\nbegin tried\n{steps}\nfinish"), environment);
    let text = String::from_utf8_lossy(&said.stdout);
    let last = text.lines().last().unwrap_or_default();
    let last = last.split_once(" in ").map_or(last, |(before, _)| before);
    (said.status.code().unwrap(), last.to_owned())
}

const TESTED: &str = "step tests 120 cargo nextest run --no-fail-fast";

#[test]
fn the_last_line_counts_tests_and_the_exit_code_says_the_result() {
    let Some(project) = project() else { return };
    let mark = project.path().join("target/flaky").display().to_string();
    let of = |environment: &[(&str, &str)]| result(project.path(), TESTED, environment);
    let gate = ("NEXTEST_PROFILE", "gate");
    let ok = "tried: ok. 4 passed, 0 failed, 0 skipped, 0 flaky; 1 steps";
    // Some of the steps are not the gate: the same tree is tried as a whole afterwards.
    assert_eq!(of(&[gate, ("ONLY", "another")]).0, 0);
    assert_eq!(of(&[gate]), (0, ok.to_owned()));
    let json = fs::read_to_string(project.path().join("target/tried.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let tree = run(project.path(), "git rev-parse HEAD^{tree}", &[]).stdout;
    assert_eq!((json["tree"].as_str(), &json["clean"]), (Some(String::from_utf8_lossy(&tree).trim()), &true.into()));
    assert_eq!(
        (&json["result"], &json["passed"], &json["steps"][0]["step"]),
        (&"ok".into(), &4.into(), &"tests".into())
    );

    // The same tree is not tried again, except where that is asked for, and except with files that are not committed.
    let (code, last) = of(&[gate, ("BROKEN", "1")]);
    assert!(code == 0 && last.contains("This tree passed before"), "{last}");
    let failed = "tried: FAILED. 3 passed, 1 failed, 0 skipped, 0 flaky; 1 steps".to_owned();
    assert_eq!(of(&[gate, ("BROKEN", "1"), ("TRIED_AGAIN", "1")]), (1, failed.clone()));
    fs::write(project.path().join("new.txt"), "not committed").unwrap();
    assert_eq!(of(&[gate, ("HANGING", "1")]), (1, failed.clone()));
    let skipped = "tried: ok. 4 passed, 0 failed, 1 skipped, 0 flaky; 1 steps".to_owned();
    assert_eq!(of(&[gate, ("SKIPPING", "1")]), (0, skipped));
    // The gate never repeats a test; the gauntlet does, and counts it.
    assert_eq!(of(&[gate, ("FLAKY", &mark)]), (1, failed));
    fs::remove_file(&mark).unwrap();
    let flaky = of(&[("NEXTEST_PROFILE", "gauntlet"), ("FLAKY", &mark)]);
    assert_eq!(flaky, (0, "tried: ok. 4 passed, 0 failed, 0 skipped, 1 flaky; 1 steps".to_owned()));
}

#[test]
fn a_step_that_cannot_run_makes_the_result_incomplete_and_a_broken_one_makes_it_failed() {
    let Some(project) = project() else { return };
    let of = |steps: &str| result(project.path(), steps, &[("TRIED_AGAIN", "1")]);
    let missing = "absent() { needs absent-tool 'how to install it' absent-tool --version && limited absent-tool; }\n\
                   step absent 5 absent\nstep there 5 true";
    assert_eq!(of(missing), (3, "tried: INCOMPLETE. 0 passed, 0 failed, 1 skipped, 0 flaky; 2 steps".to_owned()));
    let late = "SECONDS_MAX=0\nstep late 5 true";
    assert_eq!(of(late), (3, "tried: INCOMPLETE. 0 passed, 0 failed, 0 skipped, 0 flaky; 1 steps".to_owned()));
    let broken = format!("{missing}\nstep broken 5 false\nstep hanging 1 sleep 60\nstep after 5 true");
    assert_eq!(of(&broken), (1, "tried: FAILED. 0 passed, 0 failed, 1 skipped, 0 flaky; 5 steps".to_owned()));
    let notice = "step notice 5 echo 'SKIPPED: the data is not here'";
    assert_eq!(of(notice), (0, "tried: ok. 0 passed, 0 failed, 1 skipped, 0 flaky; 1 steps".to_owned()));
    let of_cargo = "step cargo 5 echo 'test result: ok. 7 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out'";
    assert_eq!(of(of_cargo), (0, "tried: ok. 7 passed, 0 failed, 0 skipped, 0 flaky; 1 steps".to_owned()));
}

#[test]
fn each_gate_runs_the_command_of_the_readme_and_nothing_else() {
    let read = |name: &str| fs::read_to_string(Path::new(ROOT).join(name)).unwrap();
    assert_eq!(read(".ci/run").lines().last(), Some("exec tests/ci/gate"));
    assert!(read("Makefile").contains("\n\t@tests/ci/gate\n"));
    assert!(read("README.md").contains("make test") && read("tests/ci/gate").contains("limited make test;"));
}
