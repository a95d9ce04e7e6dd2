//! What a newcomer types in the first hour: it works, or the message says what to write. Nothing is sent or left behind by
//! a mistake.

use super::Workspace;
use crate::support::tables::files;
use std::{fs, path::PathBuf};

const HEADER: &str = "\"Full  Name\",\"Date\nof Birth\",no\n";

fn workspace() -> Workspace {
    let workspace = Workspace::new(1);
    workspace.write("people.csv", &format!("{HEADER}Thandi Nkosi,1980-01-02,1\nAnele Dlamini,1981-03-04,2\n"));
    workspace
}

fn words<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let usual = "people.csv --check aml-screening --set entity=0 --set country=za --format jsonl --simulate";
    let usual = usual.split_whitespace();
    [command].into_iter().chain(usual).chain(more.iter().copied()).collect()
}

fn refused(workspace: &Workspace, command: &str, more: &[&str]) -> String {
    let said = workspace.say(&words(command, more)).exits(2).without_data();
    assert!(!workspace.path().join("out").exists(), "nothing is left behind");
    said.stderr
}

/// The lines of all files in a folder of the outputs.
fn lines_of(workspace: &Workspace, folder: &str) -> String {
    let of_folder =
        |file: &PathBuf| file.iter().any(|part| part == folder) && file.extension() == Some("jsonl".as_ref());
    let found = files(workspace.path(), "").into_iter().filter(of_folder);
    found.map(|file| fs::read_to_string(workspace.path().join(file)).unwrap()).collect()
}

fn results(workspace: &Workspace) -> String {
    lines_of(workspace, "results")
}

#[test]
fn a_column_is_named_as_messages_show_it() {
    let workspace = workspace();
    let more = ["--map", "name={{ row['full name'] }}", "--carry", "Date of Birth", "--id", "Full Name"];
    workspace.say(&words("run", &more)).exits(0);
    let results = results(&workspace);
    assert!(
        results.contains("\"date_of_birth\":\"1980-01-02\"") && results.contains("\"subject\":\"Thandi Nkosi\""),
        "{results}"
    );
    let more = ["--map", "name=Full Name", "--campaign", "second"];
    workspace.say(&words("run", &more)).exits(0);
}

#[test]
fn a_name_that_two_columns_have_is_an_error_that_names_both() {
    let workspace = Workspace::new(1);
    workspace.write("people.csv", "Full Name,\"full\nname\",x\nThandi Nkosi,Anele Dlamini,1\n");
    for more in [
        vec!["--map", "name=FULL NAME"],
        vec!["--map", "name={{ row['FULL NAME'] }}"],
        vec!["--map", "name=Full Name", "--id", "FULL NAME"],
        vec!["--map", "name=Full Name", "--carry", "x,FULL NAME"],
    ] {
        let message = refused(&workspace, "plan", &more);
        let both = "expected one column called `FULL NAME`, found columns 1 (`Full Name`) and 2 (`full name`)";
        assert!(message.contains(both), "{more:?}: {message}");
    }
    workspace.say(&words("plan", &["--map", "name=Full Name"])).exits(0);
}

#[test]
fn an_unknown_column_of_a_template_is_answered_with_how_to_write_it() {
    let message = refused(&workspace(), "plan", &["--map", "name={{ Full_Name }}"]);
    assert!(message.contains("there is no column `Full_Name`; did you mean `row[\"Full Name\"]`?"), "{message}");
    let message = refused(&workspace(), "plan", &["--map", "name={{ Full Name }}"]);
    assert!(message.contains("if it is a column, write `{{ row[\"Full Name\"] }}`"), "{message}");
}

#[test]
fn a_carried_column_can_have_another_name() {
    let workspace = workspace();
    let more = ["--map", "name=Full Name", "--carry", "dob=Date of Birth,no"];
    workspace.say(&words("run", &more)).exits(0);
    let text = results(&workspace);
    assert!(text.contains("\"dob\":\"1980-01-02\",\"no\":\"1\""), "{text}");
    workspace.say(&words("run", &more)).exits(0);
    let said = workspace.say(&words("run", &["--map", "name=Full Name", "--carry", "born=Date of Birth,no"])).exits(2);
    assert!(said.stderr.contains("the carried columns"), "{}", said.stderr);
    let folder = "out/rehearsals/people";
    workspace.say(&["collect", folder]).exits(0);

    let campaign = "campaign = \"toml\"\n[input]\npaths = [\"people.csv\"]\n[[check]]\nuse = \"aml-screening\"\n\
        fields.name = \"Full Name\"\nfields.entity = { value = 0 }\nfields.country = { value = \"za\" }\n\
        [output]\nformat = \"jsonl\"\ncarry = [\"no\", { born_on = \"Date of Birth\" }]\n";
    workspace.write("renamed.toml", campaign);
    workspace.say(&["run", "-c", "renamed.toml", "--simulate"]).exits(0);
    assert!(results(&workspace).contains("\"no\":\"1\",\"born_on\":\"1980-01-02\""));
}

#[test]
fn two_output_columns_of_one_name_are_a_usage_error_of_plan_and_run() {
    let workspace = workspace();
    for command in ["plan", "run"] {
        for (carry, fault) in [
            ("Verdict", "the results have a column `verdict` of their own; carry the input column `Verdict` under"),
            ("no,NO", "would both be named `no`; give one another name, as in --carry"),
            ("verdict=no", "the results have a column `verdict` of their own"),
        ] {
            let message = refused(&workspace, command, &["--map", "name=Full Name", "--carry", carry]);
            assert!(message.contains(fault), "{message}");
        }
    }
}

#[test]
fn lines_around_the_table_are_skipped_and_messages_keep_the_lines_of_the_file() {
    let workspace = Workspace::new(1);
    workspace.write("people.csv", "Customers\n\nname,no\nThandi Nkosi,1\nAnele Dlamini\nTotal,2\n");
    for begin in [["--header-row", "3"], ["--skip-rows", "2"]] {
        let campaign = format!("campaign-{}", begin[1]);
        let more = [&begin[..], &["--skip-footer", "1", "--campaign", &campaign, "--max-errors", "9"]].concat();
        let said = workspace.say(&words("run", &more)).exits(3);
        assert!(said.stderr.contains("2 rows: 1 result"), "{}", said.stderr);
        let other = workspace.say(&words("run", &["--skip-rows", "1", "--campaign", &campaign])).exits(2);
        assert!(
            other
                .stderr
                .contains("with skip_rows = 2 and skip_footer = 1, but skip_rows = 1 and skip_footer = 0 are given"),
            "{}",
            other.stderr
        );
    }
    let failures = lines_of(&workspace, "failures");
    assert!(failures.contains("\"row_number\":2,\"line\":5"), "{failures}");
}

#[test]
fn settings_about_lines_that_contradict_each_other_are_refused() {
    for (more, said) in [
        (vec!["--header-row", "2", "--skip-rows", "1"], "expected one of them, found both"),
        (vec!["--header-row", "0"], "expected the number of a line, from 1, found 0"),
        (vec!["--header-row", "2", "--no-header"], "use skip_rows for the lines before the first row"),
        (vec!["--skip-rows", "9999999"], "expected at most 1048575 lines, found 9999999"),
        (vec!["--skip-footer", "1001"], "expected at most 1000 rows, found 1001"),
        (vec!["--header-row", "9"], "expected the table to begin in line 9, found the end of the input"),
    ] {
        let message = refused(&workspace(), "plan", &[&["--map", "name=Full Name"], &more[..]].concat());
        assert!(message.contains(said), "{more:?}: {message}");
    }
}

#[test]
fn an_error_about_columns_names_the_file_if_there_are_several() {
    let workspace = workspace();
    workspace.write("other.csv", "name,no\nA,3\n");
    let message = refused(&workspace, "plan", &["other.csv", "--map", "name=Full Name"]);
    assert!(message.contains("error: other.csv: check `aml-screening`, field `name`: there is no column"), "{message}");
    let message = refused(&workspace, "plan", &["other.csv", "--map", "name={{ row['no'] }}", "--id", "Full Name"]);
    assert!(message.contains("error: other.csv: --id: the input has no column `Full Name`"), "{message}");
}

#[test]
fn an_image_as_input_is_called_an_image() {
    let workspace = workspace();
    fs::write(workspace.path().join("people.csv"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    let message = refused(&workspace, "plan", &["--map", "name=name"]);
    assert!(message.contains("people.csv: an image is not supported; name a file of rows"), "{message}");
}
