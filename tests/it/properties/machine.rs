//! The state machine beside a second one that was written apart: it keeps no state, only what happened to a request, and
//! works out from that where the request stands, what it holds and what may be done. Both must agree at every step.

use super::requests::turns;
use super::{cases, moved};
use proptest::prelude::*;
use rescreen::model::{
    Credits, Mode,
    state::{Event, KeyAge, Outcome, Standing, State, next},
};

const PRICE: u64 = 5;

/// What happened under the present key, and how it ended.
#[derive(Debug, Default)]
struct Story {
    under_way: bool,
    /// How each attempt ended; `None` is a crash.
    past: Vec<Option<Outcome>>,
    end: Option<End>,
    cached_refusals: u32,
    charged: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Answered,
    Failed,
    WrittenOff,
    Waits,
}

fn proves_nothing(outcome: &Option<Outcome>) -> bool {
    matches!(outcome, None | Some(Outcome::Unknown | Outcome::Pending))
}

impl Story {
    fn in_doubt(&self) -> bool {
        self.past.iter().any(proves_nothing)
    }

    fn is_at_rest(&self) -> bool {
        self.end.is_none() && !self.under_way
    }

    fn state(&self) -> State {
        match self.end {
            Some(End::Answered) => State::Answered,
            Some(End::Failed | End::WrittenOff) => State::Failed,
            Some(End::Waits) => State::Quarantined,
            None if self.under_way => State::Armed,
            None if !self.in_doubt() => State::Planned,
            None if self.past.last() == Some(&Some(Outcome::Pending)) => State::Repeating,
            None => State::InDoubt,
        }
    }

    fn held(&self) -> u64 {
        let may_cost = self.under_way || self.end == Some(End::Waits) || (self.end.is_none() && self.in_doubt());
        if may_cost { PRICE } else { 0 }
    }

    /// Begins again under a new key.
    fn anew(&mut self) {
        (self.past, self.end) = (Vec::new(), None);
    }

    /// Takes the event in; `false` where it may not be.
    fn takes(&mut self, event: Event) -> bool {
        let (doubt, at_rest) = (self.in_doubt(), self.is_at_rest());
        let may_be = match event {
            Event::Arm { age, same_api_key } => at_rest && (!doubt || (age == KeyAge::Alive && same_api_key)),
            Event::Attempted(_) | Event::FoundArmed => self.under_way,
            Event::LifeOver => at_rest && doubt,
            Event::RefusalCached => at_rest && !doubt && self.cached_refusals < 3,
            Event::AttemptsOver { mode } => at_rest && mode == Mode::Sandbox,
            Event::Retry => self.end == Some(End::Failed),
            Event::WriteOff | Event::SendAgain => self.end == Some(End::Waits),
        };
        if may_be {
            self.goes_on(event, doubt);
        }
        may_be
    }

    fn goes_on(&mut self, event: Event, doubt: bool) {
        match event {
            Event::Arm { .. } => self.under_way = true,
            Event::FoundArmed => {
                self.under_way = false;
                self.past.push(None);
            }
            Event::Attempted(outcome) => {
                self.under_way = false;
                match outcome {
                    Outcome::Answered { stated } => {
                        let stated = stated.map_or(PRICE, |stated| stated.0);
                        self.charged += if doubt { stated.max(PRICE) } else { stated };
                        self.end = Some(End::Answered);
                    }
                    Outcome::Refused => self.end = Some(if doubt { End::Waits } else { End::Failed }),
                    _ => {}
                }
                self.past.push(Some(outcome));
            }
            Event::LifeOver => self.end = Some(End::Waits),
            Event::AttemptsOver { .. } => self.end = Some(End::Failed),
            Event::WriteOff => (self.end, self.charged) = (Some(End::WrittenOff), self.charged + PRICE),
            Event::RefusalCached => {
                self.cached_refusals += 1;
                self.anew();
            }
            Event::Retry => self.anew(),
            Event::SendAgain => {
                self.charged += PRICE;
                self.anew();
            }
        }
    }
}

/// The machine as the ledger applies it.
struct Kept {
    standing: Standing,
    charged: u64,
}

impl Kept {
    fn takes(&mut self, event: Event) -> bool {
        let before = self.standing;
        let Ok(step) = next(&before, event) else { return false };
        let (after, charge) = moved(&before, &step);
        self.charged += charge;
        self.standing = after;
        true
    }
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn the_machine_is_where_the_story_of_the_request_says(events in turns()) {
        let mut story = Story::default();
        let standing = Standing {
            state: State::Planned,
            unproven: 0,
            generation: 0,
            cached_refusals: 0,
            held: Credits::ZERO,
            price: Credits(PRICE),
            possibly_charged: false,
        };
        let mut kept = Kept { standing, charged: 0 };
        for event in events {
            let before = kept.standing;
            prop_assert_eq!(kept.takes(event), story.takes(event), "{:?} in {:?}", event, before);
            let found = (kept.standing.state, kept.standing.held.0, kept.charged);
            prop_assert_eq!(found, (story.state(), story.held(), story.charged), "{:?} in {:?}", event, before);
        }
    }
}
