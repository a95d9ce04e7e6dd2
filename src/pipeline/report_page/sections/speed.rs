//! How fast requests were sent, compared with the limit, and how long answers took.

use crate::pipeline::{
    report_page::{
        answer_times::{AnswerTimes, PERCENTS},
        block::{Block, Section, Table, outside},
        chart::{Column, Columns, Line},
        figures::Figures,
        timeline::{SECOND_US, Throughput},
        words::{bucket_time, length, milliseconds},
    },
    wording::{counted, grouped},
};

pub fn throughput(figures: &Figures) -> Section {
    let heading = "Requests over time";
    let Some(throughput) = &figures.throughput else {
        return Section { id: "speed", heading, blocks: vec![Block::note("Nothing was sent yet.")] };
    };
    let timeline = &throughput.timeline;
    let interval = if timeline.interval_us() == SECOND_US { "second" } else { "minute" };
    let attempts: u64 = throughput.buckets.iter().map(|sent| sent.attempts).sum();
    let mut text = format!(
        "{} sent, with repeats. The busiest {interval} had {}.",
        counted(attempts, "request was", "requests were"),
        grouped(throughput.busiest())
    );
    let limit = figures.limits.filter(|_| !figures.is_rehearsal());
    if let Some(limits) = limit {
        text.push_str(&format!(
            " The limit of the last run was {} a minute, and at most {} in any minute.",
            grouped(limits.per_minute.into()),
            grouped(limits.per_minute_max.into())
        ));
    }
    if figures.is_rehearsal() {
        text.push_str(" A rehearsal has no limit, unless it was run with `--simulate=realtime`.");
    }
    let line = limit.filter(|_| interval == "minute").map(|limits| Line {
        level: limits.per_minute_max.into(),
        label: format!("at most {} in any minute", grouped(limits.per_minute_max.into())),
    });
    let mut blocks = vec![Block::text(text)];
    blocks.extend(busiest(throughput, interval, line));
    Section { id: "speed", heading, blocks }
}

fn busiest(throughput: &Throughput, interval: &str, line: Option<Line>) -> [Block; 3] {
    let timeline = &throughput.timeline;
    let each = length(timeline.length_us);
    let named = [("from", "text"), ("requests", "number"), ("in the busiest interval", "number")];
    let mut table = Table::new(format!("Requests in each {each} (UTC), and in its busiest {interval}"), &named)
        .opened_by("The same figures as a table");
    let mut columns = Vec::new();
    for (bucket, sent) in throughput.buckets.iter().enumerate() {
        let from = bucket_time(timeline.begin_us(bucket), timeline.length_us);
        let title = format!(
            "from {from}: {} in the busiest {interval}, {} in all",
            grouped(sent.busiest),
            grouped(sent.attempts)
        );
        columns.push(Column { label: from.clone(), title, value: sent.busiest });
        table.row([from, grouped(sent.attempts), grouped(sent.busiest)]);
    }
    let description = format!(
        "Each column is the busiest {interval} of {each}. The highest is {}.{}",
        grouped(throughput.busiest()),
        line.as_ref().map(|line| format!(" A line shows the limit: {}.", line.label)).unwrap_or_default()
    );
    let title = if timeline.length_us == timeline.interval_us() {
        format!("Requests in each {interval}")
    } else {
        format!("Requests in the busiest {interval} of each {each}")
    };
    let chart = Columns { id: "chart-speed", title: &title, description: &description, columns: &columns, line };
    [Block::heading(title.clone()), Block::Chart { svg: chart.svg() }, Block::Table(table)]
}

pub fn latency(figures: &Figures) -> Section {
    let heading = "How long answers took";
    let together = AnswerTimes::together(figures.checks.iter().map(|check| &check.times));
    if together.count() == 0 {
        return Section { id: "latency", heading, blocks: vec![Block::note("No request is answered yet.")] };
    }
    let at = |percent| together.percentile(percent).map(milliseconds).unwrap_or_default();
    let mut blocks = vec![Block::text(format!(
        "From the request to the end of its reply, for {}. Half of them took at most {}, and 99 of 100 at most {}.",
        counted(together.count(), "answer", "answers"),
        at(50),
        at(99)
    ))];
    let columns = [
        ("check", "text"),
        ("answers", "number"),
        ("50 %", "number"),
        ("90 %", "number"),
        ("95 %", "number"),
        ("99 %", "number"),
        ("longest", "number"),
    ];
    let caption = "The time within which a share of the answers came";
    let mut table = Table::new(caption, &columns);
    let row = |name: String, times: &AnswerTimes| {
        let percentiles = PERCENTS.map(|percent| times.percentile(percent)).into_iter().chain([times.longest()]);
        let shown = percentiles.map(|time| time.map_or_else(|| "–".to_owned(), milliseconds));
        [name, grouped(times.count())].into_iter().chain(shown).collect::<Vec<_>>()
    };
    for check in &figures.checks {
        table.row(row(outside(&check.name), &check.times));
    }
    table.sums = Some(row("all checks".to_owned(), &together));
    blocks.extend(histogram(&together));
    blocks.push(Block::Table(table));
    Section { id: "latency", heading, blocks }
}

fn histogram(times: &AnswerTimes) -> [Block; 2] {
    let histogram = times.histogram();
    let width = histogram.width_ms;
    let named = [("time", "text"), ("answers", "number")];
    let mut table = Table::new("Answers by the time that they took", &named).opened_by("The same figures as a table");
    let mut columns = Vec::new();
    let mut add = |label: String, name: String, answers: u64| {
        columns.push(Column {
            label,
            title: format!("{name}: {}", counted(answers, "answer", "answers")),
            value: answers,
        });
        table.row([name, grouped(answers)]);
    };
    for (bin, answers) in histogram.counts.iter().enumerate() {
        let from = width.saturating_mul(bin as u64);
        let to = from.saturating_add(width);
        add(milliseconds(from), format!("{} to below {}", milliseconds(from), milliseconds(to)), *answers);
    }
    let end = width.saturating_mul(histogram.counts.len() as u64);
    if histogram.longer > 0 {
        let name = format!("{} or longer", milliseconds(end));
        add(name.clone(), name, histogram.longer);
    }
    let description = format!(
        "A histogram with intervals of {}. Half of the answers took at most {}.",
        milliseconds(width),
        times.percentile(50).map(milliseconds).unwrap_or_default()
    );
    let chart = Columns {
        id: "chart-latency",
        title: "Answers by the time that they took",
        description: &description,
        columns: &columns,
        line: None,
    };
    [Block::Chart { svg: chart.svg() }, Block::Table(table)]
}
