//! One life of a campaign: a run of the program, what happens to it, and what a person did before it.

use super::{
    book::{Book, lines},
    files::FileMove,
    rng::Rng,
    script::PLENTY,
};
use std::time::Duration;

/// How a life ends early.
#[derive(Debug, Clone, Copy)]
pub enum Crash {
    Never,
    /// This long after its start.
    After(Duration),
    /// While the nth message is written: the service does not see it.
    BeforeService(u64),
    /// When the service has acted on the nth message: the reply is lost.
    BeforeReply(u64),
    /// When the reply to the nth message has arrived.
    AfterReply(u64),
    /// At the nth write, fsync, rename, removal or commit, before or just after it: nothing more becomes durable.
    AtStorage(u64),
    /// When the nth result file appears, and the ledger does not yet know that it is complete.
    AtPart(u64),
    /// After it was polled this many times.
    AtAwait(u64),
    /// At the nth message of this step of an upload.
    AtUpload(Step, When, u64),
}

/// What a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Balance,
    /// A question about a job.
    Question,
    /// The announcement of a document.
    Announce,
    /// The document.
    Put,
    /// A request that may be charged.
    Check,
}

/// How many steps there are.
pub const STEPS: usize = 5;

/// When a life ends at a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    BeforeService,
    BeforeReply,
    AfterReply,
}

/// What happens to a clock during a life.
#[derive(Debug, Clone, Copy)]
pub enum ClockMove {
    /// A person sets this machine's clock by this many seconds.
    Set(i64),
    /// The machine sleeps this many seconds: time passes for all others, but its timers stop.
    Sleep(i64),
}

/// What happens to the account or its prices during a life.
#[derive(Debug, Clone, Copy)]
pub enum Move {
    /// A check, the first or the second, costs this much from here on.
    Price(usize, u64),
    /// Another client spends this many credits.
    Spend(u64),
}

/// A change to a file before a life, which that life must refuse. It is undone afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    None,
    /// One byte of what was read before is changed.
    InputChanged,
    /// The end of what was read before is missing.
    InputCut,
    /// Another output format.
    Format,
    /// The other mode.
    Mode,
    /// One check less, or one more.
    Checks,
}

/// One run of the program.
#[derive(Debug, Clone)]
pub struct Life {
    pub faults: String,
    /// Percentage of connections that are refused.
    pub unreachable: u64,
    pub crash: Crash,
    /// Drains after this long.
    pub at_most: Option<Duration>,
    /// Interrupted after these times; the second one ends it at once.
    pub interrupts: Vec<Duration>,
    /// Failures that are proven uncharged are retried.
    pub retry: bool,
    /// The balance, changed by another client before this life.
    pub balance: Option<u64>,
    pub max_credits: u64,
    /// What the service charges from here on, and what the campaign's table says.
    pub prices: [u64; 2],
    pub table: [u64; 2],
    /// Lines appended to the last book before it.
    pub appended: String,
    pub edit: Edit,
    /// A person has lifted the guards.
    pub guards_off: bool,
    /// The declaration recognises no answer. The next life corrects it.
    pub blind: bool,
    /// The machine's clock less the service's at its start, in seconds.
    pub clock_apart: i64,
    pub clock_moves: Vec<(Duration, ClockMove)>,
    /// Just after the nth commit that finds a request armed again.
    pub at_commit: Option<(u64, ClockMove)>,
    /// Just before the service sees the nth request.
    pub moves: Vec<(u64, Move)>,
    /// What happens before it to the files of these persons.
    pub file_moves: Vec<(u64, FileMove)>,
    /// Percentage of the steps of uploads that get an odd reply or none.
    pub upload_trouble: u64,
    pub api_key: &'static str,
    /// Another process tries to run the campaign this long after its start.
    pub rival: Option<Duration>,
    /// Time until the next one.
    pub rest: Duration,
}

pub const API_KEYS: [&str; 2] = ["simulated-one", "simulated-two"];

impl Life {
    /// A life in which nothing happens.
    pub fn quiet(api_key: &'static str, prices: [u64; 2], rest: Duration) -> Life {
        Life {
            faults: String::new(),
            unreachable: 0,
            crash: Crash::Never,
            at_most: None,
            interrupts: Vec::new(),
            retry: false,
            balance: None,
            max_credits: PLENTY,
            prices,
            table: prices,
            appended: String::new(),
            edit: Edit::None,
            guards_off: false,
            blind: false,
            clock_apart: 0,
            clock_moves: Vec::new(),
            at_commit: None,
            moves: Vec::new(),
            file_moves: Vec::new(),
            upload_trouble: 0,
            api_key,
            rival: None,
            rest,
        }
    }

    /// This machine's clock is set while it runs.
    pub fn sets_the_clock(&self) -> bool {
        let sets = |one: ClockMove| matches!(one, ClockMove::Set(_));
        self.clock_moves.iter().any(|(_, one)| sets(*one)) || self.at_commit.is_some_and(|(_, one)| sets(one))
    }

    /// The clock is set a day ahead between two messages, and corrected when the keys are old. Chance alone does this
    /// once in ten thousand campaigns.
    pub fn of_a_set_clock(self) -> Life {
        let second = Duration::from_secs(1);
        Life {
            faults: "drop_after:0.4".to_owned(),
            clock_moves: vec![(second, ClockMove::Set(86_400))],
            rest: 80 * 3_600 * second,
            max_credits: self.max_credits,
            table: self.table,
            ..Life::quiet(self.api_key, self.prices, self.rest)
        }
    }

    /// A quiet life with random events added.
    pub fn draw(rng: &mut Rng, quiet: Life, books: &[Book]) -> Life {
        let seconds = |rng: &mut Rng, list: &[u64]| Duration::from_secs(rng.pick(list));
        let last = books.last().expect("a campaign has a book");
        Life {
            faults: faults(rng),
            unreachable: rng.pick(&[0, 0, 3, 20]),
            crash: crash(rng),
            at_most: rng.chance(15).then(|| seconds(rng, &[1, 20, 300])),
            interrupts: match rng.from(0, 9) {
                0 => vec![seconds(rng, &[0, 1, 9, 61])],
                1 => vec![seconds(rng, &[0, 1, 9, 61]), seconds(rng, &[0, 1, 3])],
                _ => Vec::new(),
            },
            retry: rng.chance(20),
            balance: rng.chance(20).then(|| rng.pick(&[0, 5, 50, PLENTY])),
            appended: if rng.chance(25) { lines(rng, last.name, 5) } else { String::new() },
            edit: match rng.from(0, 39) {
                0 => Edit::InputChanged,
                1 => Edit::InputCut,
                2 => Edit::Format,
                3 => Edit::Mode,
                4 => Edit::Checks,
                _ => Edit::None,
            },
            clock_apart: if rng.chance(15) { rng.pick(&[-4_000, -240, -20, 20, 240, 4_000]) } else { 0 },
            clock_moves: clock_moves(rng),
            rival: rng.chance(5).then(|| seconds(rng, &[0, 1, 30])),
            rest: seconds(rng, &[0, 0, 1, 1, 30, 30, 600, 600, 40 * 3_600, 71 * 3_600, 80 * 3_600]),
            ..quiet
        }
    }
}

fn crash(rng: &mut Rng) -> Crash {
    match rng.from(0, 19) {
        0 | 1 => Crash::Never,
        2..=5 => Crash::After(Duration::from_millis(rng.pick(&[0, 1, 40, 700, 5_000, 60_000, 400_000]))),
        6..=8 => Crash::BeforeService(rng.from(1, 25)),
        9..=11 => Crash::BeforeReply(rng.from(1, 25)),
        12 | 13 => Crash::AfterReply(rng.from(1, 40)),
        14..=17 => {
            let most = rng.pick(&[10, 60, 200]);
            Crash::AtStorage(rng.from(1, most))
        }
        _ => Crash::AtAwait(rng.from(1, 150)),
    }
}

fn clock_moves(rng: &mut Rng) -> Vec<(Duration, ClockMove)> {
    let count = if rng.chance(12) { rng.from(1, 2) } else { 0 };
    let clock_move = |rng: &mut Rng| {
        let after = Duration::from_secs(rng.pick(&[0, 1, 10, 120]));
        if rng.chance(50) {
            (after, ClockMove::Set(rng.pick(&[-86_400, -4_000, -200, -20, 20, 200, 4_000, 86_400])))
        } else {
            (after, ClockMove::Sleep(rng.pick(&[60, 4_000, 60 * 3_600, 75 * 3_600])))
        }
    };
    (0..count).map(|_| clock_move(rng)).collect()
}

fn faults(rng: &mut Rng) -> String {
    const FAULTS: [&str; 25] = [
        "latency:P:1s",
        "latency:P:20s",
        "latency:P:130s",
        "drop_before:P",
        "drop_after:P",
        "drop_after:P",
        "truncate:P",
        "html:P",
        "foreign:P",
        "nulls:P",
        "error400:P",
        "error409:P",
        "error500:P",
        "error502:P",
        "error503:P",
        "error503_uncharged:P",
        "rate429:P:1",
        "rate429:P:45",
        "rate429:P:2000",
        "rate429_bare:P",
        "rate429_date:P:30",
        "rate429_odd:P:ODD",
        "pending:P",
        "error402:P",
        "error402:P",
    ];
    let mut list = Vec::new();
    for fault in FAULTS {
        if rng.chance(15) {
            let odd = rng.from(0, 5).to_string();
            list.push(
                fault.replace(":P", rng.pick(&[":0.02", ":0.1", ":0.1", ":0.3", ":0.3", ":0.9"])).replace("ODD", &odd),
            );
        }
    }
    if rng.chance(8) {
        list.push(format!("{}@{}", rng.pick(&["error401", "error403"]), rng.from(1, 20)));
    }
    list.join(",")
}
