//! The binary: parse, run, exit code. The library never writes to the terminal; `cli` does.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "fault-points")]
    let planned = plan_faults();
    // A panic exits with code 1, like an internal error.
    let code = std::panic::catch_unwind(cli::main).unwrap_or_else(|_| cli::panicked());
    #[cfg(feature = "fault-points")]
    if planned {
        print_passed_points();
    }
    ExitCode::from(code as u8)
}

/// Reads the fault plan. `RESCREEN_FAULT=commit:7:once:eio` makes the seventh commit fail; `RESCREEN_FAULT=count` only
/// counts. Both print the fault points that were passed at the end.
#[cfg(feature = "fault-points")]
fn plan_faults() -> bool {
    match std::env::var("RESCREEN_FAULT") {
        Err(_) => return false,
        Ok(plan) if plan == "count" => {}
        Ok(plan) => match plan.parse() {
            Ok(plan) => rescreen::model::fault_point::arm(plan, print_passed_points),
            Err(fault) => panic!("RESCREEN_FAULT: {fault}"),
        },
    }
    true
}

#[cfg(feature = "fault-points")]
fn print_passed_points() {
    eprintln!("{}", rescreen::model::fault_point::passed());
}
