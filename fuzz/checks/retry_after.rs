//! Any text as `Retry-After`, on the first line, and as `Date`, on the second: a wait is at least 1 second and at most
//! the documented limit, a number of seconds is used exactly, and only a 429 or a 503 pushes back.

use rescreen::{
    catalogue::Catalogue,
    client::{Exchange, PushBack, Reply, ReplySpec, RetryAfter, classify, retry_after},
    model::Credits,
};
use std::{
    sync::LazyLock,
    time::{Duration, SystemTime},
};

/// The longest wait: 2^32 - 1 seconds, 136 years.
const MOST_S: u64 = u32::MAX as u64;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (header, date) = match text.split_once('\n') {
        Some((header, date)) => (header, Some(date)),
        None => (text, None),
    };
    for now_s in [0, 1_795_168_800, 253_402_300_799] {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(now_s);
        let read = retry_after(Some(header), date, now);
        let digits = header.trim();
        if let RetryAfter::Wait(wait) = read {
            assert!((1..=MOST_S).contains(&wait.as_secs()), "{wait:?}");
        }
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let seconds = digits.parse().unwrap_or(u64::MAX).clamp(1, MOST_S);
            assert_eq!(read, RetryAfter::Wait(Duration::from_secs(seconds)));
        }
        assert_eq!(retry_after(None, date, now), RetryAfter::Unstated);
        for status in [200, 429, 500, 503] {
            pushes_back(status, header, date, now, read);
        }
    }
}

fn pushes_back(status: u16, header: &str, date: Option<&str>, now: SystemTime, read: RetryAfter) {
    let reply = Reply {
        status,
        body: Some(b"{}".to_vec()),
        undecoded: None,
        retry_after: Some(header.to_owned()),
        location: None,
        date: date.map(str::to_owned),
        rate_headers: Vec::new(),
        simulated: false,
    };
    let exchange = Exchange { reply: Ok(reply), latency: Duration::ZERO, room: Default::default() };
    let expected = match (status, read) {
        (429 | 503, RetryAfter::Wait(wait)) => Some(PushBack::Stated(wait)),
        (429, RetryAfter::Unstated) => Some(PushBack::Unstated),
        _ => None,
    };
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::built_in);
    let answer = &CATALOGUE.get("aml-screening").expect("a built-in check").answer;
    let spec = ReplySpec {
        answer,
        job: None,
        cached_failure: None,
        charge_pointer: None,
        remaining_pointer: None,
        price: Credits(1),
    };
    assert_eq!(classify(&exchange, &spec, now).push_back, expected, "HTTP {status}");
}
