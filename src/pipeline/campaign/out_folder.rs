//! The output folder of a run. It decides whether the run may write into it: it belongs to one ledger, and no input is read
//! from where files are replaced and removed.

use super::Campaign;
use crate::{error::Error, files::other_writers_in, ledger::Reading, sink};
use std::path::Path;

/// Refuses an input that lies in the output folder.
///
/// # Errors
/// One does.
pub fn refuse_inputs_inside(campaign: &Campaign) -> Result<(), Error> {
    let Ok(out) = std::fs::canonicalize(&campaign.out) else { return Ok(()) };
    let inputs = campaign.inputs.iter().filter_map(|input| Some((input, input.path.as_ref()?.canonicalize().ok()?)));
    match inputs.into_iter().find(|(_, path)| path.starts_with(&out)) {
        Some((input, _)) => Err(Error::Config(format!(
            "{} lies in the output folder {}, in which rescreen replaces and removes files; move it, or choose another \
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
            "{other_writers}: they could lead what is written or removed there to other places; make it yours alone (`chmod \
             700`), or choose another folder with --out DIR"
        )));
    }
    let holds_ledger = same_folder(ledger.path().parent().unwrap_or(Path::new("")), out);
    sink::claim(out, &ledger.ledger_id()?, campaign, holds_ledger)?;
    // Before anything is sent the folder says which of its files are receipts.
    Ok(sink::write_readme(out)?)
}

/// Whether two paths lead to one folder.
pub fn same_folder(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        std::fs::canonicalize(path).ok()
    };
    whole(one).is_some() && whole(one) == whole(other)
}
