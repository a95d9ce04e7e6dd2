//! What the ledger keeps of a request that the service accepted as a job.

use super::*;
use crate::model::{JobId, job_life::JobSign};

const SEVEN: Credits = Credits(7);

async fn submitted(book: &Book, request: RequestId, id: &str, stated: Option<u64>) -> Settled {
    let sent = book.sent(request).await;
    let accepted = Outcome::Accepted { stated: stated.map(Credits) };
    book.settled(sent, accepted, |reply| (reply.job, reply.answer) = (JobId::new(id), None)).await
}

fn recorded(book: &Book) -> Vec<(i64, String)> {
    let reading = book.reading();
    let mut select = reading.conn.prepare("SELECT request, job_id FROM job ORDER BY request").unwrap();
    let found = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    found.unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn a_job_is_recorded_with_its_hold_and_is_never_armed_again() {
    let book = Book { job_hold: SEVEN, ..Book::new().await };
    let settled = submitted(&book, FIRST, "job_1", None).await;
    assert_eq!((settled.state, settled.charged, settled.above_price()), (State::Submitted, Credits::ZERO, None));
    assert_eq!((book.account().held, book.account().charged), (SEVEN, Credits::ZERO), "more than the price");
    assert_eq!(recorded(&book), [(FIRST.0, "job_1".to_owned())]);
    assert!(book.ledger.sums().was_answered(CHECK), "its route is right");
    assert!(book.reading().new_requests(FIRST, 9).unwrap().iter().all(|(id, _)| *id != FIRST));
    let order = ArmOrder { now_us: book.now_us + 200 * HOUR_US, ..book.order(FIRST) };
    assert!(book.ledger.arm(order).await.is_err(), "an index would have to be wrong");
}

#[tokio::test]
async fn a_job_survives_a_restart_with_its_hold_in_the_sums() {
    let book = Book { job_hold: SEVEN, ..Book::new().await };
    submitted(&book, FIRST, "job_1", None).await;
    let conn = &book.reading().conn;
    let sums = super::super::recount::recounted(conn, None).unwrap();
    assert_eq!((sums.in_state(State::Submitted), sums.account.held), (1, SEVEN));
    assert!(sums.was_answered(CHECK));
    assert!(super::super::recount::matches(conn, &book.ledger.sums(), true).unwrap());
    assert!(super::super::recount::matches(conn, &book.ledger.sums(), false).unwrap());
    assert_eq!(book.ledger.recover(book.now_us).await.unwrap(), 0, "it is not in flight");
}

#[tokio::test]
async fn a_job_that_will_cost_more_than_is_held_raises_the_hold_and_is_reported() {
    let book = Book { job_hold: SEVEN, ..Book::new().await };
    let settled = submitted(&book, FIRST, "job_1", Some(9)).await;
    assert_eq!((settled.state, settled.above_price()), (State::Submitted, Some(Credits(9))));
    assert_eq!(book.account().held, Credits(9));
    assert_eq!(book.ledger.sums().price_to_hold(CHECK, PRICE), Credits(9), "the next one holds as much");
}

#[tokio::test]
async fn a_job_id_of_another_request_is_not_believed() {
    let book = Book { job_hold: SEVEN, ..Book::new().await };
    submitted(&book, FIRST, "job_1", None).await;
    let settled = submitted(&book, SECOND, "job_1", None).await;
    assert_eq!(settled.state, State::Repeating);
    assert_eq!((recorded(&book).len(), book.account().held), (1, Credits(14)));
    let settled = submitted(&book, SECOND, "job_2", None).await;
    assert_eq!((settled.state, recorded(&book).len()), (State::Submitted, 2));
}

#[tokio::test]
async fn an_accepted_request_without_a_job_id_is_repeated() {
    let book = Book::new().await;
    assert_eq!(submitted(&book, FIRST, "", None).await.state, State::Repeating);
    assert!(recorded(&book).is_empty());
}

#[tokio::test]
async fn an_answer_at_once_costs_the_price_of_the_check_and_not_what_a_job_holds() {
    let book = Book { job_hold: SEVEN, ..Book::new().await };
    let sent = book.sent(FIRST).await;
    assert_eq!(book.account().held, SEVEN);
    let answered = book.settled(sent, Outcome::Answered { stated: None }, |_| ()).await;
    assert_eq!((answered.charged, answered.above_price()), (PRICE, None));
    assert_eq!((book.account().held, book.account().charged), (Credits::ZERO, PRICE));
    let sent = book.sent(SECOND).await;
    let dearer = book.settled(sent, Outcome::Answered { stated: Some(Credits(6)) }, |_| ()).await;
    assert_eq!((dearer.charged, dearer.above_price()), (Credits(6), Some(Credits(6))), "the price table says less");
}

#[tokio::test]
async fn an_answer_after_a_doubt_is_booked_as_what_a_job_holds() {
    let book = Book { job_hold: SEVEN, ..Book::new().await };
    assert_eq!(book.comes_to(FIRST, Outcome::Unknown).await.state, State::InDoubt);
    let answered = book.comes_to(FIRST, Outcome::Answered { stated: Some(PRICE) }).await;
    assert_eq!(answered.charged, SEVEN, "the first attempt may have become a job");
}

#[tokio::test]
async fn a_job_that_was_asked_for_by_a_clock_that_was_ahead_is_asked_for_by_the_next_run() {
    let mut book = Book { job_hold: SEVEN, ..Book::new().await };
    let begun_us = book.now_us;
    submitted(&book, FIRST, "job_1", None).await;
    let due = |book: &Book, due| book.reading().due_jobs("scope", due, 9).unwrap().len();
    book.now_us += 71 * HOUR_US;
    let job = book.reading().due_jobs("scope", Due::At(book.now_us), 9).unwrap().remove(0);
    assert_eq!(book.ledger.follow(report(&book, &job)).await.unwrap().state, State::Submitted);
    book.now_us = begun_us + HOUR_US;
    assert_eq!((due(&book, Due::At(book.now_us)), due(&book, Due::AskedBefore(book.now_us))), (0, 0));
    book.ledger.recover(book.now_us).await.unwrap();
    assert_eq!((due(&book, Due::At(book.now_us)), due(&book, Due::AskedBefore(book.now_us))), (1, 1));
}

/// The service says that the job has no result yet.
fn report(book: &Book, job: &DueJob) -> JobReport {
    JobReport {
        request: job.request,
        check: job.check.clone(),
        id: job.id.clone(),
        sign: JobSign::Open,
        wait: None,
        table: PRICE,
        http_status: Some(200),
        heard: None,
        latency_ms: 1,
        now_us: book.now_us,
        stated: Credits::ZERO,
        answer: None,
        failure: refused(),
        server_offset_us: None,
    }
}
