//! What the terminal and the scheduler say: interrupt (once: drain, twice: now) and terminate.

use rescreen::pipeline::Signal;
use tokio::sync::mpsc;

/// Listens for as long as the process lives.
pub fn listen() -> mpsc::Receiver<Signal> {
    let (tell, signals) = mpsc::channel(4);
    let interrupts = tell.clone();
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            if interrupts.send(Signal::Interrupt).await.is_err() {
                return;
            }
        }
    });
    #[cfg(unix)]
    tokio::spawn(async move {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            while terminated.recv().await.is_some() {
                if tell.send(Signal::Terminate).await.is_err() {
                    return;
                }
            }
        }
    });
    #[cfg(not(unix))]
    drop(tell);
    signals
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
