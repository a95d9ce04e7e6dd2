//! The text of the campaign file that `init` writes. Every line that was guessed says why. It has no value of the input:
//! only names of columns, counts, and words from the program's own lists.

use super::{
    check::{CheckGuess, FieldGuess, Standing},
    layout::LayoutLine,
    row_id::RowId,
};
use crate::{
    mapping::FieldSource,
    model::{printable::printable, toml_text::toml_text},
};
use std::collections::BTreeMap;

/// Everything that a campaign file says.
pub struct Draft<'a> {
    pub campaign: &'a str,
    pub paths: Vec<String>,
    /// How many rows were sampled, as a sentence.
    pub sampled: String,
    pub layout: &'a [LayoutLine],
    pub id: &'a RowId,
    /// The texts that mean a missing value, and how many cells have them.
    pub nulls: &'a BTreeMap<&'static str, usize>,
    /// The folder of the files that rows name: `Some(None)` if it is needed and open.
    pub files_root: Option<Option<String>>,
    pub checks: &'a [CheckGuess],
}

impl Draft<'_> {
    /// The campaign file.
    pub fn text(&self) -> String {
        let mut lines = Lines::default();
        lines.comment("A campaign file, proposed by `rescreen init`.");
        lines.comment(&format!("{} Check each line that was guessed: the comment above it says why.", self.sampled));
        lines.comment("Never put a secret in this file. docs/campaign-file.md describes every key.");
        lines.empty();
        lines.comment("The name of this round of checks, such as 2026-11. A round pays once, however often it is run.");
        lines.pair("campaign", &toml_text(self.campaign));
        lines.comment(
            "`sandbox` is free, and its answers are invented. `production` sends real checks and spends credits.",
        );
        lines.pair("mode", "\"sandbox\"");
        lines.empty();
        self.input(&mut lines);
        lines.empty();
        lines.comment("A rehearsal with `rescreen run --simulate` needs no service and no key.");
        lines.comment("[service]");
        lines.comment("url = \"https://your-service/base/path\"");
        lines.comment("api_key = { env = \"RESCREEN_API_KEY\" }");
        lines.empty();
        lines.comment("Production needs a limit, and the price of each check as your contract states it, in credits.");
        lines.comment("[budget]");
        lines.comment("max_credits = 1000");
        let prices: Vec<String> = self.checks.iter().map(|check| format!("{} = …", check.check)).collect();
        lines.comment(&format!("prices = {{ {} }}", prices.join(", ")));
        for check in self.checks {
            lines.empty();
            write_check(&mut lines, check);
        }
        lines.empty();
        lines.line("[output]");
        lines.comment("Columns of the input to copy into the results.");
        lines.pair("carry", "[]");
        lines.comment(
            "The whole answer: \"column\" of the results, \"dataset\" of its own, or \"none\": only in the ledger.",
        );
        lines.comment("answer = \"column\"");
        lines.comment("Whether the results have a column with the fields that were sent.");
        lines.comment("sent = true");
        let words: BTreeMap<&String, &String> = self.checks.iter().flat_map(|check| &check.entity_words).collect();
        if !words.is_empty() {
            lines.empty();
            lines.comment("0 is a person, 1 is a company.");
            lines.line(&format!("[tables.{}]", super::entity::TABLE));
            for (word, entity) in words {
                lines.pair(&toml_text(word), &toml_text(entity));
            }
        }
        lines.0
    }

    fn input(&self, lines: &mut Lines) {
        lines.line("[input]");
        let paths: Vec<String> = self.paths.iter().map(|path| toml_text(path)).collect();
        lines.pair("paths", &format!("[{}]", paths.join(", ")));
        for one in self.layout {
            lines.comment(&one.why);
            if let Some((key, value)) = &one.setting {
                lines.pair(key, value);
            }
        }
        if !self.nulls.is_empty() {
            let cells: usize = self.nulls.values().sum();
            lines.comment(&format!(
                "These texts mean that a value is missing: {cells} cells of the sample have one of them."
            ));
            let words: Vec<String> = std::iter::once("").chain(self.nulls.keys().copied()).map(toml_text).collect();
            lines.pair("null", &format!("[{}]", words.join(", ")));
        }
        lines.comment(&format!("The column that identifies a row in every output: {}.", self.id.why));
        match &self.id.column {
            Some(column) => lines.pair("id", &toml_text(column)),
            None => lines.comment("id = \"…\""),
        }
        match &self.files_root {
            Some(Some(folder)) => {
                lines.comment("The folder of the files that rows name: the files of the sample are in it.");
                lines.pair("files_root", &toml_text(folder));
            }
            Some(None) => {
                lines.comment("OPEN: the folder of the files that rows name.");
                lines.comment("files_root = \"…\"");
            }
            None => {}
        }
    }
}

fn write_check(lines: &mut Lines, check: &CheckGuess) {
    lines.line("[[check]]");
    lines.pair("use", &toml_text(&check.check));
    for guess in &check.fields {
        write_field(lines, guess);
    }
    if !check.expects.is_empty() {
        lines.comment("Compared with the answer, at no cost: a difference gives the verdict `review`.");
    }
    for (name, source) in &check.expects {
        lines.comment(&format!("expect.{name} = {}", value_of(source)));
    }
}

fn write_field(lines: &mut Lines, guess: &FieldGuess) {
    let key = format!("fields.{}", guess.field.name);
    match &guess.standing {
        Standing::Fed(feed) => {
            let check = if feed.is_doubtful { "CHECK THIS: " } else { "" };
            lines.comment(&format!("{check}{}.", capitalised(&feed.why)));
            lines.pair(&key, &value_of(&feed.source));
        }
        Standing::Open(open) => {
            lines.comment(&format!("OPEN, and needed: {}.", open.why));
            let is_constant = |source: &&FieldSource| matches!(source, FieldSource::Constant(_));
            let (constants, columns): (Vec<&FieldSource>, Vec<&FieldSource>) =
                open.candidates.iter().partition(is_constant);
            if open.candidates.is_empty() {
                lines.comment(&format!("{key} = \"…\""));
            }
            columns.iter().for_each(|source| lines.comment(&format!("{key} = {}", value_of(source))));
            if !constants.is_empty() {
                lines.comment("A guess, which you decide: the same value for every row.");
            }
            constants.iter().for_each(|source| lines.comment(&format!("{key} = {}", value_of(source))));
            if !open.with_default.is_empty() {
                lines.comment("A guess, which you decide: the column, and this value for the rows without one.");
            }
            open.with_default.iter().for_each(|source| lines.comment(&format!("{key} = {}", value_of(source))));
        }
        Standing::Suggested(feed) => {
            lines.comment(&format!("Optional; it changes what is asked. It fits {}.", feed.why));
            lines.comment(&format!("{key} = {}", value_of(&feed.source)));
        }
    }
}

/// A sentence with a capital at its beginning.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// A source as the campaign file writes it.
fn value_of(source: &FieldSource) -> String {
    match source {
        FieldSource::Column(text) | FieldSource::Template(text) => toml_text(text),
        FieldSource::Constant(value) => match value.as_str() {
            Some(text) => format!("{{ value = {} }}", toml_text(text)),
            None => format!("{{ value = {value} }}"),
        },
    }
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn empty(&mut self) {
        self.line("");
    }

    fn comment(&mut self, text: &str) {
        self.line(&format!("# {}", printable(text)));
    }

    fn pair(&mut self, key: &str, value: &str) {
        self.line(&format!("{key} = {value}"));
    }
}
