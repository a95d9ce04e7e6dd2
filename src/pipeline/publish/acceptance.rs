//! Which answers need no person, because all their matches were accepted before. This module decides it, when a part is about to
//! be written: the ledger records it first, so the part never depends on a later state of the decisions.

use super::{project::Projector, row_rules::RowRules};
use crate::{
    catalogue::Match,
    decisions::{self, About, Decisions, DecisionsError, Word, content_digest},
    error::Error,
    ledger::{AskFate, AskView, Reading},
    model::question::question_of,
    pipeline::campaign::{Campaign, place::decisions_file},
    sink::OutputMode,
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

/// An answer about whose matches a person can decide.
pub struct Decidable<'a> {
    mode: OutputMode,
    check: &'a str,
    /// `None` if no column of the input identifies the rows.
    subject: Option<&'a str>,
    content: String,
    pub matches: Vec<Match>,
}

impl Decidable<'_> {
    /// What a decision about one of the matches is about; `None` without a subject.
    pub fn about<'a>(&'a self, one: &'a Match) -> Option<About<'a>> {
        let Decidable { mode, check, subject, content, .. } = self;
        subject.map(|subject| About { mode: mode.as_str(), check, subject, content, match_id: &one.id })
    }

    /// The numbers of the decisions that accepted all matches; `None` if a person has to look at one.
    fn accepted(&self, decisions: &Decisions) -> Option<Vec<u64>> {
        let accepted = |one: &Match| {
            let known = decisions.about(self.about(one)?)?;
            (known.word == Word::Accepted && known.is_about(&one.digest)).then_some(known.number)
        };
        self.matches.iter().map(accepted).collect()
    }
}

impl Projector {
    /// The matches of an ask's answer, if its verdict comes from them alone by these rules, or else the current ones.
    ///
    /// # Errors
    /// The ask belongs to no check of the campaign.
    pub fn decidable<'a>(
        &'a self,
        rules: Option<&RowRules>,
        mode: OutputMode,
        ask: &'a AskView<'_>,
    ) -> Result<Option<Decidable<'a>>, Error> {
        let AskFate::Request(request) = &ask.fate else { return Ok(None) };
        let check = self.check(ask.check_use)?;
        let rules = rules.unwrap_or(&check.current);
        let matches = request.answer.as_ref().and_then(|answer| rules.matches(request, answer));
        let subject = ask.row.subject.as_deref();
        Ok(matches.map(|matches| Decidable {
            mode,
            check: check.check(),
            subject,
            content: content_digest(&question_of(&request.body)),
            matches,
        }))
    }

    /// An ask as the decisions of today judge it. Without a file of decisions, what was recorded with its part counts.
    ///
    /// # Errors
    /// Those of [`Projector::decidable`].
    pub fn decided<'a>(
        &self,
        mode: OutputMode,
        ask: AskView<'a>,
        by: Option<&Decisions>,
    ) -> Result<AskView<'a>, Error> {
        let accepted = by.map(|by| self.accepted(None, mode, &ask, by)).transpose()?;
        Ok(match accepted {
            Some(accepted) => AskView { accepted, ..ask },
            None => ask,
        })
    }

    /// The numbers of the decisions that accepted all matches of an ask's answer, in JSON.
    ///
    /// # Errors
    /// Those of [`Projector::decidable`].
    pub fn accepted(
        &self,
        rules: Option<&RowRules>,
        mode: OutputMode,
        ask: &AskView<'_>,
        by: &Decisions,
    ) -> Result<Option<String>, Error> {
        let accepted = self.decidable(rules, mode, ask)?.and_then(|decidable| decidable.accepted(by));
        Ok(accepted.map(|numbers| serde_json::to_string(&numbers).expect("numbers")))
    }
}

/// The decisions in the file of a campaign. Without a file there are none, unless the campaign was published with some.
///
/// # Errors
/// The file cannot be read, a line was changed, or it is another file than before, or missing.
pub fn decisions_of(reading: &Reading, file: &Path) -> Result<Option<Decisions>, Error> {
    let used: Vec<_> = reading.decisions_used()?.into_iter().collect();
    let found = decisions::read(file, &used)?;
    if found.is_none() && !used.is_empty() {
        return Err(Error::Config(format!(
            "{}: expected the decisions that this campaign was published with, found no file; restore it, or name it in the \
             campaign file: [decisions] file",
            file.display()
        )));
    }
    Ok(found)
}

/// The file of decisions of a campaign, read again when it has changed.
pub struct DecisionsInUse {
    path: PathBuf,
    /// The user names it.
    is_named: bool,
    read: Mutex<Option<(Stamp, Arc<Decisions>)>>,
}

/// What changes with a file: its size and its time.
type Stamp = (u64, Option<SystemTime>);

impl DecisionsInUse {
    pub fn of(campaign: &Campaign) -> DecisionsInUse {
        let named = campaign.decisions.as_deref();
        let (path, is_named) = (decisions_file(named, &campaign.ledger), named.is_some());
        DecisionsInUse { path, is_named, read: Mutex::new(None) }
    }

    /// The decisions as they are now; `None` without a file. They continue those that the campaign used before.
    ///
    /// # Errors
    /// The file cannot be read, a line was changed, or it is another file than before.
    pub fn now(&self, reading: &Reading) -> Result<Option<Arc<Decisions>>, Error> {
        let found = match std::fs::metadata(&self.path) {
            Ok(found) => found,
            Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(fault) => {
                let path = self.path.clone();
                return Err(DecisionsError::Storage { path, step: "reading", fault }.into());
            }
        };
        let stamp = (found.len(), found.modified().ok());
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = read.as_ref().filter(|(of, _)| *of == stamp) {
            return Ok(Some(Arc::clone(known)));
        }
        let used: Vec<_> = reading.decisions_used()?.into_iter().collect();
        match (decisions::read(&self.path, &used), read.as_ref()) {
            (Ok(now), _) => {
                let now = now.map(Arc::new);
                *read = now.clone().map(|now| (stamp, now));
                Ok(now)
            }
            // This run continues with the decisions that it has read. The next run refuses the file before it sends anything.
            (Err(error), Some((_, known))) => {
                tracing::warn!("{error}; until then, the decisions of before count");
                Ok(Some(Arc::clone(known)))
            }
            (Err(error), None) => Err(error.into()),
        }
    }

    /// Reads the file before anything is sent.
    ///
    /// # Errors
    /// Those of [`DecisionsInUse::now`].
    pub fn check(&self, reading: &Reading) -> Result<(), Error> {
        if self.now(reading)?.is_some() {
            return Ok(());
        }
        if self.is_named {
            tracing::warn!("{}: there is no such file, so there are no decisions yet", self.path.display());
        } else if reading.decisions_used()?.is_some() {
            tracing::warn!(
                "{}: this file of decisions was used before and is missing now, so every match needs a person again",
                self.path.display()
            );
        }
        Ok(())
    }
}
