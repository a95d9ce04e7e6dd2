//! The partitions of a campaign, as a charge book knows them, and what a campaign lacks to be complete.

use super::credits::Credits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a partition has published: the totals of its manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionOutputs {
    /// Nothing is pending, and the counts add up to the rows of its input.
    pub is_complete: bool,
    /// Rows of the input, including unreadable ones.
    pub rows: u64,
    /// Asks by dataset. An unreadable row is one failure.
    pub results: u64,
    pub failures: u64,
    pub pending: u64,
    pub skipped: u64,
    /// The sum of the column `credits`.
    pub credits: Credits,
    /// SHA-256 of the manifest, in hexadecimal.
    pub manifest: String,
    /// A digest of the content of all its inputs. Two partitions with the same one have the same rows.
    pub input: String,
}

/// How far a partition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionState {
    /// It is expected, and no worker has run it.
    NotBegun,
    Running,
    /// Its worker has said nothing for a minute: it was killed, or cannot reach the book.
    Silent,
    /// Its worker has ended before everything was answered.
    NotComplete,
    Complete,
}

impl PartitionState {
    pub fn as_str(self) -> &'static str {
        match self {
            PartitionState::NotBegun => "not begun",
            PartitionState::Running => "running",
            PartitionState::Silent => "silent",
            PartitionState::NotComplete => "not complete",
            PartitionState::Complete => "complete",
        }
    }
}

/// A partition of a campaign.
#[derive(Debug, Clone)]
pub struct PartitionRow {
    /// Empty if the campaign is not divided.
    pub name: String,
    pub state: PartitionState,
    /// It is one of those that the campaign should have, or no one has said which these are.
    pub is_expected: bool,
    /// The machine and process that runs it or ran it last.
    pub worker: Option<String>,
    /// When that began, and when the book last heard of it, in microseconds since 1970.
    pub began_at_us: Option<i64>,
    pub seen_at_us: Option<i64>,
    /// What it published last.
    pub outputs: Option<PartitionOutputs>,
    pub charged: Credits,
    pub held: Credits,
}

/// A campaign in one mode, with its partitions.
#[derive(Debug, Clone)]
pub struct CampaignRow {
    pub campaign: String,
    pub mode: String,
    /// How many partitions it should have, if someone has said so.
    pub expected: Option<u64>,
    /// By name.
    pub partitions: Vec<PartitionRow>,
}

impl CampaignRow {
    /// The partitions that count: those that are expected.
    fn own(&self) -> impl Iterator<Item = &PartitionRow> {
        self.partitions.iter().filter(|partition| partition.is_expected)
    }

    /// How many of its partitions are complete.
    pub fn complete(&self) -> u64 {
        self.own().filter(|partition| partition.state == PartitionState::Complete).count() as u64
    }

    /// What its partitions have published, together.
    pub fn outputs(&self) -> PartitionOutputs {
        let all = self.own().filter_map(|partition| partition.outputs.as_ref());
        all.fold(PartitionOutputs::default(), |sum, one| PartitionOutputs {
            rows: sum.rows.saturating_add(one.rows),
            results: sum.results.saturating_add(one.results),
            failures: sum.failures.saturating_add(one.failures),
            pending: sum.pending.saturating_add(one.pending),
            skipped: sum.skipped.saturating_add(one.skipped),
            credits: sum.credits + one.credits,
            ..sum
        })
    }

    /// What all its partitions were charged, and hold. Also those that are not expected: they have been paid for.
    pub fn charged_and_held(&self) -> (Credits, Credits) {
        let all = self.partitions.iter();
        all.fold((Credits::ZERO, Credits::ZERO), |(charged, held), one| (charged + one.charged, held + one.held))
    }

    /// What the campaign lacks to be complete; empty if it is.
    pub fn lacks(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        let is_divided = self.partitions.iter().any(|partition| !partition.name.is_empty());
        if self.expected.is_none() && is_divided {
            lacks.push("no one has said which partitions it should have (`rescreen book expect`)".to_owned());
        }
        for state in
            [PartitionState::NotBegun, PartitionState::Running, PartitionState::Silent, PartitionState::NotComplete]
        {
            match self.own().filter(|partition| partition.state == state).count() {
                0 => {}
                1 => lacks.push(format!("1 partition is {}", state.as_str())),
                count => lacks.push(format!("{count} partitions are {}", state.as_str())),
            }
        }
        for (first, second) in with_the_same_input(self) {
            lacks.push(format!("partitions {first} and {second} have the same input"));
        }
        for partition in self.partitions.iter().filter(|partition| !partition.is_expected) {
            if partition.held > Credits::ZERO {
                lacks.push(format!("{}, which is not expected, holds {} credits", partition.shown(), partition.held));
            }
        }
        lacks
    }

    /// What a person should know, and can explain: where the credits in the rows are not what the requests were charged.
    pub fn remarks(&self) -> Vec<String> {
        let remark = |partition: &PartitionRow| {
            let (charged, credits) = (partition.charged, partition.outputs.as_ref().map(|outputs| outputs.credits));
            match (partition.is_expected, credits) {
                (false, _) if charged > Credits::ZERO => {
                    Some(format!("{}, which is not expected, was charged {charged} credits", partition.shown()))
                }
                (true, Some(credits)) if partition.state == PartitionState::Complete && credits < charged => {
                    Some(format!(
                        "{} was charged {charged} credits, and its rows have {credits}: it was charged for content that is no \
                     longer in its input",
                        partition.shown()
                    ))
                }
                (true, Some(credits)) if partition.state == PartitionState::Complete && credits > charged => {
                    Some(format!(
                        "the rows of {} have {credits} credits, and the book has {charged}: it was charged for content of another \
                     partition",
                        partition.shown()
                    ))
                }
                _ => None,
            }
        };
        self.partitions.iter().filter_map(remark).collect()
    }
}

impl PartitionRow {
    fn shown(&self) -> String {
        if self.name.is_empty() { "the campaign".to_owned() } else { format!("partition {}", self.name) }
    }
}

/// Expected partitions with the same content of their inputs, in pairs: most likely a worker was given the input of another one.
fn with_the_same_input(campaign: &CampaignRow) -> Vec<(&str, &str)> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut pairs = Vec::new();
    for partition in campaign.own() {
        let Some(outputs) = partition.outputs.as_ref().filter(|outputs| outputs.rows > 0) else { continue };
        match seen.get(outputs.input.as_str()) {
            Some(first) => pairs.push((*first, partition.name.as_str())),
            None => drop(seen.insert(&outputs.input, &partition.name)),
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(name: &str, state: PartitionState, credits: u64) -> PartitionRow {
        let outputs =
            PartitionOutputs { rows: 5, results: 5, credits: Credits(credits), ..PartitionOutputs::default() };
        PartitionRow {
            name: name.to_owned(),
            state,
            is_expected: true,
            worker: None,
            began_at_us: None,
            seen_at_us: None,
            outputs: Some(PartitionOutputs { input: format!("{name} {credits}"), ..outputs }),
            charged: Credits(credits),
            held: Credits::ZERO,
        }
    }

    fn campaign(expected: Option<u64>, partitions: Vec<PartitionRow>) -> CampaignRow {
        CampaignRow { campaign: "t".to_owned(), mode: "production".to_owned(), expected, partitions }
    }

    #[test]
    fn a_campaign_is_complete_if_all_expected_partitions_are() {
        use PartitionState::{Complete, NotBegun, NotComplete, Running, Silent};
        let [a, b] = ["a", "b"].map(|name| partition(name, Complete, 3));
        let both = campaign(Some(2), vec![a.clone(), b.clone()]);
        assert_eq!((both.lacks(), both.complete(), both.outputs().rows), (vec![], 2, 10));
        for state in [NotBegun, Running, Silent, NotComplete] {
            let other = PartitionRow { state, ..b.clone() };
            let lacks = campaign(Some(2), vec![a.clone(), other.clone()]).lacks();
            assert_eq!(lacks, [format!("1 partition is {}", state.as_str())]);
            // One that is not expected does not count, but a person should know what it was charged.
            let extra = campaign(Some(1), vec![a.clone(), PartitionRow { is_expected: false, ..other }]);
            assert_eq!((extra.lacks(), extra.outputs().rows), (vec![], 5));
            assert_eq!(extra.remarks(), ["partition b, which is not expected, was charged 3 credits"]);
        }
        assert!(campaign(None, vec![a.clone(), b.clone()]).lacks()[0].contains("rescreen book expect"));
        assert!(campaign(None, vec![partition("", Complete, 3)]).lacks().is_empty(), "it is not divided");
        let holds = PartitionRow { held: Credits(1), is_expected: false, ..b };
        assert_eq!(campaign(Some(1), vec![a, holds]).lacks(), ["partition b, which is not expected, holds 1 credits"]);
    }

    #[test]
    fn partitions_with_the_same_input_are_found() {
        let [a, b, c] = ["a", "b", "c"].map(|name| partition(name, PartitionState::Complete, 0));
        let mut same = c.clone();
        same.outputs.as_mut().unwrap().input = "a 0".to_owned();
        let lacks = |partitions: &[&PartitionRow]| {
            campaign(Some(3), partitions.iter().map(|partition| (*partition).clone()).collect()).lacks()
        };
        assert_eq!(lacks(&[&a, &b, &same]), ["partitions a and c have the same input"]);
        assert_eq!(lacks(&[&a, &b, &PartitionRow { is_expected: false, ..same.clone() }]), [""; 0]);
        // Two inputs may both be empty.
        same.outputs.as_mut().unwrap().rows = 0;
        assert_eq!(lacks(&[&a, &b, &same]), [""; 0]);
    }

    #[test]
    fn credits_that_differ_are_remarked() {
        let mut a = partition("a", PartitionState::Complete, 3);
        for (charged, says) in
            [(3, None), (4, Some("partition a was charged 4")), (2, Some("the rows of partition a have 3"))]
        {
            a.charged = Credits(charged);
            let remarks = campaign(Some(1), vec![a.clone()]).remarks();
            assert_eq!(remarks.len(), usize::from(says.is_some()), "{remarks:?}");
            assert!(says.is_none_or(|says| remarks[0].starts_with(says)), "{remarks:?}");
        }
    }
}
