//! Decisions about matches: a person looked at a match of an answer and accepted it, or did not. They are kept in one file beside
//! the campaigns, to which lines are only added. This module decides what is known of a match: its last decision.
//!
//! | file | noun |
//! |---|---|
//! | `line` | a decision as a line of the file, and the chain of digests |
//! | `file` | the file, read and added to |

mod error;
mod file;
mod line;

pub use error::DecisionsError;
pub use file::{append, read};
pub use line::{Decision, Word};

use crate::model::{DecisionsHead, key::hex};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// The match that a decision is about.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// The mode of the outputs: a decision about an invented answer says nothing about a real one.
    pub mode: &'a str,
    /// The catalogue name of the check.
    pub check: &'a str,
    pub subject: &'a str,
    /// The digest of what was asked: a decision about one name says nothing about another. See [`content_digest`].
    pub content: &'a str,
    /// The identity of the match.
    pub match_id: &'a str,
}

/// The last decision about a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its number in the file, from 1.
    pub number: u64,
    pub word: Word,
    digest: [u8; 16],
}

impl Known {
    /// Whether it was made about a match with this content.
    pub fn is_about(&self, digest: &str) -> bool {
        self.digest == short(&[digest])
    }
}

/// The last decision about each match. A decision takes about 60 bytes.
#[derive(Debug, Default)]
pub struct Decisions {
    known: HashMap<[u8; 16], Known>,
    head: DecisionsHead,
}

impl Decisions {
    /// The last decision about a match.
    pub fn about(&self, about: About<'_>) -> Option<Known> {
        self.known.get(&about.key()).copied()
    }

    /// The end of the file.
    pub fn head(&self) -> &DecisionsHead {
        &self.head
    }

    fn add(&mut self, decision: &Decision, chain: String) {
        let known = Known { number: decision.n, word: decision.decision, digest: short(&[&decision.digest]) };
        self.known.insert(decision.about().key(), known);
        self.head = DecisionsHead { count: decision.n, chain };
    }
}

impl About<'_> {
    /// A short digest, which identifies it.
    pub fn key(&self) -> [u8; 16] {
        short(&[self.mode, self.check, self.subject, self.content, self.match_id])
    }
}

/// The digest of a question: 32 hexadecimal characters.
pub fn content_digest(question: &[u8]) -> String {
    hex(&short(&[question]))
}

/// A short digest of texts that cannot run together.
fn short<T: AsRef<[u8]>>(texts: &[T]) -> [u8; 16] {
    let mut hasher = Sha256::new();
    for text in texts {
        let text = text.as_ref();
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(text);
    }
    let mut digest = [0; 16];
    digest.copy_from_slice(&hasher.finalize()[..16]);
    digest
}

#[cfg(test)]
mod tests;
