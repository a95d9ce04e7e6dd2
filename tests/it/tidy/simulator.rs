//! The simulator is a separate crate. It shares only the text of the catalogue with the program that it tests. Only the
//! command line uses it.

pub const RULE: &str = "the simulator and the program share only the text of the catalogue";

/// The file with the texts, and how the simulator includes it.
const TEXTS: &str = "src/catalogue/built_in.rs";
const INCLUDED: &str = "#[path = \"../catalogue/built_in.rs\"]";

/// The numbers of the lines by which one would know more of the other, counted from 1.
pub fn shared(path: &str, text: &str) -> Vec<usize> {
    let is_shared = |line: &&str| {
        let first = line.split_whitespace().next().unwrap_or_default();
        match path {
            // The re-export, which `crate::simulator` leads to.
            "src/lib.rs" => false,
            TEXTS => !["", "//!", "///", "pub", "];"].contains(&first) && !first.starts_with("(\""),
            _ if path.starts_with("src/simulator/") => line.contains("\"../") && line.trim() != INCLUDED,
            _ => path.starts_with("src/") && line.contains("rescreen_simulator"),
        }
    };
    let lines = text.lines().enumerate().filter(|(_, line)| is_shared(line));
    lines.map(|(at, _)| at + 1).collect()
}

#[test]
fn what_the_simulator_and_the_program_would_share_is_found() {
    let included = format!("//! x\n{INCLUDED}\nmod built_in;\n#[path = \"../model/rng.rs\"]\nmod rng;\n");
    assert_eq!(shared("src/simulator/lib.rs", &included), [4]);
    assert_eq!(shared("src/pipeline/run/mod.rs", "//! x\nuse rescreen_simulator::Faults;\n"), [2]);
    assert_eq!(shared("src/lib.rs", "//! x\npub use rescreen_simulator as simulator;\n"), [0; 0]);
    let texts = "//! x\nuse crate::model::Row;\npub const CHECKS: &[(&str, &str)] = &[\n    (\"a\", include_str!(\"a.toml\")),\n];\nfn f() {}\n";
    assert_eq!(shared(TEXTS, texts), [2, 6]);
    let manifest = include_str!("../../../src/simulator/Cargo.toml").parse::<toml::Table>().unwrap();
    assert!(manifest.values().all(|table| table.get("rescreen").is_none()));
}
