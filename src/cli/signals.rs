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
