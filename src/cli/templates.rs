//! `rescreen help templates`: the language of templates on one page, made from the tables of the reference.

use super::output::lines_to_stdout;
use rescreen::{
    model::ExitCode,
    template::reference::{Entry, FILTERS, FUNCTIONS, OBJECT_METHODS, RECIPES, SAMPLE_ROW, TEXT_METHODS},
};
use std::fmt::Write;

/// The width of the page.
const WIDTH: usize = 80;

/// What the page begins with.
const INTRODUCTION: &str = r#"Templates fill the fields of a check from the columns of a row. They are written
in the language Jinja.

  --map name='{{ first_name }} {{ surname }}'       on the command line
  fields.name = "{{ first_name }} {{ surname }}"    in the campaign file
  when = "status == 'active'"                       an expression has no braces

{{ surname }} is the cell of the column `surname`. A column whose name has
spaces or signs is written {{ row["First name"] }}. If a value is missing, the
row fails, and nothing is sent for it; `default` gives another value to use.
In `when`, a comparison with a missing value is false (`!=` is true).
"#;

/// Prints the page.
pub fn templates() -> ExitCode {
    lines_to_stdout(page().trim_end());
    ExitCode::Complete
}

/// The page.
pub fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    let heading = |page: &mut String, text: &str| _ = write!(page, "\n{text}\n");
    heading(&mut page, "The examples read this row:\n");
    page.push_str(SAMPLE_ROW);
    page.push('\n');
    heading(&mut page, "Tasks:");
    for recipe in RECIPES {
        example(&mut page, recipe.task, recipe.template, recipe.result);
    }
    for (title, entries) in [
        ("Filters: {{ value | name(arguments) }}", FILTERS),
        ("Methods of a text: {{ value.name(arguments) }}", TEXT_METHODS),
        ("Methods of an object:", OBJECT_METHODS),
        ("Functions:", FUNCTIONS),
    ] {
        heading(&mut page, title);
        for Entry { name, about, example: template, result, .. } in entries {
            example(&mut page, &format!("{name:<13} {about}"), template, result);
        }
    }
    page
}

/// A line about something, and an example with its result below it.
fn example(page: &mut String, about: &str, template: &str, result: &str) {
    let one_line = format!("      {template}  gives  {result}");
    let example =
        if one_line.chars().count() > WIDTH { format!("      {template}\n        gives  {result}") } else { one_line };
    _ = write!(page, "  {about}\n{}\n", example.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_fits_a_terminal_of_80_columns() {
        for line in page().lines() {
            assert!(line.chars().count() <= WIDTH && line == line.trim_end(), "{line}");
        }
    }
}
