//! The program: parse, run, exit code. Everything else is in the library, which never talks to the terminal, and in `cli`,
//! which does.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "fault-points")]
    let planned = plan_faults();
    // A defect anywhere is exit code 1, like an internal error that was noticed.
    let code = std::panic::catch_unwind(cli::main).unwrap_or(rescreen::model::ExitCode::Internal);
    #[cfg(feature = "fault-points")]
    if planned {
        say_what_was_passed();
    }
    ExitCode::from(code as u8)
}

/// `RESCREEN_FAULT=commit:7:once:eio` makes the seventh commit fail; `RESCREEN_FAULT=count` only counts. Both print what
/// was passed at the end.
#[cfg(feature = "fault-points")]
fn plan_faults() -> bool {
    match std::env::var("RESCREEN_FAULT") {
        Err(_) => return false,
        Ok(plan) if plan == "count" => {}
        Ok(plan) => match plan.parse() {
            Ok(plan) => rescreen::model::fault_point::arm(plan, say_what_was_passed),
            Err(fault) => panic!("RESCREEN_FAULT: {fault}"),
        },
    }
    true
}

#[cfg(feature = "fault-points")]
fn say_what_was_passed() {
    eprintln!("{}", rescreen::model::fault_point::passed());
}
