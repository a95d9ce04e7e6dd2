//! The misbehaviours of a service that are not drawn message by message: what it states, which rows it treats badly,
//! how its prices and the balance move. Each is drawn from its own rng, so that switching one off leaves the rest of a
//! script unchanged. `RESCREEN_SIM_WORLD` names the ones to play (`all`, `none`, or comma-separated names).

use super::{
    life::{ClockMove, Crash, Life, Move},
    rng::Rng,
    script::{PLENTY, Script},
};
use rescreen::simulator::{ChargeStated, CreditsFormat};
use std::{sync::OnceLock, time::Duration};

/// One misbehaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oddity {
    /// Credits are stated in one of several places, or nowhere.
    Stated,
    /// A place that only a configured pointer finds.
    Configured,
    /// Amounts are floats, texts or fractions.
    Formats,
    /// Occasionally a stated charge is negative, absurd or text.
    OddCharges,
    /// Refusals that charge.
    ChargedRefusals,
    /// Prices change during a run.
    Prices,
    /// Another client spends from the account during a run.
    Spender,
    /// Rows that are always treated badly.
    Rows,
    /// Answers to other requests.
    Crossed,
    /// 404, 405 and 3xx for single messages.
    Misrouted,
    /// `Date` is permanently minutes off.
    Date,
    /// An answer has a duplicate name.
    DuplicateNames,
    /// The echoed mode or input is that of another request.
    Echoes,
    /// The guards have their defaults.
    Guards,
    /// A few hundred rows.
    LargeBooks,
    /// The machine sleeps, or its clock is set, between a commit and what follows it.
    AtCommit,
    /// A push-back comes while this machine's clock is days ahead.
    PausedAhead,
    /// Each run makes progress.
    Progress,
    /// A stop that names a decision is remembered by the next run.
    Remembered,
    /// Every check fails for a whole life while the account can be read.
    Outage,
    /// A check that is answered later as a job.
    Jobs,
    /// A check that sends a file.
    Files,
}

/// Which of them are played unless `RESCREEN_SIM_WORLD` says otherwise.
const PLAYED: [(&str, Oddity, bool); 22] = [
    ("stated", Oddity::Stated, true),
    ("configured", Oddity::Configured, true),
    ("formats", Oddity::Formats, true),
    ("odd_charges", Oddity::OddCharges, true),
    ("charged_refusals", Oddity::ChargedRefusals, true),
    ("prices", Oddity::Prices, true),
    ("spender", Oddity::Spender, true),
    ("rows", Oddity::Rows, true),
    ("crossed", Oddity::Crossed, true),
    ("misrouted", Oddity::Misrouted, true),
    ("date", Oddity::Date, true),
    ("duplicate_names", Oddity::DuplicateNames, true),
    ("echoes", Oddity::Echoes, true),
    ("guards", Oddity::Guards, true),
    ("large_books", Oddity::LargeBooks, true),
    ("at_commit", Oddity::AtCommit, true),
    ("paused_ahead", Oddity::PausedAhead, true),
    ("progress", Oddity::Progress, true),
    ("remembered", Oddity::Remembered, true),
    ("outage", Oddity::Outage, true),
    ("jobs", Oddity::Jobs, true),
    ("files", Oddity::Files, true),
];

/// Whether it is played.
pub fn is_played(oddity: Oddity) -> bool {
    static WANTED: OnceLock<Option<Vec<String>>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| {
        let text = std::env::var("RESCREEN_SIM_WORLD").ok().filter(|text| !text.is_empty())?;
        let names: Vec<String> = text.split(',').map(str::to_owned).collect();
        for name in names.iter().filter(|name| !["all", "none"].contains(&name.as_str())) {
            let known: Vec<&str> = PLAYED.iter().map(|(name, ..)| *name).collect();
            assert!(known.contains(&name.as_str()), "RESCREEN_SIM_WORLD: `{name}` is none of {known:?}");
        }
        Some(names)
    });
    let (name, _, on) = PLAYED.iter().find(|(_, one, _)| *one == oddity).expect("every oddity is in the table");
    match wanted {
        None => *on,
        Some(names) => names.iter().any(|wanted| wanted == "all" || wanted == name),
    }
}

/// The rng of an oddity and a seed, if the oddity is played. It occurs in this percentage of seeds.
fn drawn(seed: u64, oddity: Oddity, percent: u64) -> Option<Rng> {
    let mut rng = Rng::new(seed.rotate_left(29) ^ 0x0dd << 8 ^ oddity as u64);
    (rng.chance(percent) && is_played(oddity)).then_some(rng)
}

/// Those that hold for a whole campaign.
#[derive(Debug, Clone)]
pub struct Oddities {
    pub stated: ChargeStated,
    pub format: CreditsFormat,
    pub date_ahead_s: i64,
    pub default_guards: bool,
    /// Credits that must stay in the account: the floor.
    pub keep_balance: u64,
    /// The fault that picks rows permanently.
    pub rows: Option<String>,
    /// Another client spends during a run.
    pub spender: bool,
}

impl Oddities {
    /// A service without any misbehaviour. With `field` it states only the balance, as seen in the field, otherwise the
    /// charge.
    pub fn none(field: bool) -> Oddities {
        Oddities {
            stated: if field { ChargeStated::Remaining } else { ChargeStated::Used },
            format: CreditsFormat::Integer,
            date_ahead_s: 0,
            default_guards: false,
            keep_balance: 0,
            rows: None,
            spender: false,
        }
    }

    /// Those of a seed.
    pub fn of(seed: u64, field: bool) -> Oddities {
        use ChargeStated::{Elsewhere, Meta, Nothing, Remaining, Used};
        let mut oddities = Oddities::none(field);
        if let Some(mut rng) = drawn(seed, Oddity::Stated, 100) {
            oddities.stated = rng.pick(&[Used, Remaining, Remaining, Meta, Nothing]);
        }
        if drawn(seed, Oddity::Configured, 10).is_some() {
            oddities.stated = Elsewhere;
        }
        if let Some(mut rng) = drawn(seed, Oddity::Formats, 30) {
            oddities.format = rng.pick(&[CreditsFormat::Float, CreditsFormat::Text, CreditsFormat::Fraction]);
        }
        if let Some(mut rng) = drawn(seed, Oddity::Date, 10) {
            oddities.date_ahead_s = rng.pick(&[-900, -600, -200, 200, 600, 900]);
        }
        oddities.default_guards = drawn(seed, Oddity::Guards, 30).is_some();
        oddities.rows = drawn(seed, Oddity::Rows, 30).map(|mut rng| rows(&mut rng));
        if let Some(mut rng) = drawn(seed, Oddity::Spender, 12) {
            oddities.spender = true;
            oddities.keep_balance = rng.pick(&[0, PLENTY - 120, PLENTY - 60]);
        }
        oddities
    }

    /// Their lines in a campaign file under `[service]`.
    pub fn of_service(&self) -> &'static str {
        match self.stated {
            ChargeStated::Elsewhere => "charge_pointer = \"/billing/charged\"\nremaining_pointer = \"/billing/left\"\n",
            _ => "",
        }
    }
}

fn rows(rng: &mut Rng) -> String {
    const MANNERS: [&str; 17] = [
        "301",
        "303",
        "307",
        "401",
        "402",
        "403",
        "404",
        "405",
        "409",
        "500",
        "broken",
        "bad_utf8",
        "surrogate",
        "nan",
        "job",
        "pending",
        "unsuccessful",
    ];
    let share = rng.pick(&["0.02", "0.05", "0.1"]);
    format!("row:{share}:{}", rng.pick(&MANNERS))
}

/// Rows in the book of a seed, where it has more than others: in a small book a price that rises unnoticed costs
/// little.
pub fn large_book(seed: u64) -> Option<u64> {
    let rises = drawn(seed, Oddity::Prices, PRICES_PERCENT).is_some();
    // Where no reply shows it, a hundred answers may pass before it is noticed.
    if rises && Oddities::of(seed, false).stated == ChargeStated::Nothing {
        return drawn(seed, Oddity::LargeBooks, 60).map(|mut rng| rng.from(600, 800));
    }
    let percent = if rises { 30 } else { 1 };
    drawn(seed, Oddity::LargeBooks, percent).map(|mut rng| rng.from(200, 320))
}

/// Percentage of seeds in which a price changes during a run.
const PRICES_PERCENT: u64 = 15;

/// Adds misbehaviours to the lives of a script.
pub fn add_to_lives(script: &mut Script) {
    let seed = script.seed;
    let chance = |rng: &mut Rng| rng.pick(&["0.05", "0.1", "0.3"]);
    for oddity in [
        Oddity::OddCharges,
        Oddity::ChargedRefusals,
        Oddity::Crossed,
        Oddity::Misrouted,
        Oddity::DuplicateNames,
        Oddity::Echoes,
    ] {
        let percent = if matches!(oddity, Oddity::ChargedRefusals | Oddity::Misrouted) { 20 } else { 12 };
        let Some(mut rng) = drawn(seed, oddity, percent) else { continue };
        // Without an echo in the envelope it cannot be seen whose answer it is.
        let echoes = !script.data_meta;
        for life in &mut script.lives {
            let chance = chance(&mut rng);
            let fault = match oddity {
                Oddity::OddCharges => format!("odd_charge:{chance}:{}", rng.from(0, 5)),
                Oddity::ChargedRefusals => {
                    format!("charged_error:{chance}:{}", rng.pick(&[400, 402, 403, 404, 409, 422, 429, 500]))
                }
                Oddity::Crossed => format!("crossed:{chance}"),
                Oddity::Misrouted => match rng.from(0, 2) {
                    0 => format!("error404:{chance}"),
                    1 => format!("error405:{chance}"),
                    _ => format!("redirect:{chance}:{}", rng.pick(&[301, 303, 307])),
                },
                Oddity::DuplicateNames => format!("duplicate_names:{chance}"),
                Oddity::Echoes if rng.chance(20) => format!("other_mode:{chance}"),
                Oddity::Echoes if echoes => format!("other_input:{chance}"),
                _ => continue,
            };
            life.faults = [life.faults.as_str(), &fault].join(",");
        }
    }
    prices(script);
    spender(script);
    at_commit(script);
    paused_ahead(script);
    outage(script);
    if let Some(rows) = &script.oddities.rows {
        for life in &mut script.lives {
            life.faults = [rows, life.faults.as_str()].join(",");
        }
        // Sent again under a new key, such a row is in doubt for another lifetime of a key.
        script.written_off = true;
    }
}

/// A life in which little else happens, so that no crash or outage hides what is tested.
fn calm(life: &mut Life, faults: &str) {
    let (max_credits, table) = (life.max_credits, life.table);
    let quiet = Life::quiet(life.api_key, life.prices, life.rest);
    *life = Life { faults: faults.to_owned(), max_credits, table, ..quiet };
}

/// A price that rises during a run, and stays.
fn prices(script: &mut Script) {
    let Some(mut rng) = drawn(script.seed, Oddity::Prices, PRICES_PERCENT) else { return };
    let first = script.oddities.stated == ChargeStated::Nothing && rng.chance(70);
    let tight = script.states_charges() && script.checks == 1 && script.lives.len() > 1 && rng.chance(60);
    let life = if first || tight { 0 } else { rng.from(0, script.lives.len() as u64 - 1) as usize };
    let check = rng.from(0, script.checks as u64 - 1) as usize;
    let nth = rng.from(2, 30);
    let price = script.lives[life].prices[check] + rng.pick(&[1, 2, 6, 12]);
    calm(&mut script.lives[life], rng.pick(&["", "", "drop_after:0.05"]));
    script.lives[life].moves.push((nth, Move::Price(check, price)));
    for later in &mut script.lives[life + 1..] {
        later.prices[check] = later.prices[check].max(price);
        if rng.chance(40) && !tight {
            later.table[check] = later.table[check].max(price);
        }
    }
    if first {
        script.lives.iter_mut().for_each(|life| life.max_credits = PLENTY);
    }
    if tight {
        tighten(script, nth, price, &mut rng);
    }
}

/// The limit is reached at about the time when the price rises, and grows a little from life to life. Then the hold of
/// a request decides whether the limit is kept.
fn tighten(script: &mut Script, nth: u64, price: u64, rng: &mut Rng) {
    let table = script.lives[0].table;
    let mut limit = nth * table[0] + rng.from(1, 2 * price);
    for (at, life) in script.lives.iter_mut().enumerate() {
        (life.max_credits, life.table) = (limit, table);
        if at > 0 {
            calm(life, "");
        }
        limit += rng.from(1, price);
    }
}

/// Another client spends a few credits at a time.
fn spender(script: &mut Script) {
    if !script.oddities.spender {
        return;
    }
    let mut rng = Rng::new(script.seed.rotate_left(37) ^ 0x59e0d);
    let calm = script.lives.iter().all(|life| life.moves.is_empty());
    if script.oddities.keep_balance > 0 && calm && rng.chance(60) {
        return spends_twice(script, &mut rng);
    }
    for life in &mut script.lives {
        for _ in 0..rng.from(1, 3) {
            life.moves.push((rng.from(2, 30), Move::Spend(rng.pick(&[1, 5, 40]))));
        }
    }
}

/// Another client spends a little as often as the account is read for it in a minute, and soon after that so much that
/// the balance falls below the floor. Only a reply shows that in time.
fn spends_twice(script: &mut Script, rng: &mut Rng) {
    (script.per_minute, script.per_minute_max) = (600, 600);
    script.lives.iter_mut().for_each(|life| life.max_credits = PLENTY);
    let life = &mut script.lives[0];
    calm(life, "");
    let (nth, apart) = (rng.from(2, 6), rng.from(4, 6));
    life.moves = (0..3).map(|time| (nth + time * apart, Move::Spend(9))).collect();
    life.moves.push((nth + 3 * apart, Move::Spend(200)));
    script.balance = PLENTY;
    if !matches!(script.oddities.stated, ChargeStated::Elsewhere) {
        script.oddities.stated = ChargeStated::Remaining;
    }
}

/// The machine sleeps longer than a key lives, or its clock is set, just after a commit that arms a request in doubt.
/// Between the commit and the write only the program's own reading of the clock stops the request.
fn at_commit(script: &mut Script) {
    let Some(mut rng) = drawn(script.seed, Oddity::AtCommit, 8) else { return };
    let life = rng.from(0, script.lives.len() as u64 - 1) as usize;
    let life = &mut script.lives[life];
    let clock_move = if rng.chance(75) {
        ClockMove::Sleep(75 * 3_600)
    } else {
        ClockMove::Set(rng.pick(&[-86_400, -4_000, 4_000, 86_400]))
    };
    let moves = std::mem::take(&mut life.moves);
    calm(life, "drop_after:0.2");
    (life.moves, life.at_commit) = (moves, Some((rng.from(1, 4), clock_move)));
}

/// The service asks for a pause while this machine's clock is days ahead, the life ends, and the clock is corrected.
fn paused_ahead(script: &mut Script) {
    let Some(mut rng) = drawn(script.seed, Oddity::PausedAhead, 5) else { return };
    let life = script.lives.len() - 1;
    let life = &mut script.lives[life];
    life.clock_apart = rng.pick(&[3 * 86_400, 365 * 86_400]);
    life.faults = format!("rate429:0.5:{}", rng.pick(&[5, 40]));
    life.crash = Crash::AfterReply(rng.from(2, 12));
    life.interrupts.clear();
    life.at_most = None;
    life.rest = Duration::from_secs(60);
}

/// Each check fails for a whole life, and the account can be read. A book with fewer requests than an outage needs to
/// end a run is tried to the end, however often its requests are repeated.
fn outage(script: &mut Script) {
    let Some(mut rng) = drawn(script.seed, Oddity::Outage, 4) else { return };
    let life = rng.from(0, script.lives.len() as u64 - 1) as usize;
    script.lives[life..].iter_mut().for_each(|later| later.max_credits = PLENTY);
    let life = &mut script.lives[life];
    let moves = std::mem::take(&mut life.moves);
    calm(life, rng.pick(&["row:1:500", "drop_after:1"]));
    life.moves = moves;
}

#[test]
fn every_oddity_is_in_the_table_at_its_place() {
    for (at, (name, oddity, _)) in PLAYED.iter().enumerate() {
        assert_eq!(*oddity as usize, at, "{name} is at its place");
    }
}
