//! The inputs of a proposal: their samples, the sheet of a workbook, and the folder of the files that rows name. It is the
//! only file of this folder that reads.

use super::{
    check::CheckGuess,
    column,
    profile::{Profile, profiles},
};
use crate::{
    catalogue::{
        FieldSpec,
        column_names::{self, NameFit, fit},
    },
    error::Error,
    mapping::FieldSource,
    model::{Row, row::find_column},
    pipeline::campaign::file::CheckTable,
    source::sample::{HeaderGuess, Sample, SampleOptions, sample},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// An input to describe.
#[derive(Debug, Clone)]
pub struct InitInput {
    /// As the campaign file names it.
    pub name: String,
    pub path: PathBuf,
}

/// What is asked of [`super::propose`].
#[derive(Debug, Clone, Default)]
pub struct InitOrder {
    pub inputs: Vec<InitInput>,
    /// The checks, with the sources of fields that the user gave.
    pub checks: Vec<CheckTable>,
    /// The column that the user named for `id`.
    pub id: Option<String>,
    pub sheet: Option<String>,
    /// The first line is a row.
    pub has_no_header: bool,
    /// The folder of the campaign file, with the campaigns that exist in its `out/`.
    pub folder: PathBuf,
}

/// The sample of all inputs, of the chosen sheet.
pub struct Sampled {
    pub samples: Vec<Sample>,
    pub other_sheets: Vec<String>,
    pub profiles: Vec<Profile>,
}

/// Samples the inputs. Of a workbook with several sheets it takes the one whose columns have the best score.
pub fn read(order: &InitOrder, fields: &[&FieldSpec], score: &dyn Fn(&[Profile]) -> usize) -> Result<Sampled, Error> {
    let mut sampled: Option<Sampled> = None;
    for input in &order.inputs {
        let sheet = match &sampled {
            Some(before) => before.samples[0].options.sheet.clone(),
            None => order.sheet.clone(),
        };
        let (one, others) = chosen(input, sheet.as_deref(), order.has_no_header, fields, score)?;
        match &mut sampled {
            None => sampled = Some(Sampled { samples: vec![one], other_sheets: others, profiles: Vec::new() }),
            Some(before)
                if before.samples[0].options == one.options && before.samples[0].found.format == one.found.format =>
            {
                before.samples.push(one);
            }
            Some(_) => {
                return Err(Error::Config(format!(
                    "{} and {} differ in their layout (encoding, delimiter, header or footer), and a campaign file \
                     describes one layout; run init for each of them, with --output FILE",
                    order.inputs[0].name, input.name
                )));
            }
        }
    }
    let Some(mut sampled) = sampled else {
        return Err(Error::Config("expected an input to describe, found none; name a file".to_owned()));
    };
    let rows: Vec<Row> = sampled.samples.iter().flat_map(|sample| sample.rows.iter().cloned()).collect();
    if rows.is_empty() {
        return Err(Error::Config(format!(
            "{}: expected rows, found none that can be read; init needs some to compare the columns with the checks",
            order.inputs[0].name
        )));
    }
    let all = profiles(&rows, sampled.samples[0].header.as_deref(), fields, shows_names(&sampled.samples[0]));
    let headers: Vec<&Vec<String>> = sampled.samples.iter().filter_map(|sample| sample.header.as_ref()).collect();
    let is_in_all = |one: &Profile| {
        headers.iter().all(|header| find_column(header.iter().map(String::as_str), &one.place.column).is_some())
    };
    sampled.profiles = all.into_iter().filter(is_in_all).collect();
    Ok(sampled)
}

/// Whether the names of columns may be repeated: a first line that may be a row is not.
fn shows_names(sample: &Sample) -> bool {
    sample.header.is_none() || sample.found.header != HeaderGuess::Undecided
}

/// The sample of an input, and the names of the other sheets with data.
fn chosen(
    input: &InitInput,
    sheet: Option<&str>,
    has_no_header: bool,
    fields: &[&FieldSpec],
    score: &dyn Fn(&[Profile]) -> usize,
) -> Result<(Sample, Vec<String>), Error> {
    let name: Arc<str> = input.name.as_str().into();
    let is_known =
        |text: &str| fields.iter().any(|field| fit(field, text) >= NameFit::Known) || column_names::is_known(text);
    let read = |has_no_header: bool| {
        let options = SampleOptions { sheet: sheet.map(str::to_owned), has_no_header };
        sample(&name, &input.path, &options, &is_known)
    };
    let mut samples = read(has_no_header)?;
    if !has_no_header && samples.iter().any(|sample| begins_with_values(sample, fields)) {
        samples = read(true)?;
    }
    if samples.len() == 1 {
        return Ok((samples.remove(0), Vec::new()));
    }
    let score = |sample: &Sample| score(&profiles(&sample.rows, sample.header.as_deref(), fields, shows_names(sample)));
    let scores: Vec<usize> = samples.iter().map(score).collect();
    let best = scores.iter().max().copied().unwrap_or_default();
    let names = |fits: &dyn Fn(usize) -> bool| -> Vec<String> {
        let named = samples.iter().zip(&scores).filter(|(_, score)| fits(**score));
        named.filter_map(|(sample, _)| sample.options.sheet.clone()).collect()
    };
    let equal = names(&|score| score == best);
    if equal.len() > 1 {
        return Err(Error::Config(format!(
            "{}: expected one sheet whose columns fit the checks, found {} that fit equally: {}; name one with --sheet \
             NAME",
            input.name,
            equal.len(),
            equal.join(", ")
        )));
    }
    let others = names(&|score| score != best);
    let at = scores.iter().position(|score| *score == best).unwrap_or_default();
    Ok((samples.remove(at), others))
}

/// Whether the names of the columns are values like those below them, in a column that certainly feeds a field.
fn begins_with_values(sample: &Sample, fields: &[&FieldSpec]) -> bool {
    let Some(header) = sample.header.as_deref().filter(|_| sample.found.header == HeaderGuess::Undecided) else {
        return false;
    };
    let all = profiles(&sample.rows, Some(header), fields, false);
    all.iter().any(|one| {
        fields.iter().any(|field| one.has_share(one.fit(field).certain, 90) && field.accept(&one.place.column).is_ok())
    })
}

/// The folder of the files that rows name: `None` if no field needs it, `Some(None)` if it was not found. The folder of
/// the input and the one of the same name without the extension are tried.
pub fn files_root(order: &InitOrder, checks: &[CheckGuess], sampled: &Sampled) -> Option<Option<String>> {
    let of_file = checks.iter().flat_map(CheckGuess::fed).filter(|(field, _)| field.kind.file().is_some());
    let sources: Vec<&FieldSource> = of_file.map(|(_, feed)| &feed.source).collect();
    if sources.is_empty() {
        return None;
    }
    let rows = &sampled.samples[0].rows;
    let named = |row: &Row| -> Vec<PathBuf> {
        let values = column::values(row).into_iter().filter(|(place, _)| sources.contains(&&place.source()));
        values.map(|(_, value)| PathBuf::from(value.text)).collect()
    };
    let files: Vec<PathBuf> = rows.iter().take(50).flat_map(named).collect();
    let InitInput { name, path } = &order.inputs[0];
    let folders = [Path::new(name).parent().map(Path::to_owned), Some(Path::new(name).with_extension(""))];
    let real = [path.parent().map(Path::to_owned), Some(path.with_extension(""))];
    let has_files = |folder: &Path| {
        let found = files.iter().filter(|file| file.is_relative() && folder.join(file).is_file()).count();
        !files.is_empty() && found * 10 >= files.len() * 9
    };
    let found = folders.into_iter().zip(real).find_map(|(folder, real)| has_files(real.as_deref()?).then_some(folder?));
    let written =
        |folder: PathBuf| if folder.as_os_str().is_empty() { ".".to_owned() } else { folder.display().to_string() };
    Some(found.map(written))
}
