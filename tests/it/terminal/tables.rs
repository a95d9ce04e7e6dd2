//! Tables fit the terminal: the widest columns are cut, and verdicts have their colour.

use super::emulator::Terminal;
use crate::support::{
    program::rescreen,
    rounds::{End, Published},
};
use rescreen::sink::OutputFormat;

/// The lines of a command in a terminal of this width, and everything that was written.
fn shown(arguments: &[&str], columns: u16) -> (Vec<String>, String) {
    let folder = tempfile::tempdir().unwrap();
    for (name, finding) in
        [("old", "no_match"), ("new", "a_finding_that_is_as_long_as_the_codes_of_a_declaration_may_be")]
    {
        let (path, mut round) = (folder.path().join(name), Published::new(name, OutputFormat::Jsonl));
        let verdict = if name == "old" { "clear" } else { "review" };
        round.row(
            &path,
            "aml-screening",
            Some("a subject of more than thirty characters"),
            1,
            End::Result(verdict, finding, 1),
        );
        round.row(&path, "aml-screening", Some("C-2"), 2, End::Failure("refused"));
        round.publish(&path);
    }
    let mut terminal = Terminal::start(rescreen(folder.path(), arguments).env("TERM", "xterm"), columns);
    assert_eq!(terminal.end(), 0, "{}", terminal.text());
    (terminal.lines().to_vec(), terminal.raw.clone())
}

#[test]
fn tables_are_cut_to_the_width_of_the_terminal_and_verdicts_are_coloured() {
    for arguments in [&["show", "new"][..], &["diff", "old", "new", "--kind", "new_match,not_answered"]] {
        let (lines, raw) = shown(arguments, 70);
        let below_header = lines.iter().skip_while(|line| !line.contains("subject  ")).skip(1);
        let rows: Vec<&String> = below_header.filter(|line| !line.is_empty() && !line.starts_with(' ')).collect();
        assert!(rows.len() == 2 && rows[0].contains('…'), "{lines:#?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 70), "{lines:#?}");
        assert!(raw.contains("\u{1b}[33mreview"), "{raw:?}");
        let (lines, _) = shown(arguments, 250);
        assert!(!lines.iter().any(|line| line.contains('…')), "{lines:#?}");
    }
}
