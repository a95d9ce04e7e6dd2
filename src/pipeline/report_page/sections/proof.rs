//! What the figures can be checked against: the inputs and the published files with their digests. And how to read the
//! page.

use crate::{
    pipeline::{
        report_page::{
            block::{Block, Section, Table, outside},
            figures::Figures,
            words::size,
        },
        wording::{counted, grouped},
    },
    sink::DatasetKind,
};

/// The most files that are listed. The manifest has all.
const PARTS_MAX: usize = 200;

pub fn files(figures: &Figures) -> Section {
    let mut blocks = vec![Block::text(
        "A SHA-256 is a fingerprint of a file: if a single byte of the file changes, it is another one. It shows that a \
         file is the one that was read or published.",
    )];
    let columns =
        [("input", "text"), ("rows", "number"), ("size", "number"), ("read to its end", "text"), ("SHA-256", "digest")];
    let mut inputs = Table::new("What was read", &columns);
    for source in &figures.input.sources {
        let complete = if source.complete { "yes" } else { "no" };
        let (rows, bytes) = (grouped(source.rows), size(source.bytes));
        inputs.row([outside(&source.name), rows, bytes, complete.to_owned(), outside(&source.sha256)]);
    }
    blocks.push(if inputs.rows.is_empty() { Block::note("No input was read yet.") } else { Block::Table(inputs) });
    let Some(published) = &figures.published else {
        blocks.push(Block::note("Nothing is published in this folder yet."));
        return section(blocks);
    };
    let manifest = &published.manifest;
    blocks.push(Block::heading("What was published"));
    let columns =
        [("file", "digest"), ("dataset", "text"), ("rows", "number"), ("size", "number"), ("SHA-256", "digest")];
    let parts = manifest.datasets.iter().flat_map(|dataset| dataset.parts.iter().map(move |part| (dataset, part)));
    let count = parts.clone().count();
    let mut table = Table::new("The valid files, as manifest.json names them", &columns).opened_by(counted(
        count as u64,
        "file with its digest",
        "files with their digests",
    ));
    for (dataset, part) in parts.take(PARTS_MAX) {
        let name = match (&dataset.check, dataset.kind) {
            (Some(check), DatasetKind::Results) => format!("results of {}", outside(check)),
            (_, kind) => kind.as_str().to_owned(),
        };
        table.row([outside(&part.path), name, grouped(part.rows), size(part.bytes), outside(&part.sha256)]);
    }
    let mut manifests =
        Table::new("The list of the valid files", &[("file", "code"), ("made by", "text"), ("SHA-256", "digest")]);
    manifests.row(["manifest.json".to_owned(), outside(&manifest.program), published.sha256.clone()]);
    blocks.extend([Block::Table(manifests), Block::Table(table)]);
    if count > PARTS_MAX {
        let left_out = counted((count - PARTS_MAX) as u64, "further file", "further files");
        blocks.push(Block::note(format!("manifest.json lists {left_out}.")));
    }
    section(blocks)
}

fn section(blocks: Vec<Block>) -> Section {
    Section { id: "files", heading: "Inputs and files", blocks }
}

/// How to read the page.
pub fn reading() -> Section {
    let text = [
        "A check is one product of the service, such as a name screening. An ask is one check for one row. A request is \
         what is sent; asks with equal content share one, and one charge. A credit is the unit that the service charges in.",
        "The figures come from the ledger of the campaign, the record that is written before anything is sent. They are \
         those of one moment, and the ones that `rescreen status` and manifest.json show. In the charts, a bar that would \
         be too thin to see is drawn a little wider.",
        "This page contains no subjects and no values of rows or answers, so it can be shown to people who must not see \
         personal data. It has the names of the campaign, its checks and input files, positions in the input files, the \
         names of persons who decided something, and their reasons as they were typed.",
        "All times are UTC. The page needs no network, contains no script, and loads nothing.",
    ];
    Section { id: "reading", heading: "How to read this page", blocks: text.map(Block::text).to_vec() }
}
