//! The program: parse, run, exit code. Everything else is in the library, which never talks to the terminal, and in `cli`,
//! which does.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    // A defect anywhere is exit code 1, like an internal error that was noticed.
    let code = std::panic::catch_unwind(cli::main).unwrap_or(rescreen::model::ExitCode::Internal);
    ExitCode::from(code as u8)
}
