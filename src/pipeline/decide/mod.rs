//! `rescreen decide`: records what a person decided about the matches of a worklist. Each decision is compared with the answer in
//! the ledger first, so that a worklist of another round, or one that a spreadsheet program has damaged, decides nothing.

mod file;

use super::{
    campaign::{consent::person, place::decisions_file, read_file, recorded::campaign_of},
    publish::{acceptance::decisions_of, project::Projector},
    status::open_ledger,
};
use crate::{
    decisions::{self, Decision, Decisions, Word},
    error::Error,
    ledger::AskView,
    model::Clock,
    sink::OutputMode,
};
use file::{Filled, FilledWorklist};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// A worklist to record.
pub struct DecideOrder<'a> {
    /// An output folder, or a ledger file.
    pub place: &'a Path,
    /// A campaign file that names the file of decisions.
    pub config: Option<&'a Path>,
    /// The worklist.
    pub from: &'a Path,
    /// Who decided.
    pub by: &'a str,
    /// The reason of the rows that have none.
    pub why: Option<&'a str>,
    pub clock: Clock,
}

/// What was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    pub campaign: String,
    pub mode: OutputMode,
    /// The file of decisions, and how many it has now.
    pub file: PathBuf,
    pub count: u64,
    pub accepted: u64,
    pub not_accepted: u64,
    /// Rows whose decision was recorded before.
    pub unchanged: u64,
    /// Rows without a decision.
    pub undecided: u64,
}

/// The longest reason and subject, in characters.
const TEXT_CHARACTERS_MAX: usize = 2_000;
/// How many faults are named.
const FAULTS_SHOWN: usize = 5;

/// Records the decisions of a worklist: all of them, or none if one has a fault.
///
/// # Errors
/// The worklist or the ledger cannot be read, a decision does not fit the answer that it is about, or the file of decisions
/// cannot be written.
pub fn record_decisions(order: &DecideOrder<'_>) -> Result<Decided, Error> {
    let worklist = file::read(order.from)?;
    let reading = open_ledger(order.place)?;
    let config = order.config.map(read_file).transpose()?;
    let base = order.config.and_then(Path::parent).unwrap_or(Path::new(""));
    let campaign = campaign_of(&reading, reading.path(), order.place, config.as_ref().map(|file| (file, base)))?;
    reading.hold_still()?;
    let is_simulated = campaign.service.simulate || reading.sums()?.simulated == Some(true);
    let file = decisions_file(campaign.decisions.as_deref(), &campaign.ledger);
    let known = decisions_of(&reading, &file)?.unwrap_or_default();
    let mut deciding = Deciding::of(order, &worklist, OutputMode::of(campaign.mode, is_simulated), &known)?;
    let projector = Projector::new(&campaign, reading.check_uses()?)?;
    reading.every_ask(|ask| deciding.ask(&projector, &ask))?;
    let Deciding { new, unchanged, .. } = deciding.end(&campaign.name)?;
    let count = |word: Word| new.iter().filter(|decision| decision.decision == word).count() as u64;
    let (accepted, not_accepted) = (count(Word::Accepted), count(Word::NotAccepted));
    let head = known.head().clone();
    let head = if new.is_empty() { head } else { decisions::append(&file, &head, new)? };
    Ok(Decided {
        mode: OutputMode::of(campaign.mode, is_simulated),
        campaign: campaign.name,
        file,
        count: head.count,
        accepted,
        not_accepted,
        unchanged,
        undecided: worklist.undecided,
    })
}

/// The rows of a worklist, while the answers that they are about are looked for.
struct Deciding<'a> {
    order: &'a DecideOrder<'a>,
    known: &'a Decisions,
    mode: OutputMode,
    by: &'a str,
    at: String,
    /// The rows that no answer was found for yet, by the row of the results.
    waiting: HashMap<&'a str, Vec<&'a Filled>>,
    new: Vec<Decision>,
    /// The line, the word and the digest of each match that a row decided about.
    decided: HashMap<[u8; 16], (u64, Word, String)>,
    unchanged: u64,
    faults: Vec<(u64, String)>,
}

impl<'a> Deciding<'a> {
    fn of(
        order: &'a DecideOrder<'a>,
        worklist: &'a FilledWorklist,
        mode: OutputMode,
        known: &'a Decisions,
    ) -> Result<Deciding<'a>, Error> {
        let mut waiting: HashMap<&str, Vec<&Filled>> = HashMap::new();
        for row in &worklist.rows {
            waiting.entry(&row.result_id).or_default().push(row);
        }
        let by = person(order.by, "who decided")?;
        Ok(Deciding {
            order,
            known,
            mode,
            by,
            at: order.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            waiting,
            new: Vec::new(),
            decided: HashMap::new(),
            unchanged: 0,
            faults: Vec::new(),
        })
    }

    fn ask(&mut self, projector: &Projector, ask: &AskView<'_>) -> Result<(), Error> {
        let result_id = projector.result_id(self.mode, ask);
        let Some(rows) = self.waiting.remove(result_id.as_str()) else { return Ok(()) };
        for row in rows {
            if let Err(fault) = self.row(projector, ask, row)? {
                self.faults.push((row.line, fault));
            }
        }
        Ok(())
    }

    /// Records one row, or says what is wrong with it.
    fn row(&mut self, projector: &Projector, ask: &AskView<'_>, row: &Filled) -> Result<Result<(), String>, Error> {
        let Some(subject) = ask.row.subject.as_deref() else {
            return Ok(Err(
                "the row has no subject, which a decision is about: name the column with [input] id".to_owned()
            ));
        };
        if !is_same_text(subject, &row.subject) {
            return Ok(Err(format!(
                "expected the subject of the row `{}` of the results, found another one; columns may have been sorted alone, or \
                 a program may have changed the cell: use a workbook (.xlsx)",
                row.result_id
            )));
        }
        if subject.chars().count() > TEXT_CHARACTERS_MAX {
            return Ok(Err(format!("the subject has more than {TEXT_CHARACTERS_MAX} characters")));
        }
        let Some(decidable) = projector.decidable(None, self.mode, ask)? else {
            return Ok(Err("the result has no matches to decide about; make a new worklist".to_owned()));
        };
        // The digest is enough, and a spreadsheet program cannot read it as a number.
        let found = decidable.matches.iter().find(|one| one.digest == row.match_digest);
        let Some((one, about)) = found.and_then(|one| Some((one, decidable.about(one)?))) else {
            return Ok(Err("the answer has no such match; make a new worklist".to_owned()));
        };
        let why = if row.why.is_empty() { self.order.why.unwrap_or_default().trim() } else { &row.why };
        if why.is_empty() {
            return Ok(Err(
                "column `why`: expected the reason for the decision, found none; fill it in, or give --why".to_owned(),
            ));
        }
        if why.chars().count() > TEXT_CHARACTERS_MAX {
            return Ok(Err(format!("column `why`: expected at most {TEXT_CHARACTERS_MAX} characters, found more")));
        }
        if let Some((line, word, digest)) = self.decided.get(&about.key()) {
            if (*word, digest.as_str()) != (row.word, &*one.digest) {
                return Ok(Err(format!(
                    "the decision differs from that of line {line}, which is about the same match"
                )));
            }
            self.unchanged += 1;
            return Ok(Ok(()));
        }
        self.decided.insert(about.key(), (row.line, row.word, one.digest.clone()));
        let known = self.known.about(about);
        if known.is_some_and(|known| known.word == row.word && known.is_about(&one.digest)) {
            self.unchanged += 1;
            return Ok(Ok(()));
        }
        if let Some(later) = known.filter(|known| known.number > row.last_decision) {
            return Ok(Err(format!(
                "decision {} about this match is newer than the worklist; make a new worklist",
                later.number
            )));
        }
        self.new.push(Decision {
            n: 0,
            decision: row.word,
            mode: about.mode.to_owned(),
            check: about.check.to_owned(),
            subject: about.subject.to_owned(),
            content: about.content.to_owned(),
            match_id: one.id.clone(),
            digest: one.digest.clone(),
            why: why.to_owned(),
            by: self.by.to_owned(),
            at: self.at.clone(),
            campaign: projector.campaign().to_owned(),
            result_id: row.result_id.clone(),
        });
        Ok(Ok(()))
    }

    /// All rows were found, and none has a fault.
    fn end(mut self, campaign: &str) -> Result<Deciding<'a>, Error> {
        for row in std::mem::take(&mut self.waiting).into_values().flatten() {
            self.faults.push((
                row.line,
                format!(
                    "expected a result of the campaign {campaign} ({}), found another `result_id`; the worklist is of another \
                     campaign, or a program has changed the cell",
                    self.mode.as_str()
                ),
            ));
        }
        if self.faults.is_empty() {
            return Ok(self);
        }
        self.faults.sort_unstable();
        let shown = self.faults.iter().take(FAULTS_SHOWN).map(|(line, fault)| format!("line {line}: {fault}"));
        let mut listed: Vec<String> = shown.collect();
        let more = self.faults.len() - listed.len();
        listed.extend((more > 0).then(|| format!("and {more} more lines")));
        Err(Error::Config(format!("--from {}: nothing was recorded. {}", self.order.from.display(), listed.join("; "))))
    }
}

/// Whether a cell has this text, also if a spreadsheet program has removed zeros before a number.
fn is_same_text(text: &str, cell: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.trim();
    text == cell || is_number(text) && is_number(cell) && text.trim_start_matches('0') == cell.trim_start_matches('0')
}

#[cfg(test)]
mod tests {
    use super::is_same_text;

    #[test]
    fn a_cell_may_lack_the_zeros_before_a_number_and_nothing_else() {
        for (text, cell, is_same) in [
            ("C-1", "C-1", true),
            (" C-1", "C-1", true),
            ("00123", "123", true),
            ("00123", "1230", false),
            ("C-1", "C-2", false),
            ("123456789012345678", "1.23457E+17", false),
            ("0", "", false),
        ] {
            assert_eq!(is_same_text(text, cell), is_same, "{text} {cell}");
        }
    }
}
