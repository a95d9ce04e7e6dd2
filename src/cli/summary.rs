//! `--json` and `--summary-json` of `run` and `collect`: the object about the run, on standard output or in a file. The
//! file is begun before anything is sent, so that a place that cannot be written costs nothing, and it is written
//! however the run ends.

use super::{
    json::{self, Failed, Format},
    json_run::{About, fields},
    next_command::typed,
    stdout,
};
use clap::Args;
use rescreen::{
    Error,
    files::{self, Links},
    model::ExitCode,
    pipeline::{Campaign, RunReport, campaign::flags, failures_by_code},
};
use serde_json::Value;
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

#[derive(Args)]
pub struct SummaryArgs {
    /// Print one JSON object about the run on standard output when it ends (see docs/json.md)
    #[arg(long, help_heading = flags::OUTPUT)]
    pub json: bool,
    /// Also write that object to this file, however the run ends
    #[arg(long, value_name = "PATH", help_heading = flags::OUTPUT)]
    pub summary_json: Option<PathBuf>,
}

/// The object about a run that is under way.
pub struct Summary {
    format: Format,
    is_printed: bool,
    file: Option<SummaryFile>,
    about: Option<About>,
}

impl Summary {
    /// Begins the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(format: Format, args: &SummaryArgs) -> Result<Summary, Error> {
        let file = args.summary_json.as_deref().map(SummaryFile::begin).transpose()?;
        Ok(Summary { format, is_printed: args.json, file, about: None })
    }

    /// The campaign of the run, once it is known.
    pub fn is_about(&mut self, campaign: &Campaign) {
        self.about = Some(About::of(campaign));
    }

    /// Prints and writes the object, and returns the exit code of the run. The object of an error is printed by the
    /// caller, with the error.
    ///
    /// # Errors
    /// That of the run, or the file could not be written.
    pub fn finish(self, ended: Result<RunReport, Error>) -> Result<ExitCode, Error> {
        let object = match &ended {
            Ok(report) => json::object(self.format, stdout::exit_code(report.exit_code), self.fields(report)?),
            Err(error) => json::error_object(self.format, &Failed::of(error, &typed())),
        };
        if self.is_printed && ended.is_ok() {
            json::print(&object);
        }
        let written = self.file.map_or(Ok(()), |file| file.finish(&object));
        // An error of the run says more than one of its summary.
        let report = ended?;
        written.map(|()| report.exit_code)
    }

    /// The fields of a report. They cost some queries, so they are made only if they are shown.
    fn fields(&self, report: &RunReport) -> Result<Value, Error> {
        let Some(about) = self.about.as_ref().filter(|_| self.is_printed || self.file.is_some()) else {
            return Ok(Value::Null);
        };
        Ok(fields(about, report, &failures_by_code(&about.ledger)?))
    }
}

/// Writes the object of a command line that is wrong, if it names a file for it. `text` is what clap says about it.
pub fn write_usage_error(words: &[String], text: &str) {
    const FLAG: &str = "--summary-json";
    let behind = words.windows(2).find(|pair| pair[0] == FLAG).map(|pair| pair[1].as_str());
    let within = words.iter().find_map(|word| word.strip_prefix(FLAG)?.strip_prefix('='));
    let format = Format::of_words(words).filter(|format| matches!(format, Format::Run | Format::Collect));
    if let Some((path, format)) = behind.or(within).filter(|path| !path.starts_with("--")).zip(format) {
        let object = json::error_object(format, &Failed::of_usage(text));
        // The command line is wrong, which is what the user hears; that this file cannot be written says less.
        drop(SummaryFile::begin(Path::new(path)).and_then(|file| file.finish(&object)));
    }
}

/// The file of `--summary-json`, under its temporary name.
struct SummaryFile {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
    is_done: bool,
}

impl SummaryFile {
    fn begin(path: &Path) -> Result<SummaryFile, Error> {
        let failed = |error: io::Error| {
            Error::Config(format!("--summary-json {}: expected a place for a file, found: {error}", path.display()))
        };
        let name = path.file_name().ok_or_else(|| failed(io::Error::other("a path without a file name")))?;
        // A folder, a pipe or a link is not replaced, and neither is another file, such as an input or a manifest.
        if fs::symlink_metadata(path).is_ok() && !is_summary(path).map_err(failed)? {
            return Err(failed(io::Error::other("another file, which is not replaced; choose another name")));
        }
        // Until the end there is none: the summary of an earlier run says nothing about this one.
        if let Err(error) = fs::remove_file(path)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(failed(error));
        }
        let temporary = path.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
        let file = files::open_private(&temporary).map_err(failed)?;
        file.set_len(0).map_err(failed)?;
        Ok(SummaryFile { path: path.to_owned(), temporary, file, is_done: false })
    }

    /// Writes the object, and gives the file its name.
    fn finish(mut self, object: &Value) -> Result<(), Error> {
        let written = writeln!(self.file, "{object}").and_then(|()| self.file.sync_all());
        let renamed = written.and_then(|()| fs::rename(&self.temporary, &self.path));
        self.is_done = renamed.is_ok();
        renamed.map_err(|error| {
            Error::Config(format!(
                "the run has ended, but its summary could not be written to {}: {error}; `rescreen status --json` shows \
                 how it ended",
                self.path.display()
            ))
        })
    }
}

/// Whether a file is empty or an earlier summary.
fn is_summary(path: &Path) -> io::Result<bool> {
    let mut begins = Vec::new();
    files::open(path, Links::Refused)?.take(BEGINS.len() as u64).read_to_end(&mut begins)?;
    Ok(begins.is_empty() || begins == BEGINS)
}

/// How each object begins.
const BEGINS: &[u8] = b"{\"format\":\"rescreen.";

impl Drop for SummaryFile {
    fn drop(&mut self) {
        if !self.is_done {
            drop(fs::remove_file(&self.temporary));
        }
    }
}
