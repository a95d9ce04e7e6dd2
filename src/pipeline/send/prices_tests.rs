//! For every kind of reply to a lone request: which readings it needs, and what it means for later requests.

use super::{shows::SHOWS_AFTER, *};
use crate::{
    model::{Judgement, RequestId, budget::Account},
    pipeline::send::next_step::tests::attempted,
};

const CHECK: &str = "aml-screening";
pub const PRICE: Credits = Credits(5);

pub fn one() -> Candidate {
    Candidate::new(RequestId(1), CHECK.to_owned())
}

pub fn answered(stated: Option<u64>, remaining: Option<u64>) -> Attempt {
    let stated = stated.map(Credits);
    let mut answered = attempted(State::Answered, Outcome::Answered { stated }, Some(200));
    answered.reply.remaining = remaining.map(Credits);
    (answered.settled.price, answered.settled.charged) = (PRICE, stated.unwrap_or(PRICE).max(PRICE));
    answered.judgement = Some(Judgement::unrecognised());
    answered
}

fn refused() -> Attempt {
    let mut refused = answered(None, None);
    (refused.judgement, refused.reply.outcome) = (None, Outcome::Refused);
    (refused.settled.charged, refused.settled.state) = (Credits::ZERO, State::Failed);
    refused
}

pub fn job() -> Attempt {
    let mut job = attempted(State::Submitted, Outcome::Accepted { stated: None }, Some(202));
    job.settled.price = PRICE;
    job
}

/// A run, and the account as its ledger has it.
pub struct Run {
    pub prices: Prices,
    pub account: Account,
    /// Jobs are open.
    pub has_jobs: bool,
}

impl Run {
    pub fn new() -> Run {
        Run {
            prices: Prices::new(Mode::Production, false, Moment::START),
            account: Account::default(),
            has_jobs: false,
        }
    }

    /// A run whose first request gets this reply, after a balance of 1,000.
    pub fn after_first(attempted: &Attempt) -> Run {
        let mut run = Run::new();
        run.goes_alone(1_000, attempted);
        run
    }

    /// Sends the next request alone after this balance, with this reply.
    #[track_caller]
    pub fn goes_alone(&mut self, before: u64, attempted: &Attempt) -> Option<Finding> {
        assert!(self.must_run_alone(), "it goes alone");
        self.prices.read(Some(Credits(before)), Credits::ZERO, true, Moment::START);
        self.account.reading = Some(self.account.reading(Credits(before), 0));
        assert!(!self.prices.needs_reading_before(&one()));
        self.prices.started(&one(), self.account.reading, Moment::START);
        assert!(self.must_run_alone(), "nothing else is sent meanwhile");
        self.account.charged = self.account.charged + attempted.settled.charged;
        self.prices.observe(&one(), attempted, Moment::START)
    }

    pub fn must_run_alone(&self) -> bool {
        self.prices.must_run_alone(&one())
    }

    /// Reads one balance.
    pub fn reads_on(&mut self, balance: u64) -> Option<Finding> {
        let reading = self.account.reading(Credits(balance), 0);
        self.account.reading = Some(reading);
        self.prices.read_after(reading, self.has_jobs)
    }

    /// Reads these balances, one after the other, and returns what the last one shows.
    #[track_caller]
    pub fn reads<const N: usize>(&mut self, balances: [u64; N]) -> Option<Finding> {
        let mut finding = None;
        for balance in balances {
            assert!(self.prices.next_reading().is_some(), "{balance}: it wants no reading");
            finding = self.reads_on(balance);
        }
        assert_eq!(self.prices.next_reading(), None, "it wants another reading");
        finding
    }

    fn answers(&mut self, count: u64, attempted: &Attempt) {
        for _ in 0..count {
            self.prices.started(&one(), self.account.reading, Moment::START);
            self.prices.observe(&one(), attempted, Moment::START);
        }
    }
}

pub fn costs(cost: u64) -> Option<Finding> {
    Some(Finding::Costs { check: CHECK.to_owned(), cost: Credits(cost), price: PRICE })
}

fn not_shown() -> Option<Finding> {
    Some(Finding::NotShown { check: CHECK.to_owned() })
}

#[test]
fn a_charge_that_is_stated_in_full_is_enough_until_the_balance_falls_unexplained() {
    let mut run = Run::after_first(&answered(Some(5), None));
    assert!(!run.prices.needs_reading() && !run.must_run_alone());
    run.prices.fell(Credits(45), Moment::START);
    run.goes_alone(900, &answered(Some(5), None));
    assert_eq!(run.reads([895]), None);
    assert!(!run.must_run_alone(), "the balance agrees");
    run.prices.fell(Credits(45), Moment::START);
    run.goes_alone(900, &answered(Some(5), None));
    assert_eq!(run.reads([880, 870]), None);
    assert!(!run.must_run_alone(), "another client spends, and the reply states its charge");
}

#[test]
fn before_the_first_request_a_fall_means_that_a_stated_charge_is_not_enough() {
    for mut run in [Run::new(), Run { prices: Prices::new(Mode::Production, true, Moment::START), ..Run::new() }] {
        run.prices.fell(Credits(45), Moment::START);
        run.goes_alone(1_000, &answered(Some(5), None));
        assert_eq!(run.reads([950, 950]), None, "the reply says 5, and another client may have spent the rest");
        assert!(run.must_run_alone());
    }
}

#[test]
fn a_stated_charge_that_the_balance_denies_five_times_equally_is_not_the_price() {
    let mut run = Run::new();
    run.prices.fell(Credits(1), Moment::START);
    for fell in [7, 8, 7, 7, 7, 7] {
        run.goes_alone(1_000, &answered(Some(5), None));
        assert_eq!(run.reads([1_000 - fell, 1_000 - fell]), None, "another client may spend");
    }
    run.goes_alone(1_000, &answered(Some(5), None));
    assert_eq!(run.reads([993, 993]), costs(7));
}

#[test]
fn a_stated_charge_below_the_price_is_believed_once_the_balance_agrees() {
    let mut run = Run::after_first(&answered(Some(1), None));
    assert_eq!(run.reads([990, 990]), costs(10));
    let mut run = Run::after_first(&answered(Some(1), None));
    assert_eq!(run.reads([995]), None);
    assert_eq!(run.prices.lower(CHECK), None, "it cost 5, and the reply said 1");
    for (stated_balance, balances) in [(Some(999), None), (None, Some([999]))] {
        let mut run = Run::after_first(&answered(Some(1), stated_balance));
        assert_eq!(balances.and_then(|balances| run.reads(balances)), None);
        assert_eq!(run.prices.lower(CHECK), Some(Credits(1)));
        run.prices.fell(Credits(1), Moment::START);
        assert_eq!(run.prices.lower(CHECK), None, "it may have changed");
    }
}

#[test]
fn a_stated_balance_that_fits_the_price_needs_no_reading_and_any_other_does() {
    let run = Run::after_first(&answered(None, Some(995)));
    assert!(!run.prices.needs_reading() && !run.must_run_alone());
    // It may be from before the charge, of another account, or true.
    for stated in [1_000, 1_200, 994, 0] {
        let mut run = Run::after_first(&answered(None, Some(stated)));
        assert!(run.prices.needs_reading(), "{stated}");
        assert_eq!(run.reads([950, 950]), costs(50), "{stated}");
    }
}

#[test]
fn where_nothing_is_stated_the_balance_shows_the_cost() {
    let mut run = Run::after_first(&answered(None, None));
    assert_eq!(run.reads([993, 993]), costs(7));
    let mut run = Run::after_first(&answered(None, None));
    assert_eq!(run.reads([995]), None);
    assert!(!run.must_run_alone());
    let cheaper = |fell| Some(Finding::Cheaper { check: CHECK.to_owned(), fell: Credits(fell), booked: PRICE });
    let mut run = Run::after_first(&answered(None, None));
    assert_eq!(run.reads([999]), cheaper(1));
    assert_eq!(Run::new().goes_alone(1_000, &answered(None, Some(998))), cheaper(2));
}

#[test]
fn a_balance_that_does_not_fall_shows_nothing_and_holds_nothing_up() {
    for attempted in [answered(None, None), answered(Some(0), None), answered(None, Some(1_000))] {
        let mut run = Run::after_first(&attempted);
        let said = if attempted.stated().is_none() { not_shown() } else { None };
        assert_eq!(run.reads([1_000, 1_000]), said, "after a wait");
        assert!(!run.must_run_alone(), "the run continues at the price");
        run.prices.read(Some(Credits(1_000)), Credits::ZERO, true, Moment::START);
        run.answers(UNSTATED_MAX - 1, &answered(None, Some(1_000)));
        assert!(!run.prices.is_due(Moment::START));
        run.answers(1, &answered(None, Some(1_000)));
        assert!(run.prices.is_due(Moment::START) && run.prices.has_unread());
        run.prices.read(Some(Credits(1_000)), Credits::ZERO, false, Moment::START);
        assert!(!run.prices.is_due(Moment::START) && !run.prices.has_unread() && run.prices.denied().is_none());
    }
    let free = |mut attempted: Attempt| {
        attempted.settled.price = Credits::ZERO;
        attempted
    };
    assert_eq!(Run::after_first(&free(answered(None, None))).reads([1_000]), None, "a price of zero needs no fall");
}

#[test]
fn an_answer_to_a_request_in_doubt_proves_no_price() {
    let mut run = Run::new();
    let doubt = Candidate { in_doubt: true, ..one() };
    run.prices.started(&doubt, run.account.reading, Moment::START);
    run.prices.observe(&doubt, &answered(Some(5), None), Moment::START);
    assert!(run.must_run_alone(), "it states what it cost the first time");
    run.goes_alone(1_000, &answered(Some(5), None));
    assert!(!run.must_run_alone());
}

#[test]
fn a_charge_that_shows_seconds_later_is_waited_for() {
    let mut run = Run::after_first(&answered(None, None));
    assert_eq!(run.prices.next_reading(), Some(Duration::ZERO));
    run.reads_on(1_000);
    assert_eq!(run.prices.next_reading(), Some(SHOWS_AFTER));
    assert_eq!(run.reads([950, 950]), costs(50));
}

#[test]
fn where_the_balance_shows_no_charge_in_time_the_next_unexplained_fall_ends_the_run() {
    let mut run = Run::after_first(&answered(None, None));
    assert_eq!(run.reads([1_000, 1_000]), not_shown());
    run.prices.fell(Credits(9), Moment::START);
    assert_eq!(run.prices.denied(), None, "only a reply states the fall, and its balance may be of another time");
    run.goes_alone(1_000, &answered(None, None));
    assert_eq!(run.reads([1_000]), None, "it is not waited for again, nor said again");
    run.prices.read(Some(Credits(900)), Credits(45), false, Moment::START);
    assert_eq!(run.prices.denied(), Some(Stop::BalanceFell { credits: Credits(45), is_shared: false }));
    let mut run = Run::after_first(&answered(None, None));
    assert_eq!(run.reads([995]), None);
    run.prices.read(Some(Credits(900)), Credits(45), false, Moment::START);
    assert_eq!(run.prices.denied(), None, "the balance shows charges at once, so a lone request decides");
    assert!(run.must_run_alone());
}

#[test]
fn where_the_balance_also_falls_by_itself_three_requests_in_a_row_decide() {
    let mut run = Run::new();
    for (before, by_itself) in [(1_000, 10), (900, 20)] {
        run.goes_alone(before, &answered(None, None));
        assert_eq!(run.reads([before - 100, before - 100 - by_itself]), None);
    }
    run.goes_alone(800, &answered(None, None));
    assert_eq!(run.reads([700, 670]), costs(5 + 95 - 30), "three times more than the price");
    let mut run = Run::new();
    for before in [1_000, 980, 960] {
        run.goes_alone(before, &answered(None, None));
        assert_eq!(run.reads([before - 15, before - 25]), None, "another client spent it all");
    }
    assert!(!run.must_run_alone(), "another client does not hold up the run");
}

#[test]
fn a_job_shows_its_charge_later_and_its_reply_states_none() {
    let mut job = job();
    job.reply.outcome = Outcome::Accepted { stated: Some(PRICE) };
    job.reply.remaining = Some(Credits(995));
    let mut run = Run::after_first(&job);
    assert_eq!(run.reads([1_000]), None);
    assert!(!run.must_run_alone());
    run.prices.read(Some(Credits(1_000)), Credits::ZERO, false, Moment::START);
    run.answers(UNSTATED_MAX, &job);
    assert!(run.prices.is_due(Moment::START));
}

#[test]
fn after_a_lost_ledger_a_balance_that_does_not_fall_is_not_waited_for_and_a_fall_sends_the_next_request_alone() {
    for attempted in [answered(None, None), answered(Some(0), None), answered(None, Some(1_400))] {
        let mut run = Run::new();
        run.prices = run.prices.expecting_repeats(true);
        run.goes_alone(1_000, &attempted);
        assert_eq!(run.reads([1_000]), Some(Finding::Repeated { check: CHECK.to_owned() }));
        assert!(!run.must_run_alone(), "the run continues at the price");
        run.answers(REPEATED_MAX, &attempted);
        assert!(run.prices.is_due(Moment::START), "the account is read every twenty answers");
        // New rows begin, and the service charges more than the price.
        run.prices.read(Some(Credits(979)), Credits::ZERO, false, Moment::START);
        assert_eq!(run.prices.denied(), None);
        run.goes_alone(979, &answered(None, None));
        assert_eq!(run.reads([972, 972]), None, "it may be another client's spending");
        run.goes_alone(972, &answered(None, None));
        assert_eq!(run.reads([965, 965]), costs(7));
    }
}

#[test]
fn after_an_unexplained_fall_each_check_goes_alone_again_but_not_all_the_time() {
    let mut run = Run::after_first(&answered(None, Some(995)));
    for times in 1..=ALONE_AGAIN_MAX {
        run.prices.fell(Credits(3), Moment::START);
        assert_eq!(run.prices.unexplained(), Credits(3 * u64::from(times)));
        run.goes_alone(990, &answered(None, Some(985)));
    }
    run.prices.fell(Credits(3), Moment::START);
    assert!(!run.must_run_alone(), "another client is spending: not again at once");
    run.answers(ALONE_AGAIN_ANSWERS, &answered(None, Some(900)));
    run.prices.fell(Credits(3), Moment::START);
    assert!(run.must_run_alone());
}

#[test]
fn after_100_answers_and_five_minutes_the_balance_is_read_whatever_replies_state() {
    let mut run = Run::after_first(&answered(Some(5), None));
    run.prices.read(Some(Credits(1_000)), Credits::ZERO, true, Moment::START);
    run.answers(READ_ANSWERS, &answered(Some(5), Some(900)));
    assert!(!run.prices.is_due(Moment::START) && !run.prices.needs_reading(), "five minutes are not over");
    let later = Moment::START + READ_AFTER;
    assert!(run.prices.is_due(later));
    run.prices.read(Some(Credits(500)), Credits::ZERO, false, later);
    assert!(!run.prices.is_due(later));
}

#[test]
fn a_request_that_was_not_answered_shows_nothing() {
    let mut lost = answered(None, None);
    (lost.judgement, lost.reply.outcome, lost.settled.charged) = (None, Outcome::Unknown, Credits::ZERO);
    let run = Run::after_first(&lost);
    assert!(run.prices.next_reading().is_none() && run.prices.needs_reading_before(&one()) && run.must_run_alone());
}

#[test]
fn a_lone_refusal_after_which_the_balance_is_lower_was_charged() {
    let mut run = Run::after_first(&refused());
    assert!(matches!(run.reads([999, 999]), Some(Finding::ChargedRefusal { charge: Credits(1), .. })));
    assert!(run.must_run_alone(), "it shows no price");
    assert_eq!(Run::after_first(&refused()).reads([1_000]), None, "it was free");
    assert_eq!(Run::after_first(&refused()).reads([990, 980]), None, "the balance also falls for other reasons");
}

#[test]
fn a_fall_that_was_booked_as_a_charge_is_no_longer_unexplained() {
    let mut prices = Prices::new(Mode::Production, false, Moment::START);
    prices.fell(Credits(9), Moment::START);
    prices.read(Some(Credits(100)), Credits::ZERO, true, Moment::START);
    prices.explained(Credits(5));
    assert_eq!(prices.unexplained(), Credits(4));
    assert!(prices.needs_reading_before(&one()), "the last reading was before it was booked");
    prices.explained(Credits(5));
    assert_eq!(prices.unexplained(), Credits::ZERO);
}

#[test]
fn a_repeated_answer_with_a_balance_that_is_too_low_asks_for_a_reading_before_anything_leaves() {
    let mut run = Run::after_first(&answered(Some(5), Some(995)));
    let mut repeated = answered(Some(5), Some(100));
    run.prices.observe(&one(), &repeated, Moment::START);
    assert!(!run.prices.needs_reading());
    repeated.settled.doubtful_balance = true;
    run.prices.observe(&one(), &repeated, Moment::START);
    assert!(run.prices.needs_reading());
    run.prices.read(Some(Credits(995)), Credits::ZERO, true, Moment::START);
    assert!(!run.prices.needs_reading());
}

#[test]
fn in_sandbox_nothing_goes_alone_and_no_balance_is_read() {
    let mut prices = Prices::new(Mode::Sandbox, false, Moment::START);
    prices.fell(Credits(9), Moment::START);
    assert!(!prices.must_run_alone(&one()) && !prices.needs_reading_before(&one()));
    prices.observe(&one(), &answered(None, None), Moment::START);
    assert!(!prices.has_unread() && prices.unexplained() == Credits::ZERO);
}
