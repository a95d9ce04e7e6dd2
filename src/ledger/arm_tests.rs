//! Tests of the age of a key by two clocks.

use super::*;

const HOUR_US: i64 = 3_600 * 1_000_000;
const LIFE_HOURS: u32 = 72;
/// When the key was first used, by both clocks.
const FIRST_US: i64 = 1_000 * HOUR_US;

/// A request whose key was first used then, by this machine's clock and by the service's.
fn row(here: i64, there: Option<i64>, unproven: u32) -> RequestRow {
    let standing = Standing { unproven, ..Standing::planned(Credits(5)) };
    RequestRow {
        id: 1,
        standing,
        first_key: IdempotencyKey::from_slice(&[1; 16]).unwrap(),
        key: None,
        attempts: 1,
        refusals_in_row: 0,
        first_armed_at: Some(here),
        first_armed_at_server: there,
        not_before: None,
        last_attempt: 0,
        first_check: None,
        scope: None,
        path: None,
    }
}

fn order(now_us: i64) -> ArmOrder {
    ArmOrder {
        mode: Mode::Production,
        request: RequestId(1),
        check: "x".to_owned(),
        price: Credits(5),
        job_hold: Credits::ZERO,
        allowance: Allowance::default(),
        scope: String::new(),
        path: String::new(),
        routes: Arc::new([]),
        shape: Arc::default(),
        key_life_hours: LIFE_HOURS,
        now_us,
        room: None,
    }
}

#[test]
fn a_key_without_doubt_is_forgotten_two_hours_after_its_life_and_not_before() {
    let forgotten_us = FIRST_US + (i64::from(LIFE_HOURS) + 2) * HOUR_US;
    let plain = row(FIRST_US, None, 0);
    assert!(!plain.is_forgotten(&order(FIRST_US), None));
    assert!(!plain.is_forgotten(&order(forgotten_us), None));
    assert!(plain.is_forgotten(&order(forgotten_us + 1), None));
    assert!(!row(FIRST_US, None, 1).is_forgotten(&order(forgotten_us + 1), None), "an attempt may have been charged");
    let unused = RequestRow { first_armed_at: None, ..row(FIRST_US, None, 0) };
    assert!(!unused.is_forgotten(&order(forgotten_us + 1), None));
}

#[test]
fn a_key_is_forgotten_only_when_both_clocks_agree() {
    let now_us = FIRST_US + (i64::from(LIFE_HOURS) + 2) * HOUR_US + 1;
    let both = row(FIRST_US, Some(FIRST_US), 0);
    assert!(both.is_forgotten(&order(now_us), Some(0)));
    assert!(!both.is_forgotten(&order(now_us), Some(-1)), "the service's clock has an instant to go");
    assert!(!both.is_forgotten(&order(now_us - 1), Some(1)), "ours has an instant to go");
}

#[test]
fn a_key_is_alive_until_two_hours_before_the_end_of_its_life() {
    let over_us = FIRST_US + (i64::from(LIFE_HOURS) - 2) * HOUR_US;
    let plain = row(FIRST_US, Some(FIRST_US), 1);
    let age = |now_us, offset| plain.key_age(now_us, offset, LIFE_HOURS);
    assert_eq!(age(FIRST_US, Some(0)), KeyAge::Alive);
    assert_eq!(age(over_us - 1, Some(0)), KeyAge::Alive);
    assert_eq!(age(over_us, Some(0)), KeyAge::Over);
    assert_eq!(age(over_us, None), KeyAge::Over);
    assert_eq!(age(over_us - 1, Some(1)), KeyAge::Over, "it is over by the service's clock");
    assert_eq!(age(over_us, Some(-1)), KeyAge::Over, "it is over by ours");
}

#[test]
fn clocks_that_disagree_about_a_key_dispute_its_age() {
    let over_us = FIRST_US + (i64::from(LIFE_HOURS) - 2) * HOUR_US;
    let plain = row(FIRST_US, Some(FIRST_US), 1);
    let age = |now_us, offset| plain.key_age(now_us, Some(offset), LIFE_HOURS);
    assert_eq!(age(over_us - 1, APART_MAX_US + 1), KeyAge::Disputed);
    assert_eq!(age(over_us - 1, APART_MAX_US), KeyAge::Over);
    assert_eq!(age(FIRST_US + 2 * APART_MAX_US, APART_MAX_US + 1), KeyAge::Alive, "they agree that it lives");
}

#[test]
fn a_key_from_the_future_has_its_age_by_the_service_clock_once_ours_is_right() {
    // Our clock was a day ahead when the key was made.
    let ahead = row(FIRST_US + 24 * HOUR_US, Some(FIRST_US), 1);
    assert_eq!(ahead.key_age(FIRST_US + HOUR_US, Some(0), LIFE_HOURS), KeyAge::Alive);
    assert_eq!(ahead.key_age(FIRST_US + HOUR_US, Some(APART_MAX_US + 1), LIFE_HOURS), KeyAge::Disputed);
    // A difference this small can come from one clock.
    let slightly = row(FIRST_US + APART_MAX_US, None, 1);
    assert_eq!(slightly.key_age(FIRST_US, None, LIFE_HOURS), KeyAge::Alive);
    let far = row(FIRST_US + APART_MAX_US + 1, None, 1);
    assert_eq!(far.key_age(FIRST_US, None, LIFE_HOURS), KeyAge::Over, "its age is not known by either clock");
}
