//! Handles SIGINT, SIGTERM and SIGHUP. After the first signal nothing new is sent, and replies are awaited. The second ends the
//! process within four seconds. Signals have their own thread, so a second signal ends the process even if its other
//! threads are blocked.

use rescreen::{
    model::{ExitCode, Stop},
    pipeline::Signal,
};
use std::{
    process,
    sync::{Arc, OnceLock},
    thread,
    time::Duration,
};
use tokio::sync::mpsc;

/// The time between the second signal and the end of the process, in which the run records what it can.
const ENDS_WITHIN: Duration = Duration::from_secs(4);

/// Listens until the process ends.
pub fn listen() -> mpsc::Receiver<Signal> {
    let (tell, signals) = mpsc::channel(4);
    let (listens, is_listening) = std::sync::mpsc::channel::<()>();
    let listener = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        match runtime {
            Ok(runtime) => runtime.block_on(pass_on(&tell, listens)),
            Err(error) => tracing::warn!("signals cannot be handled and will end the process at once: {error}"),
        }
    });
    if let Err(error) = listener {
        tracing::warn!("signals cannot be handled and will end the process at once: {error}");
    }
    // A signal that comes earlier would end the process at once, and what it has begun would be left. Nothing is sent here: the
    // other end is dropped.
    let _ = is_listening.recv();
    signals
}

/// Whether a signal has come, as the reason to stop, for work that asks between rows.
pub fn first() -> impl Fn() -> Option<Stop> + Send + 'static {
    let (stop, mut signals) = (Arc::new(OnceLock::new()), listen());
    let stopping = Arc::clone(&stop);
    tokio::spawn(async move {
        if let Some(signal) = signals.recv().await {
            drop(stopping.set(signal.stop()));
        }
    });
    move || stop.get().cloned()
}

/// Forwards each signal. After the second one, the process has a few seconds left. Drops `listens` once a signal is heard.
async fn pass_on(tell: &mpsc::Sender<Signal>, listens: std::sync::mpsc::Sender<()>) {
    let mut coming = match Coming::new() {
        Ok(coming) => coming,
        Err(error) => return tracing::warn!("signals cannot be handled and will end the process at once: {error}"),
    };
    drop(listens);
    let first = coming.next().await;
    // A run that has ended no longer listens.
    let _ = tell.try_send(first);
    let second = coming.next().await;
    let _ = tell.try_send(second);
    thread::sleep(ENDS_WITHIN);
    let code = match first {
        Signal::Interrupt => ExitCode::Interrupted,
        Signal::Terminate | Signal::Hangup => ExitCode::Terminated,
    };
    process::exit(code as i32);
}

/// The incoming signals.
#[cfg(unix)]
struct Coming {
    interrupts: tokio::signal::unix::Signal,
    terminates: tokio::signal::unix::Signal,
    hangups: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Coming {
    fn new() -> std::io::Result<Coming> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Coming {
            interrupts: signal(SignalKind::interrupt())?,
            terminates: signal(SignalKind::terminate())?,
            hangups: if is_hangup_ignored() { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupts.recv() => Signal::Interrupt,
            _ = self.terminates.recv() => Signal::Terminate,
            _ = received(self.hangups.as_mut()) => Signal::Hangup,
        }
    }
}

#[cfg(unix)]
async fn received(signal: Option<&mut tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether this process was started with SIGHUP ignored, as by `nohup`: then it stays ignored. Where the system does not
/// tell, it counts as ignored without a terminal to lose.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    use std::io::IsTerminal;
    match std::fs::read_to_string("/proc/self/status") {
        Ok(status) => is_first_signal_in(status.lines().find_map(|line| line.strip_prefix("SigIgn:"))),
        Err(_) => !std::io::stdin().is_terminal(),
    }
}

/// Whether a mask of signals in hexadecimal has the first one, SIGHUP.
#[cfg(unix)]
fn is_first_signal_in(mask: Option<&str>) -> bool {
    mask.and_then(|mask| u128::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// The incoming signals.
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

/// Turns exceeding the file size limit (`ulimit -f`) into a failed write, which ends a run in an orderly way, instead
/// of a signal that kills the process. Call it inside the runtime, before anything is written.
pub fn outlive_file_size_limit() {
    // By number, because tokio has no name for it: 25 on Linux (x86, ARM, RISC-V), macOS and the BSDs.
    #[cfg(unix)]
    if let Err(error) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(SIGXFSZ)) {
        tracing::info!("exceeding a file size limit will end the process: {error}");
    }
}

#[cfg(unix)]
const SIGXFSZ: i32 = 25;
