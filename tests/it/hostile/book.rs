//! The charge book of a hand-written service: what it was asked, and what it charged. It is the witness of every test.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

/// One request for a check.
#[derive(Debug, Clone)]
pub struct Entry {
    pub at: Instant,
    pub row: u32,
    pub key: String,
    /// The charge; nothing for a key that was charged before.
    pub credits: f64,
}

#[derive(Debug, Clone)]
pub struct Book {
    pub balance: f64,
    pub entries: Vec<Entry>,
    /// The jobs that were charged, by row, with the charge of each.
    pub job_charges: Vec<(u32, f64)>,
    /// How often the job of each row was asked for.
    pub job_asked: BTreeMap<u32, u32>,
    /// Keys that the service remembers, with the charge of each.
    pub by_key: BTreeMap<String, f64>,
    /// How often each key was sent.
    pub asked: BTreeMap<String, u32>,
    pub balance_readings: u32,
    /// Messages that arrived on a connection that was idle for too long.
    pub lost: u32,
}

impl Book {
    pub fn new(balance: f64) -> Book {
        let (by_key, asked) = (BTreeMap::new(), BTreeMap::new());
        let (job_charges, job_asked) = (Vec::new(), BTreeMap::new());
        let entries = Vec::new();
        Book { balance, entries, job_charges, job_asked, by_key, asked, balance_readings: 0, lost: 0 }
    }

    /// The number of charges.
    pub fn charges(&self) -> usize {
        self.entries.iter().filter(|entry| entry.credits > 0.0).count()
    }

    pub fn credits(&self) -> f64 {
        let of_jobs = self.job_charges.iter().map(|(_, credits)| credits);
        self.entries.iter().map(|entry| &entry.credits).chain(of_jobs).sum()
    }

    pub fn messages_of(&self, row: u32) -> Vec<&Entry> {
        self.entries.iter().filter(|entry| entry.row == row).collect()
    }

    pub fn keys_of(&self, row: u32) -> usize {
        self.messages_of(row).iter().map(|entry| &entry.key).collect::<BTreeSet<_>>().len()
    }

    /// Rows that were charged more than once.
    pub fn charged_twice(&self) -> Vec<u32> {
        let mut charges: BTreeMap<u32, usize> = BTreeMap::new();
        let of_jobs = self.job_charges.iter().map(|(row, _)| *row);
        let entries = self.entries.iter().filter(|entry| entry.credits > 0.0);
        for row in entries.map(|entry| entry.row).chain(of_jobs) {
            *charges.entry(row).or_default() += 1;
        }
        charges.into_iter().filter(|(_, count)| *count > 1).map(|(row, _)| row).collect()
    }
}
