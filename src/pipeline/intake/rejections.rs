//! Why rows were rejected: each reason with its count and the first lines that have it. Memory is bounded, however many
//! rows and different messages there are.

use crate::{
    model::{Failure, FailureCode, grouped::grouped},
    pipeline::wording::counted,
};
use std::collections::BTreeMap;

/// The most reasons that are told apart. The messages of further ones are not kept, only their codes.
const REASONS_MAX: usize = 1_000;
/// The lines that are kept of each reason.
const LINES_MAX: usize = 3;
/// The message in place of those that are not kept.
const OTHER_MESSAGES: &str = "other messages than those counted before";

/// The counted reasons.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rejections(BTreeMap<Key, Places>);

/// The check is empty for a row that could not be read, because it fails for all checks.
type Key = (FailureCode, String, String);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Places {
    count: u64,
    source: String,
    lines: Vec<u64>,
}

/// One reason, as reports show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    pub code: FailureCode,
    /// The check's name in the campaign; `None` for a row that could not be read.
    pub check_name: Option<String>,
    pub message: String,
    pub count: u64,
    /// The input of its first row.
    pub source: String,
    /// The lines of its first rows in that input.
    pub lines: Vec<u64>,
}

impl Rejections {
    /// Counts a failure at a line of an input.
    pub fn add(&mut self, check_name: Option<&str>, failure: &Failure, source: &str, line: u64) {
        let key = (failure.code, check_name.unwrap_or_default().to_owned(), failure.message.clone());
        let places = self.places(key);
        if places.count == 0 {
            places.source = source.to_owned();
        }
        if places.lines.len() < LINES_MAX && places.source == source && places.lines.last() != Some(&line) {
            places.lines.push(line);
        }
        places.count += 1;
    }

    /// Adds the reasons of a later part of the input.
    pub fn join(&mut self, later: Rejections) {
        for (key, found) in later.0 {
            let places = self.places(key);
            if places.count == 0 {
                places.source.clone_from(&found.source);
            }
            if places.source == found.source {
                let more = LINES_MAX - places.lines.len();
                places.lines.extend(found.lines.into_iter().take(more));
            }
            places.count += found.count;
        }
    }

    fn places(&mut self, key: Key) -> &mut Places {
        let is_full = self.0.len() >= REASONS_MAX && !self.0.contains_key(&key);
        let key = if is_full { (key.0, String::new(), OTHER_MESSAGES.to_owned()) } else { key };
        self.0.entry(key).or_default()
    }

    /// The number of failures.
    pub fn total(&self) -> u64 {
        self.0.values().map(|places| places.count).sum()
    }

    /// The number of failures by code.
    pub fn by_code(&self) -> BTreeMap<FailureCode, u64> {
        let mut codes = BTreeMap::new();
        for ((code, ..), places) in &self.0 {
            *codes.entry(*code).or_default() += places.count;
        }
        codes
    }

    /// The commonest reasons, the most frequent first. Of equally frequent ones, that of the earlier line comes first.
    pub fn commonest(&self, most: usize) -> Vec<Rejection> {
        let mut reasons: Vec<Rejection> = self.0.iter().map(|(key, places)| reason(key, places)).collect();
        reasons.sort_by_key(|reason| (u64::MAX - reason.count, reason.lines.first().copied()));
        reasons.truncate(most);
        reasons
    }

    /// The number of different reasons.
    pub fn kinds(&self) -> usize {
        self.0.len()
    }

    /// One line for each of the commonest reasons, and one for the rest.
    pub fn lines(&self, most: usize) -> Vec<String> {
        let commonest = self.commonest(most);
        let rest = self.total() - commonest.iter().map(|reason| reason.count).sum::<u64>();
        let mut lines: Vec<String> = commonest.iter().map(|reason| format!("  {}", reason.line())).collect();
        if rest > 0 {
            lines.push(format!("  {} with other reasons", grouped(rest)));
        }
        lines
    }
}

fn reason((code, check, message): &Key, places: &Places) -> Rejection {
    Rejection {
        code: *code,
        check_name: (!check.is_empty()).then(|| check.clone()),
        message: message.clone(),
        count: places.count,
        source: places.source.clone(),
        lines: places.lines.clone(),
    }
}

impl Rejection {
    /// Where its first rows are, such as `lines 4, 9, 12 of book.csv`. `source` is the name of the input.
    pub fn place(&self, source: &str) -> String {
        let lines: Vec<String> = self.lines.iter().map(|line| grouped(*line)).collect();
        let noun = if lines.len() == 1 { "line" } else { "lines" };
        let first = if self.count > self.lines.len() as u64 { "first in " } else { "" };
        format!("{first}{noun} {} of {source}", lines.join(", "))
    }

    /// The whole reason on one line.
    pub fn line(&self) -> String {
        let check = self.check_name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        let (count, code) = (counted(self.count, "time", "times"), self.code.as_str());
        format!("{count} {code}: {check}{} ({})", self.message, self.place(&self.source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(message: &str) -> Failure {
        Failure::map(FailureCode::MissingValue, message)
    }

    #[test]
    fn the_commonest_reasons_come_first_with_their_first_lines() {
        let mut reasons = Rejections::default();
        for line in [9, 4, 5, 6, 7] {
            reasons.add(Some("aml"), &missing("a name"), "a.csv", line);
        }
        let mut later = Rejections::default();
        later.add(Some("aml"), &missing("a name"), "b.csv", 2);
        later.add(None, &Failure::read(FailureCode::RaggedRow, "3 cells"), "b.csv", 2_000);
        reasons.join(later);
        assert_eq!(
            reasons.lines(3),
            [
                "  6 times missing_value: aml: a name (first in lines 9, 4, 5 of a.csv)",
                "  1 time ragged_row: 3 cells (line 2,000 of b.csv)"
            ]
        );
        assert_eq!(reasons.lines(1)[1], "  1 with other reasons");
        assert_eq!((reasons.total(), reasons.by_code()[&FailureCode::MissingValue]), (7, 6));
    }

    #[test]
    fn memory_is_bounded_and_no_failure_is_lost() {
        let mut reasons = Rejections::default();
        for line in 0..5_000 {
            reasons.add(Some("aml"), &missing(&format!("message {line}")), "a.csv", line);
        }
        assert!(reasons.kinds() <= REASONS_MAX + FailureCode::ALL.len());
        assert_eq!((reasons.total(), reasons.commonest(1)[0].count), (5_000, 4_000));
        assert_eq!(reasons.commonest(1)[0].message, OTHER_MESSAGES);
    }
}
