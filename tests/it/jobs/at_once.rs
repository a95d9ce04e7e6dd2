//! A check with jobs that is answered at once: a result, or a row that fails without a charge.

use super::{FOREIGN, world};
use crate::support::{ran::results, tables::text};
use rescreen::model::{ExitCode, Stop, state::State};

#[tokio::test]
async fn a_real_time_answer_is_a_result_and_costs_the_stated_price() {
    let ran = world(FOREIGN, 12, 6).run().await.exits(ExitCode::Complete).charged(72).counts(results(12)).adds_up(true);
    assert_eq!(ran.report().sums.account.held.0, 0, "7 were held while it was sent");
    for line in ran.results() {
        assert_eq!(text(line, "account_last4").len(), 4, "it is text, with its zeros");
        let verified = text(line, "outcome") == "verified";
        assert_eq!(verified, text(line, "verdict") == "clear", "{line:?}");
        let sent: serde_json::Value = serde_json::from_str(text(line, "sent")).unwrap();
        assert_eq!((&sent["bankBranchCode"], &sent["passportCountry"]), (&"051001".into(), &"NG".into()));
        assert_eq!((&sent["consentConfirmed"], &sent["bankAccountType"]), (&true.into(), &"savings".into()));
    }
}

#[tokio::test]
async fn a_row_that_needs_a_webhook_fails_uncharged_and_is_not_sent_again() {
    let mut world = world(FOREIGN, 3, 6).service(|settings| settings.fallback_of_hundred = 100);
    let first = world.run().await.exits(ExitCode::Failures).charged(0).counts(results(0).failures(3)).adds_up(true);
    assert_eq!(first.failure_codes(), [("needs_webhook".to_owned(), 3)].into());
    assert_eq!((first.posts(), first.report().sums.account.held.0), (3, 0));
    let failure = &first.failures()[0];
    assert_eq!((failure["possibly_charged"].as_bool(), failure["retryable"].as_bool()), (Some(false), Some(true)));
    for part in ["ASYNC_FALLBACK_REQUIRES_WEBHOOK", "in a new campaign with --webhook-url URL"] {
        assert!(text(failure, "message").contains(part), "{failure:?}");
    }
    let second = world.run().await.exits(ExitCode::Failures).in_state(State::Failed, 3);
    assert_eq!(second.posts(), 3, "nothing was sent again");
    let third = world.retry().await.exits(ExitCode::Failures).charged(0);
    assert_eq!((third.posts(), third.stats.distinct_keys), (6, 6), "a person asked for it: a new key is safe");
}

#[tokio::test]
async fn a_row_that_needs_a_webhook_is_a_job_in_a_new_campaign_that_names_one() {
    let mut world = world(FOREIGN, 2, 6).service(|settings| settings.fallback_of_hundred = 100);
    world.run().await.exits(ExitCode::Failures).charged(0);
    let mut world = world.campaign(|file| {
        file.campaign = Some("with-webhook".to_owned());
        file.output.dir = Some("with-webhook".into());
        file.webhook.url = Some("http://127.0.0.1:9".to_owned());
    });
    world.run().await.exits(ExitCode::Jobs).in_state(State::Submitted, 2);
}

#[tokio::test]
async fn rows_that_need_a_webhook_do_not_stop_the_others() {
    let ran = world(FOREIGN, 60, 6).service(|settings| settings.fallback_of_hundred = 30).run().await;
    let failed = ran.failures().len() as u64;
    assert!((5..40).contains(&failed), "{failed}");
    ran.exits(ExitCode::Failures).charged((60 - failed) * 6).adds_up(true);
}

#[tokio::test]
async fn if_five_rows_in_a_row_need_a_webhook_the_run_stops() {
    let ran = world(FOREIGN, 9, 6).in_flight(1).service(|settings| settings.fallback_of_hundred = 100).run().await;
    let ran = ran.exits(ExitCode::Guard).stops_with(|stop| matches!(stop, Stop::SameRefusals { count: 5, .. }));
    assert_eq!((ran.posts(), ran.stats.charges), (5, 0));
}

#[tokio::test]
async fn a_lost_real_time_answer_is_replayed_and_booked_at_what_a_job_would_cost() {
    let ran = world(FOREIGN, 1, 6).fault("drop_after@2").run().await.exits(ExitCode::Complete).counts(results(1));
    assert_eq!((ran.stats.credits_charged, ran.report().sums.account.charged.0), (6, 7), "never less than was charged");
}

#[tokio::test]
async fn a_passport_of_another_continent_fails_before_it_is_sent() {
    let csv = super::foreigners(2);
    let mut lines = csv.lines();
    let (header, first) = (lines.next().unwrap(), lines.next().unwrap());
    let at = header.split(',').position(|name| name == "passport_country").unwrap();
    let mut cells: Vec<&str> = first.split(',').collect();
    cells[at] = "GB";
    let mut world = world(FOREIGN, 2, 6).csv(&csv.replacen(first, &cells.join(","), 1));
    let ran = world.run().await.exits(ExitCode::Failures).charged(6).counts(results(1).failures(1));
    assert_eq!(ran.failure_codes(), [("invalid_value".to_owned(), 1)].into());
    assert!(text(&ran.failures()[0], "message").contains("passportCountry"), "{:?}", ran.failures()[0]);
}
