//! Replies that accept a request as a job in another form than the documented one: where the job can be followed it is, and
//! where it cannot, few requests are sent.

use super::{
    Campaign, Hostile, Reply, Service, at_once,
    jobs::{ROWS, Submitted, completed, job_of},
    json,
};
use serde_json::Value;

/// The most requests that are sent to a service whose jobs cannot be followed: three, and those under way meanwhile.
const SENT_MAX: usize = 6;

/// A service that accepts each request with this body, made of its job.
fn that_accepts(rows: u32, body: impl Fn(&str) -> Value + Send + Sync + 'static) -> (Service, u32) {
    let accepts = move |asked: &super::Asked| Some(Reply::error(202, body(&job_of(asked.row))));
    (Hostile::new().price(7.0).script(accepts).job_script(|asked| completed(asked.row)).start(), rows)
}

type Body = fn(&str) -> Value;

#[test]
#[ignore = "make hostile"]
fn a_job_in_another_envelope_or_with_another_word_is_followed() {
    let bodies: Vec<(&str, Body)> = vec![
        ("running", |job| json!({ "jobId": job, "status": "running" })),
        ("an unknown word", |job| json!({ "jobId": job, "status": "with the bank" })),
        ("in data", |job| json!({ "status": "success", "data": { "jobId": job, "status": "pending" } })),
        ("in results", |job| json!({ "success": true, "results": { "jobId": job } })),
        ("with another name", |job| json!({ "job_id": job, "state": "created" })),
    ];
    at_once(bodies, |(what, body)| {
        let (service, _) = that_accepts(ROWS, body);
        let Some(mut submitted) = Submitted::to(&service) else { return };
        submitted.hours_pass(1);
        let said = submitted.collect();
        assert_eq!(said.code, 0, "{what}: {}", said.stderr);
        submitted.is_complete(what);
    });
}

#[test]
#[ignore = "make hostile"]
fn a_service_whose_jobs_cannot_be_followed_gets_few_requests() {
    let bodies: Vec<(&str, Body)> = vec![
        ("a path", |job| json!({ "jobId": format!("za/{job}"), "status": "pending" })),
        ("a list", |job| json!({ "jobId": [job], "status": "pending" })),
        ("no job", |_| json!({ "success": true, "status": "pending" })),
        ("two jobs", |job| json!({ "jobId": job, "data": { "jobId": "job_of_another" } })),
    ];
    at_once(bodies, |(what, body)| {
        let (service, rows) = that_accepts(40, body);
        let campaign = Campaign::of_jobs(&service, rows);
        let said = campaign.run();
        assert_eq!(said.code, 10, "{what}: {}", said.stderr);
        assert!(said.stderr.contains("cannot be followed") && said.stderr.contains("jobId"), "{}", said.stderr);
        let keys = |service: &Service| (1..=rows).filter(|row| !service.book().messages_of(*row).is_empty()).count();
        let sent = keys(&service);
        assert!(sent <= SENT_MAX, "{what}: {sent} requests were sent");
        campaign.run().exits(10);
        assert_eq!(keys(&service), sent, "{what}: the stop is remembered");
    });
}

#[test]
#[ignore = "make hostile"]
fn a_charge_of_a_failed_job_is_found_in_every_envelope_and_in_the_reply_that_accepted_it() {
    let failed = |asked: &super::script::AskedJob, credits: Option<u64>| {
        let data = json!({ "jobId": job_of(asked.row), "status": "failed", "creditsUsed": credits });
        Reply::exactly(&json!({ "data": data })).cost(0.0)
    };
    for (charge_of_202, charge_of_failure) in [(None, Some(7)), (Some(7), None)] {
        let accepts = move |asked: &super::Asked| {
            let body = json!({ "jobId": job_of(asked.row), "status": "pending", "creditsUsed": charge_of_202 });
            Some(Reply { cost: super::reply::Cost::Credits(7.0), ..Reply::error(202, body) })
        };
        let service =
            Hostile::new().price(7.0).script(accepts).job_script(move |a| failed(a, charge_of_failure)).start();
        let campaign = Campaign::of_jobs(&service, 1);
        let Some(library) = super::clock::library() else { return };
        campaign.run();
        service.pass(3_600);
        let collect = campaign.program(&["collect", "out/hostile"]);
        let said =
            campaign.audited(crate::support::program::Said::of(&mut super::clock::ahead(collect, &library, 3_600)));
        let ledger = campaign.ledger();
        assert_eq!(
            (ledger.charged(), ledger.held()),
            (7, 0),
            "{charge_of_202:?} {charge_of_failure:?}: {}",
            said.stderr
        );
        let retry = campaign.command("--retry");
        campaign.audited(crate::support::program::Said::of(&mut super::clock::ahead(retry, &library, 3_600)));
        assert_eq!(service.book().messages_of(1).len(), 1, "what was paid for is not sent again");
    }
}
