//! A service that misbehaves: it refuses and charges, states credits in unusual ways or not at all, and always treats a
//! row badly.

use super::*;
use rescreen::simulator::{ChargeStated, CreditsFormat, Envelope};

fn faulty(faults: &str) -> Settings {
    Settings { faults: faults.parse().unwrap(), clock: driven(), ..unlimited() }
}

async fn ask(simulator: &Simulator, key: &str, name: &str) -> Answer {
    post_in_process(simulator, AML, key, &aml("production", name)).await.unwrap()
}

/// The bytes of a reply, which need not be JSON.
async fn raw(simulator: &Simulator, key: &str, name: &str) -> (u16, Vec<u8>) {
    let request = Request::post(AML).header("x-api-key", "api-key").header("Idempotency-Key", key);
    let body = Body::from(aml("production", name).to_string());
    let (parts, body) = simulator.exchange(request.body(body).unwrap()).await.into_parts();
    (parts.status.as_u16(), to_bytes(body, usize::MAX).await.unwrap().to_vec())
}

#[tokio::test]
async fn a_refusal_that_charges_states_it_and_is_kept_under_its_key() {
    for status in [400, 402, 403, 404, 409, 422, 429, 500] {
        let simulator = Simulator::new(faulty(&format!("charged_error@1:{status}")));
        for _ in 0..2 {
            let answer = ask(&simulator, KEY, "Jo Vexford").await;
            assert_eq!((answer.status, &answer.body["creditsUsed"]), (status, &json!(1)));
        }
        assert_eq!((simulator.stats().charges, simulator.charged_under(KEY)), (1, 1), "{status}");
        assert_eq!(simulator.charges(), [(KEY.to_owned(), 1)].into());
    }
}

#[tokio::test]
async fn no_more_is_stated_than_was_asked_for() {
    let body_of = async |charge_stated, envelope| {
        let prices = [("aml-screening".to_owned(), 5)].into();
        let settings = Settings { credits: 100, charge_stated: Some(charge_stated), envelope, prices, ..unlimited() };
        ask(&Simulator::new(settings), KEY, "Jo Vexford").await.body
    };
    for envelope in [Envelope::Results, Envelope::DataMeta] {
        for (charge_stated, words) in [
            (ChargeStated::Used, ["creditsUsed"].as_slice()),
            (ChargeStated::Remaining, ["remainingCredits"].as_slice()),
            (ChargeStated::Meta, ["credits_spent"].as_slice()),
            (ChargeStated::Nothing, [].as_slice()),
        ] {
            let body = body_of(charge_stated, envelope).await.to_string();
            let all = ["creditsUsed", "remainingCredits", "credits_spent", "billing"];
            let stated: Vec<&str> = all.into_iter().filter(|word| body.contains(word)).collect();
            assert_eq!(stated, words, "{body}");
        }
    }
}

#[tokio::test]
async fn amounts_come_as_floats_texts_and_fractions() {
    for (credits_format, stated) in [
        (CreditsFormat::Float, json!(1.0)),
        (CreditsFormat::Text, json!("1.00")),
        (CreditsFormat::Fraction, json!(0.5)),
    ] {
        let charge_stated = Some(ChargeStated::Used);
        let simulator = Simulator::new(Settings { credits_format, charge_stated, ..unlimited() });
        assert_eq!(ask(&simulator, KEY, "Jo Vexford").await.body["creditsUsed"], stated);
        assert_eq!(simulator.charged_under(KEY), 1);
    }
}

#[tokio::test]
async fn an_odd_charge_is_stated_once_and_the_repeat_states_the_true_one() {
    for (place, stated) in [(0, json!(-7)), (2, json!(u64::MAX)), (3, json!("seven"))] {
        let charge_stated = Some(ChargeStated::Used);
        let simulator = Simulator::new(Settings { charge_stated, ..faulty(&format!("odd_charge@1:{place}")) });
        assert_eq!(ask(&simulator, KEY, "Jo Vexford").await.body["creditsUsed"], stated);
        assert_eq!(ask(&simulator, KEY, "Jo Vexford").await.body["creditsUsed"], 1);
    }
}

#[tokio::test]
async fn a_row_is_refused_forever_under_every_key_and_others_are_answered() {
    for status in [301, 303, 307, 401, 402, 403, 404, 405, 409, 500] {
        let simulator = Simulator::new(faulty(&format!("row:0.3:{status}")));
        let mut refused = 0;
        for number in 0..40 {
            let name = format!("Jo Vexford {number}");
            let first = ask(&simulator, &format!("key-{number:05}-a"), &name).await.status;
            let second = ask(&simulator, &format!("key-{number:05}-b"), &name).await.status;
            assert_eq!(first, second, "{name}");
            assert!([200, status].contains(&first), "{first}");
            refused += u64::from(first == status);
        }
        assert!((4..25).contains(&refused), "{status}: {refused} of 40");
        let charged_refusals = simulator.stats().charges - 2 * (40 - refused);
        let silent = (401..=403).contains(&status);
        assert_eq!(charged_refusals == 0, silent, "{status}: {charged_refusals} of {refused} rows");
    }
}

#[tokio::test]
async fn a_row_without_a_readable_answer_is_charged_once_and_its_repeat_is_the_same() {
    for (word, part) in [
        ("empty", b"".as_slice()),
        ("bad_utf8", b"caf\xe9".as_slice()),
        ("surrogate", br"\ud83d".as_slice()),
        ("nan", b"NaN".as_slice()),
        ("unsuccessful", br#""success":false"#.as_slice()),
    ] {
        let simulator = Simulator::new(faulty(&format!("row:1:{word}")));
        let first = raw(&simulator, KEY, "Jo Vexford").await;
        assert_eq!(first.0, 200);
        assert!(part.is_empty() && first.1.is_empty() || first.1.windows(part.len().max(1)).any(|at| at == part));
        assert_eq!(raw(&simulator, KEY, "Jo Vexford").await, first);
        assert_eq!(simulator.stats().charges, 1, "{word}");
    }
    for (word, name) in [("job", "jobId"), ("pending", "status")] {
        let simulator = Simulator::new(faulty(&format!("row:1:{word}")));
        for _ in 0..3 {
            let answer = ask(&simulator, KEY, "Jo Vexford").await;
            assert_eq!((answer.status, answer.body.get(name).is_some()), (202, true));
        }
        assert_eq!(simulator.stats().charges, 0, "{word}");
    }
}

#[tokio::test]
async fn a_crossed_answer_is_that_of_another_request_and_the_repeat_is_right() {
    let simulator = Simulator::new(faulty("crossed@1,crossed@2"));
    ask(&simulator, "key-00001", "Jo Vexford").await;
    let crossed = ask(&simulator, "key-00002", "Al Vexford").await.body;
    assert_eq!((&crossed["requestId"], &crossed["input"]["name"]), (&json!("key-00001"), &json!("Jo Vexford")));
    let again = ask(&simulator, "key-00002", "Al Vexford").await.body;
    assert_eq!((&again["requestId"], &again["input"]["name"]), (&json!("key-00002"), &json!("Al Vexford")));
    assert_eq!(simulator.stats().charges, 2);
}

#[tokio::test]
async fn echoes_differ_and_names_come_twice_where_a_fault_says_so() {
    let answer = ask(&Simulator::new(faulty("other_mode@1")), KEY, "Jo Vexford").await.body;
    assert_eq!(answer["mode"], "sandbox");
    let answer = ask(&Simulator::new(faulty("other_input@1")), KEY, "Jo Vexford").await.body;
    assert_ne!(answer["input"], json!({"name": "Jo Vexford", "entity": 0, "country": "za", "dataset": "all"}));
    let (status, body) = raw(&Simulator::new(faulty("duplicate_names@1")), KEY, "Jo Vexford").await;
    assert_eq!((status, String::from_utf8(body).unwrap().matches(r#""results":"#).count()), (200, 2));
}

#[tokio::test]
async fn redirects_have_a_location_and_the_date_may_be_wrong() {
    let date_ahead_s = 600;
    let simulator = Simulator::new(Settings { date_ahead_s, ..faulty("redirect@1:303") });
    let answer = ask(&simulator, KEY, "Jo Vexford").await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/elsewhere")));
    let date = httpdate::parse_http_date(answer.header("date").unwrap()).unwrap();
    let real = httpdate::parse_http_date("Tue, 03 Nov 2026 08:10:00 GMT").unwrap();
    assert_eq!(date, real);
}
