//! The output folder of a run, and where it is. This module decides whether the run may write into it: the folder belongs
//! to one ledger, and no input lies inside it, because rescreen replaces and removes files there. It also finds the
//! folder and the ledger of a campaign file without validating the file: commands that only need the ledger also work
//! when the inputs or the declarations have changed.

use super::{
    Campaign, SIMULATED_ORIGIN,
    file::CampaignFile,
    place::{campaign_name, output_folder},
};
use crate::{
    error::Error,
    files::other_writers_in,
    ledger::Reading,
    model::Mode,
    sink::{self, OutputMode},
};
use std::path::{Path, PathBuf};

/// Refuses an output folder that is a file, or is inside one.
///
/// # Errors
/// A part of the path is not a folder.
pub fn refuse_file(out: &Path) -> Result<(), Error> {
    let existing = out.ancestors().find_map(|part| Some((part, std::fs::metadata(part).ok()?)));
    match existing {
        Some((part, metadata)) if !metadata.is_dir() => Err(Error::Config(format!(
            "the output folder {}: {} is a file, expected a folder; choose another with --out DIR (or [output] dir)",
            out.display(),
            part.display()
        ))),
        _ => Ok(()),
    }
}

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

/// Refuses an output folder that other users can write to.
///
/// # Errors
/// Others can write to it.
pub fn refuse_other_writers(out: &Path) -> Result<(), Error> {
    match other_writers_in(out) {
        Some(other_writers) => Err(Error::Config(format!(
            "{other_writers}: they could redirect writes and removals to other places; restrict it to your user \
             (`chmod 700`), or choose another folder with --out DIR"
        ))),
        None => Ok(()),
    }
}

/// Claims an output folder for a ledger, before anything is sent or written there.
///
/// # Errors
/// It belongs to another ledger, holds files that no ledger wrote, or cannot be written.
pub fn claim(out: &Path, campaign: &str, ledger: &Reading) -> Result<(), Error> {
    refuse_other_writers(out)?;
    let holds_ledger = same_folder(ledger.path().parent().unwrap_or(Path::new("")), out);
    sink::claim(out, &ledger.ledger_id()?, campaign, holds_ledger)?;
    // Written before anything is sent: it says which files in the folder are receipts.
    let (identity, simulated) = (ledger.identity()?, ledger.sums()?.simulated == Some(true));
    let mode = OutputMode::of(identity.mode, simulated || identity.origin == SIMULATED_ORIGIN);
    Ok(sink::write_readme(out, mode)?)
}

/// Whether two paths are the same folder.
pub fn same_folder(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        std::fs::canonicalize(path).ok()
    };
    whole(one).is_some() && whole(one) == whole(other)
}

/// The places of one campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub campaign: String,
    pub ledger: PathBuf,
    pub out: PathBuf,
}

/// The places that the campaign of a file can have: in its own mode, then in the other one, which a flag may have
/// chosen. Never that of a rehearsal. Relative paths are relative to `base`.
pub fn places_of(file: &CampaignFile, base: &Path) -> Vec<Place> {
    let other = if file.mode() == Mode::Sandbox { Mode::Production } else { Mode::Sandbox };
    let in_mode = |mode| {
        let file = CampaignFile { mode: Some(mode), simulate: false, ..file.clone() };
        // Only a sandbox campaign can be without a name.
        let campaign = campaign_name(&file).ok().filter(|_| mode == Mode::Sandbox || file.campaign.is_some())?;
        let out = output_folder(&file, &campaign, base);
        let ledger = file.ledger.path.as_ref().map_or_else(|| out.join("ledger.sqlite"), |path| base.join(path));
        Some(Place { campaign, ledger, out })
    };
    let mut places: Vec<Place> = [file.mode(), other].into_iter().filter_map(in_mode).collect();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::campaign::parse;

    #[test]
    fn a_campaign_is_looked_for_in_its_mode_and_then_in_the_other_one() {
        let folders = |text: &str| {
            let places = places_of(&parse(text).unwrap(), Path::new("at"));
            places.into_iter().map(|place| (place.out, place.ledger)).collect::<Vec<_>>()
        };
        let at = |out: &str| (PathBuf::from(out), Path::new(out).join("ledger.sqlite"));
        assert_eq!(folders("campaign = 'a'"), [at("at/out/a.sandbox"), at("at/out/a")]);
        assert_eq!(folders("campaign = 'a'\nmode = 'production'"), [at("at/out/a"), at("at/out/a.sandbox")]);
        assert_eq!(folders("[output]\ndir = 'b'"), [at("at/b")], "it does not depend on the mode");
        assert_eq!(folders("mode = 'production'"), [at("at/out/trial.sandbox")], "no campaign is named");
        let apart = folders("campaign = 'a'\n[ledger]\npath = 'fast/a.sqlite'");
        assert_eq!(apart[0], (PathBuf::from("at/out/a.sandbox"), PathBuf::from("at/fast/a.sqlite")));
    }
}
