//! A service before it starts: its price, what its answers state, its clock, and a script that decides the reply to
//! each message.

use super::reply::{Reply, Travel};
use serde_json::{Map, Value, json};
use std::{path::PathBuf, time::Duration};

/// A request for a check, as a script sees it.
pub struct Asked {
    pub row: u32,
    pub key: String,
    pub body: Value,
    /// How often this key was sent, including this message.
    pub nth: u32,
    /// The number of requests for checks before this one.
    pub before: usize,
    /// The service has charged this key already.
    pub is_charged: bool,
    /// [`Service::heal`] was called.
    pub is_healed: bool,
}

/// A question about the state of a job, as a script sees it.
pub struct AskedJob {
    /// The row whose request became the job.
    pub row: u32,
    /// How often this job was asked for, including this time.
    pub nth: u32,
    /// [`Service::heal`] was called.
    pub is_healed: bool,
}

/// What an answer states about credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stated {
    /// `creditsUsed` and `remainingCredits`.
    Both,
    Used,
    Remaining,
    /// `meta.credits_spent`, as in the second envelope of the description.
    Meta,
    Nothing,
}

pub(super) type Script = Box<dyn Fn(&Asked) -> Option<Reply> + Send + Sync>;
pub(super) type JobScript = Box<dyn Fn(&AskedJob) -> Reply + Send + Sync>;
pub(super) type Statement = Box<dyn Fn(&mut Map<String, Value>, f64, f64) + Send + Sync>;

/// A service before it starts.
pub struct Hostile {
    pub(super) scripts: Vec<Script>,
    pub(super) job_script: Option<JobScript>,
    pub(super) price: Box<dyn Fn(usize) -> f64 + Send + Sync>,
    pub(super) statement: Statement,
    pub(super) balance: f64,
    pub(super) balance_script: Option<Box<dyn Fn(u32, f64) -> Reply + Send + Sync>>,
    pub(super) spent_by_another: Option<(usize, f64)>,
    pub(super) offset_s: i64,
    pub(super) date: Option<String>,
    pub(super) answered: usize,
    pub(super) sleeps: Option<(PathBuf, i64)>,
    pub(super) idle_max: Option<Duration>,
}

impl Hostile {
    pub fn new() -> Hostile {
        Hostile {
            scripts: Vec::new(),
            job_script: None,
            price: Box::new(|_| 1.0),
            statement: Box::new(|body, used, left| state(Stated::Both, body, used, left)),
            balance: 1_000_000.0,
            balance_script: None,
            spent_by_another: None,
            offset_s: 0,
            date: None,
            answered: usize::MAX,
            sleeps: None,
            idle_max: None,
        }
    }

    /// Adds a script: its reply is sent to every message for which it has one. Scripts are asked in the order in which
    /// they were added.
    pub fn script(mut self, script: impl Fn(&Asked) -> Option<Reply> + Send + Sync + 'static) -> Hostile {
        self.scripts.push(Box::new(script));
        self
    }

    /// Adds a script that is asked before the others.
    pub fn script_first(mut self, script: impl Fn(&Asked) -> Option<Reply> + Send + Sync + 'static) -> Hostile {
        self.scripts.insert(0, Box::new(script));
        self
    }

    /// The replies to questions about jobs. A reply that costs something charges the job at the first time.
    pub fn job_script(self, script: impl Fn(&AskedJob) -> Reply + Send + Sync + 'static) -> Hostile {
        Hostile { job_script: Some(Box::new(script)), ..self }
    }

    /// Always sends this reply to one row.
    pub fn on_row(self, row: u32, reply: Reply) -> Hostile {
        self.script(move |asked| (asked.row == row).then(|| reply.clone()))
    }

    /// Sends this reply to one row until the service is healed.
    pub fn on_row_until_healed(self, row: u32, reply: Reply) -> Hostile {
        self.script(move |asked| (asked.row == row && !asked.is_healed).then(|| reply.clone()))
    }

    /// Always sends this reply to every row.
    pub fn on_all(self, reply: Reply) -> Hostile {
        self.script(move |_| Some(reply.clone()))
    }

    pub fn price(self, credits: f64) -> Hostile {
        self.price_by(move |_| credits)
    }

    /// The price, by the number of earlier charges.
    pub fn price_by(self, price: impl Fn(usize) -> f64 + Send + Sync + 'static) -> Hostile {
        Hostile { price: Box::new(price), ..self }
    }

    pub fn states(self, stated: Stated) -> Hostile {
        self.states_with(move |body, used, left| state(stated, body, used, left))
    }

    /// What answers state, by the credits used and left.
    pub fn states_with(self, statement: impl Fn(&mut Map<String, Value>, f64, f64) + Send + Sync + 'static) -> Hostile {
        Hostile { statement: Box::new(statement), ..self }
    }

    pub fn balance(self, balance: f64) -> Hostile {
        Hostile { balance, ..self }
    }

    /// The reply to `GET /my_credits`, by the number of earlier readings and the balance.
    pub fn balance_script(self, script: impl Fn(u32, f64) -> Reply + Send + Sync + 'static) -> Hostile {
        Hostile { balance_script: Some(Box::new(script)), ..self }
    }

    /// The connection of each balance reading ends after it, so that a check needs a new one.
    pub fn closes_after_balance(self) -> Hostile {
        self.balance_script(|_, balance| {
            let reading = Reply::error(200, json!({ "available_credits": number(balance) }));
            reading.travels(Travel::ThenClosed).header("connection", "close")
        })
    }

    /// After this many charges another program spends credits from the account.
    pub fn another_client_spends(self, credits: f64, after_charges: usize) -> Hostile {
        Hostile { spent_by_another: Some((after_charges, credits)), ..self }
    }

    /// The service's clock is ahead of the machine's by this many seconds.
    pub fn clock_ahead(self, seconds: i64) -> Hostile {
        Hostile { offset_s: seconds, ..self }
    }

    /// The value of every `Date` header; empty omits it.
    pub fn date(self, date: &str) -> Hostile {
        Hostile { date: Some(date.to_owned()), ..self }
    }

    /// This many checks are answered at once, and the others after [`Service::release`]. With `k` requests in flight,
    /// `checks + k` checks arrive before that.
    pub fn answers_only(self, checks: usize) -> Hostile {
        Hostile { answered: checks, ..self }
    }

    /// A message on a connection that was idle for this long gets no reply.
    pub fn closes_idle(self, after: Duration) -> Hostile {
        Hostile { idle_max: Some(after), ..self }
    }

    /// Once this file exists, this many seconds have passed and every key is forgotten.
    pub fn sleeps_when(self, file: PathBuf, seconds: i64) -> Hostile {
        Hostile { sleeps: Some((file, seconds)), ..self }
    }
}

fn state(stated: Stated, body: &mut Map<String, Value>, used: f64, left: f64) {
    if matches!(stated, Stated::Both | Stated::Used) {
        body.insert("creditsUsed".to_owned(), number(used));
    }
    if matches!(stated, Stated::Both | Stated::Remaining) {
        body.insert("remainingCredits".to_owned(), number(left));
    }
    if stated == Stated::Meta {
        body.insert("meta".to_owned(), json!({ "request_id": "m-1", "credits_spent": number(used), "latency_ms": 9 }));
    }
}

/// As an integer where the value is one.
pub fn number(credits: f64) -> Value {
    if credits.fract() == 0.0 { json!(credits as i64) } else { json!(credits) }
}
