//! The first section: how the campaign stands, and its figures at a glance.

use crate::model::state::State;
use crate::pipeline::{
    report_page::{
        block::{Block, Fact, Section},
        figures::Figures,
        words::{ended, length, share, time},
    },
    status::CampaignState,
    wording::{counted, grouped},
};

pub fn overview(figures: &Figures) -> Section {
    let mut blocks = vec![Block::text(state(figures)), Block::Facts { facts: facts(figures) }];
    blocks.push(Block::text(equation(figures)));
    if !figures.status.input_complete {
        let sums = &figures.status.sums;
        blocks.push(Block::note(format!(
            "The input has not been read completely. {} so far.",
            counted(sums.rows, "row is read", "rows are read")
        )));
    }
    if !figures.is_published() {
        blocks.push(Block::note(
            "The published files are older than this page, or there are none yet. `rescreen collect` publishes what was \
             answered."
                .to_owned(),
        ));
    }
    Section { id: "overview", heading: "Overview", blocks }
}

/// How the campaign stands.
fn state(figures: &Figures) -> String {
    let status = &figures.status;
    let last = status.last_run.as_ref();
    match status.state() {
        CampaignState::Running => {
            "A run was under way when this page was made. The figures are those of that moment.".to_owned()
        }
        CampaignState::Complete => {
            let completed = status.sums.completed_at_us.map(|at| format!("has been complete since {}", time(at)));
            let completed = completed.unwrap_or_else(|| "is complete".to_owned());
            format!("The campaign {completed}: every row is answered or accounted for.")
        }
        CampaignState::Killed => "The campaign is not complete. The last run recorded no end: it was killed, or the \
                                  machine stopped. Everything that it sent is in the ledger, and running the campaign again \
                                  continues it."
            .to_owned(),
        CampaignState::Stopped | CampaignState::NotComplete => {
            let how = last.and_then(|run| run.end.as_ref()).map(|end| format!(" The last run {}.", ended(Some(end), false)));
            format!("The campaign is not complete.{} `rescreen status` shows what continues it.", how.unwrap_or_default())
        }
    }
}

fn facts(figures: &Figures) -> Vec<Fact> {
    let sums = &figures.status.sums;
    let asked = sums.asks;
    let results = figures.sum(|check| check.counts.results);
    let failures = figures.sum(|check| check.counts.failures);
    let (pending, skipped) = (figures.sum(|check| check.counts.pending), figures.sum(|check| check.counts.skipped));
    let charged = sums.account.charged.0;
    let mut facts = vec![
        Fact::new("Rows", grouped(sums.rows), counted(figures.checks.len() as u64, "check each", "checks each")),
        Fact::new("Results", grouped(results), share_of_asked(results, asked)),
        Fact::new("Failures", grouped(failures + sums.unreadable), unreadable(sums.unreadable)),
        Fact::new("Pending", grouped(pending), if pending == 0 { "nothing waits" } else { "not settled yet" }),
        Fact::new("Skipped", grouped(skipped), "left out by a condition"),
        Fact::new("Requests", grouped(sums.requests()), requests(sums.in_state(State::Planned), figures.duplicates())),
        Fact::new("Credits charged", grouped(charged), held(sums.account.held.0)),
    ];
    if let Some(span) = figures.throughput.as_ref().and(figures.span) {
        let took = length(span.last_us.saturating_sub(span.first_us));
        facts.push(Fact::new("From first to last request", took, format!("begun {}", time(span.first_us))));
    }
    facts
}

fn share_of_asked(results: u64, asked: u64) -> String {
    match asked {
        0 => "nothing was asked".to_owned(),
        asked => format!("{} of what was asked", share(results, asked)),
    }
}

fn requests(planned: u64, duplicates: u64) -> String {
    let duplicates = counted(duplicates, "duplicate shares a request", "duplicates share a request");
    if planned == 0 { duplicates } else { format!("{} not sent yet; {duplicates}", grouped(planned)) }
}

fn unreadable(rows: u64) -> String {
    match rows {
        0 => "every row could be read".to_owned(),
        rows => format!("{} could not be read", counted(rows, "row", "rows")),
    }
}

fn held(credits: u64) -> String {
    match credits {
        0 => "none held".to_owned(),
        credits => format!("{} held for requests whose charge is not known yet", grouped(credits)),
    }
}

/// How the counts add up.
fn equation(figures: &Figures) -> String {
    let sums = &figures.status.sums;
    let unreadable = match sums.unreadable {
        0 => String::new(),
        rows => format!(
            " {} could not be read; each is one failure for all checks, and is not part of this sum.",
            counted(rows, "row", "rows")
        ),
    };
    format!(
        "{} asked = {} + {} + {} pending + {} skipped.{unreadable}",
        grouped(sums.asks),
        counted(figures.sum(|check| check.counts.results), "result", "results"),
        counted(figures.sum(|check| check.counts.failures), "failure", "failures"),
        grouped(figures.sum(|check| check.counts.pending)),
        grouped(figures.sum(|check| check.counts.skipped)),
    )
}
