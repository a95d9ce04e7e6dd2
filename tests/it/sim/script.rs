//! The script of one campaign: everything that is left to chance, decided from one seed before anything runs.

use rescreen::simulator::{Dialect, Envelope};
use std::{fmt::Write, time::Duration};

/// A seeded sequence of numbers (splitmix64): a seed means the same on every machine and in every release.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `least` to `most`, both included.
    fn from(&mut self, least: u64, most: u64) -> u64 {
        least + self.roll() % (most - least + 1)
    }

    /// Whether something falls that falls so often in a hundred.
    pub fn falls(&mut self, percent: u64) -> bool {
        self.roll() % 100 < percent
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.from(0, list.len() as u64 - 1) as usize]
    }
}

/// How a life ends before its time.
#[derive(Debug, Clone, Copy)]
pub enum Crash {
    Never,
    /// So long after its start.
    After(Duration),
    /// While the nth message is written: the service does not see it.
    BeforeService(u64),
    /// When the service has acted on the nth message: the reply is lost.
    BeforeReply(u64),
    /// When the reply to the nth message is in.
    AfterReply(u64),
}

/// One run of the program.
#[derive(Debug, Clone)]
pub struct Life {
    pub faults: String,
    /// Connections refused, in a hundred.
    pub unreachable: u64,
    pub crash: Crash,
    /// Drains after so long.
    pub at_most: Option<Duration>,
    /// Interrupted after so long; the second time it ends at once.
    pub interrupts: Vec<Duration>,
    /// Failures that are proven uncharged are taken along.
    pub retry: bool,
    /// The balance, moved by somebody else before it.
    pub balance: Option<u64>,
    pub max_credits: u64,
    /// Lines appended to the book before it.
    pub appended: String,
    /// The machine's clock less the service's, in seconds.
    pub clock_apart: i64,
    /// Time until the next one.
    pub rest: Duration,
}

/// One campaign.
#[derive(Debug, Clone)]
pub struct Script {
    pub seed: u64,
    pub production: bool,
    pub checks: usize,
    pub in_flight: u64,
    pub per_minute: u64,
    pub per_minute_max: u64,
    pub prices: [u64; 2],
    pub parquet: bool,
    pub carry: bool,
    pub field: bool,
    pub data_meta: bool,
    pub latency: Duration,
    pub balance: u64,
    pub book: String,
    pub lives: Vec<Life>,
}

/// Enough for every script.
pub const PLENTY: u64 = 1_000_000;

impl Script {
    pub fn of(seed: u64) -> Script {
        let mut dice = Dice::new(seed);
        let per_minute = dice.pick(&[6, 30, 60, 60, 60, 240, 600]);
        let checks = dice.pick(&[1, 1, 2]);
        let rows = dice.from(20, 60);
        let mut script = Script {
            seed,
            production: dice.falls(80),
            checks,
            in_flight: dice.from(1, 8),
            per_minute,
            per_minute_max: dice.pick(&[per_minute, per_minute + 3, per_minute * 2]),
            prices: [dice.from(1, 3), dice.from(1, 5)],
            parquet: dice.falls(20),
            carry: dice.falls(50),
            field: dice.falls(50),
            data_meta: dice.falls(50),
            latency: dice.pick(&[Duration::ZERO, Duration::from_millis(40), Duration::from_secs(3)]),
            balance: dice.pick(&[PLENTY, PLENTY, 30]),
            book: format!("no,name,id_number,country,status\n{}", lines(&mut dice, rows)),
            lives: Vec::new(),
        };
        let mut max_credits = dice.pick(&[PLENTY, 10, 40]);
        for _ in 0..dice.from(1, 6) {
            let life = life(&mut dice, max_credits);
            if dice.falls(40) {
                max_credits = (max_credits * 2).min(PLENTY);
            }
            script.lives.push(life);
        }
        script
    }

    pub fn dialect(&self) -> Dialect {
        if self.field { Dialect::Field } else { Dialect::Described }
    }

    pub fn envelope(&self) -> Envelope {
        if self.data_meta { Envelope::DataMeta } else { Envelope::Results }
    }

    /// The campaign file.
    pub fn campaign(&self, max_credits: u64) -> String {
        let Script { in_flight, per_minute, per_minute_max, prices: [aml, said], .. } = self;
        let mode = if self.production { "production" } else { "sandbox" };
        let format = if self.parquet { "parquet" } else { "jsonl" };
        let carry = if self.carry { "\"country\"" } else { "" };
        let said_check = if self.checks == 2 { "[[check]]\nuse = \"said-verification\"\n" } else { "" };
        format!(
            r#"
            campaign = "simulation-{seed}"
            mode = "{mode}"
            [service]
            url = "http://127.0.0.1:9"
            in_flight = {in_flight}
            per_minute = {per_minute}
            per_minute_max = {per_minute_max}
            [input]
            paths = ["book.csv"]
            id = "no"
            [budget]
            max_credits = {max_credits}
            prices = {{ aml-screening = {aml}, said-verification = {said} }}
            [guards]
            max_errors = "100%"
            max_unrecognised = "100%"
            [output]
            dir = "out"
            format = "{format}"
            carry = [{carry}]
            [[check]]
            use = "aml-screening"
            when = "status == 'active'"
            fields.name = "name"
            fields.entity = {{ value = 0 }}
            fields.country = "country"
            {said_check}"#,
            seed = self.seed,
        )
    }
}

fn life(dice: &mut Dice, max_credits: u64) -> Life {
    let crash = match dice.from(0, 9) {
        0 => Crash::Never,
        1..=3 => Crash::After(Duration::from_millis(dice.pick(&[0, 1, 40, 700, 5_000, 60_000, 400_000]))),
        4..=5 => Crash::BeforeService(dice.from(1, 25)),
        6..=7 => Crash::BeforeReply(dice.from(1, 25)),
        _ => Crash::AfterReply(dice.from(1, 40)),
    };
    let seconds = |dice: &mut Dice, list: &[u64]| Duration::from_secs(dice.pick(list));
    Life {
        faults: faults(dice),
        unreachable: dice.pick(&[0, 0, 3, 20]),
        crash,
        at_most: dice.falls(15).then(|| seconds(dice, &[1, 20, 300])),
        interrupts: match dice.from(0, 9) {
            0 => vec![seconds(dice, &[0, 1, 9, 61])],
            1 => vec![seconds(dice, &[0, 1, 9, 61]), seconds(dice, &[0, 1, 3])],
            _ => Vec::new(),
        },
        retry: dice.falls(20),
        balance: dice.falls(20).then(|| dice.pick(&[0, 5, 50, PLENTY])),
        max_credits,
        appended: if dice.falls(25) { lines(dice, 5) } else { String::new() },
        clock_apart: if dice.falls(15) { dice.pick(&[-240, -20, 20, 240]) } else { 0 },
        rest: seconds(dice, &[0, 0, 1, 30, 600]),
    }
}

fn faults(dice: &mut Dice) -> String {
    const FAULTS: [&str; 18] = [
        "latency:P:1s",
        "latency:P:20s",
        "latency:P:130s",
        "drop_before:P",
        "drop_after:P",
        "drop_after:P",
        "truncate:P",
        "html:P",
        "error500:P",
        "error502:P",
        "error503:P",
        "error503_uncharged:P",
        "rate429:P:1",
        "rate429:P:45",
        "rate429:P:2000",
        "rate429_bare:P",
        "pending:P",
        "error402:P",
    ];
    let mut list = Vec::new();
    for fault in FAULTS {
        if dice.falls(20) {
            list.push(fault.replace(":P", dice.pick(&[":0.02", ":0.1", ":0.3"])));
        }
    }
    if dice.falls(8) {
        list.push(format!("error401@{}", dice.from(1, 20)));
    }
    list.join(",")
}

/// Lines of a book: some alike, some bad.
fn lines(dice: &mut Dice, count: u64) -> String {
    let mut text = String::new();
    for _ in 0..count {
        let (number, person) = (dice.from(1, 9_999), dice.from(1, 70));
        let country = dice.pick(&["za", "na", "South Africa"]);
        let status = dice.pick(&["active", "active", "active", "closed"]);
        let id_number = said(person);
        let line = match dice.from(0, 30) {
            0 => writeln!(text, "{number},,{id_number},{country},{status}"),
            1 => writeln!(text, "{number},ragged"),
            2 => writeln!(text, "{number},{} Vexford,123,{country},{status}", name(person)),
            _ => writeln!(text, "{number},{} Vexford,{id_number},{country},{status}", name(person)),
        };
        line.expect("a string takes every text");
    }
    text
}

fn name(person: u64) -> String {
    format!("Q{}{}", char::from(b'a' + (person / 26) as u8), char::from(b'a' + (person % 26) as u8))
}

/// An ID number of an invented person, with its checksum.
fn said(person: u64) -> String {
    let digits = format!("8001{:02}5{:03}08", 1 + person % 28, person);
    let digits = format!("{}{}", &digits[..11], 8);
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let digit = u32::from(digit - b'0') * if at % 2 == 0 { 2 } else { 1 };
            digit / 10 + digit % 10
        })
        .sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}
