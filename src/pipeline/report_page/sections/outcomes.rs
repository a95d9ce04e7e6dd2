//! What became of what was asked, and the verdicts and findings of the answers.

use crate::{
    model::{Verdict, state::State},
    pipeline::{
        report_page::{
            block::{Block, Entry, Section, Table, outside},
            chart::{Fill, Segment, Stack, Stacks},
            figures::{CheckFigures, Figures},
            words::{fill_of, share, time, verdict_means, waits},
        },
        wording::{counted, grouped},
    },
};

type Count = fn(&CheckFigures) -> u64;

/// What can become of an ask.
const ENDS: [(Fill, &str, Count); 4] = [
    (Fill::Result, "results", |check| check.counts.results),
    (Fill::Failure, "failures", |check| check.counts.failures),
    (Fill::Pending, "pending", |check| check.counts.pending),
    (Fill::Skipped, "skipped", |check| check.counts.skipped),
];

pub fn outcomes(figures: &Figures) -> Section {
    let mut blocks = vec![Block::text(
        "Each row is asked once for each check. An ask becomes a result, a failure, or is skipped; until then it is \
         pending.",
    )];
    if figures.checks.is_empty() {
        blocks.push(Block::note("Nothing was asked yet."));
        return Section { id: "asked", heading: "What was asked, and what became of it", blocks };
    }
    let stacks: Vec<Stack> = figures.checks.iter().map(outcome).collect();
    let description = described(&stacks);
    let chart = Stacks {
        id: "chart-asked",
        title: "Asks of each check by what became of them",
        description: &description,
        stacks: &stacks,
    };
    blocks.push(Block::Chart { svg: chart.svg() });
    let entry = |(fill, name, of): &(Fill, &str, Count)| Entry::new(*fill, *name, grouped(figures.sum(*of)));
    blocks.push(Block::Legend { entries: ENDS.iter().map(entry).collect() });
    let columns = [
        ("check", "text"),
        ("asked", "number"),
        ("results", "number"),
        ("failures", "number"),
        ("pending", "number"),
        ("skipped", "number"),
    ];
    let mut table = Table::new("Asks of each check", &columns);
    let counts = |check: &CheckFigures| [check.asks()].into_iter().chain(ENDS.map(|(_, _, of)| of(check)));
    for check in &figures.checks {
        table.row([outside(&check.name)].into_iter().chain(counts(check).map(grouped)));
    }
    let sums = [figures.sum(CheckFigures::asks)].into_iter().chain(ENDS.map(|(_, _, of)| figures.sum(of)));
    table.sums = Some(["all checks".to_owned()].into_iter().chain(sums.map(grouped)).collect());
    blocks.push(Block::Table(table));
    blocks.extend(waiting(figures));
    Section { id: "asked", heading: "What was asked, and what became of it", blocks }
}

fn outcome(check: &CheckFigures) -> Stack {
    let segment =
        |(fill, name, of): &(Fill, &str, Count)| Segment { fill: *fill, name: (*name).to_owned(), count: of(check) };
    Stack {
        name: outside(&check.name),
        value: format!("{} asked", grouped(check.asks())),
        segments: ENDS.iter().map(segment).collect(),
        full: check.asks(),
    }
}

/// The counts of a chart as text, for those who cannot see it.
fn described(stacks: &[Stack]) -> String {
    let segment = |segment: &Segment| format!("{} {}", grouped(segment.count), segment.name);
    let stack = |stack: &Stack| {
        let shown = stack.segments.iter().filter(|segment| segment.count > 0).map(segment).collect::<Vec<_>>();
        format!("{}: {}", stack.name, if shown.is_empty() { "none".to_owned() } else { shown.join(", ") })
    };
    stacks.iter().map(stack).collect::<Vec<_>>().join(". ")
}

/// Why asks are pending.
fn waiting(figures: &Figures) -> Option<Block> {
    let mut table = Table::new(
        "Why asks are pending",
        &[("check", "text"), ("state", "text"), ("what that means", "text"), ("asks", "number")],
    );
    for check in &figures.checks {
        for (state, asks) in &check.waiting {
            let name = if *state == State::Answered { "answered".to_owned() } else { state.as_str().replace('_', " ") };
            table.row([outside(&check.name), name, waits(*state).to_owned(), grouped(*asks)]);
        }
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

pub fn verdicts(figures: &Figures) -> Section {
    let heading = "Verdicts and findings";
    let answered: Vec<&CheckFigures> = figures.checks.iter().filter(|check| !check.findings.is_empty()).collect();
    if answered.is_empty() {
        return Section { id: "verdicts", heading, blocks: vec![Block::note("No answer is published yet.")] };
    }
    let mut blocks = vec![Block::text(
        "A verdict interprets the answer, and a finding gives the reason. Published rows are counted.",
    )];
    let stacks: Vec<Stack> = answered.iter().map(|check| verdict_stack(check)).collect();
    let description = described(&stacks);
    let chart = Stacks {
        id: "chart-verdicts",
        title: "Results of each check by verdict",
        description: &description,
        stacks: &stacks,
    };
    blocks.push(Block::Chart { svg: chart.svg() });
    let sum = |verdict: Verdict| answered.iter().map(|check| of_verdict(check, verdict)).sum::<u64>();
    let seen = Verdict::ALL.into_iter().filter(|verdict| sum(*verdict) > 0);
    let entry = |verdict: Verdict| {
        let name = format!("{}: {}", verdict.as_str().replace('_', " "), verdict_means(verdict));
        Entry::new(fill_of(verdict), name, grouped(sum(verdict)))
    };
    blocks.push(Block::Legend { entries: seen.map(entry).collect() });
    let columns =
        [("check", "text"), ("verdict", "text"), ("finding", "code"), ("results", "number"), ("share", "number")];
    let mut table = Table::new("Results of each check by verdict and finding", &columns);
    for check in &answered {
        let all = check.findings.values().sum();
        for verdict in Verdict::ALL {
            let mut of_verdict: Vec<(&String, u64)> = check
                .findings
                .iter()
                .filter(|((of, _), _)| *of == verdict)
                .map(|((_, name), rows)| (name, *rows))
                .collect();
            of_verdict.sort_by_key(|(name, rows)| (std::cmp::Reverse(*rows), name.as_str()));
            for (finding, rows) in of_verdict {
                let verdict = verdict.as_str().replace('_', " ");
                table.row([outside(&check.name), verdict, outside(finding), grouped(rows), share(rows, all)]);
            }
        }
    }
    blocks.push(Block::Table(table));
    if figures.status.judged_differently > 0 {
        blocks.push(Block::note(format!(
            "The current declarations judge {} differently. Published rows stay as they are; `rescreen export` publishes \
             all results as the current declarations judge them.",
            counted(figures.status.judged_differently, "published row", "published rows")
        )));
    }
    blocks.extend(lists(figures));
    Section { id: "verdicts", heading, blocks }
}

fn of_verdict(check: &CheckFigures, verdict: Verdict) -> u64 {
    check.findings.iter().filter(|((of, _), _)| *of == verdict).map(|(_, rows)| rows).sum()
}

fn verdict_stack(check: &CheckFigures) -> Stack {
    let segment = |verdict: Verdict| Segment {
        fill: fill_of(verdict),
        name: verdict.as_str().replace('_', " "),
        count: of_verdict(check, verdict),
    };
    let all = check.findings.values().sum();
    Stack {
        name: outside(&check.name),
        value: counted(all, "result", "results"),
        segments: Verdict::ALL.map(segment).to_vec(),
        full: all,
    }
}

/// The versions of the service's lists that the answers were made with.
fn lists(figures: &Figures) -> Option<Block> {
    let columns = [("check", "text"), ("version", "code"), ("requests", "number"), ("first", "time"), ("last", "time")];
    let mut table = Table::new(
        "Versions of the service's lists that the answers name. Rows with equal content share a request.",
        &columns,
    );
    for (check, seen) in &figures.status.sums.datasets {
        for one in seen {
            let (first, last) = (time(one.first_us), time(one.last_us));
            table.row([outside(check), outside(&one.version), grouped(one.answers), first, last]);
        }
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}
