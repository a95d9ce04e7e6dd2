//! One round's asks of one check, in memory: a record of fixed size for each, and the subjects in one text. A million
//! asks take about 100 MB.

use super::change::{Compared, Outcome};
use std::{cmp::Ordering, collections::HashMap};

/// Maximum bytes of the subjects of one check in one round.
const SUBJECTS_BYTES_MAX: usize = 1 << 30;
/// Maximum number of different findings, codes and reasons, and their maximum bytes together.
const WORDS_MAX: usize = 10_000;
const WORDS_BYTES_MAX: usize = 16 << 20;

/// Few texts that are repeated in many rows.
#[derive(Debug, Default)]
pub struct Words {
    texts: Vec<String>,
    places: HashMap<String, u32>,
    bytes: usize,
}

impl Words {
    /// The number of a text; `None` if there are too many.
    pub fn place(&mut self, text: &str) -> Option<u32> {
        if let Some(place) = self.places.get(text) {
            return Some(*place);
        }
        self.bytes += text.len();
        if self.texts.len() >= WORDS_MAX || self.bytes > WORDS_BYTES_MAX {
            return None;
        }
        let place = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        Some(place)
    }

    pub fn text(&self, place: u32) -> &str {
        self.texts.get(place as usize).map_or("", String::as_str)
    }
}

/// An ask of a round. It has no text of its own.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    /// The first 16 bytes of the subject, so that most comparisons need no text.
    begins: (u64, u64),
    subject: (u32, u32),
    pub outcome: Outcome,
    /// Finding, failure code or reason, among the words of the round.
    pub word: u32,
    pub digest: Option<[u8; 16]>,
    pub result_id: [u8; 16],
    pub completed_at_us: Option<i64>,
    /// Among the words of the round: inputs come in the order of the manifest.
    pub source: u32,
    pub row_number: u64,
}

/// What is read of a row.
pub struct Ask<'a> {
    pub subject: &'a str,
    pub outcome: Outcome,
    pub word: u32,
    pub digest: Option<[u8; 16]>,
    pub result_id: [u8; 16],
    pub completed_at_us: Option<i64>,
    pub source: u32,
    pub row_number: u64,
}

/// The asks of one check in one round.
#[derive(Debug, Default)]
pub struct Side {
    pub records: Vec<Record>,
    subjects: String,
}

impl Side {
    /// Adds an ask. Returns whether there was room for its subject.
    pub fn add(&mut self, ask: &Ask<'_>) -> bool {
        let start = self.subjects.len();
        if start + ask.subject.len() > SUBJECTS_BYTES_MAX {
            return false;
        }
        self.subjects.push_str(ask.subject);
        let mut begins = [0; 16];
        let length = ask.subject.len().min(begins.len());
        begins[..length].copy_from_slice(&ask.subject.as_bytes()[..length]);
        let (first, second) = begins.split_at(8);
        let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().expect("half of 16 bytes"));
        self.records.push(Record {
            begins: (number(first), number(second)),
            subject: (start as u32, ask.subject.len() as u32),
            outcome: ask.outcome,
            word: ask.word,
            digest: ask.digest,
            result_id: ask.result_id,
            completed_at_us: ask.completed_at_us,
            source: ask.source,
            row_number: ask.row_number,
        });
        true
    }

    pub fn subject(&self, record: &Record) -> &str {
        let (start, length) = record.subject;
        &self.subjects[start as usize..][..length as usize]
    }

    /// Orders the asks by subject, and those of one subject by their position in the input.
    pub fn sort(&mut self) {
        let Side { records, subjects } = self;
        let text = |record: &Record| &subjects[record.subject.0 as usize..][..record.subject.1 as usize];
        records.sort_unstable_by(|one, other| {
            let by_subject = one.begins.cmp(&other.begins).then_with(|| text(one).cmp(text(other)));
            let position = |record: &Record| (record.source, record.row_number, record.result_id);
            by_subject.then_with(|| position(one).cmp(&position(other)))
        });
    }

    /// The order of two asks by subject.
    fn compare(&self, record: &Record, other: &Side, of_other: &Record) -> Ordering {
        record.begins.cmp(&of_other.begins).then_with(|| self.subject(record).cmp(other.subject(of_other)))
    }

    /// The end of the asks that have the subject of the one at `from`.
    fn end_of_subject(&self, from: usize) -> usize {
        let first = &self.records[from];
        let same = |record: &&Record| self.compare(first, self, record) == Ordering::Equal;
        from + self.records[from..].iter().take_while(same).count()
    }
}

/// What is compared of an ask. Without `digests`, answers are not compared.
pub fn compared<'a>(record: &Record, words: &'a Words, digests: bool) -> Compared<'a> {
    Compared { outcome: record.outcome, finding: words.text(record.word), digest: record.digest.filter(|_| digests) }
}

/// The asks of both rounds in the order of their subjects, each with its partner. If a subject occurs several times,
/// its first ask is paired with the first of the other round, the second with the second. Both sides must be sorted.
/// Returns the number of subjects that occur several times in a round.
pub fn pairs(old: &Side, new: &Side, mut each: impl FnMut(Option<&Record>, Option<&Record>)) -> u64 {
    let (mut at_old, mut at_new, mut repeated) = (0, 0, 0);
    loop {
        let order = match (old.records.get(at_old), new.records.get(at_new)) {
            (None, None) => return repeated,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => old.compare(one, new, other),
        };
        let end_old = if order == Ordering::Greater { at_old } else { old.end_of_subject(at_old) };
        let end_new = if order == Ordering::Less { at_new } else { new.end_of_subject(at_new) };
        let (count_old, count_new) = (end_old - at_old, end_new - at_new);
        repeated += u64::from(count_old > 1 || count_new > 1);
        for nth in 0..count_old.max(count_new) {
            let of = |side: &'_ [Record], from: usize, count: usize| (nth < count).then(|| side[from + nth]);
            let (one, other) = (of(&old.records, at_old, count_old), of(&new.records, at_new, count_new));
            each(one.as_ref(), other.as_ref());
        }
        (at_old, at_new) = (end_old, end_new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Verdict;

    fn side(subjects: &[(&str, u64)]) -> Side {
        let mut side = Side::default();
        for (subject, row_number) in subjects {
            let result_id = [*row_number as u8; 16];
            let ask = Ask {
                subject,
                outcome: Outcome::Result(Verdict::Clear),
                word: 0,
                digest: None,
                result_id,
                completed_at_us: None,
                source: 0,
                row_number: *row_number,
            };
            assert!(side.add(&ask));
        }
        side.sort();
        side
    }

    #[test]
    fn each_ask_has_the_partner_with_its_subject_and_the_nth_the_nth() {
        // More than 16 bytes, and a subject that is the beginning of another one.
        let (long, longer) = ("customer-000000001-a", "customer-000000001-b");
        let old = side(&[("b", 9), ("a", 3), (long, 5), ("b", 2), ("", 6), ("a\0", 7), ("é", 8)]);
        let new = side(&[("b", 4), ("c", 1), (longer, 2), (long, 3), ("a", 5), ("é", 6)]);
        let mut found = Vec::new();
        let repeated = pairs(&old, &new, |one, other| {
            let subject = one.map(|one| old.subject(one)).or(other.map(|other| new.subject(other)));
            found.push((subject.unwrap().to_owned(), one.map(|one| one.row_number), other.map(|one| one.row_number)));
        });
        let expected = [
            ("", Some(6), None),
            ("a", Some(3), Some(5)),
            ("a\0", Some(7), None),
            ("b", Some(2), Some(4)),
            ("b", Some(9), None),
            ("c", None, Some(1)),
            (long, Some(5), Some(3)),
            (longer, None, Some(2)),
            ("é", Some(8), Some(6)),
        ];
        assert_eq!(found, expected.map(|(subject, one, other)| (subject.to_owned(), one, other)));
        assert_eq!(repeated, 1, "`b`");
    }

    #[test]
    fn words_are_kept_once_and_limited() {
        let mut words = Words::default();
        assert_eq!((words.place("a"), words.place("b"), words.place("a")), (Some(0), Some(1), Some(0)));
        assert_eq!((words.text(1), words.text(7)), ("b", ""));
        let many = (0..WORDS_MAX).map(|number| words.place(&number.to_string()));
        assert_eq!(many.filter(Option::is_some).count(), WORDS_MAX - 2);
        assert_eq!((Words::default().place(&"x".repeat(WORDS_BYTES_MAX + 1)), words.place("b")), (None, Some(1)));
    }

    #[test]
    fn a_record_stays_small() {
        assert!(size_of::<Record>() <= 104, "{}", size_of::<Record>());
    }
}
