//! Text from a file, a ledger or the service never reaches a terminal unescaped: no control character, no newline
//! inside a text, no invisible character and none that changes the direction of text.

use super::wire::{Answer, Wire, json};
use crate::{
    fuzzed::checks::xlsx::{Workbook, rows, text},
    support::{
        program::{Said, rescreen},
        world::book,
    },
};
use std::{fs, path::Path};
use tempfile::TempDir;

/// A window title, a cleared screen, an injected line and right-to-left text.
const HOSTILE: &str =
    "a\u{1b}]0;pwn\u{7}\u{1b}[2J\nerror: all is well\u{202e}\u{2066}\u{61c}\u{9b}\u{7f}\u{feff}\u{2028}z";
const RUN: &str = "run --check aml-screening --set entity=0 --set country=za --campaign c --out out/c";

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[track_caller]
fn is_harmless(said: &Said) {
    for text in [&said.stdout, &said.stderr] {
        let is_harmful = |c: char| {
            (c.is_control() && c != '\n')
                || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
                || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
        };
        assert!(!text.contains(is_harmful), "{}", text.escape_debug());
        assert!(!text.lines().any(|line| line.starts_with("error: all is well")), "{text}");
    }
}

#[track_caller]
fn harmless(folder: &Path, line: &[&str]) -> Said {
    let said = Said::of(&mut rescreen(folder, line));
    is_harmless(&said);
    said
}

fn edit(out: &Path, sql: &str) {
    let ledger = rusqlite::Connection::open(out.join("ledger.sqlite")).unwrap();
    assert!(ledger.execute(sql, [HOSTILE]).unwrap() > 0, "{sql}");
}

fn with_book() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("book.csv"), book(1..=3)).unwrap();
    folder
}

#[test]
fn a_ledger_cannot_control_the_terminal_through_status() {
    let folder = with_book();
    harmless(folder.path(), &[&words(RUN)[..], &["book.csv", "--simulate"]].concat()).exits(0);
    edit(&folder.path().join("out/c.simulated"), "update campaign set campaign = ?1, origin = ?1");
    let said = harmless(folder.path(), &["status", "out/c.simulated"]).exits(0);
    assert!(said.stdout.contains(r"\u{1b}]0;pwn\u{7}\u{1b}[2J\nerror: all is well\u{202e}"), "{}", said.stdout);
    let said = harmless(folder.path(), &["status", "out/c.simulated", "--json"]).exits(0);
    let status: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(status["campaign"], HOSTILE, "JSON says the same in escapes");
    for command in [&["resolve", "out/c.simulated", "--list"][..], &["collect", "out/c.simulated", "-vv"]] {
        harmless(folder.path(), command);
    }
}

#[test]
fn a_ledger_cannot_control_the_terminal_through_the_list_of_decisions() {
    let wire = Wire::new(|_, _| Answer::Bytes(json("500 Internal Server Error", "{}")));
    let folder = with_book();
    let run =
        [&words(RUN)[..], &words("book.csv --mode production --id no --price aml-screening=1 --yes --for 10s --per-minute 60000 --per-minute-max 90000")].concat();
    let more = ["--max-credits", "9", "--service", &wire.url];
    let ran = harmless(folder.path(), &[&run[..], &more].concat());
    assert!(!wire.checks().is_empty(), "{}", ran.stderr);
    edit(&folder.path().join("out/c"), "update source set name = ?1");
    let said = harmless(folder.path(), &["resolve", "out/c", "--list", "--include-in-doubt"]);
    assert!(said.stdout.contains(r"\u{1b}[2J\nerror"), "{}{}", said.stdout, said.stderr);
    harmless(folder.path(), &[&run[..], &more, &["-vv"]].concat());
}

#[test]
fn names_of_sheets_columns_and_files_cannot_control_the_terminal() {
    let folder = with_book();
    let sheet = rows(&[&[&text("id"), &text("name")], &[&text("1"), &text("Ada")]]);
    let named = format!("b\nerror: all is well\u{202e}{}", "\u{61c}");
    let workbook = Workbook::new().sheet(&named, &sheet).sheet("other", &sheet).bytes();
    fs::write(folder.path().join("book.xlsx"), workbook).unwrap();
    let plan = ["plan", "--check", "aml-screening", "--set", "entity=0", "--set", "country=za", "--simulate"];
    let said = harmless(folder.path(), &[&plan[..], &["book.xlsx"]].concat()).exits(2);
    assert!(said.stderr.contains(r"b\nerror: all is well\u{202e}\u{61c}"), "{}", said.stderr);

    fs::write(folder.path().join("columns.csv"), "customer name,x\u{202e}\u{1b}[2J\"\n1,2\n").unwrap();
    let said = harmless(folder.path(), &[&plan[..], &["columns.csv", "--map", "name=nam"]].concat()).exits(2);
    assert!(said.stderr.contains("customer name"), "{}", said.stderr);

    let name = "f\nerror: all is well\u{1b}[2J.csv";
    fs::write(folder.path().join(name), "name\nAda\n").unwrap();
    harmless(folder.path(), &[&plan[..], &[name, "--map", "name=nam"]].concat()).exits(2);
    let said = harmless(folder.path(), &[&plan[..], &[name]].concat()).exits(0);
    assert!(said.next_command().contains(r"$'f\012error: all is well\033[2J.csv'"), "{}", said.stderr);

    for words in
        [&["plan", name, "--limit", HOSTILE][..], &["plan", "--x\u{1b}[2J"], &["plan", "x.csv", "--service", HOSTILE]]
    {
        harmless(folder.path(), words).exits(2);
    }
}

#[test]
fn a_campaign_file_cannot_control_the_terminal() {
    let folder = with_book();
    for text in [
        format!("campaign = '''{HOSTILE}'''\nmode = \"production\"\n"),
        "\"b\\nerror: all is well\\u001b[2J\" = 1\n".to_owned(),
        "campaign = \"c\"\n[[check]]\nuse = \"a\\nerror: all is well\\u202e\"\n".to_owned(),
        "campaign = \"c\"\n[service]\nurl = \"http://a\\nerror: all is well\\u202e\"\n".to_owned(),
        "campaign = \"c\"\n[[check]]\nuse = \"aml-screening\"\nfields.\"x\\nerror: all is well\\u202e\" = \"a\"\n".to_owned(),
        "campaign = \"c\"\n[[check]]\nuse = \"aml-screening\"\nfields.name = \"{{ x | \\u202e\\nerror: all is well }}\"\n"
            .to_owned(),
    ] {
        fs::write(folder.path().join("rescreen.toml"), text).unwrap();
        harmless(folder.path(), &["plan", "book.csv", "--service", "http://127.0.0.1:1"]);
        harmless(folder.path(), &["plan", "book.csv"]).exits(2);
    }
}

#[test]
fn service_messages_cannot_control_the_terminal_at_any_verbosity() {
    let text = serde_json::Value::from(HOSTILE).to_string();
    let error = format!(r#"{{"error":{{"code":{text},"message":{text}}},"requestId":{text}}}"#);
    let priced =
        format!(r#"{{"results":{{"match":[]}},"requestId":{text},"creditsUsed":{text},"remainingCredits":{text}}}"#);
    let cases = [
        ("400 Bad Request", &error),
        ("401 Unauthorized", &error),
        ("402 Payment Required", &error),
        ("409 Conflict", &error),
        ("429 Too Many Requests", &error),
        ("503 Service Unavailable", &error),
        ("200 OK", &priced),
    ];
    // Most of their time is waiting.
    let is_harmless = |status: &str, body: &str| {
        let reply = (status.to_owned(), body.to_owned());
        let wire = Wire::new(move |_, _| Answer::Bytes(json(&reply.0, &reply.1)));
        let folder = with_book();
        for format in ["text", "json"] {
            let more = "book.csv --mode production --id no --price aml-screening=1 --max-credits 9 --yes --for 10s -vv \
                --per-minute 60000 --per-minute-max 90000";
            let more = [&words(RUN)[..], &words(more), &["--service", &wire.url, "--log-format", format]].concat();
            let said = harmless(folder.path(), &more);
            assert!(said.code != 0, "{status}");
            assert!(!wire.checks().is_empty(), "{}", said.stderr);
            harmless(folder.path(), &["status", "out/c"]);
            harmless(folder.path(), &["credits", "--service", &wire.url, "-vv"]);
        }
    };
    std::thread::scope(|scope| {
        for (status, body) in cases {
            scope.spawn(move || is_harmless(status, body));
        }
    });
}
