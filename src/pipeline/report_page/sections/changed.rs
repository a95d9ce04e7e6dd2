//! What changed since an earlier round.

use crate::pipeline::{
    compare::{Change, CheckInRound, Comparison},
    report_page::{
        block::{Block, Section, Table, outside},
        changes::{Changes, PLACES_MAX, explained},
        chart::{Fill, Segment, Stack, Stacks},
        figures::Figures,
        words::{share, time},
    },
    wording::{counted, grouped},
};

pub fn changes(figures: &Figures) -> Section {
    let heading = "What changed since an earlier round";
    let Some(changes) = &figures.changes else {
        let text = "This page was made without an earlier round. `rescreen report --since OLD` compares with the round `OLD`, \
                    a folder or the name of a campaign.";
        return Section { id: "changes", heading, blocks: vec![Block::text(text)] };
    };
    let Comparison { old, checks, .. } = &changes.comparison;
    let compared: u64 = checks.iter().flat_map(|check| check.counts.values()).sum();
    let changed = changes.comparison.changed();
    let mut blocks = vec![Block::text(format!(
        "Compared with the round {}, by subject and check. {} changed, {} of {} compared.",
        outside(&old.campaign),
        counted(changed, "ask", "asks"),
        share(changed, compared),
        grouped(compared)
    ))];
    if !old.complete {
        blocks.push(Block::note("The earlier round was not complete when it was published."));
    }
    blocks.extend(notes(&changes.comparison).into_iter().map(Block::note));
    blocks.extend(chart(&changes.comparison));
    let columns =
        [("check", "text"), ("change", "code"), ("what that means", "text"), ("asks", "number"), ("share", "number")];
    let mut table = Table::new("Asks of each check by what changed", &columns);
    for check in checks {
        let all = check.counts.values().sum();
        for (change, asks) in &check.counts {
            let (name, means) = (outside(&check.check), explained(*change).to_owned());
            table.row([name, change.as_str().to_owned(), means, grouped(*asks), share(*asks, all)]);
        }
    }
    blocks.push(Block::Table(table));
    blocks.push(Block::Table(rounds(&changes.comparison)));
    blocks.extend(places(changes));
    Section { id: "changes", heading, blocks }
}

/// The kinds of change over all checks. What did not change would hide them.
fn chart(comparison: &Comparison) -> Option<Block> {
    let kinds: Vec<(Change, u64)> = Change::ALL
        .into_iter()
        .filter(|change| change.is_change())
        .map(|change| (change, comparison.count(change)))
        .filter(|(_, asks)| *asks > 0)
        .collect();
    let most = kinds.iter().map(|(_, asks)| *asks).max()?;
    let stack = |(change, count): &(Change, u64)| Stack {
        name: change.as_str().replace('_', " "),
        value: grouped(*count),
        segments: vec![Segment { fill: fill(*change), name: change.as_str().replace('_', " "), count: *count }],
        full: most,
    };
    let stacks: Vec<Stack> = kinds.iter().map(stack).collect();
    let listed: Vec<String> = stacks.iter().map(|stack| format!("{}: {}", stack.name, stack.value)).collect();
    let title = "Asks of all checks by what changed";
    let chart = Stacks { id: "chart-changes", title, description: &listed.join(". "), stacks: &stacks };
    Some(Block::Chart { svg: chart.svg() })
}

fn fill(change: Change) -> Fill {
    match change {
        Change::NewMatch => Fill::Review,
        Change::Cleared | Change::FailedBefore => Fill::Clear,
        Change::FailedNow => Fill::Failure,
        Change::Left => Fill::Skipped,
        _ => Fill::Plain,
    }
}

/// Both rounds, check by check, with the versions of the service's lists.
fn rounds(comparison: &Comparison) -> Table {
    let columns = [
        ("check", "text"),
        ("round", "text"),
        ("asks", "number"),
        ("versions of the list", "text"),
        ("last answer", "time"),
    ];
    let mut table = Table::new("The two rounds", &columns);
    for check in &comparison.checks {
        for (round, of_check) in [(&comparison.old, &check.old), (&comparison.new, &check.new)] {
            let last = of_check.last_us.map_or_else(|| "–".to_owned(), time);
            table.row([
                outside(&check.check),
                outside(&round.campaign),
                grouped(of_check.asks),
                versions(of_check),
                last,
            ]);
        }
    }
    table
}

fn versions(round: &CheckInRound) -> String {
    let one = |(version, results): (&String, &u64)| format!("{} ({})", outside(version), grouped(*results));
    let all: Vec<String> = round.versions.iter().map(one).collect();
    if all.is_empty() { "none stated".to_owned() } else { all.join(", ") }
}

/// What else a reader should know.
fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    if comparison.is_reversed() {
        notes.push("The earlier round was answered after this one.".to_owned());
    }
    for check in &comparison.checks {
        let name = outside(&check.check);
        if let Some(reason) = check.answers.reason() {
            notes.push(format!("{name}: verdicts and findings are compared, answers are not: {reason}."));
        }
        if check.repeated_subjects > 0 {
            let subjects = counted(check.repeated_subjects, "subject is", "subjects are");
            notes.push(format!(
                "{name}: {subjects} more than once in a round. The first is compared with the first, the second with the second."
            ));
        }
        let without = check.old.without_subject + check.new.without_subject;
        if without > 0 {
            notes
                .push(format!("{name}: {} no subject and are not compared.", counted(without, "row has", "rows have")));
        }
    }
    let unreadable = comparison.old.unreadable + comparison.new.unreadable;
    if unreadable > 0 {
        let rows = counted(unreadable, "row", "rows");
        notes.push(format!("{rows} of the two rounds could not be read, so their subjects count as missing."));
    }
    notes
}

/// Where the first changed rows are.
fn places(changes: &Changes) -> Option<Block> {
    let columns = [("check", "text"), ("change", "code"), ("file", "text"), ("rows", "text")];
    let caption = format!(
        "The first {PLACES_MAX} rows of each change, by their number in the input of the new round, or of the old round if \
         they left"
    );
    let mut table = Table::new(caption, &columns).opened_by("Where the first changed rows are");
    for ((check, change), places) in &changes.first {
        let places: Vec<_> = places.iter().collect();
        for of_file in places.chunk_by(|one, next| one.0 == next.0) {
            let rows = of_file.iter().map(|(_, number)| grouped(*number)).collect::<Vec<_>>().join(", ");
            table.row([outside(check), change.as_str().to_owned(), outside(&of_file[0].0), rows]);
        }
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}
