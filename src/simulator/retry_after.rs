//! How a 429 states its `Retry-After`.

/// How a 429 states its `Retry-After`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryAfter {
    Absent,
    Seconds(u64),
    /// As an HTTP date, this many seconds ahead.
    Date(u64),
    /// One of [`ODD`], by index.
    Odd(usize),
}

/// Invalid times, and times that must not be obeyed.
pub(super) const ODD: [&str; 6] = ["soon", "-5", "1.5", "", "99999999999999999999", "Thu, 01 Jan 1970 00:00:00 GMT"];
