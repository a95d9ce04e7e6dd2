//! How a push-back states its time.

/// How a push-back states its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryAfter {
    Absent,
    Seconds(u64),
    /// As an HTTP date, so many seconds ahead.
    Date(u64),
    /// One of [`ODD`], by its place.
    Odd(usize),
}

/// Times that are none, or none to obey.
pub(super) const ODD: [&str; 6] = ["soon", "-5", "1.5", "", "99999999999999999999", "Thu, 01 Jan 1970 00:00:00 GMT"];
