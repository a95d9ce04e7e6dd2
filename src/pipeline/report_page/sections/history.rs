//! Who did what, and when: the runs, the decisions of persons, and the evidence of consent.

use crate::{
    ledger::{CorrectionsMade, PurgeRow},
    pipeline::{
        report_page::{
            block::{Block, Section, Table, outside},
            figures::{Figures, RunFigures},
            words::{ended, exact_time, length, time},
        },
        wording::{counted, grouped},
    },
};

pub fn runs(figures: &Figures) -> Section {
    let mut blocks = Vec::new();
    if figures.runs.is_empty() {
        blocks.push(Block::note("The ledger records no run."));
    } else {
        blocks.push(Block::Table(run_table(figures)));
        let left_out = figures.run_count.saturating_sub(figures.runs.len() as u64);
        if left_out > 0 {
            blocks.push(Block::note(format!("{} are not listed.", counted(left_out, "earlier run", "earlier runs"))));
        }
    }
    blocks.push(Block::heading("Decisions of persons"));
    if figures.decisions.is_empty() {
        blocks.push(Block::text("No person decided about a request or corrected a charge."));
    } else {
        blocks.push(Block::Table(decisions(figures)));
        let left_out = figures.decision_count.saturating_sub(figures.decisions.len() as u64);
        if left_out > 0 {
            blocks.push(Block::note(format!("{} are not listed.", counted(left_out, "later entry", "later entries"))));
        }
    }
    if !figures.corrections.is_empty() {
        blocks.push(Block::heading("Corrected rows"));
        let columns = [("asks", "number"), ("person", "text"), ("when", "time"), ("SHA-256 of the file", "text")];
        let mut table =
            Table::new("Rows that failed and were replaced. The ledger keeps both, and the reason.", &columns);
        for CorrectionsMade { asks, source } in &figures.corrections {
            let when = exact_time(source.corrected_at_us);
            table.row([grouped(*asks), outside(&source.corrected_by), when, outside(&source.sha256)]);
        }
        blocks.push(Block::Table(table));
    }
    if !figures.consents.is_empty() {
        blocks.push(Block::heading("Evidence of consent"));
        let columns = [("check", "text"), ("evidence", "text"), ("recorded by", "text"), ("at", "time")];
        let mut table = Table::new("What shows that the persons of a check consented", &columns);
        for one in &figures.consents {
            table.row([
                outside(&one.check),
                outside(&one.evidence),
                outside(&one.recorded_by),
                time(one.recorded_at_us),
            ]);
        }
        blocks.push(Block::Table(table));
    }
    if !figures.status.purges.is_empty() {
        blocks.push(Block::heading("Purged personal data"));
        let columns =
            [("rows", "number"), ("requests", "number"), ("person", "text"), ("when", "time"), ("reason", "text")];
        let mut table = Table::new(
            "Rows and answers that were removed. They are counted as purged; the times and charges of their requests stay.",
            &columns,
        );
        for PurgeRow { rows, requests, stamp, .. } in &figures.status.purges {
            let reason = stamp.reason.as_deref().map_or_else(String::new, outside);
            table.row([grouped(*rows), grouped(*requests), outside(&stamp.by), exact_time(stamp.at_us), reason]);
        }
        blocks.push(Block::Table(table));
    }
    Section { id: "runs", heading: "Who ran what, and when", blocks }
}

fn run_table(figures: &Figures) -> Table {
    let columns = [
        ("run", "text"),
        ("begun", "time"),
        ("took", "time"),
        ("person", "text"),
        ("rescreen", "text"),
        ("requests", "number"),
        ("answers", "number"),
        ("how it ended", "text"),
    ];
    let mut table = Table::new("The runs of the campaign, and the system users who started them", &columns);
    let last = figures.runs.len() - 1;
    for (at, RunFigures { run, attempts, answers }) in figures.runs.iter().enumerate() {
        let took = run.end.as_ref().map(|end| length(end.at_us.saturating_sub(run.started_at_us)));
        table.row([
            format!("{}: {}", run.number, outside(&run.command)),
            exact_time(run.started_at_us),
            took.unwrap_or_else(|| "–".to_owned()),
            outside(&run.started_by),
            outside(&run.program),
            grouped(*attempts),
            grouped(*answers),
            ended(run.end.as_ref(), at == last && figures.status.is_in_use),
        ]);
    }
    table
}

fn decisions(figures: &Figures) -> Table {
    let columns = [
        ("decision", "text"),
        ("requests", "number"),
        ("person", "text"),
        ("when", "time"),
        ("reason, as it was typed", "text"),
    ];
    let mut table = Table::new("Decisions about requests that may have been charged, and corrected charges", &columns);
    for one in &figures.decisions {
        let decision = match (one.decision.as_str(), one.charged) {
            ("write_off", _) => "written off".to_owned(),
            ("send_again", _) => "sent again, for a new charge".to_owned(),
            ("charge", Some((before, after))) => {
                format!("charge corrected from {} to {}", grouped(before), counted(after, "credit", "credits"))
            }
            (other, _) => outside(other),
        };
        let (first, last) = (time(one.first_us), time(one.last_us));
        let when = if first == last { first } else { format!("{first} to {last}") };
        table.row([decision, grouped(one.requests), outside(&one.decided_by), when, outside(&one.reason)]);
    }
    table
}
