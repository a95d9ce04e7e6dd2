//! A process that crashes leaves its memory nowhere: the API key and the rows are in it.

/// From now on no core dump is written, and on Linux no other process of the same user reads this one's memory. A system that
/// refuses is told of in the log: the run is worth more.
#[cfg(unix)]
pub fn forbid() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let nothing = Rlimit { current: Some(0), maximum: Some(0) };
    if let Err(error) = setrlimit(Resource::Core, nothing) {
        tracing::info!("a crash would leave a core dump: {error}");
    }
    // The limit does not stop a handler of the system that core dumps are piped into.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::info!("a crash would leave a core dump: {error}");
    }
}

/// There are none unless the system was told to write them.
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
        // What the program itself reads of its process is still readable.
        assert!(std::fs::read_to_string("/proc/self/status").is_ok());
        assert!(std::fs::read_link("/proc/self/fd/0").is_ok() && std::fs::read_dir("/proc/self/fd").is_ok());
    }
}
