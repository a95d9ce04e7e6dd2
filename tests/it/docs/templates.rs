//! The lists in `docs/templates.md` are those of the program. `RESCREEN_WRITE_DOCS=1` writes them again.

use super::{page, text};
use rescreen::template::reference::{Entry, FILTERS, FUNCTIONS, OBJECT_METHODS, RECIPES, SAMPLE_ROW, TEXT_METHODS};
use std::fs;

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

fn table(heading: &str, entries: &[Entry]) -> String {
    let line = |entry: &Entry| {
        format!("| `{}` | {} | {} | {} |\n", entry.name, entry.about, code(entry.example), code(entry.result))
    };
    let lines: String = entries.iter().map(line).collect();
    format!("| {heading} | what it gives | example | result |\n|---|---|---|---|\n{lines}")
}

fn tasks() -> String {
    let line = |recipe: &rescreen::template::reference::Recipe| {
        format!("| {} | {} | {} |\n", recipe.task, code(recipe.template), code(recipe.result))
    };
    format!("| task | template | result |\n|---|---|---|\n{}", RECIPES.iter().map(line).collect::<String>())
}

/// The page with the text between a mark and its end replaced.
fn with_list(page: &str, mark: &str, list: &str) -> String {
    let begin = format!("<!-- {mark} -->\n");
    let from = page.find(&begin).unwrap_or_else(|| panic!("no mark `{mark}`")) + begin.len();
    let until = from + page[from..].find("<!-- end -->").unwrap_or_else(|| panic!("no end of `{mark}`"));
    format!("{}{list}{}", &page[..from], &page[until..])
}

#[test]
fn the_page_on_templates_has_every_filter_method_and_function() {
    let found = text("templates.md");
    let methods = format!("{}\n{}", table("of a text", TEXT_METHODS), table("of an object", OBJECT_METHODS));
    let written = [
        ("sample row", format!("```json\n{SAMPLE_ROW}\n```\n")),
        ("tasks", tasks()),
        ("filters", table("filter", FILTERS)),
        ("methods", methods),
        ("functions", table("function", FUNCTIONS)),
    ]
    .iter()
    .fold(found.clone(), |page, (mark, list)| with_list(&page, mark, list));
    if std::env::var_os("RESCREEN_WRITE_DOCS").is_some() {
        fs::write(page("templates.md"), &written).unwrap();
        return;
    }
    assert!(found == written, "docs/templates.md is out of date: RESCREEN_WRITE_DOCS=1 cargo test --test it docs::");
}
