//! A hand-written service that answers later: it accepts each request as a job, and its status route replies what a test
//! scripts. Hours pass between the commands, because the clocks of the machine and of the service are moved.

use super::{
    Campaign, Hostile, Reply, Service,
    campaign::account_of,
    clock::{ahead, library},
    reply::Cost,
    script::AskedJob,
};
use crate::support::program::Said;
use serde_json::{Value, json};
use std::path::PathBuf;

pub const HOUR: i64 = 3_600;
pub const ROWS: u32 = 6;
/// The row whose job is treated badly.
pub const ODD: u32 = 3;

/// A service whose status route replies this.
pub fn with_status(script: impl Fn(&AskedJob) -> Reply + Send + Sync + 'static) -> Hostile {
    let accepts = |asked: &super::Asked| Some(Reply::error(202, accepted(asked.row)));
    Hostile::new().price(7.0).script(accepts).job_script(script)
}

/// A service that replies this to questions about one job until it is healed, and completes the others.
pub fn with_odd(reply: Reply) -> Hostile {
    with_status(move |asked| if asked.row == ODD && !asked.is_healed { reply.clone() } else { completed(asked.row) })
}

/// The body of the reply that accepts the request of a row as a job.
pub fn accepted(row: u32) -> Value {
    json!({
        "success": true, "jobId": job_of(row), "status": "pending", "mode": "production",
        "reportType": "business-bank", "requiredCredits": 7,
    })
}

/// The job of a row.
pub fn job_of(row: u32) -> String {
    format!("job_R{row:05}")
}

/// The state of a completed job, and its charge of 7 credits.
pub fn completed(row: u32) -> Reply {
    Reply::exactly(&state(row, row)).cost(7.0)
}

/// The state of the completed job of a row, with the result of the account of another one.
pub fn state(row: u32, of_account: u32) -> Value {
    let checks = [
        "accountFound",
        "accountOpen",
        "accountNumberLengthValid",
        "accountTypeMatch",
        "businessNameMatch",
        "registrationNumberMatch",
        "acceptsDebits",
        "acceptsCredits",
    ];
    let checks: serde_json::Map<String, Value> =
        checks.into_iter().map(|name| (name.to_owned(), json!(true))).collect();
    let account = account_of(of_account).to_string();
    let last4 = &account[account.len() - 4..];
    json!({
        "success": true, "jobId": job_of(row), "status": "completed", "mode": "production",
        "reportType": "business-bank", "creditsUsed": 7,
        "result": { "outcome": "verified", "checks": checks, "bank": { "name": "FNB", "accountNumberLast4": last4 } },
    })
}

pub fn pending(row: u32) -> Reply {
    let body = json!({ "success": true, "jobId": job_of(row), "status": "pending", "mode": "production" });
    Reply { cost: Cost::Nothing, ..Reply::exactly(&body) }
}

/// A campaign whose requests are all submitted, and the clocks of its machine and its service.
pub struct Submitted<'a> {
    pub campaign: Campaign<'a>,
    service: &'a Service,
    library: PathBuf,
    ahead_s: i64,
}

impl<'a> Submitted<'a> {
    /// `None` where no clock can be moved.
    #[track_caller]
    pub fn to(service: &'a Service) -> Option<Submitted<'a>> {
        Submitted::of(Campaign::of_jobs(service, ROWS), service)
    }

    #[track_caller]
    pub fn of(campaign: Campaign<'a>, service: &'a Service) -> Option<Submitted<'a>> {
        let library = library()?;
        campaign.run().exits(5);
        let ledger = campaign.ledger();
        assert_eq!((ledger.in_state("submitted"), ledger.held()), (ROWS as usize, 7 * u64::from(ROWS)));
        let submitted = Submitted { campaign, service, library, ahead_s: 0 };
        submitted.is_sent_once(ROWS);
        Some(submitted)
    }

    pub fn hours_pass(&mut self, hours: i64) {
        self.ahead_s += hours * HOUR;
        self.service.pass(hours * HOUR);
    }

    /// `collect`, which asks for each job once.
    #[track_caller]
    pub fn collect(&self) -> Said {
        let command = self.campaign.program(&["collect", "out/hostile"]);
        self.campaign.audited(Said::of(&mut ahead(command, &self.library, self.ahead_s)))
    }

    #[track_caller]
    pub fn run_with(&self, flags: &str) -> Said {
        let command = self.campaign.command(flags);
        self.campaign.audited(Said::of(&mut ahead(command, &self.library, self.ahead_s)))
    }

    /// Each of so many rows was sent once, under one key.
    #[track_caller]
    pub fn is_sent_once(&self, rows: u32) {
        let book = self.service.book();
        let sent: Vec<usize> = (1..=rows).map(|row| book.messages_of(row).len()).collect();
        assert_eq!((sent, book.entries.len()), (vec![1; rows as usize], rows as usize));
    }

    /// The verdict of a published result.
    #[track_caller]
    pub fn verdict(&self, row: u32) -> (String, String) {
        let result = self.campaign.published("results", row);
        ["verdict", "finding"].map(|name| result[name].as_str().unwrap_or_default().to_owned()).into()
    }

    /// The odd job is open and keeps its hold, the others have ended with a result, and each was charged once.
    #[track_caller]
    pub fn only_the_odd_one_is_open(&self, what: &str) {
        let ledger = self.campaign.ledger();
        let (odd, others) = (ledger.row(ODD), ROWS as usize - 1);
        assert_eq!((odd.state, odd.held, odd.charged), ("submitted", 7, 0), "{what}");
        assert_eq!((ledger.in_state("answered"), ledger.charged()), (others, 7 * others as u64), "{what}");
        assert_eq!(self.campaign.dataset("results").len(), others, "{what}");
        self.is_sent_once(ROWS);
    }

    /// Every row has its result and was charged once, both books agree, and another run and `collect` change nothing.
    #[track_caller]
    pub fn is_complete(&self, what: &str) {
        for _ in 0..2 {
            let ledger = self.campaign.ledger();
            let all = u64::from(ROWS) * 7;
            assert_eq!((ledger.in_state("answered"), ledger.held()), (ROWS as usize, 0), "{what}");
            assert_eq!((ledger.charged(), self.service.book().credits()), (all, all as f64), "{what}");
            for row in 1..=ROWS {
                assert_eq!(self.verdict(row).0, "clear", "{what}: row {row}");
            }
            self.is_sent_once(ROWS);
            let asked = self.service.book().job_asked;
            self.run_with("").exits(0);
            self.collect().exits(0);
            assert_eq!(self.service.book().job_asked, asked, "{what}: a job that has ended is not asked for");
        }
    }
}
