//! The binary: parse, run, exit code. The library never writes to the terminal; `cli` does.

mod cli;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(feature = "harness")]
use rescreen::model::fault_point;
use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(feature = "harness")]
    let planned = plan_faults();
    // A panic exits with code 1, like an internal error.
    let code = std::panic::catch_unwind(cli::main).unwrap_or_else(|_| cli::panicked());
    #[cfg(feature = "harness")]
    if planned {
        print_passed_points();
    }
    ExitCode::from(code as u8)
}

/// Reads the fault plan. `RESCREEN_FAULT=commit:7:once:eio` makes the seventh commit fail; `RESCREEN_FAULT=count` only
/// counts. Both print the fault points that were passed at the end.
#[cfg(feature = "harness")]
fn plan_faults() -> bool {
    match std::env::var(fault_point::FAULT_PLAN) {
        Err(_) => return false,
        Ok(plan) if plan == "count" => {}
        Ok(plan) => match plan.parse() {
            Ok(plan) => fault_point::arm(plan, print_passed_points),
            Err(fault) => panic!("{}: {fault}", fault_point::FAULT_PLAN),
        },
    }
    true
}

#[cfg(feature = "harness")]
#[allow(clippy::print_stderr)] // only a process whose storage is made to fail prints this
fn print_passed_points() {
    eprintln!("{}", fault_point::passed());
}
