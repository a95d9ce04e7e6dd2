//! Compares the state machine with a reference that knows the truth the machine cannot see: what the service really
//! charged. The service keeps its promise of one charge per key, and any outcome may come at any time. Written without
//! the machine's own table.

use super::{cases, moved};
use proptest::{collection::vec, prelude::*};
use rescreen::model::{
    Credits, Mode,
    state::{Event, JobEnd, KeyAge, Outcome, Standing, State},
    transitions::next,
};

const PRICE: u64 = 5;

/// One request, as the ledger keeps it and as it really is.
struct Truth {
    standing: Standing,
    charged: u64,
    mode: Mode,
    /// Whether the service charged under the current key.
    charged_under_key: bool,
    really_charged: u64,
    /// Charges that a person decided to make again.
    sent_again: u64,
}

/// An event. Where the service could have charged without our knowledge, it says whether it did.
#[derive(Debug, Clone)]
struct Turn {
    event: Event,
    charges: bool,
}

fn turn() -> impl Strategy<Value = Turn> {
    let age = prop::sample::select(vec![KeyAge::Alive, KeyAge::Alive, KeyAge::Alive, KeyAge::Over, KeyAge::Disputed]);
    let arm = (age, prop::bool::weighted(0.8)).prop_map(|(age, same_api_key)| Event::Arm { age, same_api_key });
    let stated = prop::option::of(0..=PRICE).prop_map(|stated| Outcome::Answered { stated: stated.map(Credits) });
    let proven = [
        Outcome::NotWritten,
        Outcome::Refused,
        Outcome::Unauthorised,
        Outcome::NoCredits,
        Outcome::RateLimited,
        Outcome::Uncharged,
        Outcome::NeedsWebhook,
        Outcome::CachedFailure,
    ];
    let unproven = prop::sample::select(vec![
        Outcome::Unknown,
        Outcome::Pending { stated: None },
        Outcome::Accepted { stated: None },
        Outcome::Unreadable,
        Outcome::Unconvincing,
        Outcome::Misrouted,
        Outcome::Blocked,
    ]);
    let charging = prop::option::of(1..=PRICE);
    let charging = charging.prop_map(|stated| Outcome::ChargedRefusal { stated: stated.map(Credits) });
    let proven = prop::sample::select(proven.to_vec());
    let outcome = prop_oneof![2 => stated, 6 => proven, 6 => unproven, 1 => charging];
    let told = prop::sample::select(vec![
        Event::FoundArmed,
        Event::LifeOver,
        Event::RefusalCached,
        Event::RowAtFault,
        Event::AttemptsOver { mode: Mode::Sandbox },
        Event::AttemptsOver { mode: Mode::Production },
        Event::Retry,
        Event::WriteOff,
        Event::SendAgain,
        Event::PutBeforePerson,
    ]);
    let ends = prop_oneof![
        prop::option::of(1..=PRICE).prop_map(|stated| JobEnd::Completed { stated: stated.map(Credits) }),
        prop::option::of(0..=PRICE).prop_map(|charged| JobEnd::Failed { charged: charged.map(Credits) }),
        Just(JobEnd::Lost),
    ];
    let ended = ends.prop_map(Event::JobEnded);
    let event = prop_oneof![4 => arm, 4 => outcome.prop_map(Event::Attempted), 2 => ended, 3 => told];
    (event, any::<bool>()).prop_map(|(event, charges)| Turn { event, charges })
}

impl Truth {
    fn begun(mode: Mode) -> Truth {
        let price = if mode == Mode::Sandbox { 0 } else { PRICE };
        let standing = Standing::planned(Credits(price));
        Truth { standing, charged: 0, mode, charged_under_key: false, really_charged: 0, sent_again: 0 }
    }

    /// Whether this event is possible now: it must fit the mode, and the service does not lie.
    fn could_be(&self, event: Event) -> bool {
        match event {
            Event::AttemptsOver { mode } => mode == self.mode,
            Event::Attempted(Outcome::Uncharged | Outcome::NeedsWebhook | Outcome::CachedFailure) => {
                !self.charged_under_key
            }
            Event::Attempted(Outcome::ChargedRefusal { .. }) => self.mode == Mode::Production,
            Event::JobEnded(JobEnd::Failed { charged: Some(Credits::ZERO) }) => !self.charged_under_key,
            Event::JobEnded(JobEnd::Failed { charged: Some(Credits(charged)) }) => {
                self.mode == Mode::Production && (!self.charged_under_key || charged == PRICE)
            }
            _ => true,
        }
    }

    /// The service works on an attempt under the current key. It charges the first time only.
    fn service_works(&mut self) {
        if !std::mem::replace(&mut self.charged_under_key, true) {
            self.really_charged += self.standing.price.0;
        }
    }

    /// The service charges what it states, or its price, the first time under the current key.
    fn service_charges(&mut self, stated: Option<Credits>, price: u64) {
        if !std::mem::replace(&mut self.charged_under_key, true) {
            self.really_charged += stated.map_or(price, |stated| stated.0);
        }
    }

    fn happens(&mut self, turn: &Turn) -> Result<(), TestCaseError> {
        let before = self.standing;
        let Ok(step) = next(&before, turn.event) else { return Ok(()) };
        if let Event::Arm { age, same_api_key } = turn.event {
            let in_life = age == KeyAge::Alive && same_api_key;
            prop_assert!(in_life || !self.charged_under_key, "{before:?} is sent again under {:?}", turn.event);
        }
        match turn.event {
            Event::Attempted(Outcome::Answered { stated }) => {
                // A stated charge below the price is true if nothing was charged before.
                if let (Some(stated), false) = (stated, self.charged_under_key) {
                    (self.charged_under_key, self.really_charged) =
                        (true, self.really_charged + stated.0.min(before.price.0));
                }
                self.service_works();
            }
            // A job is charged when it has a result.
            Event::JobEnded(JobEnd::Completed { .. }) => self.service_works(),
            Event::JobEnded(JobEnd::Failed { charged: Some(charged) }) if charged > Credits::ZERO => {
                self.service_charges(Some(charged), before.price.0);
            }
            // A stated charge is true: the service charged it, at its own price.
            Event::Attempted(Outcome::ChargedRefusal { stated }) => self.service_charges(stated, before.price.0),
            Event::Attempted(
                Outcome::Unknown
                | Outcome::Pending { .. }
                | Outcome::Accepted { .. }
                | Outcome::Unreadable
                | Outcome::Unconvincing
                | Outcome::Misrouted
                | Outcome::Blocked,
            )
            | Event::FoundArmed
                if turn.charges =>
            {
                self.service_works();
            }
            _ => {}
        }
        let (after, charge) = moved(&before, &step);
        self.charged += charge;
        if step.next_generation {
            let by_word = turn.event == Event::SendAgain;
            prop_assert!(
                by_word || self.mode == Mode::Sandbox || !self.charged_under_key,
                "a new key after a charge: {before:?}"
            );
            self.sent_again += u64::from(by_word);
            self.charged_under_key = false;
        }
        self.standing = after;
        self.holds(&before, turn.event)
    }

    fn holds(&self, before: &Standing, event: Event) -> Result<(), TestCaseError> {
        let now = &self.standing;
        let paid = now.price.0;
        prop_assert!(
            self.charged + now.held.0 >= self.really_charged,
            "the ledger knows less than was charged: {now:?}"
        );
        prop_assert!(self.really_charged <= (1 + self.sent_again) * paid, "charged again without a decision");
        let open = [State::Armed, State::InDoubt, State::Repeating, State::Submitted, State::Quarantined];
        let open = open.contains(&now.state);
        prop_assert_eq!(now.held.0, if open { paid } else { 0 }, "{:?}", now);
        prop_assert!(before.state != State::Answered, "an answer moved");
        // Only its own end or a person moves a job.
        let may_move = matches!(event, Event::PutBeforePerson | Event::JobEnded(_));
        prop_assert!(before.state != State::Submitted || may_move, "a job moved by {event:?}");
        prop_assert!(before.state != State::Failed || event == Event::Retry, "a failure moved by {event:?}");
        prop_assert!(!(before.possibly_charged && event == Event::Retry), "what may be charged was retried");
        let is_decided = matches!(event, Event::WriteOff | Event::SendAgain);
        prop_assert!(before.state != State::Quarantined || is_decided, "{event:?} moved what waits for a person");
        prop_assert!(now.cached_refusals <= 3);
        Ok(())
    }
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn whatever_happens_nothing_is_charged_twice_and_no_hold_is_lost(
        turns in vec(turn(), 1..120), mode in prop::sample::select(vec![Mode::Production, Mode::Sandbox]),
    ) {
        let mut truth = Truth::begun(mode);
        for turn in turns {
            if truth.could_be(turn.event) {
                truth.happens(&turn)?;
            }
        }
    }
}
