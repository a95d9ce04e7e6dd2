//! `rescreen init`: proposes a campaign file for a list. It prints what was guessed and why, what is open, and the next
//! command. No value of the list is printed or written.

use super::{
    campaign_args::{CAMPAIGN_FILE, feed, split},
    output::{OutputArgs, lines_to_stdout, to_stderr},
    program::program,
    screen, wrap,
};
use clap::Args;
use rescreen::{
    Error, files,
    mapping::FieldSource,
    model::{ExitCode, shell_words::quoted},
    pipeline::{
        campaign::file::{CampaignFile, CheckTable},
        init::{
            ColumnLine, FitsBy, Fitting, InitInput, InitOrder, OpenSetting, Proposal, ProposalLine, fitting_checks,
            in_words, propose,
        },
    },
};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};
use unicode_width::UnicodeWidthStr;

/// The most checks that are proposed.
const CHECKS_MAX: usize = 10;
/// The most columns that are listed.
const COLUMNS_MAX: usize = 40;

#[derive(Args)]
pub struct InitArgs {
    /// Input files: CSV or JSON Lines (also .gz or .zst), .xlsx or .parquet; all of the same layout
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// Check to run (see `rescreen checks`); repeatable. Without it, the checks that fit are listed
    #[arg(long = "check", value_name = "NAME")]
    checks: Vec<String>,
    /// Fill a field from a column or a template; with several checks, NAME.FIELD=…
    #[arg(long = "map", value_name = "FIELD=COLUMN|TEMPLATE")]
    maps: Vec<String>,
    /// Fill a field with a constant; with several checks, NAME.FIELD=…
    #[arg(long = "set", value_name = "FIELD=CONSTANT")]
    sets: Vec<String>,
    /// Column that identifies a row [default: one that is filled and different in each row]
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// Sheet of the workbook [default: the one whose columns fit the checks]
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
    /// Read the first line of the input as a row, not as a header [default: detected]
    #[arg(long)]
    no_header: bool,
    /// File to write; `-` is standard output
    #[arg(long, value_name = "FILE", default_value = CAMPAIGN_FILE)]
    output: PathBuf,
    /// Overwrite the file if it exists
    #[arg(long)]
    force: bool,
}

pub fn init(args: &InitArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let to_stdout = args.output.as_os_str() == "-";
    let order = args.order()?;
    if order.checks.is_empty() {
        return args.list(&fitting_checks(&order)?);
    }
    let proposal = propose(&order)?;
    if !to_stdout && !args.force && fs::symlink_metadata(&args.output).is_ok() {
        return Err(Error::Config(format!(
            "{} exists and is not overwritten; write another file with --output FILE, print it with --output -, or \
             overwrite it with --force",
            args.output.display()
        )));
    }
    if to_stdout {
        lines_to_stdout(proposal.text.trim_end());
    } else {
        write(&args.output, "--output", &proposal.text, args.force)?;
    }
    args.say(&proposal, to_stdout, output);
    Ok(ExitCode::Complete)
}

impl InitArgs {
    fn order(&self) -> Result<InitOrder, Error> {
        let inputs = self.inputs.iter().map(|path| self.input(path)).collect::<Result<_, _>>()?;
        let mut file = CampaignFile {
            checks: self.checks.iter().map(|name| CheckTable::of(name)).collect(),
            ..CampaignFile::default()
        };
        for map in &self.maps {
            let (target, source) = split(map, "--map", "FIELD=COLUMN")?;
            feed(&mut file, "--map", target, FieldSource::from(source))?;
        }
        for set in &self.sets {
            let (target, constant) = split(set, "--set", "FIELD=CONSTANT")?;
            feed(&mut file, "--set", target, FieldSource::Constant(constant.into()))?;
        }
        let folder = self.output.parent().map(Path::to_owned).unwrap_or_default();
        let (id, sheet) = (self.id.clone(), self.sheet.clone());
        Ok(InitOrder { inputs, checks: file.checks, id, sheet, has_no_header: self.no_header, folder })
    }

    /// An input as the campaign file names it: relative to that file.
    fn input(&self, path: &Path) -> Result<InitInput, Error> {
        if path.as_os_str() == "-" {
            return Err(Error::Config(
                "init needs a file, found standard input: the run would have to read the same rows again; save them to \
                 a file and name it"
                    .to_owned(),
            ));
        }
        if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Err(Error::Config(format!(
                "{}: init needs a file, found a pipe or a device: the run would have to read the same rows again; save \
                 them to a file and name it",
                path.display()
            )));
        }
        let folder =
            self.output.parent().filter(|folder| !folder.as_os_str().is_empty() && self.output.as_os_str() != "-");
        let name = match folder {
            None => path.to_owned(),
            Some(folder) => match path.strip_prefix(folder) {
                Ok(inside) => inside.to_owned(),
                Err(_) => {
                    std::path::absolute(path).map_err(|error| Error::Config(format!("{}: {error}", path.display())))?
                }
            },
        };
        let Some(name) = name.to_str() else {
            return Err(Error::Config(format!(
                "{}: expected a file name in UTF-8, which a campaign file can contain, found another; rename the file",
                path.display()
            )));
        };
        Ok(InitInput { name: name.to_owned(), path: path.to_owned() })
    }

    /// What was guessed, what is open, and the next command.
    fn say(&self, proposal: &Proposal, to_stdout: bool, output: &OutputArgs) {
        proposal.inputs.iter().flat_map(|line| page(line)).for_each(|line| output.say(&line));
        output.say("");
        for line in &proposal.lines {
            shown(line).iter().for_each(|line| output.say(line));
        }
        output.say("");
        if !to_stdout {
            output.say(&format!("{} is written. Check what was guessed in it.", self.output.display()));
        }
        let doubtful: Vec<&str> =
            proposal.lines.iter().filter(|line| line.is_doubtful).map(|line| line.target.as_str()).collect();
        if !doubtful.is_empty() {
            lines_to_stderr(&format!("doubtful, so check it first: {}", doubtful.join(", ")));
        }
        if proposal.open.is_empty() {
            if !to_stdout {
                output.say("Next, see what a run would do, in a rehearsal with the built-in simulator:");
                output.say(&format!("  {}", quoted(&self.plan())));
            }
            return;
        }
        let what = in_words(proposal.open.len(), "setting is", "settings are");
        let keys: Vec<&str> = proposal.open.iter().map(|open| open.key.as_str()).collect();
        lines_to_stderr(&format!("{what} needed and open: {}", keys.join(", ")));
        if !proposal.columns.is_empty() {
            say_columns(&proposal.columns);
        }
        self.say_how_to_fill(&proposal.open);
        if !to_stdout {
            output.say("When no line is OPEN, plan a rehearsal:");
            output.say(&format!("  {}", quoted(&self.plan())));
        }
    }

    /// How to fill the open settings that have a possible source. Each command can be run without a change.
    fn say_how_to_fill(&self, open: &[OpenSetting]) {
        let (by_column, by_constant) = (guesses(open, true), guesses(open, false));
        if by_column.is_empty() {
            return to_stderr("Fill in the lines marked OPEN.");
        }
        let only = if by_column.len() < open.len() { "some of " } else { "" };
        lines_to_stderr(&format!(
            "Fill in the lines marked OPEN, or fill {only}them with these guesses and write the file again. You decide \
             whether they are right:"
        ));
        let again = |filled: &[[String; 3]]| {
            let mut words = self.with(&self.checks, filled);
            words.extend((self.output.as_os_str() != "-").then(|| "--force".to_owned()));
            to_stderr(&format!("  {}", quoted(&words)));
        };
        again(&by_column);
        if by_constant != by_column {
            lines_to_stderr("Or give every row the same value:");
            again(&by_constant);
        }
    }

    /// This command with these checks and with open fields filled: flag, field and value of each.
    fn with(&self, checks: &[String], filled: &[[String; 3]]) -> Vec<String> {
        let mut words = self.words();
        words.extend(checks.iter().flat_map(|check| ["--check".to_owned(), check.clone()]));
        for (flag, values) in [("--map", &self.maps), ("--set", &self.sets)] {
            words.extend(values.iter().flat_map(|value| [flag.to_owned(), value.clone()]));
        }
        words.extend(filled.iter().flat_map(|[flag, field, value]| [flag.clone(), format!("{field}={value}")]));
        words
    }

    fn words(&self) -> Vec<String> {
        let mut words = vec![program(), "init".to_owned()];
        words.extend(self.inputs.iter().map(|path| path.display().to_string()));
        words.extend(self.id.iter().flat_map(|id| ["--id".to_owned(), id.clone()]));
        words.extend(self.sheet.iter().flat_map(|sheet| ["--sheet".to_owned(), sheet.clone()]));
        words.extend(self.no_header.then(|| "--no-header".to_owned()));
        if self.output.as_os_str() != CAMPAIGN_FILE {
            words.extend(["--output".to_owned(), self.output.display().to_string()]);
        }
        words
    }

    fn plan(&self) -> Vec<String> {
        let mut words = vec![program(), "plan".to_owned()];
        if self.output.as_os_str() != CAMPAIGN_FILE {
            words.extend(["-c".to_owned(), self.output.display().to_string()]);
        }
        // The file names no service yet.
        words.push("--simulate".to_owned());
        words
    }

    /// The checks that fit, as commands.
    fn list(&self, fitting: &Fitting) -> Result<ExitCode, Error> {
        fitting.inputs.iter().for_each(|line| lines_to_stderr(line));
        if fitting.by != FitsBy::Values {
            say_columns(&fitting.columns);
        }
        to_stderr("");
        if fitting.checks.is_empty() {
            return Err(Error::Config(
                "no check is named, and none fits the columns by their values or names; name one with --check NAME, \
                 and fill its fields with --map FIELD=COLUMN: `rescreen checks` lists all checks, and `rescreen checks \
                 NAME` the fields of one"
                    .to_owned(),
            ));
        }
        lines_to_stderr(match fitting.by {
            FitsBy::Values => "No check is named. These fit the values of the columns:",
            FitsBy::Names => {
                "No check is named, and none fits the columns by their values. These fit by the names of columns only, \
                 so look at the values first:"
            }
            FitsBy::Texts => {
                "No check is named, and none fits the columns by their values or names. These need a name, and a column \
                 has texts that may be one:"
            }
        });
        for check in fitting.checks.iter().take(CHECKS_MAX) {
            to_stderr("");
            lines_to_stderr(&format!("{}: {}", check.name, check.summary));
            if !check.fed.is_empty() {
                lines_to_stderr(&format!("  {}", check.fed.join("; ")));
            }
            let filled = guesses(&check.open, true);
            if !check.open.is_empty() {
                let names: Vec<&str> = check.open.iter().map(|open| open.key.as_str()).collect();
                let guessed = match filled.len() {
                    0 => "",
                    count if count < names.len() => "; the command has guesses for some of them, and you decide",
                    _ => "; the command has guesses, and you decide",
                };
                lines_to_stderr(&format!("  open: {}{guessed}", names.join(", ")));
            }
            let words = self.with(std::slice::from_ref(&check.name), &filled);
            to_stderr(&format!("  {}", quoted(&words)));
        }
        to_stderr("");
        let more = fitting.checks.len().saturating_sub(CHECKS_MAX);
        let more = if more > 0 { format!("{more} more fit. ") } else { String::new() };
        to_stderr(&format!("{more}`rescreen checks` lists all checks. --check can be given several times."));
        Ok(ExitCode::Usage)
    }
}

/// A guess for each open setting that has one, from a column or a constant: flag, field and value.
fn guesses(open: &[OpenSetting], columns_first: bool) -> Vec<[String; 3]> {
    let guess = |one: &OpenSetting| {
        let (by_map, by_set) = (one.by_map(), one.by_set());
        let guess = if columns_first { by_map.or(by_set) } else { by_set.or(by_map) };
        guess.map(|words| words.map(str::to_owned))
    };
    open.iter().filter_map(guess).collect()
}

/// The columns of the input, for those who choose among them.
fn say_columns(columns: &[ColumnLine]) {
    let width = columns.iter().take(COLUMNS_MAX).map(|one| one.name.width()).max().unwrap_or_default();
    to_stderr("The columns of the sample:");
    for one in columns.iter().take(COLUMNS_MAX) {
        let padding = " ".repeat(width - one.name.width());
        to_stderr(&format!("  {}{padding}  {}", one.name, one.about));
    }
    let more = columns.len().saturating_sub(COLUMNS_MAX);
    if more > 0 {
        to_stderr(&format!("  and {more} more"));
    }
}

/// A text in lines of the width of the screen.
fn page(text: &str) -> Vec<String> {
    wrap::lines(text, screen::size().columns.min(wrap::PAGE))
}

/// A sentence on standard error, in lines of the width of a screen.
fn lines_to_stderr(text: &str) {
    page(text).iter().for_each(|line| to_stderr(line));
}

/// What feeds a field, and below it why.
fn shown(line: &ProposalLine) -> Vec<String> {
    let first = match &line.from {
        Some(from) => page(&format!("{} ← {from}", line.target)),
        None => vec![format!("{}: open", line.target)],
    };
    first.into_iter().chain(page(&format!("    {}", line.why))).collect()
}

/// Writes a campaign file, named by `flag`, at once or not at all.
pub(super) fn write(path: &Path, flag: &str, text: &str, force: bool) -> Result<(), Error> {
    let failed = |error: std::io::Error| {
        Error::Config(format!(
            "{}: {error}; check the folder and its permissions, or name another file with {flag}",
            path.display()
        ))
    };
    let folder = files::folder_of(path);
    if !folder.is_dir() {
        return Err(Error::Config(format!(
            "{}: expected the folder {}, found none; make it, or name another file with {flag}",
            path.display(),
            folder.display()
        )));
    }
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    let kept = if force { file.persist(path) } else { file.persist_noclobber(path) };
    kept.map(|_| ()).map_err(|error| failed(error.error))
}
