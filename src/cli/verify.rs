//! `rescreen verify`: whether evidence or published files are unchanged, and add up. It only reads.

use super::{
    json,
    output::{OutputArgs, to_stderr},
};
use clap::Args;
use rescreen::{
    Error,
    model::{ExitCode, printable::printable},
    pipeline::{
        self, Subject, Verified, VerifyOrder,
        wording::{counted, grouped},
    },
};
use std::path::PathBuf;

#[derive(Args)]
pub struct VerifyArgs {
    /// Evidence, as a folder or an archive; or a folder with published files
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Seal that was noted when the evidence was made
    #[arg(long, value_name = "SEAL", value_parser = seal)]
    seal: Option<String>,
    /// Folder with the published files that the evidence is about
    #[arg(long, value_name = "DIR")]
    outputs: Option<PathBuf>,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

fn seal(text: &str) -> Result<String, String> {
    let seal = text.trim().to_ascii_lowercase();
    match seal.len() == 64 && seal.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        true => Ok(seal),
        false => Err("expected 64 hexadecimal digits, as `rescreen evidence` prints them".to_owned()),
    }
}

/// How many faults are printed. The JSON object has all.
const FAULTS_SHOWN: usize = 50;

pub async fn verify(args: VerifyArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let (path, is_json) = (args.path.display().to_string(), args.json);
    let verifying = tokio::task::spawn_blocking(move || {
        let VerifyArgs { path, seal, outputs, .. } = &args;
        pipeline::verify(&VerifyOrder { path, seal: seal.as_deref(), outputs: outputs.as_deref() })
    });
    let verified = verifying.await.map_err(Error::from)??;
    let is_unchanged = verified.faults.is_empty();
    let exit_code = if is_unchanged { ExitCode::Complete } else { ExitCode::Internal };
    verified.notes.iter().for_each(|note| output.say(&printable(note)));
    let lines = lines(&verified, &path);
    match is_unchanged {
        true => lines.iter().for_each(|line| output.say(line)),
        // Also with -q.
        false => lines.iter().for_each(|line| to_stderr(line)),
    }
    if is_json {
        let about = verified.about.as_ref();
        let faults = verified.faults.iter().map(|one| serde_json::json!({ "file": one.file, "fault": one.fault }));
        let fields = serde_json::json!({
            "path": path,
            "subject": match verified.subject {
                Subject::Evidence => "evidence",
                Subject::Outputs => "outputs",
            },
            "unchanged": is_unchanged,
            "faults": faults.collect::<Vec<_>>(),
            "notes": verified.notes,
            "files": verified.files,
            "seal": verified.seal,
            "campaign": about.map(|about| &about.campaign),
            "mode": about.map(|about| about.mode.as_str()),
            "complete": about.map(|about| about.complete),
            "rows": about.map(|about| about.rows),
            "credits": about.map(|about| about.credits),
            "made_at": about.and_then(|about| about.made.as_ref()).map(|(at, _)| at),
            "made_by": about.and_then(|about| about.made.as_ref()).map(|(_, by)| by),
        });
        json::print(&json::object(json::Format::Verify, exit_code, fields));
    }
    Ok(exit_code)
}

fn lines(verified: &Verified, path: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for fault in verified.faults.iter().take(FAULTS_SHOWN) {
        lines.push(format!("{}: {}", printable(&fault.file), printable(&fault.fault)));
    }
    let count = verified.faults.len();
    if count > FAULTS_SHOWN {
        lines.push(format!("{} more", grouped((count - FAULTS_SHOWN) as u64)));
    }
    if count > 0 {
        lines.push(format!("CHANGED: {path} is not as it was made: {}", counted(count as u64, "fault", "faults")));
        return lines;
    }
    let files = counted(verified.files, "file", "files");
    lines.push(match verified.subject {
        Subject::Evidence => format!("unchanged: {files} of {path}"),
        Subject::Outputs => {
            format!("unchanged: {files} that the manifest of {path} names; evidence shows whether the manifest is")
        }
    });
    if let Some(about) = &verified.about {
        let (rows, credits) = (counted(about.rows, "row", "rows"), counted(about.credits, "credit", "credits"));
        let complete = if about.complete { "complete" } else { "not complete" };
        let campaign = printable(&about.campaign);
        lines.push(format!(
            "campaign {campaign}, {}, {complete}: {rows}, {credits}; the counts add up",
            about.mode.as_str()
        ));
        if let Some((at, by)) = &about.made {
            lines.push(format!("made at {} by {}", printable(at), printable(by)));
        }
    }
    lines.extend(verified.seal.iter().map(|seal| format!("seal: {seal}")));
    lines
}
