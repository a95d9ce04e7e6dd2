//! What is drawn on a terminal: no line of the progress is broken, also after the terminal has become narrower or wider,
//! nothing of it is left when the run ends, and colours appear only where they are wanted.

use super::emulator::Terminal;
use crate::{cli::Workspace, support::service::lifted};
use rescreen::simulator::Settings;
use std::{process::Command, time::Duration};

/// A campaign of which a request takes this long.
fn slow(rows: usize, latency_ms: u64, faults: &str) -> Workspace {
    let faults = faults.parse().unwrap();
    Workspace::with(rows, Settings { latency: Duration::from_millis(latency_ms), faults, ..lifted() })
}

fn command(workspace: &Workspace, term: &str) -> Command {
    let mut command = workspace.production("run", &["--yes", "--in-flight", "4"]);
    command.env("TERM", term);
    command
}

fn is_progress(line: &str) -> bool {
    line.starts_with("aml-screening ") || line.contains("/min")
}

fn shows(lines: &[String], part: &str) -> bool {
    lines.iter().any(|line| line.contains(part))
}

#[test]
fn the_progress_breaks_no_line_while_the_terminal_changes_its_width_and_leaves_nothing_behind() {
    let workspace = slow(60, 300, "");
    let mut terminal = Terminal::start(&mut command(&workspace, "xterm-256color"), 80);
    terminal.wait_for("the progress", |lines| shows(lines, " of 60 ") && shows(lines, "/min · "));
    for columns in [60, 200, 20, 80, 47] {
        terminal.resize(columns);
        // The second frame is drawn at the new width.
        for _ in 0..2 {
            let before = terminal.raw.matches("\u{1b}[J").count();
            let drawn = |terminal: &Terminal| terminal.raw.matches("\u{1b}[J").count() > before;
            while !drawn(&terminal) {
                terminal.wait_for("the next frame", |lines| lines.iter().any(|line| is_progress(line)));
                terminal.step();
            }
        }
        terminal.wait_for("a whole frame", |lines| lines.last().is_some_and(String::is_empty));
        let progress: Vec<&String> = terminal.lines().iter().filter(|line| is_progress(line)).collect();
        assert!((1..=2).contains(&progress.len()), "{progress:?} at {columns}");
        for line in progress {
            assert!(line.chars().count() < usize::from(columns), "`{line}` is broken at {columns} columns");
        }
    }
    assert_eq!(terminal.end(), 0, "{}", terminal.text());
    assert!(!terminal.lines().iter().any(|line| is_progress(line)), "{}", terminal.text());
    assert_eq!(terminal.text().matches("60 rows: 60 results").count(), 1, "{}", terminal.text());
    assert!(terminal.raw.contains(" \u{1b}[32mclear\u{1b}[0m"), "verdicts are coloured: {:?}", terminal.raw);
}

/// A run on a terminal with four requests in flight, whose replies are held back.
fn four_in_flight() -> (Workspace, Terminal) {
    let workspace = Workspace::that_answers_only(1, 40);
    let terminal = Terminal::start(&mut command(&workspace, "xterm-256color"), 80);
    workspace.service.wait_for_work(5);
    (workspace, terminal)
}

fn is_told_what_it_waits_for(terminal: &mut Terminal) {
    assert!(Command::new("kill").args(["-INT", &terminal.id().to_string()]).status().unwrap().success());
    terminal.wait_for("what it waits for", |lines| shows(lines, "stopping: 4 requests in flight, up to 1"));
}

#[test]
fn an_interrupt_says_what_the_run_waits_for() {
    let (workspace, mut terminal) = four_in_flight();
    is_told_what_it_waits_for(&mut terminal);
    assert!(shows(terminal.lines(), "; Ctrl-C again leaves them in doubt"), "{}", terminal.text());
    workspace.service.answers_all();
    assert_eq!(terminal.end(), 130);
    assert!(!shows(terminal.lines(), "stopping:"), "{}", terminal.text());
    assert!(terminal.raw.contains("\u{1b}[33mstopped:\u{1b}[0m"), "{:?}", terminal.raw);
    workspace.run(&[]).exits(0);
}

#[test]
fn a_pause_is_shown_with_its_reason_and_its_end() {
    let workspace = slow(20, 10, "rate429@4:3");
    let mut terminal = Terminal::start(&mut command(&workspace, "xterm-256color"), 80);
    let waits = |lines: &[String]| {
        lines.iter().any(|line| line.starts_with("waiting ") && line.contains(" s: rate limit, HTTP 429, until "))
    };
    terminal.wait_for("the pause", waits);
    assert_eq!(terminal.end(), 0, "{}", terminal.text());
}

#[test]
fn nothing_is_coloured_with_no_color_and_nothing_is_drawn_on_a_dumb_terminal() {
    let workspace = slow(6, 300, "");
    let mut terminal = Terminal::start(command(&workspace, "xterm-256color").env("NO_COLOR", "1"), 80);
    assert_eq!(terminal.end(), 0);
    let is_coloured = |raw: &str| {
        raw.split("\u{1b}[").skip(1).any(|rest| rest.split(['A', 'J']).next().is_some_and(|code| code.contains('m')))
    };
    assert!(!is_coloured(&terminal.raw), "{:?}", terminal.raw);
    assert!(terminal.raw.contains("\u{1b}[J"), "it was drawn: {:?}", terminal.raw);
    let workspace = slow(6, 300, "");
    let mut terminal = Terminal::start(&mut command(&workspace, "dumb"), 80);
    assert_eq!(terminal.end(), 0);
    assert!(!terminal.raw.contains('\u{1b}'), "{:?}", terminal.raw);
}

#[test]
fn errors_are_coloured_on_a_terminal() {
    let workspace = slow(1, 0, "");
    let mut command = crate::support::program::rescreen(
        workspace.path(),
        &["run", "absent.csv", "--check", "aml-screening", "--simulate"],
    );
    let mut terminal = Terminal::start(command.env("TERM", "xterm"), 80);
    assert_eq!(terminal.end(), 2);
    assert!(terminal.raw.contains("\u{1b}[31merror:\u{1b}[0m "), "{:?}", terminal.raw);
}

#[test]
fn messages_are_wrapped_at_spaces_on_a_terminal_and_whole_elsewhere() {
    let workspace = slow(1, 0, "");
    workspace.write("long.csv", "no,the_name_of_the_customer_in_full\n1,P00001 Vexford\n");
    let words = "run long.csv --check aml-screening --map name=the_name_of_the_customer_in_full --set entity=0 --set \
                 country=za --simulate";
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut command = crate::support::program::rescreen(workspace.path(), &words);
    let mut terminal = Terminal::start(command.env("TERM", "xterm"), 60);
    assert_eq!(terminal.end(), 0, "{}", terminal.text());
    let text = terminal.text();
    assert!(text.contains("  aml-screening.name ← column\n    `the_name_of_the_customer_in_full`"), "{text}");
    // Commands and queries are copied as a whole.
    assert!(terminal.raw.contains("SELECT check_name, verdict, finding, count(*) FROM read_parquet('out/"), "{text}");
    let piped = workspace.say(&words).exits(0);
    assert!(
        piped.stderr.contains("aml-screening.name ← column `the_name_of_the_customer_in_full`"),
        "{}",
        piped.stderr
    );
}

/// The width of each line of a terminal is the room of its words: none is broken where a word would have fitted below.
#[test]
fn what_a_command_prints_on_a_narrow_terminal_is_broken_at_spaces() {
    let workspace = slow(3, 0, "");
    let campaign = "book.csv --check aml-screening --set entity=0 --set country=za --id no --simulate";
    let words = |command: &str| -> Vec<String> { command.split_whitespace().map(str::to_owned).collect() };
    let run = format!("run {campaign} --campaign narrow");
    let run = words(&run);
    workspace.say(&run.iter().map(String::as_str).collect::<Vec<_>>()).exits(0);
    for (command, kept) in [
        (format!("plan {campaign} --campaign other"), ["sandbox is free, and its answers are invented", "no"]),
        ("status out/rehearsals/narrow".to_owned(), ["aml-screening: 3 clear", "credits charged"]),
        ("checks".to_owned(), ["AML, PEP and sanctions screening of a person or company", "said-verification"]),
        ("checks aml-screening".to_owned(), ["two-letter country code; sent in lower case", "needed yes (assumed)"]),
    ] {
        let words = words(&command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut terminal =
            Terminal::start(crate::support::program::rescreen(workspace.path(), &words).env("TERM", "xterm"), 40);
        assert_eq!(terminal.end(), 0, "{command}");
        let raw = terminal.raw.replace('\r', "");
        let is_whole = |line: &&str| line.chars().count() <= 40 || line.contains("rescreen run ");
        assert!(raw.lines().all(|line| is_whole(&line)), "{command}: {raw}");
        let together = raw.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in kept {
            assert!(together.contains(text), "{command}: expected `{text}` in {raw}");
        }
    }
}

/// How soon something is drawn.
mod timed {
    use super::*;
    use std::time::Instant;

    #[test]
    #[ignore = "timed: make gauntlet"]
    fn an_interrupt_says_at_once_what_the_run_waits_for() {
        let (_workspace, mut terminal) = four_in_flight();
        let signalled = Instant::now();
        is_told_what_it_waits_for(&mut terminal);
        assert!(signalled.elapsed() < Duration::from_millis(1_500), "{:?}", signalled.elapsed());
    }
}
