//! The failures by reason, with the positions of the first rows.

use crate::model::FailureCode;
use crate::pipeline::{
    report_page::{
        block::{Block, Section, Table, outside},
        chart::{Fill, Segment, Stack, Stacks},
        figures::Figures,
        reasons::{POSITIONS_MAX, Reason, RowPlace, explained},
    },
    wording::{counted, grouped},
};
use std::{cmp::Reverse, collections::BTreeMap};

/// The most bars of the chart. The table has all reasons.
const BARS_MAX: usize = 12;

pub fn failures(figures: &Figures) -> Section {
    let heading = "Failures";
    let mut reasons: Vec<(String, FailureCode, &Reason)> =
        figures.reasons.iter().map(|((check, code), reason)| (check_name(figures, *check), *code, reason)).collect();
    reasons.sort_by(|one, other| (Reverse(one.2.asks), &one.0, one.1).cmp(&(Reverse(other.2.asks), &other.0, other.1)));
    if reasons.is_empty() {
        return Section { id: "failures", heading, blocks: vec![Block::text("Nothing failed.")] };
    }
    let all: u64 = reasons.iter().map(|(_, _, reason)| reason.asks).sum();
    let credits = reasons.iter().map(|(_, _, reason)| reason.credits).sum::<u64>();
    let possibly: u64 = reasons.iter().map(|(_, _, reason)| reason.possibly_charged).sum();
    let charged = match (credits, possibly) {
        _ if figures.mode.invented_by().is_some() => "A rehearsal and the sandbox cost nothing.".to_owned(),
        (0, 0) => "None of them was charged.".to_owned(),
        (credits, 0) => format!("They were charged {}.", counted(credits, "credit", "credits")),
        (credits, possibly) => format!(
            "{} booked for them; for {} it is not proven whether they were charged.",
            counted(credits, "credit is", "credits are"),
            grouped(possibly)
        ),
    };
    let mut blocks = vec![Block::text(format!(
        "{} failed. {charged} The failures dataset has each with its whole row and a message.",
        counted(all, "ask", "asks"),
    ))];
    let stacks: Vec<Stack> = reasons.iter().take(BARS_MAX).map(|one| bar(one, reasons[0].2.asks)).collect();
    let listed: Vec<String> = stacks.iter().map(|stack| format!("{}: {}", stack.name, stack.value)).collect();
    let chart =
        Stacks { id: "chart-failures", title: "Failures by reason", description: &listed.join(". "), stacks: &stacks };
    blocks.push(Block::Chart { svg: chart.svg() });
    let columns =
        [("check", "text"), ("reason", "code"), ("what that means", "text"), ("stage", "text"), ("asks", "number")];
    let mut table = Table::new("Failures by reason", &columns);
    for (check, code, reason) in &reasons {
        let stages: Vec<&str> = reason.stages.iter().map(|stage| stage.as_str()).collect();
        let means = format!("{}{}", explained(*code), statuses(&reason.statuses));
        table.row([check.clone(), code.as_str().to_owned(), means, stages.join(", "), grouped(reason.asks)]);
    }
    let empty = || String::new();
    table.sums = Some(vec!["all".to_owned(), empty(), empty(), empty(), grouped(all)]);
    blocks.push(Block::Table(table));
    blocks.push(positions(&reasons));
    Section { id: "failures", heading, blocks }
}

fn check_name(figures: &Figures, check: Option<i64>) -> String {
    let found = figures.checks.iter().find(|one| Some(one.id) == check);
    found.map_or_else(|| "all checks".to_owned(), |check| outside(&check.name))
}

fn bar((check, code, reason): &(String, FailureCode, &Reason), most: u64) -> Stack {
    let count = reason.asks;
    Stack {
        name: format!("{check}: {}", code.as_str().replace('_', " ")),
        value: grouped(count),
        segments: vec![Segment { fill: Fill::Failure, name: code.as_str().to_owned(), count }],
        full: most,
    }
}

/// The last HTTP statuses, if the service refused.
fn statuses(statuses: &BTreeMap<u16, u64>) -> String {
    if statuses.is_empty() {
        return String::new();
    }
    let shown: Vec<String> =
        statuses.iter().map(|(status, asks)| format!("{} with status {status}", grouped(*asks))).collect();
    format!(" ({})", shown.join(", "))
}

/// The first rows of each reason, by input file.
fn positions(reasons: &[(String, FailureCode, &Reason)]) -> Block {
    let columns = [("check", "text"), ("reason", "code"), ("file", "text"), ("rows", "text")];
    let caption =
        format!("The first {POSITIONS_MAX} rows of each reason. The line is where the row begins in its file.");
    let mut table = Table::new(caption, &columns).opened_by("Where the first rows are");
    for (check, code, reason) in reasons {
        for places in reason.first.chunk_by(|one, next| one.source == next.source) {
            let place = |place: &RowPlace| format!("{} (line {})", grouped(place.row_number), grouped(place.line));
            let rows = places.iter().map(place).collect::<Vec<_>>().join(", ");
            table.row([check.clone(), code.as_str().to_owned(), outside(&places[0].source), rows]);
        }
    }
    Block::Table(table)
}
