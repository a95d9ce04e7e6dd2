//! The answers of an earlier round that stand for requests of this one. They are looked for by key, which the earlier campaign has
//! made from the same content, and taken before a request is sent.

use super::{
    campaign::{Campaign, place::ledger_in},
    dataset_update::dataset_update,
    judge::DATASET_COLUMN,
    wording::counted,
};
use crate::{
    catalogue::Declaration,
    error::Error,
    ledger::{EarlierAnswer, Ledger, Question, Reading, Sums},
    model::{
        Clock, KeyMaker, RequestId, Verdict,
        clock::local_time,
        reuse::{EarlierState, KnownList},
    },
    pipeline::campaign::reuse::Reuse,
    sink::OutputMode,
};
use serde_json::{Map, Value};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

/// An earlier round, open for reading.
pub struct EarlierRound {
    reading: Mutex<Reading>,
    keys: KeyMaker,
    reuse: Reuse,
    clock: Clock,
    /// When this run began, in microseconds since 1970.
    began_us: i64,
    /// The checks whose answers name the list that they are made with.
    with_list: BTreeSet<String>,
    /// When the service last said that the list has changed, in microseconds since 1970.
    list_updated_us: Option<i64>,
}

impl EarlierRound {
    /// Opens the earlier round of a campaign; `None` if it uses no earlier answers.
    ///
    /// # Errors
    /// It has no ledger, is this campaign, or its answers cannot be used in this one.
    pub fn open(campaign: &Campaign) -> Result<Option<Arc<EarlierRound>>, Error> {
        let Some(reuse) = &campaign.reuse else { return Ok(None) };
        let path = ledger_in(&reuse.from);
        let refused = |fault: String| Error::Config(format!("[reuse] from {}: {fault}", reuse.from.display()));
        let absent =
            "expected the output folder of an earlier round with its ledger, or the name of its campaign, found none";
        let reading = Reading::if_any(Reading::open(&path))?.ok_or_else(|| refused(absent.to_owned()))?;
        let (old, new) = (reading.identity()?, campaign.identity());
        let old_mode = OutputMode::of(old.mode, reading.sums()?.simulated == Some(true));
        if campaign.service.simulate && old_mode != OutputMode::Simulated {
            tracing::warn!("a rehearsal uses no answers of {}, so it asks for every row", reuse.from.display());
            return Ok(None);
        }
        if let Some(purge) = reading.purges()?.pop() {
            let counts = reading.counts()?;
            if counts.values().all(|counts| counts.asks() == counts.purged) {
                let at = local_time(purge.stamp.at_us);
                let fault = format!(
                    "its rows and answers were purged on {at}, so every row would be asked again; name another round"
                );
                return Err(refused(fault));
            }
            let asks = counted(counts.values().map(|counts| counts.purged).sum(), "ask was", "asks were");
            tracing::warn!("{asks} purged from {}: what they asked is asked and paid for again", reuse.from.display());
        }
        if path.canonicalize().ok() == campaign.ledger.canonicalize().ok() {
            return Err(refused(format!("expected an earlier round, found this campaign, {}", new.campaign)));
        }
        if (old.mode, &old.origin) != (new.mode, &new.origin) {
            return Err(refused(format!(
                "expected answers in the mode {} from {}, found a round in the mode {} from {}",
                new.mode, new.origin, old.mode, old.origin
            )));
        }
        if campaign.key_secret_is_placeholder {
            tracing::warn!(
                "the key secret comes from a program, which is not started here: no earlier answer is found"
            );
            return Ok(None);
        }
        if old.key_secret != new.key_secret {
            return Err(refused(
                "expected a round with the same key secret, found one with another or none: its answers are found by key"
                    .to_owned(),
            ));
        }
        Ok(Some(Arc::new(EarlierRound {
            keys: KeyMaker { campaign: old.campaign, mode: old.mode, secret: campaign.key_secret.clone() },
            list_updated_us: dataset_update(campaign.webhook.inbox.as_deref()).map(|newest| newest.received_at_us),
            reuse: reuse.clone(),
            clock: campaign.clock,
            began_us: campaign.clock.now_us(),
            with_list: campaign
                .checks()
                .into_iter()
                .filter(|check| has_list(check))
                .map(|check| check.name.clone())
                .collect(),
            reading: Mutex::new(reading),
        })))
    }

    /// The answer to the same question, if it may be used. `sums` are those of this campaign's ledger.
    ///
    /// # Errors
    /// The ledger of the earlier round cannot be read.
    pub fn answer(
        &self,
        check: &str,
        (fields, body): (&Map<String, Value>, &[u8]),
        sums: Option<&Sums>,
    ) -> Result<Option<Earlier>, Error> {
        let key = self.keys.key(check, fields, 0);
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(found) = reading.earlier_answer(&self.keys.campaign, &key, (check, body))? else { return Ok(None) };
        let list = found.record.dataset.as_deref();
        let state =
            EarlierState { completed_at_us: found.completed_at_us, has_list: self.with_list.contains(check), list };
        // An answer that no rule recognises, or that belongs to another request, is asked for again.
        let is_sound = !found.is_crossed && found.record.judgement.verdict != Verdict::Unrecognised;
        let (rule, known) = (self.reuse.rule(check), self.list(check, sums));
        if !is_sound || !rule.allows(state, known, self.clock.now_us()) {
            return Ok(None);
        }
        let needs_list = state.has_list && known.newest.is_none() && !rule.even_if_list_changed;
        Ok(Some(if needs_list { Earlier::IfListIsSame(found) } else { Earlier::Usable(found) }))
    }

    /// What is known of the list of a check: the version of the last answer that this run has received.
    fn list<'a>(&self, check: &str, sums: Option<&'a Sums>) -> KnownList<'a> {
        let seen = sums.and_then(|sums| sums.datasets.get(check)).into_iter().flatten();
        // Answers that were used again keep their time.
        let newest = seen.filter(|seen| seen.last_us >= self.began_us).max_by_key(|seen| seen.last_us);
        KnownList { newest: newest.map(|seen| seen.version.as_str()), updated_at_us: self.list_updated_us }
    }

    /// Takes the answers to these requests into the ledger of this campaign. Where the service names no list any more, which
    /// `unnamed` says, it is not known to have changed.
    ///
    /// # Errors
    /// A ledger cannot be read or written.
    pub async fn take(
        &self,
        ledger: &Ledger,
        requests: &[RequestId],
        unnamed: &BTreeSet<String>,
    ) -> Result<Taken, Error> {
        let mut taken = Taken::default();
        for requests in requests.chunks(ANSWERS_AT_ONCE) {
            let mut answers = Vec::new();
            let reading = ledger.reading()?;
            // Those of the last commit: the published ones may be older.
            let sums = reading.sums()?;
            for Question { request, check, fields, body } in reading.questions(requests)? {
                match self.answer(&check, (&fields, &body), Some(&sums))? {
                    Some(Earlier::Usable(answer)) => answers.push((request, answer)),
                    Some(Earlier::IfListIsSame(answer)) if unnamed.contains(&check) => answers.push((request, answer)),
                    Some(Earlier::IfListIsSame(_)) => drop(taken.need_list.insert(request)),
                    None => {}
                }
            }
            taken.requests.extend(ledger.reuse(answers).await?);
        }
        Ok(taken)
    }
}

/// Whether the answers of a check name the list that they are made with.
pub fn has_list(check: &Declaration) -> bool {
    check.answer.columns.iter().any(|column| column.name == DATASET_COLUMN)
}

/// An answer that may be used.
pub enum Earlier {
    Usable(EarlierAnswer),
    /// Only if the list is still the one that it was made with, which no answer of this run has said yet.
    IfListIsSame(EarlierAnswer),
}

/// What became of requests.
#[derive(Default)]
pub struct Taken {
    /// They have an answer, and are not sent.
    pub requests: BTreeSet<RequestId>,
    /// An answer of this run has to say first which list there is now.
    pub need_list: BTreeSet<RequestId>,
}

/// How many answers are in memory at once. An answer has a few kilobytes, and at most 32 MiB.
const ANSWERS_AT_ONCE: usize = 16;
