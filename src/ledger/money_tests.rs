//! Tests of attempts of two requests in a small ledger: what each attempt counts and charges, and what it leaves for
//! the next one.

mod job_orders;
mod jobs;
mod records;
mod unclear;

use super::*;
use crate::model::{
    Checkpoint, Credits, Failure, FailureCode, Judgement, Mode, Receipt, RequestId, Stage,
    budget::{Account, Allowance},
    state::{Event, IllegalMove, Outcome, State},
};
use serde_json::json;
use std::sync::Arc;

const CHECK: &str = "aml-screening";
const PRICE: Credits = Credits(5);
const HOUR_US: i64 = 3_600 * 1_000_000;
const FIRST: RequestId = RequestId(1);
const SECOND: RequestId = RequestId(2);

/// A request in flight.
struct Sent {
    request: RequestId,
    attempt: u32,
    path: String,
}

/// A ledger with two requests, and a balance of 1,000.
struct Book {
    folder: tempfile::TempDir,
    ledger: Ledger,
    now_us: i64,
    path: &'static str,
    /// The credits that a job of the check holds.
    job_hold: Credits,
}

fn refused() -> Failure {
    Failure { stage: Stage::Send, code: FailureCode::Refused, message: "refused".to_owned() }
}

impl Book {
    async fn new() -> Book {
        let folder = tempfile::tempdir().unwrap();
        let ledger = for_tests::of_requests(&folder.path().join("ledger.sqlite"), 2).await;
        ledger.balance(Credits(1_000), (ledger.sums(), None), 1, None).await.unwrap();
        Book { folder, ledger, now_us: HOUR_US, path: "/new", job_hold: Credits::ZERO }
    }

    async fn arm(&self, request: RequestId) -> Result<Receipt, NotArmed> {
        self.ledger.arm(self.order(request)).await.unwrap()
    }

    fn order(&self, request: RequestId) -> ArmOrder {
        ArmOrder {
            mode: Mode::Production,
            request,
            check: CHECK.to_owned(),
            price: PRICE,
            job_hold: self.job_hold,
            allowance: Allowance { limit: Some(Credits(100)), keep_balance: Credits::ZERO },
            scope: "scope".to_owned(),
            path: self.path.to_owned(),
            routes: Arc::new(["/old".to_owned(), "/new".to_owned()]),
            shape: Arc::default(),
            key_life_hours: 72,
            now_us: self.now_us,
            room: None,
        }
    }

    async fn sent(&self, request: RequestId) -> Sent {
        match self.arm(request).await {
            Ok(receipt) => Sent { request, attempt: receipt.attempt(), path: receipt.path().to_owned() },
            other => panic!("{other:?}"),
        }
    }

    /// Settles the request in flight; `change` modifies the reply.
    async fn settled(&self, sent: Sent, outcome: Outcome, change: impl FnOnce(&mut Settlement)) -> Settled {
        let mut settlement = self.settlement(&sent, outcome);
        change(&mut settlement);
        self.ledger.settle(settlement).await.unwrap()
    }

    fn settlement(&self, sent: &Sent, outcome: Outcome) -> Settlement {
        let (request_id, judgement, body) = (None, Judgement::unrecognised(), b"{}".to_vec());
        let answer = AnswerRecord { requested_at_us: self.now_us, request_id, judgement, dataset: None, body };
        Settlement {
            request: sent.request,
            check: CHECK.to_owned(),
            attempt: sent.attempt,
            outcome,
            table: PRICE,
            lower: None,
            http_status: None,
            latency_ms: 1,
            now_us: self.now_us,
            answer: Some(answer),
            job: None,
            job_charged: Credits::ZERO,
            charge_unreadable: false,
            job_hold: self.job_hold,
            unreadable: None,
            is_of_another: false,
            failure: Some(refused()),
            remaining: None,
            before: self.account(),
            pause_until_us: None,
            check_pause: None,
            not_before_us: None,
            server_offset_us: None,
        }
    }

    /// Sends a request with this outcome.
    async fn comes_to(&self, request: RequestId, outcome: Outcome) -> Settled {
        let sent = self.sent(request).await;
        self.settled(sent, outcome, |_| ()).await
    }

    fn account(&self) -> Account {
        self.ledger.sums().account
    }

    fn reading(&self) -> Reading {
        Reading::open(&self.folder.path().join("ledger.sqlite")).unwrap()
    }
}

#[tokio::test]
async fn consecutive_refusals_for_credits_or_rate_are_counted_until_another_reply() {
    let book = Book::new().await;
    let in_row = async |outcome| book.comes_to(FIRST, outcome).await.refusals_in_row;
    assert_eq!(in_row(Outcome::NoCredits).await, 1);
    assert_eq!(in_row(Outcome::RateLimited).await, 2);
    assert_eq!(in_row(Outcome::NotWritten).await, 2, "the service was not reached");
    assert_eq!(in_row(Outcome::Unauthorised).await, 0);
    assert_eq!(in_row(Outcome::NoCredits).await, 1, "it was kept that none came before");
    let sent = book.sent(FIRST).await;
    let paused = book.settled(sent, Outcome::Uncharged, |reply| reply.pause_until_us = Some(2 * HOUR_US)).await;
    assert_eq!(paused.refusals_in_row, 2, "a reply that asks for a pause is one, too");
}

#[tokio::test]
async fn a_refusal_after_which_a_reply_states_a_lower_balance_was_charged() {
    for (remaining, charged, failed_with) in [(995, 5, "refused"), (990, 10, "it was charged")] {
        let book = Book::new().await;
        let first = book.sent(FIRST).await;
        let answer = Outcome::Answered { stated: Some(PRICE) };
        book.settled(first, answer, |reply| reply.remaining = Some(Credits(995))).await;
        let second = book.sent(SECOND).await;
        let refused = book.settled(second, Outcome::Refused, |reply| reply.remaining = Some(Credits(remaining))).await;
        assert_eq!((refused.state, book.account().held), (State::Failed, Credits::ZERO));
        assert_eq!(book.account().charged, Credits(charged), "{remaining}");
        let mut failures = Vec::new();
        let note = |ask: AskView<'_>| -> Result<(), LedgerError> {
            if let AskFate::Request(request) = &ask.fate {
                failures.extend(request.failure.iter().map(|failure| failure.message.clone()));
            }
            Ok(())
        };
        book.reading().failed_asks(note).unwrap();
        assert!(failures.len() == 1 && failures[0].contains(failed_with), "{failures:?}");
    }
}

#[tokio::test]
async fn a_failure_that_is_found_charged_later_is_counted_once() {
    let book = Book::new().await;
    book.comes_to(FIRST, Outcome::Refused).await;
    let message = "the balance fell by it".to_owned();
    let failure = Failure { stage: Stage::Send, code: FailureCode::WrittenOff, message };
    book.ledger.event(FIRST, Event::FoundCharged, Some(failure)).await.unwrap();
    let failures = book.ledger.sums().failures();
    assert_eq!(failures.into_iter().collect::<Vec<_>>(), [(FailureCode::WrittenOff, 1)]);
    let conn = rusqlite::Connection::open(book.ledger.path()).unwrap();
    assert_eq!(check_sums::recounted(&conn).unwrap(), book.ledger.sums().checks);
}

#[tokio::test]
async fn the_oldest_doubt_is_the_first_arm_of_a_request_that_may_be_charged() {
    let mut book = Book::new().await;
    assert_eq!(book.reading().oldest_doubt_us().unwrap(), None);
    book.comes_to(FIRST, Outcome::Unknown).await;
    book.now_us += HOUR_US;
    book.comes_to(SECOND, Outcome::Unknown).await;
    book.comes_to(FIRST, Outcome::Unknown).await;
    assert_eq!(book.reading().oldest_doubt_us().unwrap(), Some(HOUR_US));
}

#[tokio::test]
async fn a_request_in_doubt_keeps_its_route_and_a_proven_uncharged_one_takes_the_current_route() {
    let mut book = Book::new().await;
    book.path = "/old";
    book.comes_to(FIRST, Outcome::RateLimited).await;
    book.comes_to(SECOND, Outcome::Unknown).await;
    book.path = "/new";
    assert_eq!(book.sent(FIRST).await.path, "/new");
    assert_eq!(book.sent(SECOND).await.path, "/old");
}

#[tokio::test]
async fn a_misrouted_request_takes_the_current_route() {
    let mut book = Book::new().await;
    book.path = "/old";
    book.comes_to(FIRST, Outcome::Misrouted).await;
    book.path = "/new";
    assert_eq!(book.sent(FIRST).await.path, "/new");
}

#[tokio::test]
async fn a_request_in_doubt_on_a_route_that_its_check_lacks_is_withheld_and_holds_its_price() {
    let mut book = Book::new().await;
    book.path = "/another";
    book.comes_to(FIRST, Outcome::Unknown).await;
    book.path = "/new";
    assert!(matches!(book.arm(FIRST).await, Err(NotArmed::Withheld(IllegalMove::OtherRoute))));
    assert_eq!(book.account().held, PRICE);
}

#[tokio::test]
async fn in_the_last_two_hours_of_its_life_a_key_in_doubt_is_not_sent_again_and_holds_its_price() {
    for (hours, is_sent) in [(69, true), (70, false), (80, false)] {
        let mut book = Book::new().await;
        book.comes_to(FIRST, Outcome::Unknown).await;
        book.now_us += hours * HOUR_US;
        let armed = book.arm(FIRST).await;
        assert!(armed.is_ok() == is_sent, "{hours}: {armed:?}");
        assert!(is_sent || matches!(armed, Err(NotArmed::Quarantined)), "{hours}: {armed:?}");
        assert_eq!(book.account().held, PRICE);
    }
}

#[tokio::test]
async fn a_request_in_doubt_or_found_charged_is_shown_as_possibly_charged() {
    let book = Book::new().await;
    book.comes_to(FIRST, Outcome::Unknown).await;
    let possibly = |view: AskView<'_>, shown: &mut Vec<bool>| {
        if let AskFate::Request(request) = &view.fate {
            shown.push(request.possibly_charged);
        }
        Ok::<(), LedgerError>(())
    };
    let mut pending = Vec::new();
    book.reading().pending_asks(|ask| possibly(ask, &mut pending)).unwrap();
    assert_eq!(pending, [true, false], "the second was never sent");
    book.comes_to(SECOND, Outcome::ChargedRefusal { stated: None }).await;
    let mut failed = Vec::new();
    book.reading().failed_asks(|ask| possibly(ask, &mut failed)).unwrap();
    assert_eq!(failed, [true]);
}

#[tokio::test]
async fn the_recounted_rows_match_the_sums_and_sums_off_by_one_do_not_match() {
    let book = Book::new().await;
    let damaged = || Failure { stage: Stage::Map, code: FailureCode::MissingValue, message: "no name".to_owned() };
    let fates = [
        (None, Fate::Failure(damaged())),
        (Some(1), Fate::Failure(damaged())),
        (Some(1), Fate::Failure(damaged())),
        (Some(1), Fate::Skipped("not wanted".to_owned())),
    ];
    let ask = |(row_index, (check_use, fate))| IngestedAsk { row_index, check_use, fate };
    let asks = (0..).zip(fates).map(ask).collect();
    let row =
        |row_number| IngestedRow { row_number, line: row_number, byte_offset: 0, subject: None, input: json!({}) };
    let end = Checkpoint { end_offset: 60, end_line: 7, next_row_number: 7, sha256: [0; 32] };
    book.ledger.ingest(IngestedSplit { source: 1, rows: (3..7).map(row).collect(), asks, end }, 1).unwrap();
    book.comes_to(FIRST, Outcome::Answered { stated: Some(Credits(7)) }).await;
    book.comes_to(SECOND, Outcome::Unknown).await;
    book.comes_to(SECOND, Outcome::Unknown).await;

    let stored = book.ledger.sums();
    let conn = rusqlite::Connection::open(book.ledger.path()).unwrap();
    let counted = recount::recounted(&conn, None).unwrap();
    assert_eq!((counted.rows, counted.unreadable, counted.asks, counted.unmapped, counted.skipped), (6, 1, 5, 2, 1));
    assert_eq!((counted.attempts, counted.answers_unrecognised, counted.open()), (3, 1, 1));
    // The second was sent after a reply that charged 7: that amount was held for it.
    assert_eq!((counted.account.charged, counted.account.held), (Credits(7), Credits(7)));
    assert_eq!(counted.highest_prices[CHECK].price, Credits(7));
    let wrong = Sums { rows: 1, asks: 1, attempts: 1, unreadable: 9, unmapped: 9, skipped: 9, ..Sums::default() };
    for counted in [counted, recount::recounted(&conn, Some(wrong)).unwrap()] {
        let counts = |sums: &Sums| {
            let Sums { rows, unreadable, asks, unmapped, skipped, attempts, answers_unrecognised, .. } = sums.clone();
            [rows, unreadable, asks, unmapped, skipped, attempts, answers_unrecognised]
        };
        assert_eq!(counts(&counted), counts(&stored));
        assert_eq!(counted.answers, stored.answers);
        assert!(State::ALL.iter().all(|state| counted.in_state(*state) == stored.in_state(*state)));
    }

    let matches = |change: fn(&mut Sums), thoroughly| {
        let mut sums = Sums::clone(&stored);
        change(&mut sums);
        recount::matches(&conn, &sums, thoroughly).unwrap()
    };
    assert!(matches(|_| (), true) && matches(|_| (), false));
    assert!(!matches(|sums| sums.account.charged = Credits(8), true));
    let wrong: [fn(&mut Sums); 2] =
        [|sums| sums.account.held = Credits(4), |sums| *sums.requests.entry(State::InDoubt).or_default() += 1];
    for change in wrong {
        assert!(!matches(change, true) && !matches(change, false));
    }
}

#[tokio::test]
async fn a_repeated_answer_with_a_balance_that_is_too_low_is_doubtful_and_no_reading() {
    for (stated, doubtful) in [(900, true), (995, false), (1_500, false)] {
        let book = Book::new().await;
        book.comes_to(FIRST, Outcome::Unknown).await;
        let sent = book.sent(FIRST).await;
        let answer = Outcome::Answered { stated: Some(PRICE) };
        let settled = book.settled(sent, answer, |reply| reply.remaining = Some(Credits(stated))).await;
        assert_eq!((settled.doubtful_balance, settled.unexplained_fall), (doubtful, Credits::ZERO), "{stated}");
        assert_eq!(book.account().reading.map(|reading| reading.balance), Some(Credits(1_000)), "{stated}");
    }
}

#[tokio::test]
async fn requests_in_doubt_are_counted_for_the_api_key_that_they_were_sent_under() {
    let book = Book::new().await;
    let under = |scope| book.reading().doubts_by_api_key().unwrap().get(scope).copied().unwrap_or_default();
    assert_eq!(under("scope"), 0);
    book.comes_to(FIRST, Outcome::Unknown).await;
    book.comes_to(SECOND, Outcome::Pending { stated: None }).await;
    assert_eq!((under("scope"), under("another")), (2, 0));
}

#[tokio::test]
async fn replies_that_are_not_answers_are_counted_and_the_last_one_is_kept() {
    let book = Book::new().await;
    for (outcome, bytes, count) in [
        (Outcome::Unreadable, Some("one"), 1),
        (Outcome::Unknown, None, 1),
        (Outcome::Unreadable, Some("two"), 2),
        (Outcome::Unknown, None, 2),
    ] {
        let sent = book.sent(FIRST).await;
        let bytes = bytes.map(|text| text.as_bytes().to_vec());
        assert_eq!(book.settled(sent, outcome, |reply| reply.unreadable = bytes).await.unclear, count);
    }
    let kept = "SELECT body FROM unreadable WHERE request = 1";
    let kept: Vec<u8> = book.reading().conn.query_row(kept, [], |row| row.get(0)).unwrap();
    assert_eq!(compression::decompress(&kept, 99).unwrap(), b"two");
}

/// So a run need not remember what it sent, however long an outage lasts.
#[tokio::test]
async fn what_a_run_sends_is_not_among_what_was_sent_before_it() {
    let book = Book::new().await;
    book.comes_to(FIRST, Outcome::RateLimited).await;
    let before = book.reading().last_attempt().unwrap();
    book.comes_to(SECOND, Outcome::RateLimited).await;
    let refused = SentBefore { state: State::Planned, is_refused: true };
    let found = |last| book.reading().sent_before(refused, 0, last, 9).unwrap();
    assert_eq!(found(before).into_iter().map(|(_, request, _)| request).collect::<Vec<_>>(), [FIRST]);
    assert_eq!(found(book.reading().last_attempt().unwrap()).len(), 2, "the next run sends both again");
}

/// A reply may close the gate after each arming. A request that was never sent must not come after those that were.
#[tokio::test]
async fn a_request_that_is_armed_and_not_sent_keeps_its_turn() {
    let book = Book::new().await;
    for request in [FIRST, SECOND] {
        book.comes_to(request, Outcome::RateLimited).await;
    }
    let turns = || {
        let refused = SentBefore { state: State::Planned, is_refused: true };
        let found = book.reading().sent_before(refused, 0, u64::MAX, 9).unwrap();
        found.into_iter().map(|(_, request, _)| request).collect::<Vec<_>>()
    };
    let sent = book.sent(FIRST).await;
    book.ledger.take_back(book.settlement(&sent, Outcome::NotWritten)).await.unwrap();
    assert_eq!(turns(), [FIRST, SECOND], "taken back");
    book.comes_to(FIRST, Outcome::NotWritten).await;
    assert_eq!(turns(), [SECOND, FIRST], "tried without a connection");
}
