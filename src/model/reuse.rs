//! Whether an earlier answer stands for a new one. It does not after its age, and not after the list that it was made with has
//! changed, as far as that is known.

use std::time::Duration;

/// What the user allows for a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReuseRule {
    /// The oldest answer; `None` is any age.
    pub max_age: Option<Duration>,
    /// Also if the list has changed since.
    pub even_if_list_changed: bool,
}

/// An earlier answer, as far as the rule reads it.
#[derive(Debug, Clone, Copy)]
pub struct EarlierState<'a> {
    /// When it came, in microseconds since 1970.
    pub completed_at_us: i64,
    /// Answers of its check name the list that they are made with.
    pub has_list: bool,
    /// The version of that list, if it names one.
    pub list: Option<&'a str>,
}

/// What is known of the list of a check.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownList<'a> {
    /// The version that was seen last.
    pub newest: Option<&'a str>,
    /// When the service last said that the list has changed, in microseconds since 1970.
    pub updated_at_us: Option<i64>,
}

impl ReuseRule {
    /// Whether an answer may be used at this time.
    pub fn allows(&self, answer: EarlierState<'_>, list: KnownList<'_>, now_us: i64) -> bool {
        let age_us = now_us.saturating_sub(answer.completed_at_us);
        // An answer from the future: one of the clocks was wrong, so its age is not known.
        let is_young = age_us >= 0
            && self.max_age.is_none_or(|most| age_us <= i64::try_from(most.as_micros()).unwrap_or(i64::MAX));
        // An answer that should name its list and does not may be of any.
        let has_changed = answer.has_list
            && (answer.list.is_none()
                || list.newest.is_some() && list.newest != answer.list
                || list.updated_at_us.is_some_and(|at| at > answer.completed_at_us));
        is_young && (self.even_if_list_changed || !has_changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_US: i64 = 86_400_000_000;

    #[test]
    fn an_answer_is_used_until_it_is_too_old_or_its_list_has_changed() {
        let month = ReuseRule { max_age: Some(Duration::from_secs(30 * 86_400)), even_if_list_changed: false };
        let any_age = ReuseRule { max_age: None, ..month };
        let whatever = ReuseRule { even_if_list_changed: true, ..any_age };
        let of = |list: Option<&'static str>| {
            let has_list = list.is_some();
            EarlierState { completed_at_us: 10 * DAY_US, has_list, list: list.filter(|list| !list.is_empty()) }
        };
        let (unknown, a) = (KnownList::default(), KnownList { newest: Some("a"), updated_at_us: None });
        let updated = |days: i64| KnownList { updated_at_us: Some(days * DAY_US), ..unknown };
        for (rule, list, known, day, is_used) in [
            (month, None, unknown, 10, true),
            (month, None, unknown, 40, true),
            (month, None, unknown, 41, false),
            (any_age, None, unknown, 4_000, true),
            (any_age, None, unknown, 9, false),
            (month, Some("a"), unknown, 11, true),
            (month, Some("a"), a, 11, true),
            (month, Some("b"), a, 11, false),
            (whatever, Some("b"), a, 11, true),
            // An answer that should name its list.
            (month, Some(""), unknown, 11, false),
            (month, Some(""), a, 11, false),
            (whatever, Some(""), a, 11, true),
            // A check without a list, beside one that has changed.
            (month, None, a, 11, true),
            (month, None, updated(11), 12, true),
            (month, Some("a"), updated(11), 12, false),
            (month, Some("a"), updated(9), 12, true),
            (whatever, Some("a"), updated(11), 12, true),
        ] {
            assert_eq!(rule.allows(of(list), known, day * DAY_US), is_used, "{rule:?} {list:?} {known:?} {day}");
        }
    }
}
