//! What the engine decides after each kind of end of an attempt, for requests in each standing: one table.

use super::{
    Input,
    world_tests::{Reply, World},
};
use crate::{
    client::{Author, PushBack},
    model::{
        Credits, RequestId, Stop,
        budget::BudgetRefusal,
        state::{IllegalMove, Outcome, State},
    },
    pipeline::send::{attempt_end::AttemptEnd, context::Candidate, file_body::FileFault},
};
use std::{fmt::Write, time::Duration};

/// Each kind of reply.
fn replies() -> Vec<(&'static str, Reply)> {
    let new = |status, outcome| Reply::new(Some(status), outcome);
    let stated = |credits| Some(Credits(credits));
    let wait = |seconds| PushBack::Stated(Duration::from_secs(seconds));
    vec![
        ("an answer that states its charge", new(200, Outcome::Answered { stated: stated(5) })),
        ("an answer that states no charge", new(200, Outcome::Answered { stated: None })),
        ("an answer that states too much", new(200, Outcome::Answered { stated: stated(50) })),
        ("accepted as a job", new(202, Outcome::Accepted { stated: None })),
        ("pending", new(202, Outcome::Pending { stated: None })),
        ("pending, and states too much", new(202, Outcome::Pending { stated: stated(50) })),
        (
            "a job that cannot be followed",
            Reply { job_fault: Some("it names no job".to_owned()), ..new(202, Outcome::Pending { stated: None }) },
        ),
        ("400", new(400, Outcome::Refused)),
        ("422 that states a charge", new(422, Outcome::ChargedRefusal { stated: stated(5) })),
        ("a cached failure", new(409, Outcome::CachedFailure)),
        ("it needs a webhook", new(503, Outcome::NeedsWebhook)),
        ("401", new(401, Outcome::Unauthorised)),
        ("403 that may be of a filter", Reply { author: Author::Unclear, ..new(403, Outcome::Blocked) }),
        ("403 of a firewall", Reply::of_another(403, Outcome::Unknown)),
        ("402", new(402, Outcome::NoCredits)),
        ("404", new(404, Outcome::Misrouted)),
        ("409", new(409, Outcome::Unknown)),
        ("429 with a time", new(429, Outcome::RateLimited).pushes_back(wait(7))),
        ("429 without a time", new(429, Outcome::RateLimited).pushes_back(PushBack::Unstated)),
        ("429 for an hour", new(429, Outcome::RateLimited).pushes_back(wait(3_600))),
        ("500", new(500, Outcome::Unknown)),
        ("503 that states no charge", new(503, Outcome::Uncharged)),
        ("a page with 200", Reply::of_another(200, Outcome::Unreadable)),
        ("a 200 without an answer", new(200, Outcome::Unconvincing)),
        ("no reply", Reply::new(None, Outcome::Unknown)),
        ("not written", Reply::new(None, Outcome::NotWritten)),
    ]
}

/// Each reason why a request is not sent.
fn unsent() -> Vec<(&'static str, AttemptEnd)> {
    let file = |state| FileFault {
        state,
        field: "passport".to_owned(),
        fault: "it is gone".to_owned(),
        row: None,
        digest: "0f".to_owned(),
        no_root: false,
    };
    let refusal = BudgetRefusal::Limit { limit: Credits(9), charged: Credits(5), held: Credits(5), price: Credits(5) };
    vec![
        ("the budget is tight", AttemptEnd::OverBudget(refusal)),
        ("the key is too old", AttemptEnd::Quarantined),
        ("the declaration changed", AttemptEnd::OtherBody("it has no `bundle`".to_owned())),
        ("another API key", AttemptEnd::Withheld(IllegalMove::OtherApiKey)),
        ("the clocks differ", AttemptEnd::Withheld(IllegalMove::ClocksDiffer)),
        ("the route is gone", AttemptEnd::Withheld(IllegalMove::OtherRoute)),
        ("the gate closed", AttemptEnd::GateClosed),
        ("the charge book is away", AttemptEnd::Closed(Stop::Book { fault: "no answer".to_owned(), is_away: true })),
        ("another ledger has its answer", AttemptEnd::Adopted(State::Answered)),
        ("another ledger has it in doubt", AttemptEnd::Adopted(State::InDoubt)),
        ("another partition has sent it", AttemptEnd::Elsewhere { is_running: true }),
        ("another partition that has stopped", AttemptEnd::Elsewhere { is_running: false }),
        ("the clock moved", AttemptEnd::ClockMoved),
        ("not before three minutes after the start", AttemptEnd::NotBefore(180_000_000)),
        ("not before a day", AttemptEnd::NotBefore(86_400_000_000)),
        ("a file changed", AttemptEnd::FileChanged(file(State::Planned))),
        ("a file changed, in doubt", AttemptEnd::FileChanged(file(State::InDoubt))),
        ("the upload expired", AttemptEnd::UploadExpired),
        ("the upload cannot be followed", AttemptEnd::UploadUnusable("it names no place".to_owned())),
        ("the upload was charged", AttemptEnd::UploadCharged(Credits(3))),
        ("the simulator answered", AttemptEnd::OtherSide(true)),
    ]
}

/// How a request stands before the attempt.
#[derive(Clone, Copy)]
enum Before {
    First,
    InDoubt,
    RefusedTwice,
    Beside,
}

const BEFORE: [(Before, &str); 4] = [
    (Before::First, "the first request"),
    (Before::InDoubt, "in doubt"),
    (Before::RefusedTwice, "refused twice for its rate"),
    (Before::Beside, "beside answers of its check"),
];

/// A world in which the next request stands like this, and that request, taken but not armed.
fn world(before: Before) -> (World, Candidate) {
    let mut world = World::new(6, 10_000);
    let reply = match before {
        Before::First => None,
        Before::InDoubt => Some(Reply::new(None, Outcome::Unknown)),
        Before::RefusedTwice => {
            let reply = Reply::new(Some(429), Outcome::RateLimited);
            Some(reply.pushes_back(PushBack::Stated(Duration::from_millis(1))))
        }
        Before::Beside => Some(Reply::new(Some(200), Outcome::Answered { stated: Some(Credits(5)) })),
    };
    world.round();
    let times = if matches!(before, Before::RefusedTwice) { 2 } else { 1 };
    for reply in std::iter::repeat_n(reply, times).flatten() {
        let (candidate, end) = world.start().expect("a request waits");
        assert!(end.is_none());
        let end = world.settle(candidate.request, &reply);
        world.tell(Input::Ended(candidate, end));
        world.at = world.at + Duration::from_secs(60);
        world.round();
    }
    let wanted = match before {
        Before::First | Before::InDoubt | Before::RefusedTwice => RequestId(1),
        Before::Beside => RequestId(3),
    };
    loop {
        let (candidate, _) = world.engine.take_next(world.now()).expect("it waits");
        if candidate.request == wanted {
            world.decided.clear();
            return (world, candidate);
        }
        world.engine.flights.ended(candidate.request);
        world.engine.schedule.postpone(world.at + Duration::from_secs(9_000), candidate);
    }
}

/// What was decided, why the run stops, and what became of the request.
fn shown(world: &mut World, id: RequestId) -> String {
    let mut said = std::mem::take(&mut world.decided);
    said.extend(world.engine.stops.iter().map(|stop| format!("stop: {}", stop.kind().as_str())));
    said.extend(world.engine.left_out.iter().map(|stop| format!("leave out: {}", stop.kind().as_str())));
    said.extend(world.engine.withholds.iter().map(|stop| format!("withhold: {}", stop.kind().as_str())));
    let aside = world.engine.aside.iter().any(|(candidate, _)| candidate.request == id);
    let waits = world.engine.schedule.due_of(id).map(|due| due.map(|due| due.since(world.at)));
    let place = match waits {
        _ if aside => "set aside".to_owned(),
        Some(None) => "next".to_owned(),
        Some(Some(wait)) => format!("again in {:.0?}", wait),
        None => "leaves".to_owned(),
    };
    said.push(format!("{}, {place}", world.requests[&id].standing.state.as_str()));
    said.join("; ")
}

#[test]
fn each_end_of_an_attempt_has_its_decision() {
    let mut table = String::new();
    for (before, title) in BEFORE {
        _ = writeln!(table, "# {title}\n");
        for (name, end) in unsent() {
            let (mut world, candidate) = world(before);
            let id = candidate.request;
            // These ends say that the request is or is not in doubt.
            let is_in_doubt = world.requests[&id].standing.unproven > 0;
            let is_of_other = match &end {
                AttemptEnd::FileChanged(fault) => (fault.state == State::InDoubt) != is_in_doubt,
                AttemptEnd::UploadExpired | AttemptEnd::UploadUnusable(_) => is_in_doubt,
                _ => false,
            };
            if is_of_other {
                continue;
            }
            world.tell(Input::Ended(candidate, end));
            _ = writeln!(table, "{name}: {}", shown(&mut world, id));
        }
        for (name, reply) in replies() {
            let (mut world, candidate) = world(before);
            let id = candidate.request;
            assert!(world.arm(id).is_ok(), "{title}: {name}");
            let end = world.settle(id, &reply);
            world.tell(Input::Ended(candidate, end));
            _ = writeln!(table, "{name}: {}", shown(&mut world, id));
        }
        table.push('\n');
    }
    insta::assert_snapshot!(table);
}
