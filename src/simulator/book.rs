//! The charge book: the independent witness of all charges, and of double charges. It considers only the subject's
//! content: another key, the end of a key's lifetime or another spelling of a route does not excuse a second charge.

use super::digest::Digest;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Every charge since start or reset.
#[derive(Debug, Default)]
pub(super) struct ChargeBook {
    subjects: HashSet<Digest>,
    by_key: HashMap<String, u64>,
    pub(super) charges: u64,
    pub(super) credits_charged: u64,
    /// Charges beyond the first for one check and subject content.
    pub(super) double_charges: u64,
}

impl ChargeBook {
    pub(super) fn charge(&mut self, subject: Digest, key: Option<&str>, credits: u64) {
        self.charges += 1;
        self.credits_charged += credits;
        *self.by_key.entry(key.unwrap_or_default().to_owned()).or_default() += credits;
        if !self.subjects.insert(subject) {
            self.double_charges += 1;
        }
    }

    /// Credits charged under an idempotency key.
    pub(super) fn charged_under(&self, key: &str) -> u64 {
        self.by_key.get(key).copied().unwrap_or_default()
    }

    /// Credits charged under each idempotency key.
    pub(super) fn charges_by_key(&self) -> BTreeMap<String, u64> {
        self.by_key.iter().map(|(key, credits)| (key.clone(), *credits)).collect()
    }
}

/// The account's credits: the balance, and the amount held for requests in progress.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) balance: u64,
    held: u64,
}

impl Account {
    pub(super) fn of(balance: u64) -> Account {
        Account { balance, held: 0 }
    }

    /// The credits that a new request may use.
    pub(super) fn available(&self) -> u64 {
        self.balance.saturating_sub(self.held)
    }

    /// Holds credits, or returns how many were available.
    pub(super) fn hold(&mut self, credits: u64) -> Result<(), u64> {
        match self.available() {
            available if available < credits => Err(available),
            _ => {
                self.held += credits;
                Ok(())
            }
        }
    }

    /// Ends a hold without a charge.
    pub(super) fn release(&mut self, credits: u64) {
        self.held -= credits;
    }

    /// Charges credits that were held.
    pub(super) fn take(&mut self, credits: u64) {
        self.held -= credits;
        self.balance = self.balance.saturating_sub(credits);
    }
}
