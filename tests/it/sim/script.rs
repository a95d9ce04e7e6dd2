//! The script of one campaign: everything that is random, decided from one seed before anything runs.

use super::{
    book::{Book, books},
    checks::{Check, FOREIGN, expects, pair},
    flows::{self, JOB_HOLD, Jobs},
    life::{API_KEYS, Crash, Edit, Life, Move},
    oddities::{self, Oddities},
    rng::Rng,
    upload_wire::UPLOAD_CHARGE,
};
use crate::support::service::simulated;
use rescreen::{
    model::Clock,
    simulator::{ChargeStated, Dialect, Envelope, Quirks, Settings},
};
use std::time::Duration;

/// One campaign.
#[derive(Debug, Clone)]
pub struct Script {
    pub seed: u64,
    pub production: bool,
    pub checks: usize,
    /// The first, and the second where there are two.
    pub pair: [&'static Check; 2],
    /// Rows expect something of an answer.
    pub expects: Option<&'static str>,
    pub in_flight: u64,
    pub per_minute: u64,
    pub per_minute_max: u64,
    pub parquet: bool,
    pub carry: bool,
    pub field: bool,
    pub data_meta: bool,
    pub quirks: Quirks,
    pub jobs: Jobs,
    pub oddities: Oddities,
    pub latency: Duration,
    pub balance: u64,
    pub books: Vec<Book>,
    pub split_rows: Option<usize>,
    pub lives: Vec<Life>,
    /// At the end a person writes off the quarantined requests, or has them sent again.
    pub written_off: bool,
}

/// Enough for every script.
pub const PLENTY: u64 = 1_000_000;

/// Answers after which the balance is read where nothing else shows the charge.
const HIDDEN_ANSWERS: u64 = 100;
/// Different requests without an answer that end a run, or twice as many as are under way.
const FAILED_MAX: u64 = 50;

impl Script {
    /// The campaign of a seed.
    pub fn of(seed: u64) -> Script {
        // There are files for the persons of a small book only.
        let large_book = oddities::large_book(seed).filter(|_| flows::check_of(seed).is_none());
        let mut script = Script::plain(seed, large_book);
        script.oddities = Oddities::of(seed, script.field);
        flows::apply(&mut script);
        oddities::add_to_lives(&mut script);
        flows::add_to_lives(&mut script);
        // Drawn apart, so that the rest of a seed's campaign does not change.
        for (number, life) in script.lives.iter_mut().enumerate() {
            life.blind = Rng::new(seed ^ 0xb11d ^ ((number as u64) << 32)).chance(12);
        }
        script
    }

    /// The same with a service that keeps its word about credits and rows.
    pub fn plain(seed: u64, large_book: Option<u64>) -> Script {
        let mut rng = Rng::new(seed);
        let per_minute = rng.pick(&[6, 30, 60, 60, 60, 240, 600]);
        let rows = rng.from(20, 60);
        let (rows, per_minute) = large_book.map_or((rows, per_minute), |rows| (rows, 600));
        let mut script = Script {
            seed,
            production: rng.chance(80),
            checks: rng.pick(&[1, 1, 2]),
            pair: pair(seed),
            expects: expects(seed),
            in_flight: rng.from(1, 8),
            per_minute,
            per_minute_max: rng.pick(&[per_minute, per_minute + 3, per_minute * 2]),
            parquet: rng.chance(10),
            carry: rng.chance(50),
            field: rng.chance(50),
            data_meta: rng.chance(50),
            quirks: Quirks {
                keeps_402: rng.chance(40),
                keeps_429: rng.chance(20),
                keeps_5xx: rng.chance(4),
                conflict_in_flight: rng.chance(40),
                free_balance: rng.chance(40),
                job_without_webhook: false,
            },
            jobs: Jobs { time: Duration::from_secs(20 * 60), fallback_of_hundred: 10, faults: "" },
            oddities: Oddities::none(false),
            latency: rng.pick(&[Duration::ZERO, Duration::from_millis(40), Duration::from_secs(3)]),
            balance: rng.pick(&[PLENTY, PLENTY, 30]),
            books: books(&mut rng, rows),
            split_rows: rng.pick(&[None, Some(5), Some(17)]),
            lives: Vec::new(),
            written_off: rng.chance(50),
        };
        script.oddities = Oddities::none(script.field);
        script.lives = lives(&mut rng, &script.books);
        if Rng::new(seed.rotate_left(7) ^ 0xc10c).chance(4) {
            script.lives[0] = script.lives[0].clone().of_a_set_clock();
        }
        // Chance alone separates a file from its record once in many hundred campaigns.
        let mut rng = Rng::new(seed.rotate_left(11) ^ 0x9a27);
        if rng.chance(10) {
            let life = rng.from(0, script.lives.len() as u64 - 1) as usize;
            script.lives[life].crash = Crash::AtPart(rng.from(1, 3));
        }
        if script.pair.iter().any(|check| check.is_short_lived()) {
            // Longer than a short life and shorter than a long one, which shows which life a key gets.
            let long = script.lives.iter_mut().filter(|life| life.rest > Duration::from_secs(24 * 3_600));
            long.for_each(|life| life.rest = Duration::from_secs(50 * 3_600));
        }
        script
    }

    /// Prices of a check that the service charges in the course of a life.
    pub fn prices_in(life: &Life, check: usize) -> impl Iterator<Item = u64> {
        let moved = life.moves.iter().filter_map(move |(_, moved)| match moved {
            Move::Price(of, price) if *of == check => Some(*price),
            _ => None,
        });
        std::iter::once(life.prices[check]).chain(moved)
    }

    /// The service never charged more than the campaign's table said.
    pub fn table_is_an_upper_bound(&self) -> bool {
        let within = |life: &Life, check| Script::prices_in(life, check).all(|price| price <= life.table[check]);
        self.lives.iter().all(|life| (0..2).all(|check| within(life, check)))
    }

    /// A step of an upload may state a charge.
    pub fn uploads_charge(&self) -> bool {
        self.lives.iter().any(|life| life.upload_trouble > 0)
    }

    /// Each charge is the table's price. Otherwise the ledger takes the higher one where a replay states less.
    pub fn charges_are_known(&self) -> bool {
        let known = |life: &Life, check| Script::prices_in(life, check).all(|price| price == life.table[check]);
        // A real-time answer whose reply was lost is booked at what a job would cost.
        let is_less = self.pair[0].name == FOREIGN
            && self.lives.iter().any(|life| Script::prices_in(life, 0).any(|price| price < JOB_HOLD));
        // Another client's spending may look like a risen price.
        !is_less && !self.oddities.spender && self.lives.iter().all(|life| (0..2).all(|check| known(life, check)))
    }

    /// Requests of the first check hold what a job needs.
    pub fn has_job_hold(&self) -> bool {
        self.pair[0].name.ends_with("-bank-account")
    }

    /// No clock is set, and each is right.
    pub fn has_even_clocks(&self) -> bool {
        let even = |life: &Life| life.clock_apart == 0 && life.clock_moves.is_empty() && life.at_commit.is_none();
        self.lives.iter().all(even)
    }

    /// Its files are documents, or images; `None` if it has no files.
    pub fn documents(&self) -> Option<bool> {
        self.pair[0].file.map(|_| self.pair[0].has_documents())
    }

    /// Some replies are those of other requests.
    pub fn is_crossed(&self) -> bool {
        self.lives.iter().any(|life| life.faults.contains("crossed"))
    }

    /// Each charge is stated in the reply that brings it.
    pub fn states_charges(&self) -> bool {
        !matches!(self.oddities.stated, ChargeStated::Remaining | ChargeStated::Nothing)
    }

    /// What the service always charges and states in each reply, where it does.
    pub fn stated_prices(&self) -> Option<[u64; 2]> {
        let prices = self.lives.first()?.prices;
        let same = |life: &Life| (0..2).all(|check| Script::prices_in(life, check).all(|price| price == prices[check]));
        let all = self.production && self.states_charges() && self.lives.iter().all(same);
        all.then_some(prices)
    }

    /// Credits that may be spent beyond the limit, or beyond what the ledger knows, because a price rose: the requests
    /// under way at that moment, one request of each run, and up to a hundred answers where no reply shows the rise;
    /// each times the rise. Where only the balance shows a rise, requests in doubt may hide it too: `held_most` is the
    /// most that was held at once. Charges of uploads come on top.
    pub fn overshoot(&self, held_most: u64) -> u64 {
        // The uploads that are under way may state charges before the run stops.
        let lives = self.lives.len() as u64;
        let mut overshoot = if self.uploads_charge() { UPLOAD_CHARGE * lives * (self.in_flight + 1) } else { 0 };
        for check in 0..2 {
            let mut known = self.lives.iter().map(|life| life.table[check]).min().unwrap_or(0);
            let lowest = known;
            for life in &self.lives {
                for price in Script::prices_in(life, check) {
                    if price > known {
                        let hidden = match self.oddities.stated {
                            ChargeStated::Nothing => HIDDEN_ANSWERS,
                            ChargeStated::Remaining if self.oddities.spender => HIDDEN_ANSWERS,
                            _ => 0,
                        };
                        // Where every request fails and is charged, no answer shows the rise before the run ends
                        // because of the failures.
                        let fails = self.lives.iter().any(|life| life.faults.contains("row:1:"));
                        let failed = if fails { FAILED_MAX.max(2 * self.in_flight) } else { 0 };
                        let requests = self.in_flight + self.lives.len() as u64 + hidden + failed;
                        overshoot += (price - lowest) * requests;
                        // Requests in doubt may be charged at the new price too.
                        let in_doubt = held_most.saturating_mul(price).div_ceil(lowest.max(1));
                        overshoot += if self.states_charges() { 0 } else { in_doubt };
                        known = price;
                    }
                }
            }
        }
        overshoot
    }

    /// The service of the campaign.
    pub fn service(&self, clock: Clock) -> Settings {
        Settings {
            api_key: None,
            credits: self.balance,
            per_minute: self.per_minute as u32,
            per_minute_max: self.per_minute_max as u32,
            latency: self.latency,
            seed: self.seed,
            job_time: Some(self.jobs.time),
            fallback_of_hundred: self.jobs.fallback_of_hundred,
            job_faults: self.jobs.faults.parse().expect("the script names faults that are"),
            clock: simulated(clock),
            dialect: if self.field { Dialect::Field } else { Dialect::Described },
            envelope: if self.data_meta { Envelope::DataMeta } else { Envelope::Results },
            quirks: self.quirks,
            charge_stated: Some(self.oddities.stated),
            credits_format: self.oddities.format,
            date_ahead_s: self.oddities.date_ahead_s,
            ..Settings::default()
        }
    }

    /// The campaign file of a life, with the change of `edit`.
    pub fn campaign(&self, life: &Life, edit: Edit) -> String {
        let Script { in_flight, per_minute, per_minute_max, .. } = self;
        let Life { table: [first_price, second_price], max_credits, .. } = life;
        let Oddities { keep_balance, default_guards, .. } = self.oddities;
        let guards = if default_guards && !life.guards_off {
            ""
        } else {
            "[guards]\nmax_errors = \"100%\"\nmax_unrecognised = \"100%\"\n"
        };
        let pointers = self.oddities.of_service();
        let [first, second] = self.pair;
        let mode = if self.production != (edit == Edit::Mode) { "production" } else { "sandbox" };
        let format = if self.parquet != (edit == Edit::Format) { "parquet" } else { "jsonl" };
        let carry = if self.carry { "\"country\"" } else { "" };
        let two = (self.checks == 2) != (edit == Edit::Checks);
        let first_check = first.table("when = \"status == 'active'\"\n", self.expects);
        let second_check = if two { second.table("", self.expects) } else { String::new() };
        let files_root = if self.pair[0].file.is_some() { "files_root = \"files\"" } else { "" };
        let consent = if first.name == FOREIGN { "[consent]\nevidence = \"form 7\"" } else { "" };
        let paths: Vec<String> = self.books.iter().map(|book| format!("\"{}\"", book.name)).collect();
        format!(
            r#"
            campaign = "simulation-{seed}"
            mode = "{mode}"
            [service]
            url = "http://127.0.0.1:9"
            in_flight = {in_flight}
            per_minute = {per_minute}
            per_minute_max = {per_minute_max}
            {pointers}
            [input]
            paths = [{paths}]
            id = "no"
            {files_root}
            {consent}
            [budget]
            max_credits = {max_credits}
            keep_balance = {keep_balance}
            prices = {{ {} = {first_price}, {} = {second_price} }}
            {guards}
            [output]
            dir = "out"
            format = "{format}"
            carry = [{carry}]
            {first_check}
            {second_check}"#,
            first.name,
            second.name,
            seed = self.seed,
            paths = paths.join(", "),
        )
    }
}

/// Some lives, with what changes from one to the next: limit, prices and API key.
fn lives(rng: &mut Rng, books: &[Book]) -> Vec<Life> {
    let mut max_credits = rng.pick(&[PLENTY, 10, 40]);
    let mut prices = [rng.from(1, 3), rng.from(1, 5)];
    let mut table = if rng.chance(90) { prices } else { prices.map(|price| price + 2) };
    let rises = rng.chance(15);
    let second_key = rng.chance(20);
    let mut lives = Vec::new();
    for _ in 0..rng.from(1, 6) {
        let api_key = API_KEYS[usize::from(second_key && rng.chance(40))];
        let quiet = Life { max_credits, table, ..Life::quiet(api_key, prices, Duration::ZERO) };
        lives.push(Life::draw(rng, quiet, books));
        if rng.chance(40) {
            max_credits = (max_credits * 2).min(PLENTY);
        }
        if rises && rng.chance(40) {
            prices[rng.from(0, 1) as usize] += rng.from(1, 3);
        } else if rng.chance(50) {
            table = [table[0].max(prices[0]), table[1].max(prices[1])];
        }
    }
    lives
}
