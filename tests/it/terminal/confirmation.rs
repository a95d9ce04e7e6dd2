//! A production run asks on a terminal before it spends: the limit must be typed.

use super::emulator::Terminal;
use crate::cli::Workspace;

/// A production run that is not confirmed on the command line.
fn asked(workspace: &Workspace, more: &[&str]) -> Terminal {
    let mut terminal = Terminal::start(&mut workspace.production("run", more), 200);
    terminal.wait_for("the question", |lines| lines.iter().any(|line| line.contains("to continue:")));
    terminal
}

#[test]
fn a_production_run_begins_once_its_limit_is_typed_and_names_what_is_left_of_it() {
    let workspace = Workspace::new(3);
    let mut terminal = asked(&workspace, &["--limit", "2", "--max-credits", "5000", "--price", "aml-screening=1"]);
    let question = "This may cost up to 5,000 credits: the limit is 5,000; `rescreen plan` shows the expected cost.";
    assert!(terminal.text().contains(question), "{}", terminal.text());
    terminal.enter("5,000\n");
    assert_eq!(terminal.end(), 9, "the rows are limited: {}", terminal.text());
    let mut terminal = asked(&workspace, &["--max-credits", "5000", "--price", "aml-screening=1"]);
    let question = "This may cost up to 4,998 credits: the limit is 5,000, of which 2 are used;";
    assert!(terminal.text().contains(question), "{}", terminal.text());
    terminal.enter("yes\n");
    assert_eq!(terminal.end(), 2);
    assert!(
        terminal.text().contains("expected 5000, the limit in credits, found another answer"),
        "{}",
        terminal.text()
    );
    assert_eq!(workspace.service.simulator.stats().charges, 2, "nothing was sent without the answer");
}
