//! The plan: reads and maps all inputs, sends nothing, and says what a run would do and cost, and what would stop it.
//!
//! | file | noun |
//! |---|---|
//! | `planned` | everything that a plan found |
//! | `split_counts` | the counts of one split, made by several threads |
//! | `tally` | the sum of the counts |
//! | `earlier_rows` | the rows that earlier runs have read |
//! | `tree` | the counts from rows to requests |
//! | `money` | cost, limit, balance and time |
//! | `outlook` | what would stop a run |

pub mod earlier_rows;
pub mod money;
pub mod outlook;
pub mod planned;
pub mod split_counts;
pub mod tally;
pub mod tree;

use super::{
    campaign::{
        Campaign,
        out_folder::{refuse_inputs_inside, refuse_other_writers},
        remains::{refuse_lost_ledger, refuse_older},
        result_layout::{agreed_uses, as_recorded, check_layouts},
        rules::compile_rules,
    },
    corrections::{Correcting, CorrectionCounts, decide, file},
    failure_file::FailureFile,
    intake::{
        Found, Intake,
        body_receiver::BodyReceiver,
        changed::{ReadAgain, WayOn, open_inputs, way_on},
        notes::Notes,
    },
};
use crate::{
    error::Error,
    ledger::{CommitMode, Ledger, Reading, SourceView},
    mapping::Bound,
    source::Split,
};
use earlier_rows::EarlierRows;
use money::Money;
pub use planned::{Plan, PlanOptions};
use split_counts::{SplitCounts, Worker};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
};
use tally::Tally;

/// Reads and maps all inputs. Blocks.
///
/// # Errors
/// The errors that would stop a run before its first request.
pub fn plan(campaign: &Campaign, options: &PlanOptions) -> Result<Plan, Error> {
    compile_rules(campaign)?;
    check_layouts(campaign)?;
    refuse_inputs_inside(campaign)?;
    if campaign.out.is_dir() {
        refuse_other_writers(&campaign.out)?;
    }
    let open = if campaign.accept_older_ledger { Reading::open_older } else { Reading::open };
    let reading = Reading::if_any(open(&campaign.ledger))?;
    let carry = match &reading {
        Some(reading) => {
            reading.refuse_purged()?;
            as_recorded(campaign.carry.clone(), reading)?
        }
        None => campaign.carry.clone(),
    };
    let recorded = &Campaign { carry, ..campaign.clone() };
    let known = match &reading {
        None => {
            refuse_lost_ledger(campaign)?;
            Vec::new()
        }
        Some(reading) => {
            let mut identity = campaign.identity();
            if campaign.key_secret_is_placeholder {
                identity.key_secret = reading.identity()?.key_secret;
            }
            reading.agrees(&identity)?;
            refuse_older(campaign, reading)?;
            reading.agrees_on_checks(&agreed_uses(recorded, reading)?)?;
            reading.sources()?
        }
    };
    let sums = reading.as_ref().map(Reading::sums).transpose()?;
    let changed = change(recorded, &known, reading.as_ref())?;
    let is_afresh = matches!(changed, Some(Change::ReadAfresh));
    let mut campaign = if is_afresh { campaign } else { recorded };
    // A run reads the rows again that were never sent. Here, a copy of the ledger does.
    let (reading, known, sums, again) = match &changed {
        Some(Change::ReadAgain(copy)) => {
            campaign = &copy.campaign;
            let reading = Reading::open(&campaign.ledger)?;
            let (sources, sums) = (reading.sources()?, reading.sums()?);
            (Some(reading), sources, Some(sums), copy.rows.as_slice())
        }
        _ => (reading, known, sums, [].as_slice()),
    };
    let mut intake = Intake::open(campaign, &[])?;
    // A run would not use the ledger of an input that changed before anything was sent.
    let (reading, sums) = if is_afresh { (None, None) } else { (reading, sums) };
    let failures = options.failures.as_ref().map(|path| FailureFile::create(path, intake.columns())).transpose()?;
    let (corrections, corrected) = corrections(campaign, options, reading.as_ref(), &intake)?;
    let plan =
        Plan { corrections, feeds: intake.feeds(), unmapped_columns: intake.unmapped_columns(), ..Plan::default() };
    let earlier = reading.as_ref().map(|reading| EarlierRows::new(campaign, reading, &known)).transpose()?;
    let mut worker =
        Worker::new(campaign, options, earlier.unwrap_or_default(), intake.carried_kinds(), sums.as_ref())?;
    worker.is_afresh = is_afresh;
    let mut tally = Tally::new(plan, campaign.guards, options.show, failures);
    let of_rows = std::thread::scope(|scope| {
        // Splits are given to the workers in turn, and the results are received in turn. This keeps the input order.
        let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(WORKERS_MAX));
        let (mut senders, mut counted) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            let (sender, splits) = sync_channel(1);
            let (give, take) = sync_channel(1);
            let worker = &worker;
            scope.spawn(move || count_all(worker, &splits, &give));
            senders.push(sender);
            counted.push(take);
        }
        let reading = scope.spawn(move || send_all(&mut intake, &senders));
        for counts in counted.iter().cycle() {
            let Ok(split) = counts.recv() else { break };
            tally.add(split?)?;
            worker.wants_more.store(tally.wants_more(), Ordering::Relaxed);
        }
        drop(counted);
        let ended = reading.join();
        ended.unwrap_or_else(|_| Err(Error::Internal("reading the input panicked".to_owned())))
    })?;
    let (mut plan, mut to_send) = tally.end(campaign)?;
    again.iter().for_each(|rows| plan.notes.add_line(rows.line()));
    plan.notes.join(of_rows);
    for (check, new) in corrected {
        to_send.entry(check).or_default().new += new;
    }
    let planned = reading.as_ref().map(Reading::planned_by_check).transpose()?.unwrap_or_default();
    plan.money = Money::new(campaign, &sums.clone().unwrap_or_default(), &to_send, &planned);
    (plan.duration, plan.slowest) =
        plan.money.duration(plan.tree.in_doubt, campaign.service.settings.rate().per_minute);
    plan.oldest_doubt_us = reading.as_ref().map(|reading| reading.oldest_doubt_us()).transpose()?.flatten();
    plan.doubts_by_api_key = reading.map(|reading| reading.doubts_by_api_key()).transpose()?.unwrap_or_default();
    plan.known = sums;
    Ok(plan)
}

/// What a file of corrections would change, and the requests by check that it would add.
fn corrections(
    campaign: &Campaign,
    options: &PlanOptions,
    reading: Option<&Reading>,
    intake: &Intake,
) -> Result<(Option<CorrectionCounts>, BTreeMap<String, u64>), Error> {
    let Some(corrections) = &options.corrections else { return Ok(Default::default()) };
    let Some(reading) = reading else {
        return Err(Error::Config(format!(
            "--corrections {}: expected a campaign that has run, found none; correct the input itself",
            corrections.path.display()
        )));
    };
    let (mapping, carried) = (intake.mapping(), intake.carried_kinds());
    let receiver = BodyReceiver::default();
    let with = Correcting { campaign, mapping: &mapping, carried: &carried, receiver: &receiver, corrections };
    let (asks, counts) = decide(reading, &file::read(&corrections.path)?, &with)?;
    Ok((Some(counts), reading.requests_of_corrections(&asks)?))
}

/// What a run would do about an input that is not the one that was read.
enum Change {
    ReadAfresh,
    ReadAgain(Box<Copied>),
}

/// A campaign with a copy of its ledger in which the rows that changed were read again.
struct Copied {
    campaign: Campaign,
    rows: Vec<ReadAgain>,
    _folder: tempfile::TempDir,
}

/// Checks like a run that the inputs are the same that an earlier run has read.
fn change(campaign: &Campaign, known: &[SourceView], reading: Option<&Reading>) -> Result<Option<Change>, Error> {
    if known.is_empty() || !campaign.reads_only_files() {
        return Ok(None);
    }
    let (Err(error), Some(reading)) = (Intake::open(campaign, known), reading) else { return Ok(None) };
    match way_on(&error, campaign, reading.is_unsent()?) {
        WayOn::ReadAfresh => Ok(Some(Change::ReadAfresh)),
        WayOn::ReadAgain => copied(campaign, reading).map(|copied| Some(Change::ReadAgain(Box::new(copied)))),
        WayOn::Refuse => Err(error),
    }
}

fn copied(campaign: &Campaign, reading: &Reading) -> Result<Copied, Error> {
    let (folder, path) = reading.copy()?;
    let campaign = Campaign { ledger: path, ..campaign.clone() };
    let ledger = Ledger::open(&campaign.ledger, &reading.identity()?, CommitMode::Inline, campaign.clock.now_us())?;
    let (_, rows) = open_inputs(&campaign, &ledger)?;
    Ok(Copied { campaign, rows, _folder: folder })
}

/// The maximum number of mapping threads. Reading the input cannot keep more of them busy.
const WORKERS_MAX: usize = 4;

/// A split as it was read, and the bound mapping for it.
type Bundle = (Split, Option<Arc<Bound>>);

/// Reads the input to its end, or until the receivers are dropped.
fn send_all(intake: &mut Intake, workers: &[SyncSender<Bundle>]) -> Result<Notes, Error> {
    let mut notes = Notes::default();
    let mut workers = workers.iter().cycle();
    while let Some(found) = intake.find()? {
        if let Found::End { name, shapes } = &found {
            notes.add_shapes(name, shapes);
        }
        if let Found::Split { split, bound, .. } = found
            && workers.next().is_none_or(|worker| worker.send((split, bound)).is_err())
        {
            break;
        }
    }
    Ok(notes)
}

/// Maps and counts splits until there are no more, or until the receiver is dropped.
fn count_all(worker: &Worker<'_>, splits: &Receiver<Bundle>, counted: &SyncSender<Result<SplitCounts, Error>>) {
    let reading = match Reading::find(&worker.campaign.ledger) {
        Ok(reading) => reading.filter(|_| !worker.is_afresh),
        Err(error) => return drop(counted.send(Err(error.into()))),
    };
    for (split, bound) in splits {
        if counted.send(worker.count(reading.as_ref(), bound.as_deref(), split)).is_err() {
            return;
        }
    }
}
