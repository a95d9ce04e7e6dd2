//! The run: rows are ingested, requests are sent, answers are published. A run publishes however it ends, except after
//! a second interrupt.

use super::{
    Corrections,
    blocking::blocking,
    campaign::{Campaign, consent, rules::use_rules},
    intake::{IntakeProgress, body_receiver::BodyReceiver, ingest::Ingest, notes::Notes, rejections::Rejections},
    partition_outputs,
    plan::money::Money,
    prepare::Prepared,
    publish::{PublishOptions, Publisher, Stage, Tap},
    report::{Remarks, RunReport},
    report_stops,
    run_record::{NextCommand, recorded},
    send::{
        Progress, RunChannels, SendEnd, Signal,
        earlier_stop::EarlierStop,
        follow::{FollowUntil, Following},
        purse::Purse,
        queue::RequestQueue,
        retry::RetryOrder,
    },
    sending::Sending,
};
use crate::{
    error::Error,
    ledger::{AskFate, CommitMode, Ledger, OpenJobs, Reading},
    model::{Stop, stop::STAGE_SEND},
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::Instant,
};

/// The options of a run.
#[derive(Default)]
pub struct RunOptions {
    /// Drain, publish and end after this time.
    pub at_most: Option<Duration>,
    /// Retry failures.
    pub retry: Option<RetryOrder>,
    /// The file with the rows that take the place of failed ones.
    pub corrections: Option<Corrections>,
    /// Where result rows go beside their parts, as JSON lines.
    pub tap: Option<Tap>,
    /// Send even if an earlier run stopped and nothing has changed since.
    pub continue_anyway: bool,
    /// Send even if the service asked an earlier run to wait.
    pub lift_pause: bool,
    /// Publish answers that no rule recognises as results.
    pub accept_unrecognised: bool,
    /// Makes the command that continues, which the report and the ledger name.
    pub next_command: Option<NextCommand>,
}

impl Campaign {
    /// Runs the campaign to its end without signals or progress: [`Prepared::open`], then [`Prepared::go`].
    pub async fn run(self) -> Result<RunReport, Error> {
        let (_alive, signals) = mpsc::channel(1);
        let prepared = Prepared::open(self).await?;
        prepared.go(RunOptions::default(), signals, watch::Sender::new(Progress::default())).await
    }
}

impl Prepared {
    /// Runs the campaign: ingests rows, sends requests, settles replies, publishes results.
    ///
    /// # Errors
    /// See [`Error`]. A stop after which the campaign can be resumed is not an error; it is in the report.
    pub async fn go(
        self,
        mut options: RunOptions,
        signals: mpsc::Receiver<Signal>,
        progress: watch::Sender<Progress>,
    ) -> Result<RunReport, Error> {
        let (campaign, ledger) = (Arc::clone(&self.campaign), Arc::clone(&self.ledger));
        let next_command = options.next_command.take();
        let book = self.book();
        let work = Box::pin(self.work(options, signals, progress));
        let ran = recorded(&ledger, &campaign, "run", next_command, work).await;
        if ran.is_err() {
            partition_outputs::give_back(book.as_deref()).await;
        }
        ran
    }

    async fn work(
        mut self,
        options: RunOptions,
        signals: mpsc::Receiver<Signal>,
        progress: watch::Sender<Progress>,
    ) -> Result<RunReport, Error> {
        let (campaign, ledger) = (Arc::clone(&self.campaign), Arc::clone(&self.ledger));
        let (was_complete, attempts_before) = (ledger.sums().completed_at_us.is_some(), ledger.sums().attempts);
        let check_uses = ledger.check_uses(self.check_uses()?).await?;
        self.record_settings().await?;
        ledger.record_consent(consent::recorded(&campaign, &consent::system_user())).await?;
        let rules = use_rules(&campaign, &ledger).await?;
        let accept_unrecognised = options.accept_unrecognised;
        let publish = PublishOptions { tap: options.tap, rules, accept_unrecognised, ..PublishOptions::default() };
        let publisher = Arc::new(Publisher::new(&campaign, Arc::clone(&ledger), publish)?);
        let receiver = self.body_receiver().await?;
        let context = self.context()?;
        self.remap(&check_uses, receiver.clone()).await?;
        let is_corrected = self.correct(options.corrections, receiver.clone()).await?;
        if options.continue_anyway {
            ledger.new_wait(false).await?;
        }

        let queue = RequestQueue::new(ledger.reading()?, campaign.expect_rows.is_some())?;
        let ends_with_us = campaign.service.simulate && campaign.service.in_process.is_none();
        let until = if ends_with_us { FollowUntil::SimulatorEnds } else { FollowUntil::Sent };
        let following = Following::new(until, ledger.reading()?, &context)?;
        let of_files = self.intake.is_of_files();
        let completed = self.fail_incomplete_lines().await?;
        let (ingest, intake) = self.begin_intake(check_uses, receiver).await?;
        let notes = ingest.notes.clone();
        let channels = RunChannels {
            signals,
            progress,
            intake,
            deadline: options.at_most.map(|at_most| Instant::now() + at_most),
        };
        // Retrying or correcting failures is also a decision to continue.
        let continue_anyway = options.continue_anyway || options.retry.is_some() || is_corrected;
        let earlier_stop = EarlierStop { continue_anyway, lift_pause: options.lift_pause };
        let before = Arc::clone(&context);
        let sending = Sending { context, queue, following, channels, retry: options.retry };
        // If it fails, ingesting stops when `ingest` is dropped.
        let (mut end, publishing) = sending.send(&publisher, earlier_stop.stop(&before)).await?;
        let ingested = ingest.end(of_files, &mut end).await;
        publishing.finish().await?;
        let notes = notes.borrow().clone();
        // A retry sends requests of a complete campaign again.
        let was_complete = was_complete && ledger.sums().attempts == attempts_before;
        let remarks = Remarks { was_complete, notes, completed, collected: false };
        publish_and_report(&campaign, &ledger, publisher, end, ingested, remarks, Some(&before.purse)).await
    }

    /// Fails the unsent requests of rows whose line was completed after they were read. Returns a message for each row.
    async fn fail_incomplete_lines(&self) -> Result<Vec<String>, Error> {
        let names: Vec<String> = self.campaign.inputs.iter().map(|input| input.name.clone()).collect();
        let sources = self.ledger.sources(names.clone()).await?;
        let mut lines = Vec::new();
        for (name, row) in self.intake.completed_rows() {
            let Some(at) = names.iter().position(|known| *known == name) else { continue };
            let completed = self.ledger.line_completed(sources[at], row).await?;
            let became = match completed.kept {
                0 => "it failed and was not sent",
                _ => "it was sent as first read, see the column `sent` of its result",
            };
            lines.push(format!(
                "row {row} of {name} was read before its line was complete: {became}; put the completed row into a \
                 separate file and check it in a new campaign"
            ));
        }
        Ok(lines)
    }

    /// The receiver that the bodies of new requests name.
    async fn body_receiver(&self) -> Result<BodyReceiver, Error> {
        let receiver = self.campaign.receiver(&self.ledger, self.scope()).await?;
        let Some(receiver) = receiver else { return Ok(BodyReceiver::default()) };
        let checks = self.campaign.checks().into_iter().filter(|one| self.campaign.has_receiver(one));
        BodyReceiver::new(&receiver, checks.map(|one| one.name.clone()).collect())
    }

    /// Starts ingesting rows in the background.
    async fn begin_intake(
        self,
        check_uses: Vec<i64>,
        receiver: BodyReceiver,
    ) -> Result<(IngestTask, watch::Receiver<IntakeProgress>), Error> {
        let names: Vec<String> = self.campaign.inputs.iter().map(|input| input.name.clone()).collect();
        let sources = self.ledger.sources(names.clone()).await?;
        let (rows, progress) = watch::channel(IntakeProgress::default());
        let (noting, notes) = watch::channel(Notes::default());
        let stop = Arc::new(AtomicBool::new(false));
        let ingest = Ingest {
            ledger: Arc::clone(&self.ledger),
            sources: names.into_iter().zip(sources).collect(),
            check_uses,
            checks: self.campaign.uses.iter().map(|one| one.check.clone()).collect(),
            limited: self.campaign.source_options.limit_rows.is_some(),
            progress: rows,
            notes: noting,
            stop: Arc::clone(&stop),
            receiver,
        };
        let task = match self.campaign.commit_mode {
            CommitMode::Background => tokio::task::spawn_blocking(move || ingest.run(self.intake)),
            CommitMode::Inline => tokio::spawn(ingest.run_inline(self.intake)),
        };
        Ok((IngestTask { task, stop, notes }, progress))
    }
}

/// The running ingest task.
struct IngestTask {
    task: JoinHandle<Result<(), Error>>,
    stop: Arc<AtomicBool>,
    notes: watch::Receiver<Notes>,
}

impl IngestTask {
    fn abandon(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.task.abort();
    }

    /// Waits for the task to end. Files are read to the end, so that every row is accounted for, unless the process is
    /// asked to stop. A pipe may never end, so it is abandoned after three seconds, in which it may finish its current
    /// split.
    async fn end(mut self, of_files: bool, end: &mut SendEnd) -> Result<(), Error> {
        let mut patience = if of_files && !end.sent.stops.iter().any(Stop::is_urgent) {
            None
        } else {
            self.stop.store(true, Ordering::Relaxed);
            Some(Duration::from_secs(3))
        };
        loop {
            tokio::select! {
                biased;
                ingested = &mut self.task => return ingested.map_err(Error::from)?,
                Some(signal) = end.signals.recv() => {
                    end.record_signal(signal);
                    self.stop.store(true, Ordering::Relaxed);
                    patience = Some(Duration::from_secs(3));
                }
                () = tokio::time::sleep(patience.unwrap_or(Duration::MAX)), if patience.is_some() || end.cut_short => {
                    self.task.abort();
                    return Ok(());
                }
            }
        }
    }
}

impl Drop for IngestTask {
    /// Stops ingesting and releases the ledger when the run is abandoned.
    fn drop(&mut self) {
        self.abandon();
    }
}

/// Publishes and makes the report, unless a second interrupt asked the process to end at once. `ingested` is the result
/// of the ingest task.
pub async fn publish_and_report(
    campaign: &Campaign,
    ledger: &Ledger,
    publisher: Arc<Publisher>,
    mut end: SendEnd,
    ingested: Result<(), Error>,
    remarks: Remarks,
    purse: Option<&Purse>,
) -> Result<RunReport, Error> {
    let published = if end.cut_short {
        None
    } else {
        let publishing = Arc::clone(&publisher);
        unless_interrupted(campaign.commit_mode, move || publishing.publish(Stage::Stopped), &publisher, &mut end)
            .await?
    };
    let Some(manifest) = published else {
        return Ok(RunReport::cut_short(campaign, ledger.sums(), end.sent.stops));
    };
    ingested?;
    if manifest.complete {
        ledger.complete(campaign.clock.now_us()).await?;
        // Everything was sent, so stops that only prevent sending no longer apply to this run. The ledger keeps them: they
        // apply again if rows are added to the input.
        end.sent.stops.retain(|stop| !stop.prevents_sending());
    }
    partition_outputs::tell(purse, campaign, &manifest).await;
    let reading = publisher.reading();
    let open_jobs = OpenJobs { odd: reading.odd_jobs(ODD_JOBS_SHOWN)?, ..reading.open_jobs(None)? };
    let money = Money::new(campaign, &ledger.sums(), &BTreeMap::new(), &reading.planned_by_check()?);
    let report = RunReport {
        open_jobs,
        oldest_doubt_us: reading.oldest_doubt_us()?,
        reused: reading.reused()?,
        unrecognised: reading.unrecognised()?,
        judged_differently: reading.judged_differently()?,
        // What an earlier round answers costs nothing, and is not counted here.
        sufficient_limit: money.sufficient_limit().filter(|_| campaign.reuse.is_none()),
        reasons: rejected(&reading, &end.sent.stops)?,
        by_code: report_stops::commonest(reading.failures_by_code()?),
        ..RunReport::of(campaign, ledger.sums(), end.sent, remarks)
    };
    Ok(report.published(campaign, manifest))
}

/// Why rows were rejected, if they were too many.
fn rejected(reading: &Reading, stops: &[Stop]) -> Result<Rejections, Error> {
    let mut reasons = Rejections::default();
    let of_rows = |stop: &Stop| matches!(stop, Stop::TooManyErrors { stage, .. } if *stage != STAGE_SEND);
    if !stops.iter().any(of_rows) {
        return Ok(reasons);
    }
    let uses = reading.check_uses()?;
    reading.failed_asks(|ask| -> Result<(), Error> {
        if let AskFate::Failure(failure) = &ask.fate {
            let name = ask.check_use.filter(|_| uses.len() > 1).and_then(|check_use| uses.get(&check_use));
            reasons.add(name.map(|row| row.name.as_str()), failure, ask.source, ask.row.line);
        }
        Ok(())
    })?;
    Ok(reasons)
}

/// How many kinds of jobs whose state is not told are listed.
const ODD_JOBS_SHOWN: usize = 3;

/// Runs blocking work; returns `None` if a second interrupt came first and the process is about to end.
async fn unless_interrupted<T: Send + 'static>(
    commit_mode: CommitMode,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    publisher: &Publisher,
    end: &mut SendEnd,
) -> Result<Option<T>, Error> {
    let mut working = std::pin::pin!(blocking(commit_mode, work));
    loop {
        tokio::select! {
            biased;
            done = &mut working => return done.map(Some),
            Some(signal) = end.signals.recv() => {
                end.record_signal(signal);
                publisher.interrupt();
                if end.cut_short {
                    return Ok(None);
                }
            }
        }
    }
}
