//! How often the id and the fields have a value.

use crate::{
    cli::Workspace,
    support::program::{Said, rescreen},
};

fn shown(text: &str, more: &[&str], code: i32) -> Said {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", text);
    Said::of(&mut workspace.production("plan", more)).exits(code)
}

#[test]
fn the_id_and_each_field_have_counts_and_a_repeated_or_missing_id_is_a_warning() {
    let text = "no,name\nLathi Holdings,A\nlathi,B\n,B\nLathi  Holdings,\n";
    let said = shown(text, &[], 0);
    for line in [
        "  id ← `no`                                                3         2         1",
        "  name ← `name` (by name)                                  3         2         1",
    ] {
        assert!(said.stdout.contains(line), "expected `{line}` in:\n{}", said.stdout);
    }
    let said = said.shows("warning: `no` does not identify each row: 1 row has the id of another row, 1 row has no id");
    assert!(said.stdout.contains("  entity ← constant 0, country ← constant \"za\", dataset ← default \"all\""));
    let sound = shown("no,name\n1,A\n2,B\n", &[], 0);
    assert!(!sound.stdout.contains("warning"), "{}", sound.stdout);
}

#[test]
fn a_long_name_of_a_column_is_cut() {
    let workspace = Workspace::new(0);
    let name = "long name ".repeat(12);
    workspace.write("book.csv", &format!("no,{}\n1,A\n", name.trim()));
    let map = format!("name={}", name.trim());
    let said = Said::of(&mut workspace.production("plan", &["--map", &map])).exits(0);
    let line = said.stdout.lines().find(|line| line.starts_with("  name ← `long name")).unwrap();
    assert!(line.chars().count() == 80 && line.ends_with('…'), "{line}");
}

#[test]
fn a_template_that_makes_no_value_counts_as_empty() {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", "no,name,country\n1,A,za\n2,B,nowhere\n3,C,\n4,D,za\n");
    let template = "country={{ country | country }}";
    let words = ["plan", "book.csv", "--check", "aml-screening", "--set", "entity=0", "--map", template, "--simulate"];
    let said = workspace.say(&words).exits(0);
    let line = "  country ← template                                       2         1         2";
    assert!(said.stdout.contains(line), "{}", said.stdout);
}

#[test]
fn two_columns_that_could_feed_one_field_are_an_error_that_says_how_to_choose() {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", "no,name,full_name\n1,Anna,Anna Smit\n");
    for command in ["plan", "run"] {
        let said = Said::of(&mut workspace.production(command, &[])).exits(2).without_data();
        said.says("columns `name` and `full_name` both match field `name`; choose one with `--map name=");
    }
    let said = Said::of(&mut workspace.production("plan", &["--map", "name=full_name"])).exits(0);
    assert!(said.stdout.contains("  name ← `full_name`"), "{}", said.stdout);
}

#[test]
fn more_values_than_are_kept_in_memory_are_counted_exactly() {
    // 150,000 different values are more than are kept in memory for a field.
    let workspace = Workspace::new(0);
    let rows: String = (0..150_000).map(|row| format!("{row},Person {row},{}\n", row % 150)).collect();
    workspace.write("book.csv", &format!("no,name,group\n{rows}0,Person 0,0\n"));
    let words =
        "plan book.csv --check aml-screening --set entity=0 --set country=za --id no --simulate --expect-rows 150001";
    let words: Vec<&str> = words.split_whitespace().collect();
    let said = Said::of(&mut rescreen(workspace.path(), &words)).exits(0);
    let line = "  id ← `no`                                          150,001   150,000         0";
    assert!(said.stdout.contains(line), "{}", said.stdout);
    said.shows("1 row has the id of another row").shows("duplicates 1").shows("to send 150,000");
}

#[test]
fn different_values_are_counted_as_they_are_sent_also_in_rejected_rows() {
    let workspace = Workspace::new(0);
    let book =
        "no,name,entity\n1,A,PERSON\n2,B,ORGANIZATION\n3,,PERSON\n4,,ORGANIZATION\n5,,company\n6,C,robot\n7,D,\n";
    workspace.write("book.csv", book);
    let words = ["plan", "book.csv", "--check", "aml-screening", "--set", "country=za", "--simulate"];
    let said = workspace.say(&words).exits(0);
    let line = "  entity ← `entity` (by name)                              6         2         1";
    assert!(said.stdout.contains(line), "{}", said.stdout);
}

#[test]
fn a_run_says_what_a_plan_says_about_the_ids() {
    let workspace = Workspace::new(0);
    workspace.write("book.csv", "no,name\nLathi Holdings,A\nlathi,B\n,B\nLathi  Holdings,\n");
    let words =
        ["run", "book.csv", "--check", "aml-screening", "--set", "entity=0", "--set", "country=za", "--simulate"];
    let run = |more: &[&str]| workspace.say(&[&words[..], more].concat());
    let said = run(&["--id", "no", "--max-errors", "10"]).exits(3);
    said.says("`no` does not identify each row: 1 row has the id of another row, 1 row has no id");
    let without = run(&["--campaign", "two", "--max-errors", "10"]).exits(3);
    assert!(!without.stderr.contains("identify"), "no column was named: {}", without.stderr);
}
