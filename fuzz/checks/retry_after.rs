//! Any text as `Retry-After`, on the first line, and as `Date`, on the second: a wait is at least 1 second and at most
//! the documented limit, a number of seconds is used exactly, and only a 429 or a 503 pushes back.

use rescreen::client::{Exchange, PushBack, Reply, Said};
use std::time::{Duration, SystemTime};

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
        let digits = header.trim();
        for status in [200, 429, 500, 503] {
            let exchange = exchange(status, Some(header), date);
            let said = Said::of(&exchange, now);
            if let Some(wait) = said.wait {
                assert!((1..=MOST_S).contains(&wait.as_secs()), "{wait:?}");
            }
            if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                let seconds = digits.parse().unwrap_or(u64::MAX).clamp(1, MOST_S);
                assert_eq!(said.wait, Some(Duration::from_secs(seconds)));
            }
            let expected = match (status, said.wait) {
                (429 | 503, Some(wait)) => Some(PushBack::Stated(wait)),
                (429, None) => Some(PushBack::Unstated),
                _ => None,
            };
            assert_eq!(said.push_back(), expected, "HTTP {status}");
        }
        assert_eq!(Said::of(&exchange(429, None, date), now).wait, None);
    }
}

fn exchange(status: u16, header: Option<&str>, date: Option<&str>) -> Exchange {
    let reply = Reply {
        status,
        body: Some(b"{}".to_vec()),
        undecoded: None,
        retry_after: header.map(str::to_owned),
        location: None,
        date: date.map(str::to_owned),
        rate_headers: Vec::new(),
        simulated: false,
    };
    Exchange { reply: Ok(reply), latency: Duration::ZERO, room: Default::default() }
}
