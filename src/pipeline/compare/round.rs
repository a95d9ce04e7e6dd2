//! A round being read: the rows of its datasets as records. Results are read check by check, so that only one check is in
//! memory; failures, pending and skipped rows of all checks are read first, because they share their files.

use super::{
    change::Outcome,
    side::{Ask, Side, Words},
};
use crate::{
    error::Error,
    model::Verdict,
    pipeline::published::{damaged_row, each_row, open_settled},
    sink::{Dataset, DatasetKind, PublishedFolder, TableCell},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

/// The column with the digest of the compared part of an answer.
pub const DIGEST_COLUMN: &str = "answer_digest";
/// The columns of the service's list, which belong to the whole round.
pub const LIST_COLUMNS: [&str; 2] = [VERSION_COLUMN, "dataset_published_at"];
/// The version of the list.
const VERSION_COLUMN: &str = "dataset_version";
/// The maximum number of versions of one check that are kept apart. Further ones count as the last one.
const VERSIONS_MAX: usize = 32;

/// A round being read.
pub struct Round {
    pub folder: Arc<PublishedFolder>,
    /// Findings, codes and reasons.
    pub words: Words,
    pub sources: Words,
    /// By check: its asks that are not results.
    others: BTreeMap<String, Side>,
    /// Rows without a subject, by check; those that could not be read have none.
    without_subject: BTreeMap<Option<String>, u64>,
    with_subject: u64,
}

/// The asks of one check in a round.
#[derive(Default)]
pub struct OfCheck {
    pub side: Side,
    /// The results by version of the service's list, in the order of the versions. Empty if answers name none.
    pub versions: BTreeMap<String, u64>,
    /// When the first and the last answer arrived, in microseconds since 1970.
    pub first_us: Option<i64>,
    pub last_us: Option<i64>,
}

impl Round {
    /// Opens a folder, and reads everything but its results.
    ///
    /// # Errors
    /// The folder or a part of it cannot be read, or a run was under way.
    pub fn open(path: &Path) -> Result<Round, Error> {
        let folder = Arc::new(open_settled(path)?);
        if folder.manifest().selected.is_some() {
            return Err(Error::Config(format!(
                "{}: expected all results of a round, found an export with a limit, such as --verdict; name the output \
                 folder of the campaign, or an export without a limit",
                path.display()
            )));
        }
        let mut round = Round {
            folder,
            words: Words::default(),
            sources: Words::default(),
            others: BTreeMap::new(),
            without_subject: BTreeMap::new(),
            with_subject: 0,
        };
        let names: Vec<String> =
            round.folder.manifest().input.sources.iter().map(|source| source.name.clone()).collect();
        for name in names {
            round.word(&name, Place::Source)?;
        }
        let of_checks = round.folder.datasets(DatasetKind::Results).map(|dataset| &dataset.check);
        let mut known = BTreeSet::new();
        if !of_checks.into_iter().all(|check| known.insert(check)) {
            return Err(damaged_row(&round.folder, "the manifest has two datasets of results for one check"));
        }
        Ok(round)
    }

    /// Reads failures, pending and skipped rows.
    ///
    /// # Errors
    /// A part cannot be read.
    pub fn read_others(&mut self) -> Result<(), Error> {
        for (kind, outcome, word) in [
            (DatasetKind::Failures, Outcome::Failure, "code"),
            (DatasetKind::Pending, Outcome::Pending, "reason"),
            (DatasetKind::Skipped, Outcome::Skipped, "reason"),
        ] {
            let datasets: Vec<Dataset> = self.folder.datasets(kind).cloned().collect();
            let columns = ["result_id", "check_name", "subject", word, "source", "row_number"];
            for dataset in &datasets {
                self.each(dataset, &columns, |round, cells| {
                    let Some(check) = text(cells, 1) else {
                        *round.without_subject.entry(None).or_default() += 1;
                        return Ok(());
                    };
                    let Some(subject) = text(cells, 2) else { return round.skip(check) };
                    let word = round.word(text(cells, 3).unwrap_or_default(), Place::Word)?;
                    let source = round.word(text(cells, 4).unwrap_or_default(), Place::Source)?;
                    let ask = Ask {
                        subject,
                        outcome,
                        word,
                        digest: None,
                        result_id: round.digest(text(cells, 0))?.unwrap_or_default(),
                        completed_at_us: None,
                        source,
                        row_number: number(cells, 5),
                    };
                    let mut side = round.others.remove(check).unwrap_or_default();
                    let added = round.add(&mut side, &ask);
                    round.others.insert(check.to_owned(), side);
                    added
                })?;
            }
        }
        Ok(())
    }

    /// The names of all checks that have asks, or a dataset of results.
    pub fn checks(&self) -> BTreeSet<String> {
        let of_results = self.folder.datasets(DatasetKind::Results).filter_map(|dataset| dataset.check.clone());
        of_results.chain(self.others.keys().cloned()).collect()
    }

    /// The dataset of a check's results.
    pub fn results(&self, check: &str) -> Option<&Dataset> {
        self.folder.datasets(DatasetKind::Results).find(|dataset| dataset.check.as_deref() == Some(check))
    }

    /// Reads the results of a check. Returns all its asks, sorted by subject.
    ///
    /// # Errors
    /// A part cannot be read.
    pub fn read(&mut self, check: &str) -> Result<OfCheck, Error> {
        let mut of_check = OfCheck { side: self.others.remove(check).unwrap_or_default(), ..OfCheck::default() };
        if let Some(dataset) = self.results(check).cloned() {
            let columns = [
                "result_id",
                "subject",
                "verdict",
                "finding",
                "completed_at",
                "source",
                "row_number",
                DIGEST_COLUMN,
                VERSION_COLUMN,
            ];
            self.each(&dataset, &columns, |round, cells| round.result(check, cells, &mut of_check))?;
        }
        of_check.side.sort();
        Ok(of_check)
    }

    fn result(&mut self, check: &str, cells: &[TableCell], of_check: &mut OfCheck) -> Result<(), Error> {
        if let Some(version) = text(cells, 8) {
            note(&mut of_check.versions, version);
        }
        let Some(subject) = text(cells, 1) else { return self.skip(check) };
        let verdict = text(cells, 2).and_then(Verdict::from_word);
        let verdict = verdict.ok_or_else(|| damaged_row(&self.folder, "a result has an unknown verdict"))?;
        let completed_at_us = match cells[4] {
            TableCell::Timestamp(at_us) => Some(at_us),
            _ => None,
        };
        of_check.first_us = [of_check.first_us, completed_at_us].into_iter().flatten().min();
        of_check.last_us = of_check.last_us.max(completed_at_us);
        let ask = Ask {
            subject,
            outcome: Outcome::Result(verdict),
            word: self.word(text(cells, 3).unwrap_or_default(), Place::Word)?,
            digest: self.digest(text(cells, 7))?,
            result_id: self.digest(text(cells, 0))?.unwrap_or_default(),
            completed_at_us,
            source: self.word(text(cells, 5).unwrap_or_default(), Place::Source)?,
            row_number: number(cells, 6),
        };
        self.add(&mut of_check.side, &ask)
    }

    fn each(
        &mut self,
        dataset: &Dataset,
        columns: &[&str],
        mut row: impl FnMut(&mut Round, &[TableCell]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let folder = Arc::clone(&self.folder);
        each_row(&folder, dataset, columns, &mut |cells| row(self, cells))
    }

    fn add(&mut self, side: &mut Side, ask: &Ask<'_>) -> Result<(), Error> {
        self.with_subject += 1;
        if side.add(ask) {
            return Ok(());
        }
        Err(damaged_row(&self.folder, "expected subjects of at most 1 GiB in all for one check, found more"))
    }

    /// A row without a subject, which cannot be compared.
    fn skip(&mut self, check: &str) -> Result<(), Error> {
        *self.without_subject.entry(Some(check.to_owned())).or_default() += 1;
        Ok(())
    }

    fn word(&mut self, text: &str, place: Place) -> Result<u32, Error> {
        let words = match place {
            Place::Word => &mut self.words,
            Place::Source => &mut self.sources,
        };
        words.place(text).ok_or_else(|| {
            damaged_row(
                &self.folder,
                "expected at most 10,000 different findings, codes, reasons or inputs, found more",
            )
        })
    }

    /// 16 bytes from 32 hexadecimal digits.
    fn digest(&self, text: Option<&str>) -> Result<Option<[u8; 16]>, Error> {
        let Some(text) = text else { return Ok(None) };
        let bytes = digest_of(text);
        bytes.map(Some).ok_or_else(|| damaged_row(&self.folder, "an id or digest is not 32 hexadecimal digits"))
    }

    /// Rows of a check that have no subject.
    pub fn without_subject(&self, check: &str) -> u64 {
        self.without_subject.get(&Some(check.to_owned())).copied().unwrap_or_default()
    }

    /// Rows that could not be read. They count for every check, and have no subject.
    pub fn unreadable(&self) -> u64 {
        self.without_subject.get(&None).copied().unwrap_or_default()
    }

    /// Whether the round has rows, and none has a subject.
    pub fn has_no_subjects(&self) -> bool {
        self.with_subject == 0 && self.without_subject.keys().any(Option::is_some)
    }
}

/// Which of the two lists of words.
#[derive(Clone, Copy)]
enum Place {
    Word,
    Source,
}

fn text(cells: &[TableCell], place: usize) -> Option<&str> {
    match &cells[place] {
        TableCell::Text(text) => Some(text),
        _ => None,
    }
}

fn number(cells: &[TableCell], place: usize) -> u64 {
    match cells[place] {
        TableCell::Integer(number) => u64::try_from(number).unwrap_or_default(),
        _ => 0,
    }
}

/// 16 bytes from 32 hexadecimal digits in lower case.
pub fn digest_of(text: &str) -> Option<[u8; 16]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let mut bytes = [0; 16];
    if pairs.len() != bytes.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

/// Counts an answer that was made with this version.
fn note(versions: &mut BTreeMap<String, u64>, version: &str) {
    if let Some(count) = versions.get_mut(version) {
        *count += 1;
    } else if versions.len() < VERSIONS_MAX {
        versions.insert(version.to_owned(), 1);
    } else if let Some(mut last) = versions.last_entry() {
        *last.get_mut() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_32_lower_case_digits() {
        let text = "9d1276c1c5780fa6f9558c71ae4ed294";
        assert_eq!(crate::model::key::hex(&digest_of(text).unwrap()), text);
        for wrong in
            ["", "9d", &text.to_uppercase(), &format!("{text}0"), &text.replace('9', "é"), &text.replace('9', "g")]
        {
            assert_eq!(digest_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn versions_beyond_the_limit_count_with_the_last() {
        let mut versions = BTreeMap::new();
        (0..100).for_each(|number| note(&mut versions, &format!("{number:03}")));
        note(&mut versions, "000");
        assert_eq!((versions.len(), versions["000"], versions.values().sum::<u64>()), (VERSIONS_MAX, 2, 101));
    }
}
