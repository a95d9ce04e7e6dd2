//! The running totals of a plan: the counts of the splits, added in input order.

use super::{money::ToSend, outlook::counts, planned::Plan, split_counts::SplitCounts, tree::Standing};
use crate::{
    error::Error,
    pipeline::{
        campaign::{Campaign, Guards},
        failure_file::FailureFile,
        intake::{
            distinct::{Digest, Distinct},
            values::ValueTally,
        },
        reuse::has_list,
        send::guards,
    },
};
use std::collections::{BTreeMap, BTreeSet};

/// The running totals.
pub struct Tally {
    plan: Plan,
    guards: Guards,
    distinct: Distinct,
    id: ValueTally,
    fields: BTreeMap<(usize, usize), ValueTally>,
    shown: BTreeSet<Digest>,
    show: usize,
    failures: Option<FailureFile>,
}

/// Counts the request of each check that a run sends to learn which list there is now, if none of the check is sent anyway.
fn ask_for_lists(campaign: &Campaign, requests: &mut [u64]) {
    for declaration in campaign.checks().into_iter().filter(|check| has_list(check)) {
        let rule = campaign.reuse.as_ref().map(|reuse| reuse.rule(&declaration.name));
        let uses = || campaign.uses.iter().enumerate().filter(|(_, one)| one.check == declaration.name);
        let is_any_sent = uses().any(|(at, _)| {
            [Standing::New, Standing::Planned].iter().any(|standing| requests[shape(at, *standing) as usize] > 0)
        });
        if is_any_sent || rule.is_none_or(|rule| rule.even_if_list_changed) {
            continue;
        }
        let kinds = [(Standing::Reused, Standing::New), (Standing::PlannedReused, Standing::Planned)];
        let places =
            uses().flat_map(|(at, _)| kinds.map(|(from, to)| (shape(at, from) as usize, shape(at, to) as usize)));
        if let Some((from, to)) = places.into_iter().find(|(from, _)| requests[*from] > 0) {
            requests[from] -= 1;
            requests[to] += 1;
        }
    }
}

/// The number that stands for a check and a standing while distinct requests are counted.
fn shape(check_index: usize, standing: Standing) -> u32 {
    u32::try_from(check_index * Standing::ALL.len()).expect("a campaign has few checks") + standing as u32
}

impl Tally {
    pub fn new(plan: Plan, guards: Guards, show: usize, failures: Option<FailureFile>) -> Tally {
        Tally {
            plan,
            guards,
            distinct: Distinct::new(),
            id: ValueTally::default(),
            fields: BTreeMap::new(),
            shown: BTreeSet::new(),
            show,
            failures,
        }
    }

    /// Whether more requests are to be shown.
    pub fn wants_more(&self) -> bool {
        self.plan.shown.len() < self.show
    }

    /// Adds the next split of the input.
    pub fn add(&mut self, split: SplitCounts) -> Result<(), Error> {
        let tree = &mut self.plan.tree;
        tree.rows += split.rows;
        tree.unreadable += split.unreadable;
        tree.asks += split.asks;
        tree.skipped += split.skipped;
        tree.rejected += split.rejected;
        // Corrected below, when the distinct requests are counted.
        tree.duplicates += split.digests.len() as u64;
        if self.plan.early_stop.is_none() {
            let stop = guards::unmapped(&counts(tree.unreadable, tree.asks, tree.rejected), &self.guards);
            self.plan.early_stop = stop.map(|stop| (tree.rows, stop));
        }
        self.plan.reasons.join(split.reasons);
        self.plan.notes.join(split.notes);
        for (digest, check_index, standing) in split.digests {
            self.distinct.add(digest, shape(check_index, standing))?;
        }
        self.id.add(split.id)?;
        for (place, values) in split.fields {
            self.fields.entry(place).or_default().add(values)?;
        }
        for (digest, text) in split.shown {
            if self.plan.shown.len() < self.show && self.shown.insert(digest) {
                self.plan.shown.push(text);
            }
        }
        if let Some(file) = &mut self.failures
            && let Err(error) = split.failed.iter().try_for_each(|row| file.add(row))
        {
            // The plan is still of use.
            self.failures = None;
            self.plan.failures = Some(Err(error));
        }
        Ok(())
    }

    /// Completes the plan with the counts of distinct asks and values. Returns also the requests to send by check.
    pub fn end(self, campaign: &Campaign) -> Result<(Plan, BTreeMap<String, ToSend>), Error> {
        let mut requests = vec![0_u64; shape(campaign.uses.len(), Standing::New) as usize];
        self.distinct.each_first(|shape| requests[shape as usize] += 1)?;
        ask_for_lists(campaign, &mut requests);
        let mut plan = self.plan;
        let mut to_send: BTreeMap<String, ToSend> = BTreeMap::new();
        for (check_index, one) in campaign.uses.iter().enumerate() {
            for standing in Standing::ALL {
                let count = requests[shape(check_index, standing) as usize];
                plan.tree.add_requests(standing, count);
                plan.tree.duplicates -= count;
                to_send.entry(one.check.clone()).or_default().add(standing, count);
            }
        }
        plan.id = if campaign.id.is_some() { Some(self.id.end()?) } else { None };
        for (place, values) in self.fields {
            plan.fields.insert(place, values.end()?);
        }
        if let Some(file) = self.failures {
            plan.failures = Some(file.end());
        }
        Ok((plan, to_send))
    }
}
