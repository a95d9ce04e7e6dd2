//! `rescreen completions`: completions for a shell, made from the command line's own definition.

use super::{Cli, output};
use clap::{Args, Command, CommandFactory, builder::PossibleValuesParser};
use clap_complete::Shell;
use rescreen::{Error, catalogue::Catalogue, model::ExitCode};

#[derive(Args)]
pub struct CompletionsArgs {
    /// Shell to complete in: bash, elvish, fish, powershell or zsh
    #[arg(value_enum, hide_possible_values = true)]
    shell: Shell,
}

pub fn completions(args: &CompletionsArgs) -> Result<ExitCode, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "rescreen", &mut script);
    output::bytes_to_stdout(&script);
    Ok(ExitCode::Complete)
}

/// The command line, with the names of the built-in checks as values to offer. A campaign file can declare more, so
/// the command line itself takes any name.
fn command() -> Command {
    let catalogue = Catalogue::built_in();
    let names: Vec<String> = catalogue.iter().map(|declaration| declaration.name.clone()).collect();
    let offered = || PossibleValuesParser::new(names.clone());
    let mut command = Cli::command();
    for (name, argument) in [("plan", "checks"), ("run", "checks"), ("checks", "name")] {
        command = command.mut_subcommand(name, |one| one.mut_arg(argument, |arg| arg.value_parser(offered())));
    }
    command
}
