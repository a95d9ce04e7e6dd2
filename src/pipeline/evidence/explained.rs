//! The page that explains evidence: what it is, what its files have, how to check it, and what it does not show. The sections of
//! the report follow.

use super::{
    checks::CHECKS,
    checksums::CHECKSUMS,
    facts::{ASKS, DECISIONS, FACTS, Facts, OUTPUTS, PAGE, REQUESTS},
};
use crate::{
    pipeline::{
        report_page::{
            block::{Block, Section, Table, outside},
            figures::Figures,
            sections,
        },
        wording::{counted, grouped},
    },
    sink::CheckTotals,
};

/// The sections of the page.
pub fn sections(figures: &Figures, facts: &Facts) -> Vec<Section> {
    let mut all = vec![about(facts), contents(facts), checking(facts)];
    all.extend(sections::sections(figures));
    all
}

fn about(facts: &Facts) -> Section {
    let complete = if facts.complete {
        "Every row of the input is accounted for."
    } else {
        "The campaign was not complete when this was made: rows are unread or wait for an answer."
    };
    let unreadable = match facts.input.unreadable_rows {
        0 => String::new(),
        rows => format!(" {} could not be read and failed.", counted(rows, "row", "rows")),
    };
    let purged: u64 = facts.checks.iter().map(|check| check.purged).sum();
    let mut blocks = vec![
        Block::text(format!(
            "These files show what was asked of the verification service in this campaign, when, by whom and with which \
             settings, what became of each row of the input, and what it cost. {} made them.",
            outside(&facts.made_by)
        )),
        Block::text(format!("{} were read.{unreadable} {complete}", counted(facts.input.rows, "row", "rows"))),
    ];
    if purged > 0 || facts.input.purged_unreadable_rows > 0 {
        blocks.push(Block::text(
            "Personal data was purged: see “Who ran what, and when”. A line of a purged row or request says so. What the row and the \
             answer said is gone; when it was sent, how it ended and what it cost is not. A purged request has a random mark in \
             place of its key if the keys of the campaign were made without a secret.",
        ));
    }
    let columns = [
        ("check", "text"),
        ("asks", "number"),
        ("results", "number"),
        ("failures", "number"),
        ("pending", "number"),
        ("skipped", "number"),
        ("purged", "number"),
        ("credits", "number"),
    ];
    let mut table = Table::new(
        "One ask is one check for one row. Results, failures, pending, skipped and purged asks add up to the asks of the check; asks \
         and unreadable rows add up to the rows of the input.",
        &columns,
    );
    for check in &facts.checks {
        let CheckTotals { asks, results, failures, pending, skipped, purged, credits, .. } = *check;
        let counts = [asks, results, failures, pending, skipped, purged, credits];
        table.row(std::iter::once(outside(&check.check)).chain(counts.map(grouped)));
    }
    blocks.push(Block::Table(table));
    Section { id: "about", heading: "What this is", blocks }
}

fn contents(facts: &Facts) -> Section {
    let mut table = Table::new("The files", &[("file", "code"), ("what it has", "text")]);
    let mut file = |name: &str, has: &str| table.row([name.to_owned(), has.to_owned()]);
    file(PAGE, "This page.");
    file(FACTS, "Campaign, service, runs, persons, settings by file, counts, and the ends of the files of lines.");
    file(ASKS, "One line for each ask: its row in the input, the dataset it is in, its request. No name, no value.");
    file(
        REQUESTS,
        "One line for each request: its key, every attempt with its time, what was charged, the SHA-256 of the answer.",
    );
    file("campaign/", "The campaign files of the runs with their flags, without secrets.");
    file(
        CHECKS,
        "How each check was declared, what of it was changed by the user, and the rules each part was judged by.",
    );
    if facts.decisions_end.is_some() {
        file(DECISIONS, "Decisions of persons about matches, with the subjects they are about.");
    }
    file(
        OUTPUTS,
        if facts.has_outputs {
            "The published files as they were, with names and answers, and the manifest that lists them."
        } else {
            "The manifest: the SHA-256 of each published file. The files themselves are not here."
        },
    );
    file(CHECKSUMS, "The SHA-256 of all other files. Its last line, the seal, is the digest of the lines above it.");
    let mut blocks = vec![Block::Table(table)];
    let decided = if facts.decisions_end.is_some() { ", the subjects of decisions" } else { "" };
    blocks.push(Block::note(if facts.has_outputs {
        "The published files contain personal data. Treat these files as you treat the input.".to_owned()
    } else {
        format!(
            "These files contain no values of rows and no answers. They contain idempotency keys and digests{decided}. A reader who \
             knows what was asked about a person can compute some of them again, so show the files only to people who may know \
             who was checked. Reasons and settings are there as persons typed them."
        )
    }));
    Section { id: "contents", heading: "What the files have", blocks }
}

fn checking(facts: &Facts) -> Section {
    let mut text = vec![
        "`rescreen verify FOLDER` reads every file, and names each one that was changed, is missing or was added. Then it counts \
         the lines again: they must add up to the figures on this page."
            .to_owned(),
        format!(
            "Without rescreen, `sha256sum -c {CHECKSUMS}` compares the files. Each line of {ASKS} and {REQUESTS} ends with the \
             digest of the line and of the digest before it, so that a changed line can be found."
        ),
        "A person who changes these files can also compute new digests. The seal was printed when the files were made. Ask for \
         the seal that was noted at that time, such as in an e-mail or in minutes. `rescreen verify FOLDER --seal SEAL` compares it."
            .to_owned(),
    ];
    if !facts.has_outputs {
        text.push(
            "`rescreen verify FOLDER --outputs DIR` compares the published files, wherever they are kept, with the digests in \
             the manifest here."
                .to_owned(),
        );
    }
    text.push(
        "What this does not show: that the service's answers are true, that the input was the whole customer book, or that the \
         clock of the machine was right. The service keeps its own record under the idempotency keys and request ids that \
         are here, and can be asked."
            .to_owned(),
    );
    Section { id: "checking", heading: "How to check it", blocks: text.into_iter().map(Block::text).collect() }
}
