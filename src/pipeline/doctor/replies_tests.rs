//! Every kind of reply against every reader, as one table: a check, a check with jobs, a job, the account, both steps of an
//! upload, a delivery and the doctor. A cell that changes is a decision that changes.

use super::{
    account::unreachable,
    checks::{Answered, answered},
};
use crate::{
    catalogue::Catalogue,
    client::{
        BalanceReply, Begun, Client, Exchange, NotAnswered, PushBack, Redelivered, Reply, ReplySpec, Said, Settings,
        TransportFault, balance_reply, classify, job_news, redelivered, stored,
    },
    model::{Credits, JobId},
};
use std::time::{Duration, UNIX_EPOCH};

const ERROR: &str = r#"{"error": {"code": "X", "message": "m"}}"#;
const OTHER_JSON: &str = r#"{"success": false, "message": "m"}"#;
const NOTICE: &str = r#"{"message": "m"}"#;
const PAGE: &str = "<!DOCTYPE html><html><title>t</title></html>";
const ANSWER: &str = r#"{"success": true, "results": {"match": []}, "creditsUsed": 5, "available_credits": 7}"#;
const OPEN_JOB: &str = r#"{"jobId": "job_1", "status": "pending"}"#;
const PLACE: &str = r#"{"uploadUrl": "https://service.example/put", "reference": "r"}"#;

/// A body, by its name in the table.
const BODIES: [(&str, Option<&str>); 8] = [
    ("error", Some(ERROR)),
    ("other JSON", Some(OTHER_JSON)),
    ("notice", Some(NOTICE)),
    ("page", Some(PAGE)),
    ("part", Some(r#"{"error": {"#)),
    ("empty", Some("")),
    ("cut off", None),
    ("error, zero charge", Some(r#"{"error": {"code": "X"}, "creditsUsed": 0}"#)),
];

const SUCCESSES: [u16; 4] = [200, 201, 202, 204];
const REFUSALS: [u16; 22] =
    [302, 400, 401, 402, 403, 404, 405, 407, 408, 409, 410, 413, 418, 422, 429, 500, 502, 503, 504, 511, 599, 600];

fn exchange(reply: Result<Reply, TransportFault>) -> Exchange {
    Exchange { reply, ..Exchange::without_reply(String::new()) }
}

/// The replies of the table: status and body by their names.
fn replies() -> Vec<(String, &'static str, Exchange)> {
    let of = |status: u16, body: Option<&str>, wait: Option<&str>| {
        let (body, retry_after) = (body.map(|body| body.as_bytes().to_vec()), wait.map(str::to_owned));
        exchange(Ok(Reply { status, body, retry_after, ..Reply::default() }))
    };
    let without = |name: &str, fault| (name.to_owned(), "", exchange(Err(fault)));
    let mut replies = vec![
        without("not written", TransportFault::NotWritten("refused".to_owned())),
        without("not trusted", TransportFault::Untrusted { host: "h".to_owned(), fault: "expired".to_owned() }),
        without("lost", TransportFault::Unknown("reset".to_owned())),
    ];
    for (name, body) in [("answer", Some(ANSWER)), ("open job", Some(OPEN_JOB)), ("place", Some(PLACE))] {
        replies.extend(SUCCESSES.map(|status| (status.to_string(), name, of(status, body, None))));
    }
    for (name, body) in BODIES {
        let statuses = SUCCESSES.iter().chain(&REFUSALS);
        replies.extend(statuses.map(|status| (status.to_string(), name, of(*status, body, None))));
    }
    replies.extend(
        [202, 409, 429, 503].map(|status| (status.to_string(), "error, wait 9", of(status, Some(ERROR), Some("9")))),
    );
    replies
}

fn in_a_word(not_answered: &NotAnswered) -> &'static str {
    match not_answered {
        NotAnswered::Untrusted { .. } => "untrusted",
        NotAnswered::Unauthorised { .. } => "unauthorised",
        NotAnswered::PushedBack(_) => "wait",
        NotAnswered::Redirect { .. } => "redirect",
        NotAnswered::OfAnother { .. } => "of another",
        NotAnswered::Unavailable { .. } => "again",
    }
}

/// What each reader says.
fn row(client: &Client, catalogue: &Catalogue, exchange: &Exchange) -> Vec<String> {
    let said = || Said::of(exchange, UNIX_EPOCH);
    let spec = |name: &str| {
        let declaration = catalogue.get(name).unwrap();
        ReplySpec {
            answer: &declaration.answer,
            job: declaration.job.as_ref(),
            cached_failure: declaration.cached_failure.as_ref(),
            charge_pointer: None,
            remaining_pointer: None,
            price: Credits(5),
        }
    };
    let push_back = match said().push_back() {
        Some(PushBack::Stated(wait)) => format!("{} s", wait.as_secs()),
        Some(PushBack::Unstated) => "unstated".to_owned(),
        None => String::new(),
    };
    let balance = match balance_reply(&said(), None) {
        BalanceReply::Balance(balance) => balance.credits.to_string(),
        BalanceReply::Unreadable => "unreadable".to_owned(),
        BalanceReply::Misrouted { .. } => "misrouted".to_owned(),
        BalanceReply::NotAnswered(not_answered) => in_a_word(&not_answered).to_owned(),
    };
    let begun = match client.begun(&said()) {
        Begun::Place(_) => "place",
        Begun::Unusable(_) => "unusable",
        Begun::Refused => "refused",
        Begun::NotBegun => "again",
    };
    let delivery = match redelivered(&said()) {
        Redelivered::Accepted => "accepted",
        Redelivered::Refused(_) => "refused",
        Redelivered::NotAnswered(not_answered) => in_a_word(&not_answered),
    };
    let reached = if unreachable(&said()).is_some() { "no" } else { "yes" };
    let route = match answered(&said()) {
        Answered::Known => "known",
        Answered::Unknown(_) => "unknown",
        Answered::Refused(_) => "refused",
        Answered::Nothing(_) => "nothing",
    };
    vec![
        format!("{:?}", said().author),
        classify(said(), &spec("aml-screening")).outcome.as_str().to_owned(),
        classify(said(), &spec("foreign-bank-account")).outcome.as_str().to_owned(),
        push_back,
        job_news(&said(), &JobId::new("job_1").unwrap(), &spec("foreign-bank-account")).as_str().to_owned(),
        balance,
        begun.to_owned(),
        format!("{:?}", stored(&said())),
        delivery.to_owned(),
        reached.to_owned(),
        route.to_owned(),
    ]
}

#[test]
fn each_reader_reads_each_reply_as_the_table_says() {
    let (client, catalogue) = (Client::new(&Settings::at("https://service.example")).unwrap(), Catalogue::built_in());
    let heads = [
        "author",
        "check",
        "check with jobs",
        "push-back",
        "job",
        "balance",
        "upload",
        "document",
        "delivery",
        "reached",
        "route",
    ];
    let mut rows: Vec<(Vec<String>, &str, Vec<String>)> = Vec::new();
    for (status, body, exchange) in replies() {
        let cells = row(&client, &catalogue, &exchange);
        match rows.iter_mut().find(|(_, known, others)| *known == body && *others == cells) {
            Some((statuses, ..)) => statuses.push(status),
            None => rows.push((vec![status], body, cells)),
        }
    }
    let heads = [&["body", "status"][..], &heads].concat();
    let mut table = vec![heads.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    table.extend(
        rows.into_iter().map(|(statuses, body, cells)| [vec![body.to_owned(), statuses.join(" ")], cells].concat()),
    );
    let widths: Vec<usize> =
        (0..table[0].len()).map(|at| table.iter().map(|row| row[at].len()).max().unwrap()).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    insta::assert_snapshot!(table.iter().map(line).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_wait_is_read_from_each_reply_and_pushes_back_only_with_two() {
    for status in [200, 202, 302, 400, 404, 409, 429, 500, 503] {
        let reply = Reply { status, retry_after: Some("9".to_owned()), ..Reply::default() };
        let exchange = exchange(Ok(reply));
        let said = Said::of(&exchange, UNIX_EPOCH);
        assert_eq!(said.wait, Some(Duration::from_secs(9)), "{status}");
        assert_eq!(said.push_back().is_some(), matches!(status, 429 | 503), "{status}");
    }
}
