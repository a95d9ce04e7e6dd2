//! What each stop says, word for word, with its exit code.

use super::{Credits, ExitCode, Halt, RequestId, Stop, budget::BudgetRefusal, clock::local_time, stop::STAGE_SEND};
use std::fmt::Write;

/// A stop of each kind, and of each form of its message.
fn all() -> Vec<Stop> {
    let check = || "aml-screening".to_owned();
    vec![
        Stop::Budget(BudgetRefusal::Limit {
            limit: Credits(120),
            charged: Credits(118),
            held: Credits(0),
            price: Credits(5),
        }),
        Stop::Budget(BudgetRefusal::Balance { spendable: Credits(4), price: Credits(5), keep: Credits(50) }),
        Stop::Budget(BudgetRefusal::Unread),
        Stop::Price { check: check(), stated: Credits(7), table: Credits(5), request: Some(RequestId(12)) },
        Stop::Price { check: check(), stated: Credits(7), table: Credits(5), request: None },
        Stop::BalanceFell { credits: Credits(45), is_shared: false },
        Stop::BalanceFell { credits: Credits(45), is_shared: true },
        Stop::AmountUnreadable { check: check(), found: "-5".to_owned() },
        Stop::NoCredits { balance: Credits(3), price: Credits(5) },
        Stop::Unauthorised { status: 401 },
        Stop::Unauthorised { status: 403 },
        Stop::CheckRefused { check: check(), status: 403 },
        Stop::Misrouted { status: 404, path: "/aml".to_owned(), check: Some(check()), location: None },
        Stop::Misrouted { status: 404, path: "/my_credits".to_owned(), check: None, location: None },
        Stop::Misrouted {
            status: 301,
            path: "/aml".to_owned(),
            check: Some(check()),
            location: Some("https://new.example/v2/aml".to_owned()),
        },
        Stop::Misrouted {
            status: 302,
            path: "/my_credits".to_owned(),
            check: None,
            location: Some("https://sign-in.example/".to_owned()),
        },
        Stop::JobRoute { check: check(), status: 404, count: 5 },
        Stop::JobUnusable { check: check(), fault: "the reply names no job".to_owned() },
        Stop::Unavailable { message: "no reply in 60 s".to_owned() },
        Stop::Untrusted { host: "service.example".to_owned(), fault: "it has expired".to_owned() },
        Stop::NotTheService { found: String::new() },
        Stop::Intercepted { requests: 1, found: String::new() },
        Stop::NewWait,
        Stop::Conflict { count: 5, has_webhook: false },
        Stop::Conflict { count: 5, has_webhook: true },
        Stop::OtherMode { sent: "production".to_owned(), echoed: "sandbox".to_owned() },
        Stop::Kept { exit_code: ExitCode::Budget, message: "the price rose".to_owned(), at_us: 0, remedy: None },
        Stop::BalanceUnreadable,
        Stop::Halted(Halt {
            exit_code: 7,
            message: "HTTP 401".to_owned(),
            worker: "etl-7 process 4711".to_owned(),
            at_us: 0,
        }),
        Stop::Book { fault: "the charge book does not answer: no answer in 10 s".to_owned(), is_away: true },
        Stop::Book { fault: "the charge book refuses: permission denied".to_owned(), is_away: false },
        Stop::PushedBack { until_us: 0 },
        Stop::CheckPaused { check: check(), until_us: Some(0) },
        Stop::CheckPaused { check: check(), until_us: None },
        Stop::ClockDiffers { seconds: 400 },
        Stop::UnknownService { url: "https://service.example".to_owned() },
        Stop::OtherRoute { check: check() },
        Stop::OtherBody { check: check(), differs: "it has no `bundle`, and the declaration has \"x\"".to_owned() },
        Stop::FilesChanged { check: check(), first: "scans/1.png has other bytes".to_owned() },
        Stop::UploadUnusable { check: check(), fault: "it names no place".to_owned() },
        Stop::UploadCharged { check: check(), credits: Credits(3) },
        Stop::OtherSide { simulated: true },
        Stop::OtherSide { simulated: false },
        Stop::TooManyErrors { failed: 51, of: 100, stage: STAGE_SEND },
        Stop::SameRefusals { count: 5, message: "name is too short".to_owned() },
        Stop::Unrecognised { check: check(), unrecognised: 20, of: 20 },
        Stop::ExpectedRows { found: 9, least: 10, most: 20 },
        Stop::InputFailed,
        Stop::TimeIsUp,
        Stop::Interrupted,
        Stop::Terminated,
        Stop::Elsewhere { requests: 2 },
    ]
}

#[test]
fn each_stop_says_what_happened_and_what_to_do() {
    let mut said = String::new();
    for stop in all() {
        // Times are shown in the time zone of this machine.
        let message = stop.to_string().replace(&local_time(0), "1 Jan 1970 00:00");
        _ = writeln!(said, "{} {message}\n", stop.exit_code() as i32);
    }
    insta::assert_snapshot!(said);
}

/// A stop that is added has no message here until this match and [`all`] name it.
#[test]
fn every_kind_of_stop_is_in_the_list() {
    let mut kinds: Vec<u8> = all().iter().map(kind).collect();
    kinds.dedup();
    assert_eq!(kinds, (0..40).collect::<Vec<u8>>());
}

fn kind(stop: &Stop) -> u8 {
    match stop {
        Stop::Budget(_) => 0,
        Stop::Price { .. } => 1,
        Stop::BalanceFell { .. } => 2,
        Stop::AmountUnreadable { .. } => 3,
        Stop::NoCredits { .. } => 4,
        Stop::Unauthorised { .. } => 5,
        Stop::CheckRefused { .. } => 6,
        Stop::Misrouted { .. } => 7,
        Stop::JobRoute { .. } => 8,
        Stop::JobUnusable { .. } => 9,
        Stop::Unavailable { .. } => 10,
        Stop::Untrusted { .. } => 11,
        Stop::NotTheService { .. } => 12,
        Stop::Intercepted { .. } => 13,
        Stop::NewWait => 14,
        Stop::Conflict { .. } => 15,
        Stop::OtherMode { .. } => 16,
        Stop::Kept { .. } => 17,
        Stop::BalanceUnreadable => 18,
        Stop::Halted(_) => 19,
        Stop::Book { .. } => 20,
        Stop::PushedBack { .. } => 21,
        Stop::CheckPaused { .. } => 22,
        Stop::ClockDiffers { .. } => 23,
        Stop::UnknownService { .. } => 24,
        Stop::OtherRoute { .. } => 25,
        Stop::OtherBody { .. } => 26,
        Stop::FilesChanged { .. } => 27,
        Stop::UploadUnusable { .. } => 28,
        Stop::UploadCharged { .. } => 29,
        Stop::OtherSide { .. } => 30,
        Stop::TooManyErrors { .. } => 31,
        Stop::SameRefusals { .. } => 32,
        Stop::Unrecognised { .. } => 33,
        Stop::ExpectedRows { .. } => 34,
        Stop::InputFailed => 35,
        Stop::TimeIsUp => 36,
        Stop::Interrupted => 37,
        Stop::Terminated => 38,
        Stop::Elsewhere { .. } => 39,
    }
}
