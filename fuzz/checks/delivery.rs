//! Any bytes as a genuine delivery: the first line is the header with the id of the event, and the rest is the body. What
//! is kept of it is limited and harmless to a terminal, its body is kept as it is, and it is not shown.

use rescreen::webhook::Delivery;

/// The characters of a text, with the sign that it was cut.
const TEXT_MAX: usize = 201;

pub fn check(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let header = std::str::from_utf8(&data[..end]).ok();
    let body = data.get(end + 1..).unwrap_or_default();
    if let Some(delivery) = Delivery::read(body.to_vec(), header) {
        holds(&delivery, body);
    } else {
        assert!(header.is_none_or(str::is_empty), "a delivery with an id is read");
    }
    holds(&Delivery::read_or_digest(body.to_vec(), header), body);
}

fn holds(delivery: &Delivery, body: &[u8]) {
    assert_eq!(delivery.body, body);
    assert!(!delivery.event_id.is_empty(), "a repetition is told from a new event");
    for text in [&delivery.event_id, &delivery.kind] {
        assert!(text.chars().count() <= TEXT_MAX && !text.chars().any(char::is_control), "{text:?}");
    }
    if let Some(job) = &delivery.job {
        assert!(!job.as_str().contains(['/', '?', '#', '%', '\\']), "{job}");
    }
}
