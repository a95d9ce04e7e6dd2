//! `rescreen export`: new files from the ledger of a campaign, judged by the current declarations. It sends nothing and
//! changes nothing.

use super::{chosen, json, output::OutputArgs, signals};
use clap::Args;
use rescreen::{
    Error,
    model::{ExitCode, Verdict},
    pipeline::{
        self, ChangedSince, ExportContent, ExportFormat, ExportOrder, Exported,
        wording::{ask_counts, counted, grouped},
    },
    sink::{AskCounts, CELL_CHARACTERS_MAX},
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct ExportArgs {
    /// Output folder, or name of a campaign [default: the campaign of rescreen.toml, or the only one in out/]
    #[arg(value_name = "DIR|NAME")]
    dir: Option<PathBuf>,
    /// Folder to create and write to, or file with --wide, --worklist or --format xlsx; it must not exist
    #[arg(long, value_name = "NEW_FOLDER|NEW_FILE")]
    to: PathBuf,
    /// Campaign file whose declarations judge the answers [default: those of the last run]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Format: parquet, jsonl, csv or xlsx [default: by the ending of --to, else that of the campaign]
    #[arg(long, value_name = "FORMAT")]
    format: Option<ExportFormat>,
    /// Begin CSV with a byte order mark, so that Excel reads letters such as é and имя
    #[arg(long)]
    excel: bool,
    /// One file for each dataset, not parts
    #[arg(long)]
    single: bool,
    /// Every row of the input in its order, with verdict, finding and date of each check beside its columns
    #[arg(long)]
    wide: bool,
    /// The matches to decide about, a row for each, with empty columns for decision and reason; `rescreen decide` reads it back
    #[arg(long, conflicts_with_all = ["single", "wide", "verdict"])]
    worklist: bool,
    /// Only the replies that could not be read as answers, byte for byte, and a list of them
    #[arg(long, conflicts_with_all = ["format", "excel", "single", "wide", "worklist", "verdict", "check", "changed_since"])]
    unreadable: bool,
    /// Only results with these verdicts, such as review,adverse; with --wide, rows with such a result
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',', value_parser = pipeline::verdict_of)]
    verdict: Vec<Verdict>,
    /// Only this check of the campaign; can be repeated
    #[arg(long, value_name = "NAME")]
    check: Vec<String>,
    /// Only what changed since this earlier round, as `rescreen diff OLD NEW` names it: its folder, or its campaign's name
    #[arg(long, value_name = "OLD")]
    changed_since: Option<PathBuf>,
    /// Compare rounds of different modes, such as sandbox and production
    #[arg(long, requires = "changed_since")]
    across_modes: bool,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

pub async fn export(args: ExportArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let chosen = chosen::one_to_show("export", args.dir.as_deref(), args.config.as_deref())?;
    let place = chosen.place;
    let old = args.changed_since.as_deref().map(|old| chosen::published("export", old)).transpose()?;
    let new = match (&old, chosen.out) {
        (Some(_), None) => chosen::published("export", &place)?,
        (_, out) => out.unwrap_or_default(),
    };
    let interrupted = signals::first();
    let (to, is_json, unreadable, worklist) = (args.to.clone(), args.json, args.unreadable, args.worklist);
    let exporting = tokio::task::spawn_blocking(move || {
        let order = ExportOrder {
            place: &place,
            to: &args.to,
            config: args.config.as_deref(),
            format: args.format,
            excel: args.excel,
            single: args.single,
            content: match () {
                () if args.unreadable => ExportContent::Unread,
                () if args.worklist => ExportContent::Worklist,
                () if args.wide => ExportContent::Wide,
                () => ExportContent::Datasets,
            },
            verdicts: if args.worklist { vec![Verdict::Review] } else { args.verdict },
            checks: args.check,
            changed: old.as_deref().map(|old| ChangedSince { old, new: &new, across_modes: args.across_modes }),
        };
        pipeline::export(&order, &interrupted)
    });
    let exported = exporting.await.map_err(Error::from)??;
    let lines = match (unreadable, worklist) {
        (true, _) => unread_lines(&exported, &to),
        (_, true) => worklist_lines(&exported, &to),
        _ => lines(&exported, &to),
    };
    for line in lines {
        output.say(&line);
    }
    if is_json {
        json::print(&json::object(json::Format::Export, ExitCode::Complete, fields(&exported, &to)));
    }
    Ok(ExitCode::Complete)
}

/// What is said about an export.
fn lines(exported: &Exported, to: &Path) -> Vec<String> {
    let counts = AskCounts::of(&exported.totals, exported.unreadable_rows);
    let mut lines = vec![format!("the campaign has {}", ask_counts(counts))];
    let rows = counted(exported.rows, "row", "rows");
    lines.push(match &exported.limits {
        Some(limits) => format!("{rows} exported, only {limits}"),
        None => format!("{rows} exported"),
    });
    lines.extend(exported.mode.warning());
    for sheets in &exported.continued {
        lines.push(format!("one sheet is too short, so the table continues: {}", sheets.join(", ")));
    }
    if exported.cut_cells > 0 {
        lines.push(format!(
            "{} cut, because a cell of a workbook has at most {} characters; the other formats have the whole text",
            counted(exported.cut_cells, "cell was", "cells were"),
            grouped(CELL_CHARACTERS_MAX as u64),
        ));
    }
    if exported.columns_cut {
        lines.push("the input has more than 10,000 columns; those after them were left out".to_owned());
    }
    for file in exported.files.iter().filter(|file| exported.files.len() > 1 && !file.sources.is_empty()) {
        lines.push(format!("{}: {}", file.path, file.sources.join(", ")));
    }
    lines.push(format!("exported to: {}", to.display()));
    lines
}

/// What is said about an export of replies that could not be read.
fn unread_lines(exported: &Exported, to: &Path) -> Vec<String> {
    if exported.rows == 0 {
        return vec![format!("the ledger keeps no reply that could not be read; {} has an empty list", to.display())];
    }
    let replies = counted(exported.rows, "reply that could not be read", "replies that could not be read");
    vec![format!("{replies}; they may contain personal data"), format!("exported to: {}", to.display())]
}

/// What is said about a worklist.
fn worklist_lines(exported: &Exported, to: &Path) -> Vec<String> {
    let mut lines = vec![match exported.rows {
        0 => "no match waits for a decision".to_owned(),
        rows => format!("{} for a decision", counted(rows, "match waits", "matches wait")),
    }];
    if exported.unexplained > 0 {
        let one = "result to review is not in the list, because its matches do not explain it";
        let more = "results to review are not in the list, because their matches do not explain them";
        lines.push(format!(
            "{}: `rescreen export --wide --verdict review,adverse` lists every row that needs a person",
            counted(exported.unexplained, one, more)
        ));
    }
    if exported.without_subject > 0 {
        lines.push(format!(
            "{} not in the list, because a decision is about a subject and {} row has none",
            counted(exported.without_subject, "result to review is", "results to review are"),
            if exported.without_subject == 1 { "its" } else { "their" },
        ));
    }
    lines.extend(exported.mode.warning());
    lines.push(format!("worklist: {}", to.display()));
    lines
}

fn fields(exported: &Exported, to: &Path) -> Value {
    let counts = AskCounts::of(&exported.totals, exported.unreadable_rows);
    let is_folder = to.is_dir();
    let files: Vec<Value> = exported
        .files
        .iter()
        .map(|file| {
            let path = if is_folder { to.join(&file.path) } else { to.to_owned() };
            json!({
                "path": path.display().to_string(),
                "sources": file.sources,
                "rows": file.rows,
                "bytes": file.bytes,
                "sha256": file.sha256,
            })
        })
        .collect();
    json!({
        "campaign": exported.campaign,
        "mode": exported.mode,
        "folder": to.display().to_string(),
        "results": counts.results,
        "failures": counts.failures,
        "pending": counts.pending,
        "skipped": counts.skipped,
        "file_format": exported.format.as_str(),
        "rows": exported.rows,
        "files": files,
        "cut_cells": exported.cut_cells,
        "unexplained": exported.unexplained,
        "without_subject": exported.without_subject,
    })
}
