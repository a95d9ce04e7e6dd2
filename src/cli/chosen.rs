//! Which campaign a command is about: the folder, ledger or campaign name on the command line; else the campaign of
//! `-c FILE` or of `rescreen.toml`; else the only campaign in `out/`. A rehearsal must be named, except for a
//! command that only shows it, and only if there is no campaign.

use super::{
    campaign_args::{CAMPAIGN_FILE, campaign_file_here},
    next_command::typed,
};
use rescreen::{
    Error,
    ledger::Reading,
    model::shell_words::quoted,
    pipeline::{Place, campaign::SIMULATED_ORIGIN, ledger_in, places_of, read_file},
    sink::{MANIFEST_NAME, PublishedFolder, SinkError},
};
use std::{
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The campaign that a command is about. A campaign file that only chose it is not used for anything else: `collect` sends
/// an API key only where a run or the user sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Its output folder, or its ledger if that is in another folder.
    pub place: PathBuf,
    /// Its output folder, if its ledger is in another folder.
    pub out: Option<PathBuf>,
}

/// The choice for a command that can show several campaigns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    One(Chosen),
    /// No campaign was found; this is the folder of the only rehearsal that could be meant.
    Rehearsal(PathBuf),
    /// The folders of several campaigns, the one that was used last first.
    Several(Vec<PathBuf>),
}

/// Chooses one campaign for this command.
///
/// # Errors
/// None or several can be chosen.
pub fn one(command: &str, place: Option<&Path>, config: Option<&Path>) -> Result<Chosen, Error> {
    match (choose(command, place, config)?, config.filter(|_| place.is_none())) {
        (Choice::Rehearsal(_), Some(path)) => Err(nothing_begun(path)?),
        (choice, _) => only(command, place, choice),
    }
}

fn only(command: &str, place: Option<&Path>, choice: Choice) -> Result<Chosen, Error> {
    match choice {
        Choice::One(chosen) => Ok(chosen),
        Choice::Rehearsal(folder) => Err(only_rehearsals(command, place, &[folder])),
        Choice::Several(folders) => Err(Error::Config(format!(
            "expected one campaign in out/, found several: {}; name one of them",
            listed(&folders)
        ))),
    }
}

/// Chooses one campaign for a command that only shows it: also a rehearsal, if nothing else can be meant.
///
/// # Errors
/// None or several can be chosen.
pub fn one_to_show(command: &str, place: Option<&Path>, config: Option<&Path>) -> Result<Chosen, Error> {
    match choose(command, place, config)? {
        Choice::Rehearsal(place) => Ok(Chosen { place, out: None }),
        choice => only(command, place, choice),
    }
}

/// Chooses a campaign, or finds several.
///
/// # Errors
/// There is none, or a folder or the campaign file cannot be read.
pub fn choose(command: &str, place: Option<&Path>, config: Option<&Path>) -> Result<Choice, Error> {
    if let Some(place) = place {
        return named(command, place, config);
    }
    let (file, path) = match config {
        Some(path) => (Some(read_file(path)?), path.to_owned()),
        None => (campaign_file_here()?, PathBuf::from(CAMPAIGN_FILE)),
    };
    let base = path.parent().unwrap_or(Path::new("")).to_owned();
    if let Some(file) = &file {
        let places = places_of(file, &base);
        if let Some(place) = places.iter().find(|place| !is_absent(&place.ledger) && !is_rehearsal(&place.ledger)) {
            return Ok(Choice::One(chosen_by_file(place)));
        }
    }
    let names: Vec<String> = file.iter().flat_map(|file| places_of(file, &base)).map(|place| place.campaign).collect();
    let mut found = campaigns_in(&base.join("out"))?;
    let of_file = found.rehearsals.iter().find(|folder| names.iter().any(|name| is_called(folder, name))).cloned();
    if config.is_some() {
        return of_file.map_or_else(|| Err(nothing_begun(&path)?), |rehearsal| Ok(Choice::Rehearsal(rehearsal)));
    }
    match found.campaigns.len() {
        1 => Ok(Choice::One(Chosen { place: found.campaigns.remove(0), out: None })),
        0 => match (found.without_ledger.first(), of_file, found.rehearsals.as_slice()) {
            (Some(folder), ..) => Err(lost_ledger(folder)),
            (None, Some(rehearsal), _) => Ok(Choice::Rehearsal(rehearsal)),
            (None, None, []) => Err(Error::Config(format!(
                "expected a campaign in out/, found none; name its output folder, or begin one with {}",
                if file.is_some() { "`rescreen run`" } else { "`rescreen init FILE`, which writes its campaign file" }
            ))),
            (None, None, [one]) => Ok(Choice::Rehearsal(one.clone())),
            (None, None, several) => Err(only_rehearsals(command, None, several)),
        },
        _ => Ok(Choice::Several(found.campaigns)),
    }
}

/// The published folder with this path, or that of the campaign with this name. It needs no ledger, because it may have
/// been handed over; a rehearsal may be named too.
///
/// # Errors
/// There is none.
pub fn published(command: &str, place: &Path) -> Result<PathBuf, Error> {
    if let Some(folder) = published_at(place) {
        return Ok(folder);
    }
    let folder = match named(command, place, None)? {
        Choice::One(chosen) => chosen.out.unwrap_or(chosen.place),
        Choice::Rehearsal(folder) => folder,
        Choice::Several(folders) => folders.into_iter().next().unwrap_or_else(|| place.to_owned()),
    };
    // A ledger may be named in the place of its folder.
    let folder = if folder.is_file() { folder.parent().unwrap_or(Path::new(".")).to_owned() } else { folder };
    if PublishedFolder::is_at(&folder) || folder.is_dir() { Ok(folder) } else { Err(not_published(place)) }
}

fn not_published(place: &Path) -> Error {
    SinkError::NotPublished { path: place.to_owned() }.into()
}

/// The folder with a manifest that this path or name of a campaign stands for.
fn published_at(place: &Path) -> Option<PathBuf> {
    let name = place.to_string_lossy();
    let is_name = place.components().count() == 1 && place.file_name().is_some();
    let in_out = [name.to_string(), format!("{name}.sandbox")].map(|name| Path::new("out").join(name));
    let places = std::iter::once(place.to_owned()).chain(in_out.into_iter().filter(|_| is_name));
    places.into_iter().find(|folder| PublishedFolder::is_at(folder))
}

/// The folders in `out/` with a manifest, campaigns before rehearsals.
fn published_in(out: &Path) -> Vec<PathBuf> {
    let in_folder = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        found.retain(|folder| PublishedFolder::is_at(folder));
        found.sort();
        found
    };
    [in_folder(out), in_folder(&out.join(REHEARSALS))].concat()
}

/// What a command is about that shows a folder or a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meant {
    Folder(PathBuf),
    /// The rows of a subject in these published folders.
    Subject {
        subject: String,
        folders: Vec<PathBuf>,
    },
}

/// What the argument of such a command means: an existing folder or the name of a campaign, else a subject.
///
/// # Errors
/// Without an argument, none or several campaigns can be meant.
pub fn meant(command: &str, argument: Option<&str>) -> Result<Meant, Error> {
    let Some(argument) = argument else {
        let folder = match choose(command, None, None)? {
            Choice::One(chosen) => chosen.out.unwrap_or(chosen.place),
            Choice::Rehearsal(folder) => folder,
            Choice::Several(_) => return one(command, None, None).map(|chosen| Meant::Folder(chosen.place)),
        };
        return Ok(Meant::Folder(folder));
    };
    let place = Path::new(argument);
    if let Some(folder) = published_at(place) {
        return Ok(Meant::Folder(folder));
    }
    let mut folders = published_in(Path::new("out"));
    if let Some(folder) = folders.iter().find(|folder| is_called(folder, argument)) {
        return Ok(Meant::Folder(folder.clone()));
    }
    if place.is_dir() || place.is_file() {
        return published(command, place).map(Meant::Folder);
    }
    folders.sort();
    Ok(Meant::Subject { subject: argument.to_owned(), folders })
}

fn chosen_by_file(place: &Place) -> Chosen {
    let is_inside = ledger_in(&place.out) == place.ledger;
    Chosen {
        place: if is_inside { place.out.clone() } else { place.ledger.clone() },
        out: (!is_inside).then(|| place.out.clone()),
    }
}

/// The folder or ledger with this path, or the folder of the campaign with this name.
fn named(command: &str, place: &Path, config: Option<&Path>) -> Result<Choice, Error> {
    let chosen = |place: PathBuf| Ok(Choice::One(Chosen { place, out: None }));
    if !is_absent(&ledger_in(place)) {
        return chosen(place.to_owned());
    }
    if has_lost_its_ledger(place) {
        return Err(lost_ledger(place));
    }
    let is_name = place.components().count() == 1 && place.file_name().is_some();
    if is_name {
        let base = config.and_then(Path::parent).unwrap_or(Path::new(""));
        let name = place.to_string_lossy();
        let folders = [name.to_string(), format!("{name}.sandbox")].map(|name| base.join("out").join(name));
        if let Some(folder) = folders.iter().find(|folder| !is_absent(&ledger_in(folder))) {
            return chosen(folder.clone());
        }
        if let Some(folder) = folders.iter().find(|folder| has_lost_its_ledger(folder)) {
            return Err(lost_ledger(folder));
        }
        let found = campaigns_in(&base.join("out"))?;
        let rehearsals = found.rehearsals.iter().filter(|folder| is_called(folder, &name)).cloned().collect::<Vec<_>>();
        match rehearsals.as_slice() {
            [] => {}
            [one] => return Ok(Choice::Rehearsal(one.clone())),
            several => return Err(only_rehearsals(command, Some(place), several)),
        }
        if !place.exists() {
            let known = if found.campaigns.is_empty() {
                "there is no campaign in out/ yet: `rescreen run` begins one".to_owned()
            } else {
                format!("the campaigns are {}", listed(&found.campaigns))
            };
            return Err(Error::Config(format!("expected a folder or a campaign, found none called `{name}`; {known}")));
        }
    }
    // The command that opens the folder says what is missing in it.
    chosen(place.to_owned())
}

fn is_called(folder: &Path, name: &str) -> bool {
    let folder = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    folder == name || folder.strip_suffix(".simulated") == Some(name)
}

/// The error of a command that needs the campaign of this file, which has not begun.
///
/// # Errors
/// The file cannot be read.
fn nothing_begun(path: &Path) -> Result<Error, Error> {
    let file = read_file(path)?;
    let places = places_of(&file, path.parent().unwrap_or(Path::new("")));
    let names = file.campaign.as_deref().or(places.first().map(|place| place.campaign.as_str()));
    let ledgers: Vec<PathBuf> = places.iter().map(|place| place.ledger.clone()).collect();
    Ok(Error::Config(format!(
        "the campaign {} of {} has no ledger yet: expected {}; `rescreen run -c {}` creates it",
        names.map_or_else(String::new, |name| format!("`{name}`")),
        path.display(),
        ledgers.iter().map(|ledger| ledger.display().to_string()).collect::<Vec<_>>().join(" or "),
        path.display()
    )))
}

/// The error of a command that needs a campaign, where only rehearsals are. It has the command for each of them, ready
/// to be copied.
fn only_rehearsals(command: &str, place: Option<&Path>, rehearsals: &[PathBuf]) -> Error {
    let expected = place.map_or_else(|| "in out/".to_owned(), |name| format!("`{}`", name.display()));
    let found = if rehearsals.len() == 1 { "a rehearsal" } else { "rehearsals" };
    let commands: Vec<String> = rehearsals
        .iter()
        .map(|folder| format!("`{}`", quoted(&with_place(typed(), command, place, &folder.display().to_string()))))
        .collect();
    Error::Config(format!("expected a campaign {expected}, found only {found}; to use it: {}", commands.join(" or ")))
}

/// A command line with this place: instead of the one that it names, else behind its command.
fn with_place(mut words: Vec<String>, command: &str, place: Option<&Path>, folder: &str) -> Vec<String> {
    let named = place.and_then(|place| words.iter().position(|word| Path::new(word) == place));
    match (named, words.iter().position(|word| word == command)) {
        (Some(at), _) => words[at] = folder.to_owned(),
        (None, at) => words.insert(at.map_or(words.len(), |at| at + 1), folder.to_owned()),
    }
    words
}

/// The folders in `out/` with a ledger.
#[derive(Debug, Default)]
struct InOut {
    campaigns: Vec<PathBuf>,
    rehearsals: Vec<PathBuf>,
    /// Results whose ledger is lost or in another place.
    without_ledger: Vec<PathBuf>,
}

/// The folder of rehearsals in `out/`.
const REHEARSALS: &str = "rehearsals";

/// What is in `out/`, the last used first.
fn campaigns_in(out: &Path) -> Result<InOut, Error> {
    let mut found = InOut::default();
    for folder in folders_in(out)? {
        let is_rehearsal = is_rehearsal(&ledger_in(&folder));
        if is_rehearsal { &mut found.rehearsals } else { &mut found.campaigns }.push(folder);
    }
    let all = std::fs::read_dir(out).into_iter().flatten().flatten().map(|entry| entry.path());
    found.without_ledger = all.filter(|folder| has_lost_its_ledger(folder)).collect();
    found.rehearsals.extend(folders_in(&out.join(REHEARSALS))?);
    Ok(found)
}

/// Whether a folder has results and no ledger.
fn has_lost_its_ledger(folder: &Path) -> bool {
    folder.join(MANIFEST_NAME).is_file() && is_absent(&ledger_in(folder))
}

fn lost_ledger(folder: &Path) -> Error {
    Error::Config(format!(
        "{0} has published results and no ledger ({1}), so nothing shows what was paid for. Restore ledger.sqlite and \
         ledger.sqlite-wal from a backup; if [ledger] path puts the ledger in another place, name that file",
        folder.display(),
        ledger_in(folder).display()
    ))
}

/// The folders with a ledger in a folder, the last used first.
fn folders_in(parent: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match std::fs::read_dir(parent) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(Error::Config(format!(
                "{} cannot be read: permission denied; use the account that ran the campaign",
                parent.display()
            )));
        }
        Err(_) => return Ok(Vec::new()),
    };
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|folder| folder.is_dir() && !is_absent(&ledger_in(folder)));
    folders.sort();
    folders.sort_by_key(|folder| std::cmp::Reverse(used_at(&ledger_in(folder))));
    Ok(folders)
}

/// When a ledger was last written. Its newest commits are in its log.
fn used_at(ledger: &Path) -> SystemTime {
    let mut log = ledger.as_os_str().to_owned();
    log.push("-wal");
    let modified = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    modified(ledger).max(modified(Path::new(&log))).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Whether the file does not exist. A file that this user cannot examine counts as existing.
fn is_absent(ledger: &Path) -> bool {
    std::fs::metadata(ledger).is_err_and(|error| error.kind() != io::ErrorKind::PermissionDenied)
}

/// Whether the answers in a ledger come from the built-in simulator. A ledger that cannot be read counts as a campaign.
fn is_rehearsal(ledger: &Path) -> bool {
    let identity = Reading::open(ledger).and_then(|reading| reading.identity());
    identity.is_ok_and(|identity| identity.origin == SIMULATED_ORIGIN)
}

fn listed(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_replaces_a_name_or_follows_the_command() {
        let of = |line: &str, place: Option<&str>| {
            let words = line.split(' ').map(str::to_owned).collect();
            with_place(words, "resolve", place.map(Path::new), "out/rehearsals/a").join(" ")
        };
        assert_eq!(of("rescreen -q resolve --list", None), "rescreen -q resolve out/rehearsals/a --list");
        assert_eq!(of("rescreen resolve --list a", Some("a")), "rescreen resolve --list out/rehearsals/a");
    }
}
