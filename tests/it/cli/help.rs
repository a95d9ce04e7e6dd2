//! Help as a newcomer reads it, word for word.

use crate::support::program::{Said, rescreen};
use rescreen::template::reference::{FILTERS, FUNCTIONS, OBJECT_METHODS, TEXT_METHODS};

fn help(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let said = Said::of(&mut rescreen(folder.path(), arguments)).exits(0);
    assert_eq!(said.stderr, "");
    said.stdout.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The commands of the program, in the order of its help.
pub fn commands() -> Vec<String> {
    let help = help(&["--help"]);
    let listed = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let first_words = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    first_words.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn the_help_of_the_program_and_of_every_command() {
    insta::assert_snapshot!("help", help(&["--help"]));
    let commands = commands();
    assert!(commands.len() > 15, "{commands:?}");
    // `help` is the same again, and the page on templates is made from its reference.
    for command in commands.iter().filter(|command| !["help", "templates"].contains(&command.as_str())) {
        insta::assert_snapshot!(format!("help_{command}"), help(&[command, "--help"]));
    }
}

#[test]
fn the_help_on_templates_has_every_filter_and_method_on_a_page_of_80_columns() {
    let page = help(&["help", "templates"]);
    assert_eq!(page, help(&["templates"]));
    assert_eq!(page, help(&["templates", "--help"]));
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    for entry in [FILTERS, TEXT_METHODS, OBJECT_METHODS, FUNCTIONS].concat() {
        assert!(page.contains(&format!("\n  {} ", entry.name)) && page.contains(entry.about), "{}", entry.name);
        assert!(page.contains(entry.example) && page.contains(entry.result.trim_end()), "{}", entry.example);
    }
    assert!(page.contains(r#"{{ row["Full name"] }}  gives  Merwe, Thandi"#), "{page}");
}
