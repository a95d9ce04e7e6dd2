//! The command line: one file per command. Standard output is data, standard error is output.

mod campaign_args;
mod checks;
mod collect;
mod core_dump;
mod credits;
mod demo;
mod next_command;
mod output;
mod panic;
mod plan;
mod progress;
mod resolve;
mod run;
mod signals;
mod simulate;
mod status;

use clap::{Parser, Subcommand};
use rescreen::{
    Error,
    model::{ExitCode, printable::printable},
};

/// Takes a whole book of subjects (customers, companies, vehicles) through a paid, rate-limited verification service.
/// Every row is answered or accounted for, and nothing is paid for twice.
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
    /// Everything on sample data against the built-in simulator, in less than a minute
    Demo(demo::DemoArgs),
    /// Read and map everything, send nothing: what a run would do and cost
    Plan(plan::PlanArgs),
    /// Run a campaign, or resume it
    Run(run::RunArgs),
    /// Settle and publish what was sent, from the ledger alone; nothing new is sent
    Collect(collect::CollectArgs),
    /// Where a campaign stands
    Status(status::StatusArgs),
    /// Decide about requests that may have been charged, or correct a charge
    Resolve(resolve::ResolveArgs),
    /// The checks there are
    Checks(checks::ChecksArgs),
    /// The account's balance
    Credits(credits::CreditsArgs),
    /// The service on loopback: rehearse before you spend
    Simulate(simulate::SimulateArgs),
}

/// Parses, runs, and gives the exit code; errors are printed here and nowhere else.
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
    // One thread sends, hears and decides: what blocks has threads of its own, and a message that changes threads costs more
    // than the work on it.
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
    // A reader that waits on a pipe must not keep a finished run alive.
    runtime.shutdown_background();
    code
}

/// The same error with the command's words made printable. The error repeats the words, and a pattern such as `*.csv` can put
/// a file name with control characters among them.
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
        Command::Status(args) => status::status(&args),
        Command::Resolve(args) => resolve::resolve(&args).await,
        Command::Checks(args) => checks::checks(&args),
        Command::Credits(args) => credits::credits(args).await,
        Command::Simulate(args) => simulate::simulate(args).await,
    }
}
