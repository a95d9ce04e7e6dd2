//! Interrupt and terminate. The first signal drains the run: what was sent is still answered. The second one ends it at once.
//! Signals have a thread of their own, so a second signal ends the process whatever its other threads wait for.

use rescreen::{model::ExitCode, pipeline::Signal};
use std::{process, thread, time::Duration};
use tokio::sync::mpsc;

/// The time between the second signal and the end of the process, in which the run notes what it can.
const ENDS_WITHIN: Duration = Duration::from_secs(4);

/// Listens for as long as the process lives.
pub fn listen() -> mpsc::Receiver<Signal> {
    let (tell, signals) = mpsc::channel(4);
    let listener = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        match runtime {
            Ok(runtime) => runtime.block_on(pass_on(&tell)),
            Err(error) => tracing::warn!("signals end the process at once: {error}"),
        }
    });
    if let Err(error) = listener {
        tracing::warn!("signals end the process at once: {error}");
    }
    signals
}

/// Passes each signal on; after the second one the process has a few seconds left.
async fn pass_on(tell: &mpsc::Sender<Signal>) {
    let mut coming = match Coming::new() {
        Ok(coming) => coming,
        Err(error) => return tracing::warn!("signals end the process at once: {error}"),
    };
    let first = coming.next().await;
    // A run that is over listens no more.
    let _ = tell.try_send(first);
    let second = coming.next().await;
    let _ = tell.try_send(second);
    thread::sleep(ENDS_WITHIN);
    let code = match first {
        Signal::Interrupt => ExitCode::Interrupted,
        Signal::Terminate => ExitCode::Terminated,
    };
    process::exit(code as i32);
}

/// The signals as they come.
#[cfg(unix)]
struct Coming {
    interrupts: tokio::signal::unix::Signal,
    terminates: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Coming {
    fn new() -> std::io::Result<Coming> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Coming { interrupts: signal(SignalKind::interrupt())?, terminates: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupts.recv() => Signal::Interrupt,
            _ = self.terminates.recv() => Signal::Terminate,
        }
    }
}

/// The signals as they come.
#[cfg(not(unix))]
struct Coming;

#[cfg(not(unix))]
impl Coming {
    fn new() -> std::io::Result<Coming> {
        Ok(Coming)
    }

    async fn next(&mut self) -> Signal {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Signal::Interrupt,
            Err(_) => std::future::pending().await,
        }
    }
}

/// A file that grows beyond the limit of the process (`ulimit -f`) is a failed write then, which ends a run in order, and no
/// longer the end of the process. Call it inside the runtime, before anything is written.
pub fn outlive_file_size_limit() {
    // By number: the runtime has no name for it. 25 on Linux (x86, ARM, RISC-V), macOS and the BSDs.
    #[cfg(unix)]
    if let Err(error) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(SIGXFSZ)) {
        tracing::info!("a file size limit would end the process: {error}");
    }
}

#[cfg(unix)]
const SIGXFSZ: i32 = 25;
