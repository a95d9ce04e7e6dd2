//! What another ledger makes of a request from its record in the charge book.

use super::*;
use crate::{
    ledger::recount::{matches, recounted},
    model::{IdempotencyKey, JobId, shared_request::Told, state::JobEnd},
};

/// A ledger of a partition of a campaign.
async fn shared() -> Book {
    let book = Book::new().await;
    book.ledger.share("1".to_owned()).await.unwrap();
    book
}

/// What the book is told of the first request now.
fn told(book: &Book) -> Told {
    let untold = book.reading().untold(9, &[]).unwrap();
    let first = IdempotencyKey::from_slice(&[0; 16]);
    untold.into_iter().filter_map(|one| one.told).find(|told| Some(told.key) == first).unwrap()
}

async fn adopted(book: &Book, told: &Told, with_charge: bool) -> Option<State> {
    let adoption = Adoption { request: FIRST, told: told.clone(), with_charge };
    let adopted = book.ledger.adopt(vec![adoption], 9 * HOUR_US).await.unwrap();
    adopted.first().map(|(_, state)| *state)
}

/// The sums are those of the rows, counted again.
fn adds_up(book: &Book) {
    let (reading, sums) = (book.reading(), book.ledger.sums());
    assert!(matches(&reading.conn, &sums, true).unwrap());
    let again = recounted(&reading.conn, Some((*sums).clone())).unwrap();
    assert_eq!((by_state(&again), again.attempts, &again.checks), (by_state(&sums), sums.attempts, &sums.checks));
    assert_eq!((&again.answers, &again.datasets), (&sums.answers, &sums.datasets));
    assert!(sums.account.armed >= sums.account.held + sums.account.charged);
}

fn by_state(sums: &Sums) -> Vec<u64> {
    State::ALL.iter().map(|state| sums.in_state(*state)).collect()
}

/// Ledgers in which the first request has come to each state.
async fn of_all_states() -> Vec<Book> {
    let mut books = Vec::new();
    for outcome in [
        Outcome::Answered { stated: Some(Credits(4)) },
        Outcome::Answered { stated: None },
        Outcome::Refused,
        Outcome::ChargedRefusal { stated: Some(Credits(3)) },
        Outcome::RateLimited,
        Outcome::Unknown,
        Outcome::Unconvincing,
        Outcome::Pending { stated: None },
    ] {
        let book = shared().await;
        book.comes_to(FIRST, outcome).await;
        books.push(book);
    }
    let quarantined = shared().await;
    quarantined.comes_to(FIRST, Outcome::Unknown).await;
    quarantined.ledger.event(FIRST, Event::PutBeforePerson, Some(refused())).await.unwrap();
    books.push(quarantined);
    for end in [None, Some(JobEnd::Failed { charged: Some(Credits(2)) }), Some(JobEnd::Lost)] {
        let job = Book { job_hold: Credits(7), ..shared().await };
        let sent = job.sent(FIRST).await;
        let accepted = Outcome::Accepted { stated: None };
        job.settled(sent, accepted, |reply| (reply.job, reply.answer) = (JobId::new("job_1"), None)).await;
        if let Some(end) = end {
            job.ledger.event(FIRST, Event::JobEnded(end), Some(refused())).await.unwrap();
        }
        books.push(job);
    }
    books
}

#[tokio::test]
async fn the_next_ledger_of_a_partition_has_what_the_lost_one_had() {
    for lost in of_all_states().await {
        let (told, next) = (told(&lost), shared().await);
        assert_eq!(adopted(&next, &told, true).await, Some(told.state));
        let (ours, theirs) = (next.ledger.sums(), lost.ledger.sums());
        assert_eq!((ours.account.held, ours.account.charged), (theirs.account.held, theirs.account.charged));
        assert_eq!((by_state(&ours), &ours.checks), (by_state(&theirs), &theirs.checks), "{:?}", told.state);
        adds_up(&next);
        // It would tell the same, and does not have to.
        assert!(next.reading().untold(9, &[]).unwrap().is_empty());
        next.ledger.tell_again("another book".to_owned(), Vec::new()).await.unwrap();
        assert_eq!(self::told(&next), told, "with its body, route and key");
    }
}

#[tokio::test]
async fn a_ledger_that_takes_invented_answers_knows_it_and_does_not_mix_them() {
    let lost = shared().await;
    lost.ledger.note_peer(true).await.unwrap();
    lost.comes_to(FIRST, Outcome::Answered { stated: None }).await;
    let next = shared().await;
    assert_eq!(adopted(&next, &told(&lost), true).await, Some(State::Answered));
    assert_eq!(next.ledger.sums().simulated, Some(true));
    let of_service = shared().await;
    of_service.ledger.note_peer(false).await.unwrap();
    assert_eq!(adopted(&of_service, &told(&lost), true).await, None);
    adds_up(&of_service);
}

#[tokio::test]
async fn another_partition_has_the_answer_and_not_the_charge() {
    for theirs in of_all_states().await {
        let told = told(&theirs);
        if !told.state.is_settled() {
            continue;
        }
        let ours = shared().await;
        assert_eq!(adopted(&ours, &told, false).await, Some(told.state));
        let account = ours.account();
        assert_eq!((account.held, account.charged), (Credits::ZERO, Credits::ZERO));
        adds_up(&ours);
        assert!(ours.reading().untold(9, &[]).unwrap().is_empty(), "the line belongs to another partition");
    }
}

#[tokio::test]
async fn a_request_in_doubt_here_takes_the_answer_that_another_partition_has() {
    let (theirs, ours) = (shared().await, shared().await);
    theirs.comes_to(FIRST, Outcome::Answered { stated: None }).await;
    ours.comes_to(FIRST, Outcome::Unknown).await;
    assert_eq!(ours.account().held, PRICE);
    assert_eq!(adopted(&ours, &told(&theirs), false).await, Some(State::Answered));
    assert_eq!((ours.account().held, ours.account().charged), (Credits::ZERO, Credits::ZERO));
    adds_up(&ours);
}

#[tokio::test]
async fn what_was_armed_when_its_ledger_was_lost_is_in_doubt_with_the_age_of_its_key() {
    let (lost, next) = (shared().await, shared().await);
    let (claimed, room) = lost.ledger.about_to_arm(lost.order(FIRST)).await.unwrap();
    assert_eq!((claimed.state, claimed.attempts, claimed.held, room), (State::Armed, 1, PRICE, PRICE));
    assert_eq!(adopted(&next, &claimed, true).await, Some(State::InDoubt));
    assert_eq!(next.account().held, PRICE);
    adds_up(&next);
    let late = next.now_us + 71 * HOUR_US;
    let order = ArmOrder { now_us: late, ..next.order(FIRST) };
    assert!(matches!(next.ledger.arm(order).await.unwrap(), Err(NotArmed::Quarantined)), "its key is too old by then");
    let other_key = Book { now_us: 2 * HOUR_US, ..shared().await };
    adopted(&other_key, &claimed, true).await;
    let order = ArmOrder { scope: "another".to_owned(), ..other_key.order(FIRST) };
    let refused = other_key.ledger.arm(order).await.unwrap();
    assert!(matches!(refused, Err(NotArmed::Withheld(IllegalMove::OtherApiKey))));
    assert_eq!(other_key.sent(FIRST).await.attempt, 2, "the second attempt has the same key");
}

#[tokio::test]
async fn what_is_claimed_and_not_armed_is_told_and_what_is_armed_was_told() {
    let book = shared().await;
    let untold = |book: &Book| book.reading().untold(9, &[]).unwrap();
    let revision = |book: &Book| book.reading().known(&[FIRST]).unwrap()[0].2.revision;
    let (claimed, _) = book.ledger.about_to_arm(book.order(FIRST)).await.unwrap();
    assert!(untold(&book).is_empty(), "nothing has become of it");
    book.ledger.not_armed(FIRST).await.unwrap();
    assert_eq!(told(&book).attempts, 0);
    assert!(told(&book).revision > claimed.revision, "it takes the place of the claim");
    assert!(book.reading().untold(9, &[FIRST]).unwrap().is_empty(), "not while it may be armed");
    let (claimed, _) = book.ledger.about_to_arm(book.order(FIRST)).await.unwrap();
    let sent = book.sent(FIRST).await;
    assert_eq!(revision(&book), claimed.revision, "it is what was claimed");
    book.settled(sent, Outcome::Unknown, |_| ()).await;
    let changes: Vec<i64> = untold(&book).iter().map(|one| one.change).collect();
    let sent = book.sent(FIRST).await;
    book.settled(sent, Outcome::Answered { stated: None }, |_| ()).await;
    book.ledger.told(changes).await.unwrap();
    assert_eq!(told(&book).state, State::Answered, "a later change is told, too");
    let decided = Decided { reason: "r".to_owned(), decided_by: "n".to_owned(), now_us: 1 };
    book.ledger.told(untold(&book).iter().map(|one| one.change).collect()).await.unwrap();
    book.ledger.correct_charge(FIRST, Credits(1), decided).await.unwrap();
    assert_eq!(told(&book).charged, Credits(1));
    book.ledger.charged_beside(FIRST, Credits(2)).await.unwrap();
    assert_eq!(told(&book).charged, Credits(3));
    book.ledger.charged_beside(SECOND, Credits(2)).await.unwrap();
    assert_eq!(untold(&book).len(), 2, "a charge for what was never sent, too");
}

#[tokio::test]
async fn a_ledger_that_begins_to_share_tells_everything_it_has_sent() {
    let book = Book::new().await;
    book.comes_to(FIRST, Outcome::Answered { stated: None }).await;
    assert!(book.reading().untold(9, &[]).unwrap().is_empty(), "a ledger alone keeps nothing for a book");
    book.ledger.share(String::new()).await.unwrap();
    assert_eq!(book.reading().untold(9, &[]).unwrap().len(), 1, "and not what was never sent");
    assert_eq!(told(&book).charged, PRICE);
}

#[tokio::test]
async fn a_request_is_sent_again_with_the_body_that_its_key_was_sent_with() {
    let (lost, next) = (shared().await, shared().await);
    lost.comes_to(FIRST, Outcome::Unknown).await;
    let conn = rusqlite::Connection::open(lost.folder.path().join("ledger.sqlite")).unwrap();
    let body = br#"{"webhookSecret":"of the lost ledger"}"#;
    let digest = crate::ledger::arm::digest(body);
    conn.execute("UPDATE request SET body = ?1, digest = ?2", rusqlite::params![body, digest]).unwrap();
    let mut told = told(&lost);
    let without = Told { body: None, ..told.clone() };
    assert_eq!(adopted(&next, &without, true).await, None, "a key has one body");
    assert_eq!(next.reading().known(&[FIRST]).unwrap()[0].2.attempts, 0);
    assert_eq!(adopted(&next, &told, true).await, Some(State::InDoubt));
    assert_eq!(next.arm(FIRST).await.unwrap().body(), body);
    told.record = "{}".to_owned();
    assert_eq!(adopted(&shared().await, &told, true).await, None, "a record that cannot be read changes nothing");
}

#[tokio::test]
async fn what_decides_about_the_attempts_of_a_lost_ledger_is_not_lost() {
    // A reply has stated a charge, which a later one denies.
    let (lost, next) = (shared().await, shared().await);
    let sent = lost.sent(FIRST).await;
    let pending = Outcome::Pending { stated: Some(Credits(2)) };
    lost.settled(sent, pending, |reply| reply.job_charged = Credits(2)).await;
    adopted(&next, &told(&lost), true).await;
    assert_eq!(
        next.comes_to(FIRST, Outcome::CachedFailure).await.state,
        lost.comes_to(FIRST, Outcome::CachedFailure).await.state
    );
    assert!(next.account().charged > Credits::ZERO);
    // A request in doubt keeps its route, unless that route never existed.
    for (outcome, path) in [(Outcome::Unknown, "/old"), (Outcome::Misrouted, "/new")] {
        let lost = Book { path: "/old", ..shared().await };
        let next = shared().await;
        lost.comes_to(FIRST, outcome).await;
        adopted(&next, &told(&lost), true).await;
        assert_eq!(next.sent(FIRST).await.path, path, "{outcome:?}");
    }
}

#[tokio::test]
async fn a_refused_request_of_another_partition_keeps_the_age_of_its_key() {
    let (theirs, ours) = (shared().await, shared().await);
    theirs.comes_to(FIRST, Outcome::RateLimited).await;
    assert_eq!(adopted(&ours, &told(&theirs), false).await, Some(State::Planned));
    adds_up(&ours);
    let (claimed, _) = ours.ledger.about_to_arm(ArmOrder { now_us: 20 * HOUR_US, ..ours.order(FIRST) }).await.unwrap();
    assert!(claimed.record.contains(&format!("\"first_armed_at\":{}", theirs.now_us)), "{}", claimed.record);
    assert_eq!(claimed.attempts, 2);
}
