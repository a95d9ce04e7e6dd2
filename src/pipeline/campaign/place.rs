//! The name of a campaign, and its folder. A rehearsal has a folder of its own, so that it never meets a real campaign.

use super::file::CampaignFile;
use crate::{
    error::Error,
    files::folder_of,
    model::{Mode, file_name::check_file_name},
};
use std::path::{Path, PathBuf};

/// The folder of all rehearsals, in `out`.
pub const REHEARSALS: &str = "rehearsals";

/// The name of a campaign that has neither a name nor an input file.
const TRIAL: &str = "trial";

const NAME_BYTES_MAX: usize = 80;

/// The name of the file of decisions, if the user names none.
const DECISIONS: &str = "decisions.jsonl";

/// The file of decisions about matches: the one that the user names, or one beside the folder of the ledger, so that all
/// campaigns in a folder share it.
pub fn decisions_file(named: Option<&Path>, ledger: &Path) -> PathBuf {
    named.map_or_else(|| beside_folder(folder_of(ledger)).join(DECISIONS), Path::to_owned)
}

/// The folder that a folder is in, whatever it is called from: `.` and a link have another parent than their name says.
fn beside_folder(folder: &Path) -> PathBuf {
    let named = folder_of(folder);
    match folder.canonicalize() {
        Ok(real) if named.canonicalize().ok().as_deref() != real.parent() => folder_of(&real).to_owned(),
        _ => named.to_owned(),
    }
}

/// The file of decisions that a campaign file names.
pub fn decisions_named(file: &CampaignFile, base: &Path) -> Option<PathBuf> {
    file.decisions.file.as_ref().map(|path| base.join(path))
}

/// The name of the campaign. Without one, a sandbox campaign is named after its first input file, so that another file
/// is another campaign.
///
/// # Errors
/// A production campaign has no name, or the name cannot be the name of a folder.
pub fn campaign_name(file: &CampaignFile) -> Result<String, Error> {
    let Some(name) = &file.campaign else {
        return Ok(file.input.paths.first().and_then(|path| named_after(path)).unwrap_or(TRIAL.to_owned()));
    };
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_allowed) || name.starts_with('.') {
        return Err(Error::Config(format!(
            "campaign `{name}`: expected up to {NAME_BYTES_MAX} letters, digits, `-`, `_` and `.`, not starting with \
             `.`; the name is used for a folder"
        )));
    }
    if name == REHEARSALS {
        return Err(Error::Config(format!(
            "campaign `{name}`: expected another name, because out/{REHEARSALS} contains the rehearsals"
        )));
    }
    check_file_name(name).map_err(|fault| Error::Config(format!("campaign `{name}`: {fault}")))?;
    Ok(name.clone())
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// The extensions that are not part of a campaign's name.
const EXTENSIONS: [&str; 11] = ["csv", "gz", "json", "jsonl", "ndjson", "parquet", "tsv", "txt", "xlsm", "xlsx", "zst"];

/// The name of a file as the name of a campaign: without its extensions, and with `-` for characters that such a name
/// cannot have. `None` if nothing is left.
fn named_after(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_string_lossy();
    let mut stem = file.trim_start_matches('.');
    while let Some((before, extension)) = stem.rsplit_once('.')
        && EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str())
    {
        stem = before;
    }
    let mut name = String::new();
    for c in stem.chars().take(NAME_BYTES_MAX) {
        if is_allowed(c) {
            name.push(c);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_matches(['-', '.']);
    (!name.is_empty() && name != REHEARSALS && check_file_name(name).is_ok()).then(|| name.to_owned())
}

/// The output folder. By default it is `out/<campaign>`, with the suffix `.sandbox` in sandbox; of a rehearsal it is
/// `out/rehearsals/<campaign>`.
pub fn output_folder(file: &CampaignFile, name: &str, base: &Path) -> PathBuf {
    let out = base.join("out");
    match (&file.output.dir, file.simulate, file.mode()) {
        (Some(dir), ..) => base.join(dir),
        (None, true, _) => out.join(REHEARSALS).join(name),
        (None, false, mode) => out.join(folder_name(name, mode)),
    }
}

/// The path of the ledger in an output folder. A path that is not a folder is returned unchanged.
pub fn ledger_in(place: &Path) -> PathBuf {
    if place.is_dir() { place.join("ledger.sqlite") } else { place.to_owned() }
}

/// The name of the folder of a campaign, unless it is a rehearsal.
pub fn folder_name(name: &str, mode: Mode) -> String {
    match mode {
        Mode::Sandbox => format!("{name}.sandbox"),
        Mode::Production => name.to_owned(),
    }
}

/// The folder of a rehearsal, beside the folder that is named for the campaign. A path such as `.` has no name of its
/// own, so there it is a folder inside.
pub fn beside(dir: &Path) -> PathBuf {
    match dir.file_name() {
        Some(last) => {
            let mut last = last.to_owned();
            last.push(".simulated");
            dir.with_file_name(last)
        }
        None => dir.join("simulated"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mode: Mode, simulate: bool, dir: Option<&str>) -> String {
        let mut file = CampaignFile { mode: Some(mode), simulate, ..CampaignFile::default() };
        file.output.dir = dir.map(PathBuf::from);
        output_folder(&file, "c", Path::new("base")).display().to_string()
    }

    #[test]
    fn a_rehearsal_never_has_the_folder_of_a_real_campaign() {
        assert_eq!(of(Mode::Production, false, None), "base/out/c");
        assert_eq!(of(Mode::Sandbox, false, None), "base/out/c.sandbox");
        for mode in [Mode::Sandbox, Mode::Production] {
            assert_eq!(of(mode, true, None), "base/out/rehearsals/c");
            assert_eq!(of(mode, false, Some("there")), "base/there");
        }
        for (dir, folder) in [("a/there", "a/there.simulated"), ("there/", "there.simulated"), ("..", "../simulated")] {
            assert_eq!(beside(Path::new(dir)), Path::new(folder));
        }
    }

    #[test]
    fn a_campaign_without_a_name_is_named_after_its_file() {
        let of = |path: &str| {
            let mut file = CampaignFile::default();
            file.input.paths = vec![path.into()];
            campaign_name(&file).unwrap()
        };
        for (path, name) in [
            ("data/customers.csv", "customers"),
            ("Kunden Liste (neu).csv.gz", "Kunden-Liste-neu"),
            ("2026.11_a.jsonl.zst", "2026.11_a"),
            (".hidden.csv", "hidden"),
            ("-", "trial"),
            ("rehearsals.csv", "trial"),
            ("名前.csv", "trial"),
            ("con.csv", "trial"),
        ] {
            assert_eq!(of(path), name, "{path}");
        }
        assert_eq!(campaign_name(&CampaignFile::default()).unwrap(), "trial");
        let named = CampaignFile { campaign: Some(REHEARSALS.to_owned()), ..CampaignFile::default() };
        assert!(campaign_name(&named).unwrap_err().to_string().contains("out/rehearsals"));
    }
}
