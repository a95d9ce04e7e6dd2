//! Disables core dumps: the memory of the process holds the API key and the rows.

/// Disables core dumps, and on Linux also access to this process's memory by other processes of the same user. If the
/// system refuses, the run continues and the refusal is logged.
#[cfg(unix)]
pub fn forbid() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let nothing = Rlimit { current: Some(0), maximum: Some(0) };
    if let Err(error) = setrlimit(Resource::Core, nothing) {
        tracing::info!("a crash would leave a core dump: {error}");
    }
    // The limit does not apply when the system pipes core dumps to a handler.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::info!("a crash would leave a core dump: {error}");
    }
}

/// Without Unix, core dumps are written only if the system is configured for them.
#[cfg(not(unix))]
pub fn forbid() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};

    #[test]
    fn the_process_is_not_dumpable_and_its_core_limit_stays_zero() {
        forbid();
        let limit = getrlimit(Resource::Core);
        assert_eq!((limit.current, limit.maximum), (Some(0), Some(0)));
        assert!(matches!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable)));
        // The program can still read what it needs from its own /proc entries.
        assert!(std::fs::read_to_string("/proc/self/status").is_ok());
        assert!(std::fs::read_link("/proc/self/fd/0").is_ok() && std::fs::read_dir("/proc/self/fd").is_ok());
    }
}
