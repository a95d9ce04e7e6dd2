//! The pages in `docs/` agree with the program: every key, column, failure code and exit code is documented, and
//! `docs/checks.md` and the lists in `docs/templates.md` are generated. `RESCREEN_WRITE_DOCS=1` writes them again.

mod commands;
mod templates;
mod toolchain;

use rescreen::{
    catalogue::{Catalogue, ColumnKind, Declaration, Flow, Subject},
    model::{ExitCode, FailureCode},
    pipeline::campaign::parse,
    sink::{ResultForm, Schema, failures_schema, pending_schema, results_schema, skipped_schema},
};
use std::{fmt::Write, fs, path::PathBuf};

fn page(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(page(name)).unwrap()
}

/// The part of a page from a heading to the next one of the same level.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let from = page.find(&format!("{heading}\n")).unwrap_or_else(|| panic!("no heading `{heading}`")) + heading.len();
    let level = &heading[..=heading.find(' ').unwrap()];
    page[from..].split(&format!("\n{level}")).next().unwrap()
}

#[test]
fn the_page_on_exit_codes_lists_every_code() {
    let page = text("exit-codes.md");
    for number in 0..=255 {
        let exists = number == ExitCode::Internal as u8 || ExitCode::from_number(number) != ExitCode::Internal;
        assert_eq!(page.contains(&format!("\n| {number} | ")), exists, "exit code {number}");
    }
}

#[test]
fn the_page_on_outputs_lists_every_column_and_failure_code() {
    let page = text("outputs.md");
    let head = section(&page, "## Columns of every dataset");
    let results = results_schema(&[], &[], &[], ResultForm::default()).unwrap();
    let datasets: [(&str, Schema); 4] = [
        ("## results", results),
        ("## failures", failures_schema()),
        ("## pending", pending_schema()),
        ("## skipped", skipped_schema()),
    ];
    for (heading, schema) in datasets {
        let own = section(&page, heading);
        for (at, column) in schema.columns.iter().enumerate() {
            let place = if at < 5 { head } else { own };
            assert!(place.contains(&format!("\n| `{}` | ", column.name)), "{heading}: {}", column.name);
        }
    }
    for code in FailureCode::ALL {
        assert!(page.contains(&format!("\n| `{}` | ", code.as_str())), "{}", code.as_str());
    }
}

/// The keys of a table, as the message about an unknown key lists them.
fn keys(table: &str) -> Vec<String> {
    let message = parse(&format!("{table}\nzzz = 1\n")).unwrap_err();
    let known = message.split("expected").nth(1).unwrap_or_else(|| panic!("{table}: {message}"));
    known.lines().next().unwrap().split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_page_on_the_campaign_file_lists_every_key() {
    let page = text("campaign-file.md");
    for table in ["[service]", "[input]", "[budget]", "[[check]]", "[output]", "[guards]"] {
        let own = section(&page, &format!("## `{table}`"));
        let keys = keys(table);
        assert!(keys.len() > 2, "{table}: {keys:?}");
        keys.iter().for_each(|key| assert!(own.contains(&format!("\n| `{key}` | ")), "{table}: {key}"));
    }
    for (table, key) in [("[keys]", "secret"), ("[ledger]", "path")] {
        assert!(page.contains(&format!("| `{}.{key}` | ", table.trim_matches(['[', ']']))), "{table}: {key}");
    }
    for key in keys("") {
        assert!(
            page.contains(&format!("`{key}`"))
                || page.contains(&format!("`[{key}]`"))
                || page.contains(&format!("`[[{key}]]`")),
            "{key}"
        );
    }
}

#[test]
fn the_examples_of_campaign_files_are_read() {
    for name in ["../README.md", "campaign-file.md", "input.md", "templates.md", "webhooks.md"] {
        let page = text(name);
        let examples: Vec<&str> =
            page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
        assert!(!examples.is_empty(), "{name}");
        for example in examples {
            parse(example).unwrap_or_else(|error| panic!("{name}: {error}\n{example}"));
        }
    }
}

#[test]
fn the_page_on_checks_matches_the_catalogue() {
    let written = checks_page();
    if std::env::var_os("RESCREEN_WRITE_DOCS").is_some() {
        fs::write(page("checks.md"), &written).unwrap();
    }
    let found = fs::read_to_string(page("checks.md")).unwrap_or_default();
    assert!(found == written, "docs/checks.md is out of date: RESCREEN_WRITE_DOCS=1 cargo test --test it docs::");
}

fn checks_page() -> String {
    let mut page = "# Checks\n\n<!-- Generated from src/catalogue by tests/it/docs.rs. -->\n\n\
        Each check is one request to the service. What is marked *assumed* is not in the service's description. The column `answer`\n\
        always contains the whole answer. `rescreen checks NAME` prints a check; `rescreen checks NAME --toml` prints its declaration,\n\
        to paste into a campaign file and correct, and `--csv` a file to fill in. `payload` of a declaration lists where the content\n\
        of an answer is looked for.\n"
        .to_owned();
    let catalogue = Catalogue::built_in();
    let mut subjects: Vec<Subject> =
        catalogue.iter().map(|check| check.subject.expect("every check has one")).collect();
    subjects.sort();
    subjects.dedup();
    for subject in &subjects {
        let of_subject = || catalogue.iter().filter(|check| check.subject == Some(*subject));
        let links: Vec<String> = of_subject().map(|check| format!("[{0}](#{0})", check.name)).collect();
        writeln!(
            page,
            "{}- {}: {}",
            if *subject == subjects[0] { "\n" } else { "" },
            subject.as_str(),
            links.join(", ")
        )
        .unwrap();
    }
    for subject in subjects {
        let name = subject.as_str();
        writeln!(page, "\n# {}{}", name[..1].to_uppercase(), &name[1..]).unwrap();
        catalogue.iter().filter(|check| check.subject == Some(subject)).for_each(|check| describe(&mut page, check));
    }
    page
}

fn assumed(assumed: bool) -> &'static str {
    if assumed { " *assumed*" } else { "" }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn list(items: &[String]) -> String {
    items.iter().map(|item| code(item)).collect::<Vec<_>>().join(" or ")
}

/// What the digest of an answer is made of.
fn compared(check: &Declaration) -> String {
    let answer = &check.answer;
    let compared = match answer.compared.as_slice() {
        [] => "the whole payload".to_owned(),
        pointers => format!("{}{}", list(pointers), assumed(check.is_assumed("answer.compared"))),
    };
    let volatile: Vec<String> = answer.volatile.iter().map(|pointer| code(pointer)).collect();
    match volatile.as_slice() {
        [] => compared,
        _ => format!("{compared} without {}{}", volatile.join(", "), assumed(check.is_assumed("answer.volatile"))),
    }
}

/// Where the matches are about which a person can decide.
fn matches(check: &Declaration) -> Option<String> {
    let matches = check.answer.matches.as_ref()?;
    let columns: Vec<&str> = matches.columns.iter().map(|column| column.name.as_str()).collect();
    let lists: Vec<String> = matches.lists.iter().map(|list| code(list)).collect();
    Some(format!(
        "{}, each known by {}{}. Columns of a worklist: {}",
        lists.join(" and "),
        list(&matches.id),
        assumed(check.is_assumed("answer.matches")),
        columns.iter().map(|name| code(name)).collect::<Vec<_>>().join(", ")
    ))
}

fn describe(page: &mut String, check: &Declaration) {
    let mark = |part: &str| assumed(check.is_assumed(part));
    let flow = match check.flow {
        Flow::Direct => "answered at once",
        Flow::Job if check.job.as_ref().is_some_and(|job| job.always) => "accepted as a job that is answered later",
        Flow::Job => "answered at once, or accepted as a job that is answered later",
        Flow::Replay => "answered at once, or repeated with the same key until it is answered",
        Flow::Upload => "answered at once; a document of more than 4 MB is uploaded first",
    };
    let price = check
        .price
        .map_or_else(|| "not documented; state it in `[budget] prices`".to_owned(), |price| format!("{price} credits"));
    writeln!(page, "\n## {}\n\n{}\n", check.name, check.summary).unwrap();
    writeln!(page, "- Route: {}{}", code(&check.routes.guide), mark("routes.guide")).unwrap();
    if let Some(alternate) = &check.routes.alternate {
        writeln!(page, "- Alternate route: {}{}", code(alternate), mark("routes.alternate")).unwrap();
    }
    writeln!(page, "- Flow: {flow}{}", mark("flow")).unwrap();
    for (name, value) in &check.fixed {
        writeln!(page, "- Sent with every request: `{name}` = `{value}`{}", mark(&format!("fixed.{name}"))).unwrap();
    }
    writeln!(page, "- Price: {price}").unwrap();
    if let Some(job) = &check.job {
        let hold = job.hold.map(|hold| format!("; {hold} credits stay reserved meanwhile")).unwrap_or_default();
        writeln!(page, "- State of a job: `{}`{hold}{}", job.status, assumed(job.assumed)).unwrap();
        if let Some(path) = &job.retry_webhook {
            writeln!(page, "- The service delivers a result again: `POST {path}`").unwrap();
        }
    }
    if let Some(field) = &check.consent {
        writeln!(page, "- Consent: `{field}`. One value for all rows needs `--consent-evidence`.").unwrap();
    }
    writeln!(page, "- The service remembers a key for {} hours.{}", check.key_life_hours, mark("key_life_hours"))
        .unwrap();
    if let Some(source) = &check.source {
        writeln!(page, "- What is assumed was seen in {source}.").unwrap();
    }
    page.push_str("\n| field | kind | required | default | meaning |\n|---|---|---|---|---|\n");
    for field in &check.fields {
        let mark = |part: &str| assumed(field.is_assumed(part));
        let default =
            field.default.as_ref().map(|value| code(&value.to_string()) + mark("default")).unwrap_or_default();
        let required = format!("{}{}", if field.required { "yes" } else { "no" }, mark("required"));
        let mut meaning = format!("{}{}", field.doc, assumed(field.assumed));
        for limit in field.limits() {
            write!(meaning, "; {}{}", limit.text, assumed(limit.assumed)).unwrap();
        }
        let kind = format!("{}{}", field.kind.as_str(), mark("kind"));
        writeln!(page, "| `{}` | {kind} | {required} | {default} | {} |", field.name, meaning.trim()).unwrap();
    }
    let places = format!("{}{}", list(&check.answer.payload), assumed(check.is_assumed("answer.payload")));
    writeln!(page, "\nContent at: {places}. Pointers start at the first of these places that is present.").unwrap();
    writeln!(page, "\n`answer_digest` compares {}.", compared(check)).unwrap();
    if let Some(matches) = matches(check) {
        writeln!(page, "\n[Matches](decisions.md) are in {matches}.").unwrap();
    }
    page.push_str("\n| result column | type | from the content |\n|---|---|---|\n");
    for column in &check.answer.columns {
        let kind = match column.kind {
            ColumnKind::Text => "text",
            ColumnKind::Json => "JSON",
            ColumnKind::Integer | ColumnKind::Count => "integer",
            ColumnKind::Number => "number",
            ColumnKind::Boolean => "boolean",
            ColumnKind::Date => "date",
            ColumnKind::Timestamp => "timestamp, UTC",
        };
        writeln!(page, "| `{}` | {kind} | {}{} |", column.name, list(&column.pointers), assumed(column.assumed))
            .unwrap();
    }
    page.push_str("\n| verdict | finding |\n|---|---|\n");
    let mut verdicts: Vec<String> = Vec::new();
    for rule in &check.verdict.rules {
        let line =
            format!("| `{}` | `{}`{} |", rule.verdict.as_str(), rule.finding, assumed(check.is_rule_assumed(rule)));
        // Several rules may have one finding.
        if !verdicts.contains(&line) {
            verdicts.push(line);
        }
    }
    let otherwise = &check.verdict.otherwise;
    verdicts.push(format!("| `{}` | `{}` |", otherwise.verdict.as_str(), otherwise.finding));
    for (_, expect) in check.expectations() {
        verdicts.push(format!("| `review` | `{0}_mismatch` or `{0}_not_stated`, with `expect.{0}` |", expect.name));
    }
    writeln!(page, "{}", verdicts.join("\n")).unwrap();
}
