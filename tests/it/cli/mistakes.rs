//! User mistakes: exit code 2 before anything is sent, a suggestion in the message, and no files left behind.

use super::Workspace;

/// The message of a run that must not start.
fn refused(workspace: &Workspace, arguments: &[&str]) -> String {
    let said = workspace.say(arguments).exits(2).without_data();
    assert_eq!(workspace.service.simulator.stats().requests, 0, "nothing is sent");
    assert!(!workspace.path().join("out").exists(), "nothing is left behind");
    said.stderr
}

fn run(workspace: &Workspace, more: &[&str]) -> String {
    let url = workspace.service.url.clone();
    let words = ["run", "book.csv", "--service", &url, "--set", "country=za"];
    workspace.filtered(&refused(workspace, &[&words, more].concat()))
}

#[test]
fn an_unknown_flag_suggests_the_nearest_known_one() {
    let message = run(&Workspace::new(2), &["--check", "aml-screening", "--max-credit", "5"]);
    assert!(message.contains("--max-credits"), "{message}");
}

#[test]
fn an_unknown_check_suggests_the_nearest_known_one() {
    insta::assert_snapshot!(run(&Workspace::new(2), &["--check", "aml-screning"]), @r#"
    error: no check is called `aml-screning`; did you mean `aml-screening`?
    "#);
}

#[test]
fn several_checks_that_are_equally_near_are_all_suggested() {
    insta::assert_snapshot!(run(&Workspace::new(2), &["--check", "cipc"]), @r#"
    error: no check is called `cipc`; did you mean `cipc-company` or `cipc-director`?
    "#);
}

#[test]
fn without_a_campaign_file_and_a_check_init_is_the_first_command_that_is_named() {
    let workspace = Workspace::new(2);
    for (arguments, init) in [
        (&["plan", "book.csv"][..], "`rescreen init book.csv`"),
        (&["run", "book.csv", "--simulate"], "`rescreen init book.csv`"),
        (&["run", "--simulate"], "`rescreen init FILE`"),
        (&["plan"], "`rescreen init FILE`"),
    ] {
        let message = refused(&workspace, arguments);
        let at = message.find(init).unwrap_or_else(|| panic!("{arguments:?}: {message}"));
        assert!(at < message.find("--check").unwrap() && at < message.find("aml-screening").unwrap(), "{message}");
    }
}

#[test]
fn an_unknown_column_suggests_the_nearest_known_one() {
    insta::assert_snapshot!(run(&Workspace::new(2), &["--check", "aml-screening", "--map", "name=nam", "--set", "entity=0"]), @r#"
    error: check `aml-screening`, field `name`: there is no column `nam`; did you mean `name`?; the columns are `no`, `name`, `status`
    "#);
}

#[test]
fn an_unknown_field_suggests_the_nearest_known_one() {
    insta::assert_snapshot!(run(&Workspace::new(2), &["--check", "aml-screening", "--set", "entty=0"]), @r#"
    error: check `aml-screening` has no field `entty`; did you mean `entity`?
    "#);
}

#[test]
fn a_field_without_a_source_says_what_to_write() {
    insta::assert_snapshot!(run(&Workspace::new(2), &["--check", "aml-screening"]), @r#"
    error: check `aml-screening` needs field `entity` (0 = person, 1 = company), and no column matches it; the columns are `no`, `name`, `status`; set it with `--map entity=COLUMN`, for all rows with `--set entity=0` (or 1), or in its line of the campaign file, which `rescreen init` marks OPEN
    "#);
}

#[test]
fn an_unknown_id_column_suggests_the_nearest_known_one() {
    insta::assert_snapshot!(run(&Workspace::new(2), &["--check", "aml-screening", "--set", "entity=0", "--id", "noo"]), @r#"
    error: --id: the input has no column `noo`; did you mean `no`?
    "#);
}

#[test]
fn an_unknown_key_of_the_campaign_file_is_reported_with_its_line_and_the_nearest_known_key() {
    let workspace = Workspace::new(2);
    workspace.write("rescreen.toml", "campaign = \"2026-11\"\n[budget]\nmax_credit = 5\n");
    insta::assert_snapshot!(run(&workspace, &["--check", "aml-screening"]), @r#"
    error: rescreen.toml: line 3: unknown key `max_credit`, expected one of `max_credits`, `keep_balance`, `prices`; did you mean `max_credits`?
      max_credit = …
    "#);
}

#[test]
fn a_missing_input_is_named() {
    let workspace = Workspace::new(2);
    let url = workspace.service.url.clone();
    let words =
        ["run", "bok.csv", "--service", &url, "--check", "aml-screening", "--set", "entity=0", "--set", "country=za"];
    insta::assert_snapshot!(refused(&workspace, &words), @r#"
    error: bok.csv: cannot be opened: No such file or directory (os error 2)
    "#);
}

#[test]
fn no_check_no_service_and_no_command_say_what_is_missing() {
    let workspace = Workspace::new(2);
    assert!(run(&workspace, &[]).contains("--check NAME"));
    assert!(refused(&workspace, &["run", "book.csv", "--check", "aml-screening"]).contains("--service URL"));
    assert!(refused(&workspace, &[]).contains("Usage: rescreen"));
    assert!(refused(&workspace, &["rum"]).contains("run"));
    assert!(refused(&workspace, &["status"]).contains("expected a campaign in out/"));
    assert!(refused(&workspace, &["simulate", "--faults", "drop_aftr:1"]).contains("drop_after"));
    assert!(refused(&workspace, &["checks", "aml"]).contains("aml"));
}

#[test]
fn plain_http_to_another_machine_is_refused() {
    let workspace = Workspace::new(2);
    let words = "run book.csv --check aml-screening --set entity=0 --set country=za --service http://example.com";
    let said = workspace.say(&words.split_whitespace().collect::<Vec<_>>()).exits(2);
    assert!(said.stderr.contains("https"), "{}", said.stderr);
}

#[test]
fn a_missing_api_key_names_its_variable() {
    let workspace = Workspace::new(2);
    let mut command = workspace.production("run", &["--yes"]);
    let said = super::Said::of(command.env_remove("RESCREEN_API_KEY")).exits(2).without_data();
    insta::assert_snapshot!(said.stderr, @r#"
    error: the API key: the environment variable RESCREEN_API_KEY is not set (or is not valid text); set it, or name another source in the campaign file
    "#);
}

#[test]
fn an_unknown_retry_code_suggests_the_nearest_known_one() {
    let message = run(&Workspace::new(2), &["--check", "aml-screening", "--retry", "refusd"]);
    assert!(message.contains("`refused`"), "{message}");
}

#[test]
fn a_template_that_is_too_long_is_named_with_its_limit_and_its_length() {
    let name = format!("name={{{{ name }}}}{}", "x".repeat(70_000));
    insta::assert_snapshot!(run(&Workspace::new(2), &["--check", "aml-screening", "--map", &name, "--set", "entity=0"]), @r#"
    error: check `aml-screening`, field `name`: expected a template of at most 64 KiB, found 70010 bytes
    "#);
}

#[cfg(unix)]
#[test]
fn an_input_without_a_line_end_is_refused_at_the_limit_of_a_line() {
    let workspace = Workspace::new(2);
    let words =
        ["plan", "/dev/zero", "--simulate", "--check", "aml-screening", "--map", "name=name", "--set", "entity=0"];
    let message = refused(&workspace, &words);
    assert!(message.contains("/dev/zero: the header: expected a line end within 16 MiB, found none"), "{message}");
}
