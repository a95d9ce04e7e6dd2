//! What a panic prints: its location and how to continue. The panic's own message is never printed, in any build,
//! because the message of another crate may quote a cell.

use super::output::{Message, message};
use std::panic::{Location, PanicHookInfo, set_hook};

/// From now on a panic prints only its location.
pub fn print_location_only() {
    set_hook(Box::new(|panic: &PanicHookInfo<'_>| message(Message::Error, &line(panic.location()))));
}

fn line(location: Option<&Location<'_>>) -> String {
    let place = location.map_or_else(|| "an unknown location".to_owned(), ToString::to_string);
    format!(
        "error: the program panicked at {place}; this is a bug in rescreen, please report this location; everything \
         sent and answered is in the ledger: run the same command again to continue"
    )
}

/// Panics if `RESCREEN_PANIC=place:message` requests it; the place is `main`, `thread` or `task`.
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
