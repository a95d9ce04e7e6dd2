//! The command line: one file per command. Data goes to standard output, messages to standard error.

mod campaign_args;
mod checks;
mod collect;
mod core_dump;
mod credits;
mod demo;
mod doctor;
mod export;
mod listen;
mod next_command;
mod output;
mod panic;
mod plan;
mod progress;
mod resolve;
mod retry_webhook;
mod run;
mod signals;
mod simulate;
mod status;
mod templates;

use clap::{Parser, Subcommand};
use rescreen::{
    Error,
    model::{ExitCode, printable::printable},
};

/// Run paid checks on lists of customers, companies or vehicles through a rate-limited verification service. Every row
/// is answered or accounted for, and nothing is paid for twice.
#[derive(Parser)]
#[command(name = "rescreen", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    output: output::OutputArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Run a sample campaign against the built-in simulator, in less than a minute
    Demo(demo::DemoArgs),
    /// Show what a run would do and cost, without sending any checks
    Plan(plan::PlanArgs),
    /// Run a campaign, or resume it
    Run(run::RunArgs),
    /// Finish requests that were already sent, get the results of jobs, and publish, using only the ledger
    Collect(collect::CollectArgs),
    /// Publish all results of a campaign into a new folder, judged by the current declarations
    Export(export::ExportArgs),
    /// Show the state of a campaign
    Status(status::StatusArgs),
    /// Decide what to do with requests that may have been charged, or correct a charge
    Resolve(resolve::ResolveArgs),
    /// List the available checks, or describe one
    Checks(checks::ChecksArgs),
    /// Explain the language of templates, with every filter and method
    #[command(override_help = templates::page())]
    Templates,
    /// Examine the service and this machine before a campaign, in sandbox and at no credit
    Doctor(doctor::DoctorArgs),
    /// Print the account's balance
    Credits(credits::CreditsArgs),
    /// Receive the service's deliveries about jobs, so that their results are read sooner
    Listen(listen::ListenArgs),
    /// Ask the service to deliver the results of jobs again, at no credit
    RetryWebhook(retry_webhook::RetryWebhookArgs),
    /// Run a simulator of the service on this machine, for rehearsals
    Simulate(simulate::SimulateArgs),
}

/// Parses the command line, runs the command and returns the exit code. Errors are printed only here.
pub fn main() -> ExitCode {
    panic::say_only_where();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { ExitCode::Usage } else { ExitCode::Complete };
            // Help and version go to standard output with exit code 0. A closed pipe is not an error.
            drop(said_safely(error).print());
            return code;
        }
    };
    cli.output.start_log();
    core_dump::forbid();
    // One thread sends requests, reads replies and decides. Blocking work has its own threads; handing a message to
    // another thread would cost more than the work on it.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::to_stderr(&format!("error: the runtime cannot be started: {error}"));
            return ExitCode::Internal;
        }
    };
    let code = runtime.block_on(dispatch(cli)).unwrap_or_else(|error| {
        output::error(&error);
        error.exit_code()
    });
    // A reader blocked on a pipe must not keep a finished run alive.
    runtime.shutdown_background();
    code
}

/// The same error with its arguments escaped. The error repeats the arguments, and a pattern such as `*.csv` can
/// expand to a file name with control characters.
fn said_safely(error: clap::Error) -> clap::Error {
    let words = std::env::args_os().map(|word| printable(&word.to_string_lossy()).into_owned());
    Cli::try_parse_from(words).err().unwrap_or(error)
}

async fn dispatch(cli: Cli) -> Result<ExitCode, Error> {
    signals::outlive_file_size_limit();
    #[cfg(debug_assertions)]
    panic::planted().await?;
    match cli.command {
        Command::Demo(args) => demo::demo(args, &cli.output).await,
        Command::Plan(args) => plan::plan(args, &cli.output).await,
        Command::Run(args) => run::run(args, &cli.output).await,
        Command::Collect(args) => collect::collect(args, &cli.output).await,
        Command::Export(args) => export::export(args, &cli.output).await,
        Command::Status(args) => status::status(&args),
        Command::Resolve(args) => resolve::resolve(&args).await,
        Command::Checks(args) => checks::checks(&args),
        Command::Templates => Ok(templates::templates()),
        Command::Doctor(args) => doctor::doctor(args, &cli.output).await,
        Command::Credits(args) => credits::credits(args).await,
        Command::Listen(args) => listen::listen(args, &cli.output).await,
        Command::RetryWebhook(args) => retry_webhook::retry_webhook(args, &cli.output).await,
        Command::Simulate(args) => simulate::simulate(args).await,
    }
}
