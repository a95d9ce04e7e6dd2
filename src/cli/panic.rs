//! What a defect of the program says: where it is and how to continue. It never says the panic's message, in no build, since
//! the message of another crate may quote a cell.

use super::output::to_stderr;
use std::panic::{Location, PanicHookInfo, set_hook};

/// From now on a panic says its place only.
pub fn say_only_where() {
    set_hook(Box::new(|panic: &PanicHookInfo<'_>| to_stderr(&line(panic.location()))));
}

fn line(location: Option<&Location<'_>>) -> String {
    let place = location.map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    format!(
        "error: the program panicked at {place}; this is a defect of the program, please report this place; what was sent \
         and answered is in the ledger: run the same command again to continue"
    )
}

/// Panics where `RESCREEN_PANIC=place:message` asks for it: `main`, `thread` or `task`.
#[cfg(debug_assertions)]
pub async fn planted() -> Result<(), rescreen::Error> {
    let Ok(wanted) = std::env::var("RESCREEN_PANIC") else { return Ok(()) };
    let (place, message) = wanted.split_once(':').unwrap_or((&wanted, ""));
    let message = message.to_owned();
    match place {
        "thread" => tokio::task::spawn_blocking(move || panic!("{message}")).await.map_err(Into::into),
        "task" => tokio::spawn(async move { panic!("{message}") }).await.map_err(Into::into),
        _ => panic!("{message}"),
    }
}
