//! The project's own style rules as tests: layers, file sizes, opening comments, refused words and witness types. Every
//! fault names file and line. The last tests prove that each rule can fail. Clippy holds the rest.

mod clock;
mod planted;
mod simulator;
mod statuses;

use std::{fmt, fs, path::Path};

const LINES_MAX: usize = 400;

/// What each module may import, besides itself: the layers of docs/design.md, section Layers.
const FLOOR_0: [&str; 1] = ["model"];
const FLOOR_1: [&str; 3] = ["template", "catalogue", "files"];
const FLOOR_2: &[&str] = &["source", "mapping", "ledger", "throttle", "book", "client", "webhook", "sink", "decisions"];
const FLOOR_3: [&str; 2] = ["pipeline", "simulator"];

fn may_import(room: &str, other: &str) -> bool {
    let below_2 = FLOOR_0.contains(&other) || FLOOR_1.contains(&other);
    match room {
        _ if room == other => true,
        "model" => false,
        "template" | "catalogue" | "files" => FLOOR_0.contains(&other),
        _ if FLOOR_2.contains(&room) => below_2,
        "error" => below_2 || FLOOR_2.contains(&other),
        "pipeline" => below_2 || FLOOR_2.contains(&other) || other == "error",
        "cli" | "lib" | "main" => true,
        _ => false,
    }
}

fn is_room(name: &str) -> bool {
    let floors = [&FLOOR_0[..], &FLOOR_1, FLOOR_2, &FLOOR_3, &["cli", "error"]];
    floors.iter().any(|floor| floor.contains(&name))
}

const REFUSED_WORDS: [&str; 7] = ["utils", "util", "helpers", "helper", "common", "types", "manager"];
const REFUSED_BEGINNINGS: [&str; 2] = ["process_", "handle_"];
/// Witness values, and the only module that may issue each: nothing is sent without a commit, and nothing without a
/// permit.
const WITNESSES: [(&str, &str); 2] = [("Receipt::issue", "ledger"), ("Permit::issue", "throttle")];
/// The only places that know whether storage can be made to fail. Elsewhere that does nothing without the feature.
const SWITCHES: [&str; 2] = ["src/model/fault_point.rs", "src/main.rs"];

/// The only places that use standard output: the first writes it, the others ask whether it is a terminal.
const STDOUT: [&str; 3] = ["src/cli/stdout.rs", "src/cli/colour.rs", "src/cli/table.rs"];

#[derive(Debug, PartialEq, Eq)]
struct Fault {
    file: String,
    line: usize,
    rule: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.rule)
    }
}

/// One source file: its path in the project, its text, and its code with strings and comments blanked, line by line.
struct File<'a> {
    path: &'a str,
    text: &'a str,
    code: String,
}

impl<'a> File<'a> {
    fn new(path: &'a str, text: &'a str) -> File<'a> {
        File { path, text, code: code_of(text) }
    }

    fn fault(&self, line: usize, rule: impl Into<String>) -> Fault {
        Fault { file: self.path.to_owned(), line, rule: rule.into() }
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let lines = self.text.lines().count();
        if lines > LINES_MAX {
            faults.push(self.fault(lines, format!("a file has at most {LINES_MAX} lines; split it by noun")));
        }
        if !self.text.starts_with("//!") {
            faults.push(self.fault(1, "a file starts with `//!`: what it holds and which decision it owns"));
        }
        self.check_names(&mut faults);
        self.check_clocks(&mut faults);
        faults.extend(statuses::read(self.path, &self.code).into_iter().map(|line| self.fault(line, statuses::RULE)));
        let shared = simulator::shared(self.path, self.text);
        faults.extend(shared.into_iter().map(|line| self.fault(line, simulator::RULE)));
        let switched = |line: &str| line.contains("\"harness\"");
        let may_switch = self.room().is_none() || SWITCHES.contains(&self.path);
        if let Some(at) = self.text.lines().position(switched).filter(|_| !may_switch) {
            faults.push(self.fault(at + 1, format!("only {SWITCHES:?} know whether this build is for tests")));
        }
        let may_print = self.room().is_none() || STDOUT.contains(&self.path);
        if let Some(at) = self.code.lines().position(|line| line.contains("io::stdout()")).filter(|_| !may_print) {
            faults.push(self.fault(at + 1, format!("only {STDOUT:?} write or look at standard output")));
        }
        if let Some(room) = self.room() {
            self.check_floors(room, &mut faults);
            self.check_calls(room, &mut faults);
        }
        faults
    }

    /// The top-level module of a file in `src`.
    fn room(&self) -> Option<&'a str> {
        let inside = self.path.strip_prefix("src/")?;
        inside.split('/').next().map(|first| first.strip_suffix(".rs").unwrap_or(first))
    }

    /// How many `super::` lead to the crate's root.
    fn depth(&self) -> usize {
        let parts: Vec<&str> = self.path.split('/').skip(1).collect();
        if parts.last() == Some(&"mod.rs") { parts.len() - 1 } else { parts.len() }
    }

    fn line_of(&self, at: usize) -> usize {
        self.code[..at].matches('\n').count() + 1
    }

    fn check_floors(&self, room: &str, faults: &mut Vec<Fault>) {
        if !is_room(room) && !["lib", "main"].contains(&room) {
            faults.push(self.fault(1, format!("room `{room}` has no floor; give it one in the architecture and here")));
        }
        for (at, other) in imports(&self.code, self.depth()) {
            if is_room(other) && !may_import(room, other) {
                faults.push(
                    self.fault(self.line_of(at), format!("`{room}` may not import `{other}`: imports go down only")),
                );
            }
        }
    }

    fn check_names(&self, faults: &mut Vec<Fault>) {
        let stem = self.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        if let Some(word) = refused(stem, false) {
            faults.push(self.fault(1, format!("a module called `{stem}`: `{word}` says nothing; find the noun")));
        }
        for (number, line) in self.code.lines().enumerate() {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            for pair in words.windows(2) {
                let is_name = ["mod", "fn", "struct", "enum", "trait", "type"].contains(&pair[0]);
                if let Some(word) = refused(pair[1], pair[0] == "fn").filter(|_| is_name) {
                    let rule = format!("`{} {}`: `{word}` says nothing; find the noun or the verb", pair[0], pair[1]);
                    faults.push(self.fault(number + 1, rule));
                }
            }
        }
    }

    /// The result of a test does not depend on how fast the machine is.
    fn check_clocks(&self, faults: &mut Vec<Fault>) {
        let is_tests = self.room().is_none() || self.path.ends_with("_tests.rs");
        let tests = test_lines(&self.code);
        for (line, token) in clock::real_time(self.path, &self.code) {
            if is_tests || tests[line - 1] {
                let rule = "real time belongs in a module `timed`";
                faults.push(self.fault(line, format!("`{token}`: {rule}")));
            }
        }
    }

    /// Witness values are issued by their own room alone.
    fn check_calls(&self, room: &str, faults: &mut Vec<Fault>) {
        if self.path.ends_with("_tests.rs") {
            return;
        }
        let tests = test_lines(&self.code);
        for (number, line) in self.code.lines().enumerate().filter(|(number, _)| !tests[*number]) {
            for (issue, owner) in WITNESSES.into_iter().filter(|(issue, _)| line.contains(issue)) {
                if owner != room {
                    faults.push(self.fault(number + 1, format!("only `{owner}` may call `{issue}`")));
                }
            }
        }
    }
}

/// The refused word in a name, if any.
fn refused(name: &str, is_function: bool) -> Option<&'static str> {
    let beginning = REFUSED_BEGINNINGS.into_iter().find(|beginning| is_function && name.starts_with(beginning));
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    // A function may speak of types or helpers in passing; a module or a type may not be called so.
    let is_refused =
        |word: &&str| if is_function { snake == *word } else { snake.split('_').any(|part| part == *word) };
    beginning.or_else(|| REFUSED_WORDS.into_iter().find(is_refused))
}

/// The names that follow `crate::`, or the `super::` that lead to the root, each with its position.
fn imports(code: &str, depth: usize) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let to_root = "super::".repeat(depth);
    for (at, path) in code.match_indices("crate::").chain(code.match_indices(to_root.as_str())) {
        let begins_a_word = code[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let start = at + path.len();
        match code[start..].strip_prefix('{') {
            _ if !begins_a_word => {}
            None => found.push((start, word_at(&code[start..]))),
            Some(group) => {
                let mut nesting = 0_i32;
                let mut expects_name = true;
                for (offset, letter) in group.char_indices() {
                    match letter {
                        '{' => nesting += 1,
                        '}' if nesting == 0 => break,
                        '}' => nesting -= 1,
                        ',' if nesting == 0 => expects_name = true,
                        _ if letter.is_alphanumeric() && expects_name => {
                            found.push((start + 1 + offset, word_at(&group[offset..])));
                            expects_name = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    found
}

fn word_at(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())]
}

/// Which lines belong to an item under `#[cfg(test)]`: up to the closing brace in its column, as rustfmt places it.
pub fn test_lines(code: &str) -> Vec<bool> {
    let mut marks = Vec::new();
    let mut closing: Option<String> = None;
    let mut opens = false;
    for line in code.lines() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if line.trim_start().starts_with("#[cfg(test)]") {
            opens = true;
        } else if opens && !line.trim_start().starts_with("#[") {
            opens = false;
            closing = (!line.trim_end().ends_with([';', '}'])).then(|| format!("{indent}}}"));
            marks.push(true);
            continue;
        }
        marks.push(opens || closing.is_some());
        if closing.as_deref() == Some(line.trim_end()) {
            closing = None;
        }
    }
    marks
}

/// Rust text with the contents of strings, characters and comments blanked. Line numbers do not change.
pub fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let hashes = rest[letter.len_utf8()..].bytes().take_while(|byte| *byte == b'#').count();
        let raw = letter == 'r'
            && rest[1 + hashes..].starts_with('"')
            && !code.trim_end_matches('b').ends_with(char::is_alphanumeric);
        let blanked = match letter {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => 1 + quoted_length(&rest[1..], '"'),
            'r' if raw => {
                let end = format!("\"{}", "#".repeat(hashes));
                let begin = 2 + hashes;
                rest[begin..].find(&end).map_or(rest.len(), |at| begin + at + end.len())
            }
            '\'' if is_character(&rest[1..]) => 1 + quoted_length(&rest[1..], '\''),
            _ => 0,
        };
        if blanked == 0 {
            code.push(letter);
            rest = &rest[letter.len_utf8()..];
        } else {
            code.extend(rest[..blanked].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[blanked..];
        }
    }
    code
}

/// A character literal, not a lifetime.
fn is_character(after_quote: &str) -> bool {
    let mut letters = after_quote.chars();
    letters.next() == Some('\\') || letters.next() == Some('\'')
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => _ = letters.next(),
            _ if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn walk(folder: &Path, faults: &mut Vec<Fault>, count: &mut usize) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, faults, count);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let inside = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().to_string_lossy().replace('\\', "/");
            faults.extend(File::new(&inside, &fs::read_to_string(&path).unwrap()).faults());
            *count += 1;
        }
    }
}

#[test]
fn the_project_keeps_its_own_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut faults, mut count) = (Vec::new(), 0);
    walk(&root.join("src"), &mut faults, &mut count);
    walk(&root.join("tests"), &mut faults, &mut count);
    // Not the parent folder, which contains builds and fuzzing results.
    walk(&root.join("fuzz/checks"), &mut faults, &mut count);
    walk(&root.join("fuzz/fuzz_targets"), &mut faults, &mut count);
    let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
    assert!(faults.is_empty(), "{} faults in {count} files:\n{}", faults.len(), lines.join("\n"));
    assert!(count > 20, "only {count} files were found");
}

const NONE: [usize; 0] = [];

/// The lines with violations in sample text.
fn lines(path: &str, text: &str) -> Vec<usize> {
    File::new(path, text).faults().iter().map(|fault| fault.line).collect()
}

#[test]
fn an_import_against_the_layer_order_is_found_with_its_line() {
    let text = "//! x\nuse crate::{\n    model::Row,\n    ledger::{Arm, crate_of},\n};\n";
    let faults = File::new("src/mapping/fill.rs", text).faults();
    let found: Vec<String> = faults.iter().map(Fault::to_string).collect();
    assert_eq!(found, ["src/mapping/fill.rs:4: `mapping` may not import `ledger`: imports go down only"]);
    assert_eq!(lines("src/model/row.rs", "//! x\nuse crate::catalogue::Flow;\n"), [2]);
    assert_eq!(lines("src/template.rs", "//! x\nfn f() { crate::catalogue::g() }\n"), [2]);
    assert_eq!(lines("src/client/mod.rs", "//! x\nuse super::webhook;\n"), [2]);
    assert_eq!(lines("src/client/send.rs", "//! x\nuse super::super::sink;\n"), [2]);
    assert_eq!(lines("src/pipeline/run.rs", "//! x\nuse crate::simulator;\n"), [2]);
    assert_eq!(lines("src/sink/mod.rs", "//! x\nuse crate::error::Error;\n"), [2]);
    assert_eq!(lines("src/cellar/mod.rs", "//! x\n"), [1], "a room without a floor");
}

#[test]
fn an_import_along_the_layer_order_is_allowed() {
    let text = "//! x\nuse crate::{catalogue::Catalogue, model::Row, template};\nuse super::ask;\n// crate::ledger\n";
    assert_eq!(lines("src/mapping/fill.rs", text), NONE);
    assert_eq!(lines("src/pipeline/run.rs", "//! x\nuse crate::{client, error::Error, ledger};\n"), NONE);
    assert_eq!(lines("src/cli/run.rs", "//! x\nuse crate::{pipeline, simulator};\n"), NONE);
}

#[test]
fn wrong_sizes_openings_and_names_are_found() {
    assert_eq!(lines("src/model/row.rs", &format!("//! x\n{}", "\n".repeat(LINES_MAX))), [LINES_MAX + 1]);
    assert_eq!(lines("src/model/row.rs", "// x\n"), [1]);
    assert_eq!(lines("src/model/utils.rs", "//! x\n"), [1]);
    let text =
        "//! x\npub mod common;\nfn process_row() {}\nstruct RunManager;\nfn handle_it() {}\nfn unhandled() {}\n";
    assert_eq!(lines("tests/it/a.rs", text), [2, 3, 4, 5]);
}

#[test]
fn a_witness_issued_by_another_module_is_found() {
    let text = "//! x\nfn f() { Receipt::issue(); }\nfn g() { Permit::issue(); }\n";
    assert_eq!(lines("src/ledger/arm.rs", text), [3]);
    assert_eq!(lines("src/throttle.rs", text), [2]);
    assert_eq!(lines("src/pipeline/run.rs", text), [2, 3]);
}

#[test]
fn a_build_can_be_broken_by_tests_only_when_the_feature_is_named() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cargo: toml::Table = fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
    let features = cargo["features"].as_table().unwrap();
    let taken: Vec<&String> =
        features.iter().filter(|(_, takes)| takes.to_string().contains("harness")).map(|(name, _)| name).collect();
    assert!(features.contains_key("harness") && taken.is_empty(), "{taken:?}");
    // Cargo cannot restrict a feature to a profile. The release profile and those that inherit from it build without
    // assertions.
    let refused = "#[cfg(all(feature = \"harness\", not(debug_assertions)))]\ncompile_error!";
    assert!(fs::read_to_string(root.join(SWITCHES[0])).unwrap().contains(refused));
    for (name, profile) in cargo["profile"].as_table().unwrap() {
        assert!(name == "dev" || profile.get("debug-assertions").is_none(), "profile {name}");
    }
    assert_eq!(lines("src/model/row.rs", "//! x\n#[cfg(feature = \"harness\")]\nfn f() {}\n"), [2]);
    assert_eq!(lines(SWITCHES[0], "//! x\n#[cfg(feature = \"harness\")]\nfn f() {}\n"), NONE);
    assert_eq!(lines("src/cli/x.rs", "//! x\nfn f() { drop(io::stdout()); }\n"), [2]);
}
