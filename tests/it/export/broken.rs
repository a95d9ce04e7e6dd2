//! Exports that cannot be finished: the disk is full, or a person interrupts them.

use super::{campaign, campaign_of};
use crate::support::{
    program::{Said, shell},
    tables::files,
};
use rescreen::{
    Error,
    model::Stop,
    pipeline::{ExportContent, ExportOrder, export},
};
use std::{cell::Cell, path::PathBuf};

/// The files beside the campaign that an export could have left.
fn left(workspace: &crate::cli::Workspace) -> Vec<PathBuf> {
    let own = ["out", "state", "book.csv", "rescreen.toml"];
    let is_other = |path: &PathBuf| !own.iter().any(|own| path.starts_with(own));
    files(workspace.path(), "").into_iter().filter(is_other).collect()
}

#[test]
fn a_full_disk_ends_an_export_with_exit_code_11_and_leaves_nothing() {
    // Each export is larger than the limit; the file of SQLite's shared memory is smaller.
    let workspace = campaign_of(2_000);
    for arguments in [
        "--to parts",
        "--to parts --format parquet",
        "--to parts --format csv",
        "--to book.xlsx",
        "--to rows.csv --wide",
        "--to rows.xlsx --wide",
    ] {
        // No file gets larger than 80 blocks, which are 512 or 1,024 bytes. The signal is ignored, so that the program sees
        // an error like that of a full disk.
        let line = format!("trap '' XFSZ; ulimit -f 80; exec rescreen export {arguments}");
        let said = Said::of(&mut shell(workspace.path(), &line));
        assert_eq!(said.code, 11, "{arguments}: {}", said.stderr);
        assert!(said.stderr.contains("File too large"), "{arguments}: {}", said.stderr);
        assert_eq!(left(&workspace), Vec::<PathBuf>::new(), "{arguments}");
    }
}

#[test]
fn an_interrupted_export_leaves_nothing() {
    let workspace = campaign();
    let place = workspace.path().join("out/2026-11");
    let (datasets, wide, worklist) = (ExportContent::Datasets, ExportContent::Wide, ExportContent::Worklist);
    for (name, content) in [
        ("parts", datasets),
        ("book.xlsx", datasets),
        ("rows.csv", wide),
        ("rows.xlsx", wide),
        ("rows", wide),
        ("worklist.csv", worklist),
    ] {
        // An export by row asks once for each row, and again for each ask.
        for after in [0, 40, 150] {
            let to = workspace.path().join(name);
            let order = ExportOrder { content, ..ExportOrder::of(&place, &to) };
            let asked = Cell::new(0);
            let interrupted = || {
                asked.set(asked.get() + 1);
                (asked.get() > after).then_some(Stop::Interrupted)
            };
            let stopped = export(&order, &interrupted);
            assert!(matches!(stopped, Err(Error::Stopped(Stop::Interrupted))), "{name}");
            assert_eq!(left(&workspace), Vec::<PathBuf>::new(), "{name}");
        }
    }
}
