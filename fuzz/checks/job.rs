//! Any bytes as the reply to a question about a job, in the format of `reply`. Only a complete 2xx with a JSON object that
//! names no other job ends a job. Text from a reply is harmless to a terminal.

use super::reply::{now, reply_of};
use rescreen::{
    catalogue::Catalogue,
    client::{Author, Exchange, JobNews, ReplySpec, Said, job_news},
    model::{Credits, JobId},
};
use serde_json::Value;
use std::time::Duration;

const ID: &str = "job_1";

pub fn check(data: &[u8]) {
    let Some(reply) = reply_of(data) else { return };
    let id = JobId::new(ID).expect("it is the id of a job");
    // Bytes that are not valid UTF-8 are read as replacement characters.
    let body = reply.body.as_deref().map(String::from_utf8_lossy);
    let object = body.and_then(|body| serde_json::from_str::<Value>(&body).ok());
    let object = object.filter(Value::is_object);
    let named = object.iter().flat_map(|object| {
        ["/jobId", "/data/jobId", "/results/jobId", "/job_id", "/data/job/id"].map(|at| object.pointer(at))
    });
    let is_of_another =
        named.flatten().any(|named| named.as_str().is_some_and(|named| named.trim() != ID && !named.is_empty()));
    let mut with_job = 0;
    let exchange = Exchange { reply: Ok(reply.clone()), latency: Duration::ZERO, room: Default::default() };
    let said = Said::of(&exchange, now());
    for declaration in Catalogue::built_in().iter().filter(|declaration| declaration.job.is_some()) {
        with_job += 1;
        let spec = ReplySpec {
            answer: &declaration.answer,
            job: declaration.job.as_ref(),
            cached_failure: declaration.cached_failure.as_ref(),
            charge_pointer: None,
            remaining_pointer: None,
            price: Credits(7),
        };
        match job_news(&said, &id, &spec) {
            JobNews::Unheard | JobNews::Refused => {
                let may_be_page = matches!(reply.status, 404 | 410) && said.author == Author::Another;
                assert!(reply.body.is_none() || may_be_page || !matches!(reply.status, 200..300 | 404 | 410));
            }
            JobNews::NotFound => assert!(matches!(reply.status, 404 | 410)),
            news @ (JobNews::Completed { .. } | JobNews::Failed { .. }) => {
                assert!((200..300).contains(&reply.status) && object.is_some());
                assert!(!is_of_another, "the reply is about another job");
                if let JobNews::Failed { code, message, .. } = news {
                    let text = format!("{}{message}", code.unwrap_or_default());
                    assert!(!text.chars().any(char::is_control), "{text:?}");
                }
            }
            JobNews::Open { .. } | JobNews::OtherJob { .. } | JobNews::Unclear { .. } => {
                assert!((200..300).contains(&reply.status))
            }
        }
    }
    assert!(with_job > 0, "some checks have jobs");
}
