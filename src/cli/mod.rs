//! The command line: one file per command. Data goes to standard output, messages to standard error.

mod afterwards;
#[cfg(feature = "book-postgres")]
mod book;
mod campaign_args;
mod checks;
mod chosen;
mod collect;
mod colour;
mod completions;
mod core_dump;
mod credits;
mod decide;
mod demo;
mod diff;
mod doctor;
mod evidence;
mod export;
mod exposition;
mod filter;
mod init;
mod json;
mod json_run;
mod json_status;
mod listen;
mod man;
mod metrics;
mod next_command;
mod output;
mod panic;
mod plan;
mod program;
mod progress;
mod progress_lines;
mod purge;
mod reach;
mod reconcile;
mod report;
mod resolve;
mod retry_webhook;
mod run;
mod screen;
mod show;
mod signals;
mod simulate;
mod status;
mod stdout;
mod summary;
mod table;
mod table_file;
mod templates;
mod verify;
mod wrap;

use campaign_args::CAMPAIGN_FILE;
use clap::{Parser, Subcommand};
use rescreen::{
    Error,
    ledger::SCHEMA_VERSION,
    model::{ExitCode, printable::printable},
};
use std::sync::LazyLock;

/// Run paid checks on lists of customers, companies or vehicles through a rate-limited verification service. Every row
/// is answered or accounted for, and nothing is paid for twice.
#[derive(Parser)]
#[command(name = "rescreen", version = VERSION.as_str(), max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    output: output::OutputArgs,
}

/// What `--version` prints after the name: the version, the commit it is built from, and the version of its ledgers.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    format!("{} ({}, ledger version {SCHEMA_VERSION})", env!("CARGO_PKG_VERSION"), env!("RESCREEN_BUILD"))
});

#[derive(Subcommand)]
enum Command {
    /// Run a sample campaign against the built-in simulator, in less than a minute
    Demo(demo::DemoArgs),
    /// Propose a campaign file for a list: which column feeds which field, and why
    Init(init::InitArgs),
    /// Show what a run would do and cost, without sending any checks
    Plan(plan::PlanArgs),
    /// Run a campaign, or resume it
    Run(run::RunArgs),
    /// Check the rows of standard input, and write a row for each on standard output, for Spark, Ray and other engines
    Filter(filter::FilterArgs),
    /// Finish requests that were already sent, get the results of jobs, and publish, using only the ledger
    Collect(collect::CollectArgs),
    /// Publish all results of a campaign into a new folder, judged by the current declarations
    Export(export::ExportArgs),
    /// Record what a person decided about the matches of a worklist, so that they need no person again
    Decide(decide::DecideArgs),
    /// Write the report of a campaign: one HTML page with charts that can be shown around
    Report(report::ReportArgs),
    /// Make the evidence of a campaign for an auditor: who asked what and when, what it cost, and digests of everything
    Evidence(evidence::EvidenceArgs),
    /// Check that evidence or published files are unchanged, and that their counts add up
    Verify(verify::VerifyArgs),
    /// Show the state of a campaign
    Status(status::StatusArgs),
    /// Show results and failures as a table, or everything about one subject
    Show(show::ShowArgs),
    /// Show what changed between two rounds
    Diff(diff::DiffArgs),
    /// Compare a statement of the service with what the ledgers of campaigns were charged
    Reconcile(reconcile::ReconcileArgs),
    /// Remove the personal data of an old campaign, or of one subject, and keep what was asked, when and at what cost
    Purge(purge::PurgeArgs),
    /// Decide what to do with requests that may have been charged, or correct a charge
    Resolve(resolve::ResolveArgs),
    /// List the available checks, or describe one
    Checks(checks::ChecksArgs),
    /// Explain the language of templates, with every filter and method
    #[command(override_help = templates::page())]
    Templates,
    /// Check the service and this machine before a campaign, in sandbox mode, without spending credits
    Doctor(doctor::DoctorArgs),
    /// Print the account's balance
    Credits(credits::CreditsArgs),
    /// Share one account between machines through a charge book in PostgreSQL
    #[cfg(feature = "book-postgres")]
    Book(book::BookArgs),
    /// Receive the service's deliveries about jobs, so that their results are read sooner
    Listen(listen::ListenArgs),
    /// Ask the service to deliver the results of jobs again, without spending credits
    RetryWebhook(retry_webhook::RetryWebhookArgs),
    /// Run a simulator of the service on this machine, for rehearsals
    Simulate(simulate::SimulateArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
    /// Write the manual pages into a folder
    Man(man::ManArgs),
}

impl Command {
    /// The format of the JSON object that the command prints, if `--json` is given.
    fn json(&self) -> Option<json::Format> {
        let (is_json, format) = match self {
            Command::Plan(args) => (args.json, json::Format::Plan),
            Command::Run(args) => (args.summary.json, json::Format::Run),
            Command::Collect(args) => (args.summary.json, json::Format::Collect),
            Command::Export(args) => (args.json, json::Format::Export),
            Command::Decide(args) => (args.json, json::Format::Decide),
            Command::Report(args) => (args.json, json::Format::Report),
            Command::Reconcile(args) => (args.json, json::Format::Reconcile),
            Command::Purge(args) => (args.json, json::Format::Purge),
            Command::Evidence(args) => (args.json, json::Format::Evidence),
            Command::Verify(args) => (args.json, json::Format::Verify),
            Command::Status(args) => (args.json, json::Format::Status),
            Command::Show(args) => (args.json, json::Format::Show),
            Command::Diff(args) => (args.json, json::Format::Diff),
            Command::Resolve(args) => (args.json, json::Format::Resolve),
            Command::Checks(args) => (args.json, json::Format::Checks),
            Command::Doctor(args) => (args.json, json::Format::Doctor),
            Command::Credits(args) => (args.json, json::Format::Credits),
            #[cfg(feature = "book-postgres")]
            Command::Book(args) => (args.is_json(), json::Format::Book),
            Command::RetryWebhook(args) => (args.json, json::Format::RetryWebhook),
            _ => return None,
        };
        is_json.then_some(format)
    }

    /// What a user who named inputs should know if the command line is wrong: a campaign file was read too.
    fn file_beside_inputs(&self) -> Option<String> {
        let campaign = match self {
            Command::Plan(args) => &args.campaign,
            Command::Run(args) => &args.campaign,
            _ => return None,
        };
        campaign
            .is_beside_file()
            .then(|| format!("the settings of {CAMPAIGN_FILE} in this folder apply too; in another folder they do not"))
    }
}

/// Parses the command line, runs the command and returns the exit code. Errors are printed only here.
pub fn main() -> ExitCode {
    panic::print_location_only();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
            let code = if error.use_stderr() { ExitCode::Usage } else { ExitCode::Complete };
            // Help and version go to standard output with exit code 0.
            let safe = with_escaped_arguments(error);
            if code == ExitCode::Usage {
                summary::write_usage_error(&words, &safe.to_string());
            }
            if code == ExitCode::Usage && output::is_json_asked(&words) {
                output::message(output::Message::Error, safe.to_string().trim_end());
                return ExitCode::Usage;
            }
            if code == ExitCode::Complete {
                let text = safe.render();
                let text = if colour::on_stdout() { text.ansi().to_string() } else { text.to_string() };
                output::bytes_to_stdout(text.as_bytes());
            } else {
                drop(safe.print());
                json::print_usage_error(&next_command::typed(), &safe.to_string());
            }
            return output::stdout_ended(code);
        }
    };
    cli.output.start_log();
    core_dump::forbid();
    // One thread sends requests, reads replies and decides. Blocking work has its own threads; handing a message to
    // another thread would cost more than the work on it.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::message(output::Message::Error, &format!("error: the runtime cannot be started: {error}"));
            return ExitCode::Internal;
        }
    };
    let (format, file) = (cli.command.json(), cli.command.file_beside_inputs());
    let code = runtime.block_on(dispatch(cli)).unwrap_or_else(|error| {
        output::error(&error);
        if matches!(error, Error::NoService) {
            output::to_stderr(&format!("to rehearse: {}", next_command::rehearsal()));
        }
        let is_of_file = matches!(error, Error::CampaignFile { .. });
        if let Some(note) = file.filter(|_| error.exit_code() == ExitCode::Usage && !is_of_file) {
            output::to_stderr(&note);
        }
        if let Some(format) = format {
            json::print(&json::error_object(format, &json::Failed::of(&error, &next_command::typed())));
        }
        error.exit_code()
    });
    // A reader blocked on a pipe must not keep a finished run alive.
    runtime.shutdown_background();
    output::stdout_ended(code)
}

/// The exit code of a program that panicked. The panic hook has printed where.
pub fn panicked() -> ExitCode {
    let message = "the program panicked; this is a bug in rescreen: see standard error".to_owned();
    json::print_if_asked_for(&next_command::typed(), &json::Failed::internal(message));
    ExitCode::Internal
}

/// The same error with its arguments escaped. The error repeats the arguments, and a pattern such as `*.csv` can
/// expand to a file name with control characters.
fn with_escaped_arguments(error: clap::Error) -> clap::Error {
    let words = std::env::args_os().map(|word| printable(&word.to_string_lossy()).into_owned());
    Cli::try_parse_from(words).err().unwrap_or(error)
}

async fn dispatch(cli: Cli) -> Result<ExitCode, Error> {
    signals::outlive_file_size_limit();
    #[cfg(debug_assertions)]
    panic::planted().await?;
    match cli.command {
        Command::Demo(args) => demo::demo(args, &cli.output).await,
        Command::Init(args) => init::init(&args, &cli.output),
        Command::Plan(args) => plan::plan(args).await,
        Command::Run(args) => run::run(args, &cli.output).await,
        Command::Filter(args) => filter::filter(args, &cli.output).await,
        Command::Collect(args) => collect::collect(args, &cli.output).await,
        Command::Export(args) => export::export(args, &cli.output).await,
        Command::Decide(args) => decide::decide(args, &cli.output).await,
        Command::Report(args) => report::report(args, &cli.output).await,
        Command::Reconcile(args) => reconcile::reconcile(args).await,
        Command::Purge(args) => purge::purge(args, &cli.output).await,
        Command::Evidence(args) => evidence::evidence(args, &cli.output).await,
        Command::Verify(args) => verify::verify(args, &cli.output).await,
        Command::Status(args) => status::status(&args),
        Command::Show(args) => show::show(&args),
        Command::Diff(args) => diff::diff(&args),
        Command::Resolve(args) => resolve::resolve(&args).await,
        Command::Checks(args) => checks::checks(&args),
        Command::Templates => Ok(templates::templates()),
        Command::Doctor(args) => doctor::doctor(args, &cli.output).await,
        Command::Credits(args) => credits::credits(args).await,
        #[cfg(feature = "book-postgres")]
        Command::Book(args) => book::book(args).await,
        Command::Listen(args) => listen::listen(args, &cli.output).await,
        Command::RetryWebhook(args) => retry_webhook::retry_webhook(args, &cli.output).await,
        Command::Simulate(args) => simulate::simulate(args).await,
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => man::man(&args, &cli.output),
    }
}
