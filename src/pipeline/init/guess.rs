//! Chooses the column for a field from the profiles of the columns, and says why. It is a pure function. A column is
//! taken by its name if its values fit, or by its values if they can hardly be anything else. If two columns fit about
//! equally, the field stays open.

use super::profile::Profile;
use crate::{
    catalogue::{
        FieldSpec,
        column_names::{NameFit, Role, fit, role_of},
    },
    mapping::FieldSource,
    model::field::FieldKind,
    pipeline::wording::{counted, grouped},
};

/// Values that fit, of 100, for a column with a fitting name.
const NAMED_PERCENT: usize = 50;
/// The same for a column that is taken by its values alone, and how many values it must have.
const CERTAIN_PERCENT: usize = 90;
const CERTAIN_VALUES: usize = 3;
/// Rows, of 100, that must have a value in a column that is taken without a doubt.
const FILLED_PERCENT: usize = 50;
/// Values that fit, of 100, below which a guess says that others do not.
const MOST_PERCENT: usize = 95;
/// The most columns that an open field names.
pub const CANDIDATES_MAX: usize = 4;

/// What feeds a field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldFeed {
    pub source: FieldSource,
    /// For the screen, such as ``column `vin` ``.
    pub from: String,
    pub why: String,
    /// The user should check it before the first run.
    pub is_doubtful: bool,
    /// It was chosen by its values or by the user, not only by its name.
    pub is_by_content: bool,
}

/// Why nothing feeds a field.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenField {
    pub why: String,
    /// What a campaign file could say.
    pub candidates: Vec<FieldSource>,
    /// Candidates that few rows have, with a constant for the others. The constant is a guess.
    pub with_default: Vec<FieldSource>,
}

impl OpenField {
    pub fn new(why: impl Into<String>, candidates: Vec<FieldSource>) -> OpenField {
        OpenField { why: why.into(), candidates, with_default: Vec::new() }
    }
}

/// The guess for a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Guess {
    Fed(FieldFeed),
    Open(OpenField),
}

impl Guess {
    pub fn open(why: impl Into<String>, candidates: Vec<FieldSource>) -> Guess {
        Guess::Open(OpenField::new(why, candidates))
    }

    pub fn fed(&self) -> Option<&FieldFeed> {
        match self {
            Guess::Fed(feed) => Some(feed),
            Guess::Open(_) => None,
        }
    }
}

/// A column that could feed a field.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    profile: &'a Profile,
    name_fit: NameFit,
    accepted: usize,
    certain: usize,
}

/// The guess for a field that one column feeds.
pub fn guess(field: &FieldSpec, profiles: &[Profile]) -> Guess {
    let mut candidates: Vec<Candidate<'_>> = Vec::with_capacity(profiles.len());
    for profile in profiles {
        let (name_fit, counts) = (fit(field, profile.place.name()), profile.fit(field));
        candidates.push(Candidate { profile, name_fit, accepted: counts.accepted, certain: counts.certain });
    }
    if is_selective(field) { by_content(field, &candidates) } else { by_name(field, &candidates) }
}

/// Whether a field refuses most values that are not meant for it.
fn is_selective(field: &FieldSpec) -> bool {
    let of_text = field.choices.is_some() || !field.allowed.is_empty();
    !matches!(field.kind, FieldKind::Text) && field.kind.file().is_none() || of_text
}

fn by_content(field: &FieldSpec, candidates: &[Candidate<'_>]) -> Guess {
    let fits = |candidate: &Candidate<'_>, percent| candidate.profile.has_share(candidate.accepted, percent);
    let named: Vec<Candidate<'_>> = kept(candidates, |one| one.name_fit >= NameFit::Known && fits(one, NAMED_PERCENT));
    let certain: Vec<Candidate<'_>> = kept(candidates, |one| {
        let is_named = one.name_fit == NameFit::Part && fits(one, NAMED_PERCENT) && one.certain >= CERTAIN_VALUES;
        let is_sure = one.profile.has_share(one.certain, CERTAIN_PERCENT) && one.certain >= CERTAIN_VALUES;
        is_named || is_sure
    });
    if !named.is_empty() {
        let best = best_named(&named);
        let better: Vec<Candidate<'_>> = kept(&certain, |one| {
            best.iter().all(|best| !std::ptr::eq(best.profile, one.profile) && !fits(best, 70))
                && one.profile.has_share(one.certain, CERTAIN_PERCENT)
        });
        return match (&best[..], &better[..]) {
            ([only], []) => Guess::Fed(feed(field, only)),
            _ => several(field, &[best, better].concat()),
        };
    }
    let parts = kept(&certain, |one| one.name_fit == NameFit::Part);
    match (&certain[..], &parts[..]) {
        ([only], _) | (_, [only]) if !is_mostly_empty(only) => return Guess::Fed(feed(field, only)),
        ([only], _) => {
            let more = kept(candidates, |one| {
                let is_other = !std::ptr::eq(one.profile, only.profile);
                is_other && one.name_fit >= NameFit::Part && fits(one, NAMED_PERCENT)
            });
            let all = [vec![*only], more].concat();
            let have = if all.len() == 1 { "has" } else { "have" };
            return Guess::open(format!("expected {}; {} {have} some", expected(field), shown(&all)), sources(&all));
        }
        ([_, _, ..], _) => return several(field, &certain),
        _ => {}
    }
    let misfits = kept(candidates, |one| one.name_fit >= NameFit::Known);
    match &misfits[..] {
        // A run takes a column with the name of the field by itself, so the file says it, with a warning.
        [only] if only.name_fit == NameFit::Own && only.profile.filled > 0 => Guess::Fed(feed(field, only)),
        [] => nothing(field),
        some => {
            let of = |one: &Candidate<'_>| {
                let (fit, all) = (grouped(one.accepted as u64), grouped(one.profile.filled as u64));
                let is_empty = one.profile.filled == 0;
                let why = if is_empty {
                    "has no value in the sample".to_owned()
                } else {
                    format!("fits in {fit} of {all} values")
                };
                format!("{} {why}", one.profile.shown())
            };
            let named: Vec<String> = some.iter().take(CANDIDATES_MAX).map(of).collect();
            Guess::open(format!("expected {}; {}", expected(field), named.join(", ")), sources(some))
        }
    }
}

/// Whether most rows have no value in a column: a request for each of them would fail.
fn is_mostly_empty(candidate: &Candidate<'_>) -> bool {
    candidate.profile.filled * 100 < candidate.profile.rows * FILLED_PERCENT
}

/// The ones with the best name; of two with equally good names the one that clearly fits more values.
fn best_named<'a>(named: &[Candidate<'a>]) -> Vec<Candidate<'a>> {
    let best = named.iter().map(|one| one.name_fit).max().unwrap_or(NameFit::Not);
    let best = kept(named, |one| one.name_fit == best);
    let share = |one: &Candidate<'_>| one.accepted * 100 / one.profile.filled.max(1);
    let most = best.iter().map(share).max().unwrap_or_default();
    let clear = kept(&best, |one| share(one) + 30 > most);
    without_nearly_empty(&clear)
}

/// Without the columns that have less than a tenth of the values of another.
fn without_nearly_empty<'a>(candidates: &[Candidate<'a>]) -> Vec<Candidate<'a>> {
    let most = candidates.iter().map(|one| one.profile.filled).max().unwrap_or_default();
    kept(candidates, |one| one.profile.filled * 10 >= most)
}

fn by_name(field: &FieldSpec, candidates: &[Candidate<'_>]) -> Guess {
    let role = role_of(field);
    let fitting = kept(candidates, |one| {
        one.name_fit >= NameFit::Known && one.profile.filled > 0 && plausible(role, field, one.profile)
    });
    let names_a_subject = role.is_some_and(|role| ["full_name", "company_name"].contains(&role.name.as_str()));
    let best = if names_a_subject { fitting.clone() } else { best_named(&fitting) };
    match &without_nearly_empty(&best)[..] {
        [] => {
            let parts = kept(candidates, |one| {
                one.name_fit >= NameFit::Part && one.profile.filled > 0 && plausible(role, field, one.profile)
            });
            match &parts[..] {
                [] => nothing(field),
                some => Guess::open(
                    format!("expected {}; {} may be meant, by part of the name", expected(field), shown(some)),
                    sources(some),
                ),
            }
        }
        [only] => Guess::Fed(feed(field, only)),
        some => several(field, some),
    }
}

/// Whether the values of a column can be what its name says. A column is never used as a name only because it contains
/// text.
pub fn plausible(role: Option<&Role>, field: &FieldSpec, profile: &Profile) -> bool {
    let traits = &profile.traits;
    if field.kind.file().is_some() {
        return profile.has_share(traits.file_names, CERTAIN_PERCENT);
    }
    match role.map(|role| role.name.as_str()) {
        Some("full_name" | "first_name" | "surname" | "company_name" | "bank") => is_name(profile),
        Some("account_number") => profile.has_share(traits.numbers, 80),
        _ => true,
    }
}

/// Whether the values of a column can be names: texts, and neither long nor e-mail addresses.
pub fn is_name(profile: &Profile) -> bool {
    profile.has_share(profile.traits.texts, 80) && !profile.has_share(profile.traits.long, 20)
}

fn several(field: &FieldSpec, candidates: &[Candidate<'_>]) -> Guess {
    let mut seen: Vec<Candidate<'_>> = Vec::new();
    for one in candidates {
        if !seen.iter().any(|known| std::ptr::eq(known.profile, one.profile)) {
            seen.push(*one);
        }
    }
    Guess::open(format!("expected {}; {} fit about equally: choose one", expected(field), shown(&seen)), sources(&seen))
}

fn nothing(field: &FieldSpec) -> Guess {
    Guess::open(format!("expected {}; no column has such a name or such values", expected(field)), Vec::new())
}

/// What a field expects, for people.
pub fn expected(field: &FieldSpec) -> String {
    let choices = if field.choices.is_some() { format!(", {}", field.choices_in_words()) } else { String::new() };
    match (role_of(field), field.doc.as_str()) {
        (Some(role), _) => format!("{}{choices}", role.what),
        (None, "") => format!("a value of the kind {}", field.kind.as_str()),
        (None, doc) => doc.to_owned(),
    }
}

fn feed(field: &FieldSpec, candidate: &Candidate<'_>) -> FieldFeed {
    let Candidate { profile, name_fit, accepted, .. } = candidate;
    let is_by_content = is_selective(field) && profile.has_share(*accepted, NAMED_PERCENT);
    let mut why = match (name_fit, is_selective(field)) {
        (NameFit::Own | NameFit::Known, false) => "by name".to_owned(),
        (NameFit::Own | NameFit::Known, true) => format!("by name; {}", values_that_fit(field, profile, *accepted)),
        _ => format!("by content: {}", values_that_fit(field, profile, *accepted)),
    };
    why.push_str(&remarks(profile));
    let misfits = is_selective(field) && !profile.has_share(*accepted, MOST_PERCENT);
    if misfits {
        why.push_str("; the others will be rejected");
    }
    let misfits = is_selective(field) && !profile.has_share(*accepted, NAMED_PERCENT);
    let is_doubtful = misfits || is_mostly_empty(candidate);
    FieldFeed {
        source: profile.place.source(),
        from: format!("column {}", profile.shown().trim_start_matches("column ")),
        why,
        is_doubtful,
        is_by_content,
    }
}

/// `198 of 200 values are …`.
fn values_that_fit(field: &FieldSpec, profile: &Profile, accepted: usize) -> String {
    let (fit, all) = (grouped(accepted as u64), grouped(profile.filled as u64));
    let what = role_of(field).map_or_else(|| format!("of the kind {}", field.kind.as_str()), |role| role.what.clone());
    format!("{fit} of {all} values {} {what}", if profile.filled == 1 { "is" } else { "are" })
}

/// What else a user should know about a column: empty cells, and further values at the same place of a row.
pub fn remarks(profile: &Profile) -> String {
    let empty = profile.rows - profile.filled;
    let mut text = String::new();
    if empty > 0 {
        let have = if empty == 1 { "has" } else { "have" };
        text.push_str(&format!("; {} of {} rows {have} no value", grouped(empty as u64), grouped(profile.rows as u64)));
    }
    if profile.with_more > 0 {
        let rows = counted(profile.with_more as u64, "row has", "rows have");
        text.push_str(&format!("; {rows} several, of which the first is taken"));
    }
    text
}

fn shown(candidates: &[Candidate<'_>]) -> String {
    let of = |one: &Candidate<'_>| {
        let (filled, rows) = (one.profile.filled, one.profile.rows);
        let is_sparse = filled * 100 < rows * MOST_PERCENT;
        let count = format!(" (in {} of {} rows)", grouped(filled as u64), grouped(rows as u64));
        format!("{}{}", one.profile.shown(), if is_sparse { count.as_str() } else { "" })
    };
    let names: Vec<String> = candidates.iter().map(of).collect();
    listed(&names)
}

/// `a`, `a and b`, `a, b and 3 more`.
pub fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        names if names.len() <= CANDIDATES_MAX => {
            format!("{} and {}", names[..names.len() - 1].join(", "), names[names.len() - 1])
        }
        names => format!("{} and {} more", names[..CANDIDATES_MAX].join(", "), names.len() - CANDIDATES_MAX),
    }
}

fn sources(candidates: &[Candidate<'_>]) -> Vec<FieldSource> {
    candidates.iter().take(CANDIDATES_MAX).map(|one| one.profile.place.source()).collect()
}

fn kept<'a>(candidates: &[Candidate<'a>], fits: impl Fn(&Candidate<'a>) -> bool) -> Vec<Candidate<'a>> {
    candidates.iter().copied().filter(|one| fits(one)).collect()
}
