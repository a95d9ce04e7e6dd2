//! Proposes a campaign file for an input that has not been described yet: samples it, matches its columns with the
//! fields of the checks, and writes what it guessed, why, and what is open.
//!
//! ```text
//! file ─sample→ rows ─profiles→ counts by column ─check→ guesses ─text→ campaign file
//! ```
//! Reading is in `inputs`. Everything after the profiles is a pure function over counts: no guess sees a value, and no
//! value of the input gets into the file or onto the screen.
//!
//! | file | contents |
//! |---|---|
//! | `inputs` | samples of the inputs |
//! | `given` | the columns that the user named |
//! | `column` | where a value is in a row, and how a campaign file names the place |
//! | `value` | what a value looks like |
//! | `profile` | the counts of a column |
//! | `guess` | the column for a field |
//! | `subject_name`, `entity`, `row_id` | the fields that need more than one column: name, person or company, `id` |
//! | `check` | all fields of a check |
//! | `layout` | the layout of the input |
//! | `text` | the campaign file |

mod check;
mod column;
mod entity;
mod given;
mod guess;
mod inputs;
mod layout;
mod profile;
mod row_id;
mod subject_name;
mod text;
mod value;

pub use inputs::{InitInput, InitOrder};

use super::{
    campaign::{file::CampaignFile, place::output_folder},
    wording::counted,
};
use crate::{
    catalogue::{Catalogue, Declaration, FieldSpec},
    error::Error,
    mapping::{FieldSource, MappingError},
    model::{
        Mode,
        field::{FieldKind, refusal::FieldRefusal},
        file_name::check_file_name,
        nearest::hint,
    },
    source::sample::{HeaderGuess, Sample},
};
use check::{CheckGuess, Standing};
use guess::OpenField;
use inputs::{Sampled, files_root, read};
use profile::Profile;
use std::{collections::BTreeMap, path::Path};
use text::{Draft, capitalised};

/// One line of what was guessed, for a table on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalLine {
    /// `id`, or check and field.
    pub target: String,
    /// What feeds it; `None` if it is open.
    pub from: Option<String>,
    pub why: String,
    pub is_doubtful: bool,
}

/// A campaign file, and what to say about it.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// The campaign file.
    pub text: String,
    /// About the inputs.
    pub inputs: Vec<String>,
    pub lines: Vec<ProposalLine>,
    /// The needed settings that are open.
    pub open: Vec<OpenSetting>,
    /// The columns, if a needed field is open and no column is a candidate for it.
    pub columns: Vec<ColumnLine>,
}

/// A column as the screen lists it: its name, how many values it has, and what they look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnLine {
    pub name: String,
    pub about: String,
}

/// A needed setting that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSetting {
    /// Its key in the campaign file; for a field what `--map` and `--set` call it.
    pub key: String,
    /// A column or a template that may do, for `--map`.
    pub map: Option<String>,
    /// A constant that may do for every row, for `--set`. It is a guess.
    pub set: Option<String>,
}

impl OpenSetting {
    /// Flag, key and value to fill it from a column or a template.
    pub fn by_map(&self) -> Option<[&str; 3]> {
        self.map.as_deref().map(|source| ["--map", &self.key, source])
    }

    /// Flag, key and value to fill it with a constant.
    pub fn by_set(&self) -> Option<[&str; 3]> {
        self.set.as_deref().map(|constant| ["--set", &self.key, constant])
    }

    fn of(key: String, open: &OpenField) -> OpenSetting {
        // A field that only few rows have rejects the others, so the form with a default comes first.
        let map = open.with_default.iter().chain(&open.candidates).find_map(|source| match source {
            FieldSource::Column(text) | FieldSource::Template(text) => Some(text.clone()),
            FieldSource::Constant(_) => None,
        });
        let set = open.candidates.iter().find_map(|source| match source {
            FieldSource::Constant(value) => Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
            FieldSource::Column(_) | FieldSource::Template(_) => None,
        });
        OpenSetting { key, map, set }
    }
}

/// Why checks fit an input, the best reason first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitsBy {
    /// The values of columns.
    Values,
    /// The names of columns: no check fits by values.
    Names,
    /// A column has texts that may be names; nothing says so.
    Texts,
}

/// The checks that fit an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitting {
    /// About the inputs.
    pub inputs: Vec<String>,
    pub columns: Vec<ColumnLine>,
    pub by: FitsBy,
    /// The ones that most people begin with come first.
    pub checks: Vec<FittingCheck>,
}

/// A check that fits an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FittingCheck {
    pub name: String,
    pub summary: String,
    /// What feeds its fields.
    pub fed: Vec<String>,
    /// Its needed fields that are open.
    pub open: Vec<OpenSetting>,
}

/// The checks that most people begin with. Of several that fit they are listed first, in this order.
const FIRST: [&str; 8] = [
    "said-verification",
    "aml-screening",
    "adverse-media",
    "cipc-company",
    "number-plate",
    "vehicle-check",
    "vin-decode",
    "bank-account",
];

/// The most rounds of a list that are looked for, to name the next one.
const ROUNDS_MAX: usize = 1_000;

/// Proposes a campaign file.
///
/// # Errors
/// An input cannot be read, the inputs differ in their layout, or a check or field is unknown.
pub fn propose(order: &InitOrder) -> Result<Proposal, Error> {
    let catalogue = Catalogue::built_in();
    let mut declarations: Vec<(&Declaration, BTreeMap<String, FieldSource>)> = Vec::new();
    for table in &order.checks {
        let declaration = catalogue.get(&table.check)?;
        let known = || declaration.fields.iter().map(|field| field.name.as_str());
        if let Some(unknown) = table.fields.keys().find(|field| !known().any(|name| name == *field)) {
            let (check, field, hint) = (table.check.clone(), unknown.clone(), hint(unknown, known()));
            return Err(MappingError::UnknownField { check, field, hint }.into());
        }
        let mut given = table.fields.clone();
        for field in &declaration.fields {
            if let Some(FieldSource::Constant(value)) = given.get_mut(&field.name) {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let refused = |fault: FieldRefusal| MappingError::Constant {
                    check: table.check.clone(),
                    field: field.name.clone(),
                    fault: fault.message,
                };
                *value = field.accept(&text).map_err(refused)?.value;
            }
        }
        declarations.push((declaration, given));
    }
    let all_fields = fields_of(declarations.iter().map(|(one, _)| *one), &catalogue);
    type Given<'a> = [(&'a Declaration, BTreeMap<String, FieldSource>)];
    let guesses = |declarations: &Given<'_>, profiles: &[Profile]| -> Vec<CheckGuess> {
        declarations.iter().map(|(one, given)| check::check(one, profiles, given, &all_fields)).collect()
    };
    let score = |profiles: &[Profile]| guesses(&declarations, profiles).iter().map(|guess| guess.fed().count()).sum();
    let sampled = read(order, &all_fields, &score)?;
    for (declaration, sources) in &mut declarations {
        *sources = given::given(&declaration.name, sources, &sampled)?;
    }
    let checks = guesses(&declarations, &sampled.profiles);
    let first = &sampled.samples[0];
    let id = if let Some(name) = &order.id {
        given::id(name, &sampled)?
    } else if first.found.header == HeaderGuess::Undecided && first.header.is_some() {
        row_id::RowId::open("the first line may be a row, so no column is named here")
    } else {
        row_id::row_id(&sampled.profiles, &all_fields)
    };
    let rows = sampled.samples.iter().map(|sample| sample.rows.len()).sum();
    let is_whole = sampled.samples.iter().all(|sample| sample.is_whole);
    let files_root = files_root(order, &checks, &sampled);
    let layout = layout::layout_lines(first, &sampled.other_sheets);
    let nulls = nulls(&sampled.profiles);
    let draft = Draft {
        campaign: &campaign_name(&order.inputs[0].path, &order.folder),
        paths: order.inputs.iter().map(|input| input.name.clone()).collect(),
        sampled: format!("{}.", capitalised(&layout::sampled(rows, is_whole))),
        layout: &layout,
        id: &id,
        nulls: &nulls,
        files_root: files_root.clone(),
        checks: &checks,
    };
    let mut open: Vec<OpenSetting> = Vec::new();
    let mut lines = vec![id_line(&id)];
    lines.extend(null_line(&nulls));
    let several = checks.len() > 1;
    for guess in &checks {
        for one in &guess.fields {
            let target = format!("{}.{}", guess.check, one.field.name);
            lines.extend(field_line(target, &one.standing));
        }
        let key = |name: &str| if several { format!("{}.{name}", guess.check) } else { name.to_owned() };
        open.extend(guess.open().map(|(field, open)| OpenSetting::of(key(&field.name), open)));
    }
    if files_root == Some(None) {
        open.push(OpenSetting { key: "[input] files_root".to_owned(), map: None, set: None });
    }
    let is_without_column =
        |open: &OpenField| open.candidates.iter().all(|source| matches!(source, FieldSource::Constant(_)));
    let needs_columns = checks.iter().flat_map(CheckGuess::open).any(|(_, open)| is_without_column(open));
    let columns = if needs_columns { column_lines(&sampled.profiles) } else { Vec::new() };
    Ok(Proposal { text: draft.text(), inputs: summaries(order, &sampled), lines, open, columns })
}

/// Whether a check fits an input for one reason.
type Fits = fn(&CheckGuess) -> bool;

/// The checks whose fields the columns of an input fit by content; if there is none, those that fit by name, and then
/// those whose name may be a column of texts.
///
/// # Errors
/// An input cannot be read, or the inputs differ in their layout.
pub fn fitting_checks(order: &InitOrder) -> Result<Fitting, Error> {
    let catalogue = Catalogue::built_in();
    let all_fields = fields_of(catalogue.iter(), &catalogue);
    let nothing = BTreeMap::new();
    let guesses = |profiles: &[Profile]| -> Vec<(CheckGuess, &Declaration)> {
        let all = catalogue.iter().filter(|one| one.consent.is_none());
        all.map(|one| (check::check(one, profiles, &nothing, &all_fields), one)).collect()
    };
    // Names decide between two sheets only if no value does.
    let score = |profiles: &[Profile]| {
        let guesses = guesses(profiles);
        let count = |fits: Fits| guesses.iter().filter(|(guess, _)| fits(guess)).count();
        count(CheckGuess::is_by_content) * 100 + count(CheckGuess::is_by_name)
    };
    let sampled = read(order, &all_fields, &score)?;
    let mut guessed = guesses(&sampled.profiles);
    let reasons: [(FitsBy, Fits); 2] =
        [(FitsBy::Values, CheckGuess::is_by_content), (FitsBy::Names, CheckGuess::is_by_name)];
    let has_some = |(_, fits): &(FitsBy, Fits)| guessed.iter().any(|(guess, _)| fits(guess));
    let (by, fits) = reasons.into_iter().find(has_some).unwrap_or((FitsBy::Texts, CheckGuess::is_by_texts));
    guessed.retain(|(guess, _)| fits(guess));
    let mut checks: Vec<FittingCheck> = guessed.into_iter().map(fitting_check).collect();
    let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    checks.sort_by_key(|check| (rank(&check.name), check.open.len()));
    Ok(Fitting { inputs: summaries(order, &sampled), columns: column_lines(&sampled.profiles), by, checks })
}

fn column_lines(profiles: &[Profile]) -> Vec<ColumnLine> {
    profiles.iter().map(|one| ColumnLine { name: one.shown(), about: one.about() }).collect()
}

/// One line about each input.
fn summaries(order: &InitOrder, sampled: &Sampled) -> Vec<String> {
    let summary = |(input, sample): (&InitInput, &Sample)| layout::summary(&input.name, sample, sample.rows.len());
    order.inputs.iter().zip(&sampled.samples).map(summary).collect()
}

fn fitting_check((guess, declaration): (CheckGuess, &Declaration)) -> FittingCheck {
    let fed = guess.fields.iter().filter_map(|one| match &one.standing {
        Standing::Fed(feed) => Some(format!("{} ← {}", one.field.name, feed.from)),
        Standing::Suggested(feed) => Some(format!("{} ← {} (optional)", one.field.name, feed.from)),
        Standing::Open(_) => None,
    });
    FittingCheck {
        name: declaration.name.clone(),
        summary: declaration.summary.clone(),
        fed: fed.collect(),
        open: guess.open().map(|(field, open)| OpenSetting::of(field.name.clone(), open)).collect(),
    }
}

/// The fields that values are compared with: those of the checks, and the numbers that show a person or a company.
fn fields_of<'a>(checks: impl Iterator<Item = &'a Declaration>, catalogue: &'a Catalogue) -> Vec<&'a FieldSpec> {
    let shows = |kind| catalogue.iter().flat_map(|one| &one.fields).find(move |field| field.kind == kind);
    let subjects = [FieldKind::SaId, FieldKind::RegistrationNumber].into_iter().filter_map(shows);
    checks.flat_map(|one| &one.fields).chain(subjects).collect()
}

/// The words for a missing value in the sample, with their counts.
fn nulls(profiles: &[Profile]) -> BTreeMap<&'static str, usize> {
    let mut sum = BTreeMap::new();
    for (word, count) in profiles.iter().flat_map(|one| &one.nulls) {
        *sum.entry(*word).or_default() += count;
    }
    sum
}

/// A name for the next round: that of the file and a number, so that neither another list nor an earlier round, such as
/// the rehearsal of another mapping, has the same one. `base` is the folder of the campaign file.
fn campaign_name(path: &Path, base: &Path) -> String {
    let stem = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = stem.split('.').next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' };
    let name: String = stem.chars().map(plain).take(60).collect();
    let name = name.trim_matches('-');
    let name = if name.is_empty() || check_file_name(name).is_err() { "round" } else { name };
    let is_free = |name: &String| {
        let folder = |(mode, simulate)| {
            output_folder(&CampaignFile { mode: Some(mode), simulate, ..CampaignFile::default() }, name, base)
        };
        let all = [(Mode::Production, false), (Mode::Sandbox, false), (Mode::Sandbox, true)];
        !all.map(folder).iter().any(|folder| folder.exists())
    };
    (1..=ROUNDS_MAX).map(|round| format!("{name}-{round}")).find(is_free).unwrap_or_else(|| format!("{name}-1"))
}

fn id_line(id: &row_id::RowId) -> ProposalLine {
    let from = id.column.as_ref().map(|_| format!("column {}", id.shown.trim_start_matches("column ")));
    ProposalLine { target: "id".to_owned(), from, why: id.why.clone(), is_doubtful: false }
}

/// The words for a missing value. They are the program's own, so the screen may show them.
fn null_line(nulls: &BTreeMap<&'static str, usize>) -> Option<ProposalLine> {
    let cells: usize = nulls.values().sum();
    let words: Vec<String> = nulls.keys().map(|word| format!("`{word}`")).collect();
    (cells > 0).then(|| ProposalLine {
        target: "null".to_owned(),
        from: Some(guess::listed(&words)),
        why: format!("read as a missing value, in {} of the sample", in_words(cells, "cell", "cells")),
        is_doubtful: false,
    })
}

fn field_line(target: String, standing: &Standing) -> Option<ProposalLine> {
    match standing {
        Standing::Fed(feed) => {
            let (from, why, is_doubtful) = (Some(feed.from.clone()), feed.why.clone(), feed.is_doubtful);
            Some(ProposalLine { target, from, why, is_doubtful })
        }
        Standing::Open(open) => Some(ProposalLine { target, from: None, why: open.why.clone(), is_doubtful: false }),
        Standing::Suggested(_) => None,
    }
}

/// How many of something there are, for the screen.
pub fn in_words(count: usize, one: &str, many: &str) -> String {
    counted(count as u64, one, many)
}
