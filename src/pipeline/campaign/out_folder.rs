//! The output folder of a run. This module decides whether the run may write into it: the folder belongs to one ledger,
//! and no input lies inside it, because rescreen replaces and removes files there.

use super::Campaign;
use crate::{error::Error, files::other_writers_in, ledger::Reading, sink};
use std::path::Path;

/// Refuses an input that lies in the output folder.
///
/// # Errors
/// An input lies in the output folder.
pub fn refuse_inputs_inside(campaign: &Campaign) -> Result<(), Error> {
    let Ok(out) = std::fs::canonicalize(&campaign.out) else { return Ok(()) };
    let inputs = campaign.inputs.iter().filter_map(|input| Some((input, input.path.as_ref()?.canonicalize().ok()?)));
    match inputs.into_iter().find(|(_, path)| path.starts_with(&out)) {
        Some((input, _)) => Err(Error::Config(format!(
            "{} lies in the output folder {}, where rescreen replaces and removes files; move it, or choose another \
             folder with --out DIR",
            input.name,
            campaign.out.display()
        ))),
        None => Ok(()),
    }
}

/// Claims an output folder for a ledger, before anything is sent or written there.
///
/// # Errors
/// It belongs to another ledger, holds files that no ledger wrote, or cannot be written.
pub fn claim(out: &Path, campaign: &str, ledger: &Reading) -> Result<(), Error> {
    if let Some(other_writers) = other_writers_in(out) {
        return Err(Error::Config(format!(
            "{other_writers}: they could redirect writes and removals to other places; restrict it to your user \
             (`chmod 700`), or choose another folder with --out DIR"
        )));
    }
    let holds_ledger = same_folder(ledger.path().parent().unwrap_or(Path::new("")), out);
    sink::claim(out, &ledger.ledger_id()?, campaign, holds_ledger)?;
    // Written before anything is sent: it says which files in the folder are receipts.
    Ok(sink::write_readme(out)?)
}

/// Whether two paths are the same folder.
pub fn same_folder(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        std::fs::canonicalize(path).ok()
    };
    whole(one).is_some() && whole(one) == whole(other)
}
