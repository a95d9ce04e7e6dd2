//! Credits: by check, over time, and what duplicates saved.

use crate::pipeline::{
    report_page::{
        block::{Block, Section, Table, outside},
        chart::{Column, Columns, Fill, Line, Segment, Stack, Stacks},
        figures::{CheckFigures, Figures},
        timeline::Timeline,
        words::bucket_time,
    },
    wording::{counted, grouped},
};

pub fn credits(figures: &Figures) -> Section {
    let account = &figures.status.sums.account;
    let limit = figures.limits.and_then(|limits| limits.max_credits);
    let mut text = format!("The campaign was charged {}.", counted(account.charged.0, "credit", "credits"));
    if account.held.0 > 0 {
        text.push_str(&format!(
            " {} held for requests whose charge is not known yet.",
            counted(account.held.0, "credit is", "credits are")
        ));
    }
    text.push_str(&match limit {
        Some(limit) => format!(" Its limit is {}.", grouped(limit.0)),
        None => " It has no limit of its own.".to_owned(),
    });
    if let Some(who) = figures.mode.invented_by() {
        text.push_str(&format!(" The answers come from {who}: these credits were not paid."));
    }
    let mut blocks = vec![Block::text(text)];
    if account.charged.0 > 0 {
        blocks.push(Block::heading("By check"));
        blocks.push(Block::Chart { svg: by_check(figures) });
    }
    if !figures.checks.is_empty() {
        blocks.push(Block::Table(saved(figures)));
    }
    if let Some(throughput) = &figures.throughput
        && account.charged.0 > 0
    {
        blocks.push(Block::heading("Charged so far, over time"));
        let limit = limit.map(|limit| limit.0);
        blocks.extend(over_time(&throughput.timeline, &figures.charged, limit));
    }
    if figures.undated > 0 {
        blocks.push(Block::note(format!(
            "{} charged at a time that the ledger does not record, and not part of the chart over time.",
            counted(figures.undated, "credit was", "credits were")
        )));
    }
    Section { id: "credits", heading: "Credits and duplicates", blocks }
}

fn by_check(figures: &Figures) -> String {
    let most = figures.checks.iter().map(|check| check.counts.credits.0).max().unwrap_or(0);
    let stack = |check: &CheckFigures| {
        let count = check.counts.credits.0;
        Stack {
            name: outside(&check.name),
            value: counted(count, "credit", "credits"),
            segments: vec![Segment { fill: Fill::Plain, name: "credits".to_owned(), count }],
            full: most,
        }
    };
    let stacks: Vec<Stack> = figures.checks.iter().map(stack).collect();
    let listed: Vec<String> = stacks.iter().map(|stack| format!("{}: {}", stack.name, stack.value)).collect();
    Stacks { id: "chart-credits", title: "Credits charged by check", description: &listed.join(". "), stacks: &stacks }
        .svg()
}

fn saved(figures: &Figures) -> Table {
    let columns = [
        ("check", "text"),
        ("credits charged", "number"),
        ("free duplicates", "number"),
        ("credits that duplicates saved", "number"),
    ];
    let mut table =
        Table::new("Credits of each check. Rows with equal content share one request and one charge.", &columns);
    let counts: [fn(&CheckFigures) -> u64; 3] =
        [|check| check.counts.credits.0, |check| check.shared.asks, |check| check.shared.credits.0];
    for check in &figures.checks {
        table.row([outside(&check.name)].into_iter().chain(counts.map(|of| grouped(of(check)))));
    }
    let sums = counts.map(|of| grouped(figures.sum(of)));
    table.sums = Some(["all checks".to_owned()].into_iter().chain(sums).collect());
    table
}

fn over_time(timeline: &Timeline, charged: &[u64], limit: Option<u64>) -> Vec<Block> {
    let mut total = 0_u64;
    let mut columns = Vec::new();
    let named = [("from", "text"), ("charged", "number"), ("charged so far", "number")];
    let mut table = Table::new("Credits charged over time (UTC)", &named).opened_by("The same figures as a table");
    for (bucket, credits) in charged.iter().enumerate() {
        total = total.saturating_add(*credits);
        let from = bucket_time(timeline.begin_us(bucket), timeline.length_us);
        columns.push(Column {
            title: format!("from {from}: {} charged so far", grouped(total)),
            label: from.clone(),
            value: total,
        });
        table.row([from, grouped(*credits), grouped(total)]);
    }
    let description = format!(
        "The credits charged so far grow to {}. Each column is the sum at the end of its time.",
        grouped(total)
    );
    // A limit far above the charges would make them invisible.
    let line = limit
        .filter(|limit| *limit <= total.saturating_mul(2))
        .map(|level| Line { level, label: format!("limit {}", grouped(level)) });
    let chart = Columns {
        id: "chart-credits-time",
        title: "Credits charged so far, over time",
        description: &description,
        columns: &columns,
        line,
    };
    vec![Block::Chart { svg: chart.svg() }, Block::Table(table)]
}
