//! `rescreen man`: writes the manual pages, made from the command line's own definition.

use super::{Cli, output::OutputArgs, templates};
use clap::{Args, CommandFactory};
use clap_mangen::generate_to;
use rescreen::{Error, model::ExitCode};
use std::path::PathBuf;

#[derive(Args)]
pub struct ManArgs {
    /// Folder for the pages; it is created if it does not exist
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub fn man(args: &ManArgs, output: &OutputArgs) -> Result<ExitCode, Error> {
    let command = Cli::command().mut_subcommand("templates", |one| one.long_about(templates::page()));
    let written = std::fs::create_dir_all(&args.dir).and_then(|()| generate_to(command, &args.dir));
    let dir = args.dir.display();
    written.map_err(|error| {
        Error::Config(format!(
            "{dir}: the manual pages cannot be written: {error}; choose a folder that you can write to"
        ))
    })?;
    output.say(&format!("manual pages: {dir}; read one with: man {dir}/rescreen.1"));
    Ok(ExitCode::Complete)
}
