//! A request as the charge book has it, and what a worker does with one that the book knows. A partition of a campaign owns the
//! line of a request from its first attempt on. If its ledger is lost, the next ledger of the partition continues.

use super::{credits::Credits, key::IdempotencyKey, state::State};

/// What a ledger tells the book about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The key of generation 0, which is made of the content.
    pub key: IdempotencyKey,
    pub state: State,
    /// The attempts so far. In the line of a request that is about to be armed, with that one.
    pub attempts: u32,
    pub generation: u32,
    /// It grows with everything that the ledger tells of the request.
    pub revision: u32,
    pub held: Credits,
    pub charged: Credits,
    /// Everything else that a ledger needs to go on with it, as the ledger writes it.
    pub record: String,
    /// The exact bytes that were sent, until it is settled. A repeat sends the same bytes.
    pub body: Option<Vec<u8>>,
    /// The raw answer, compressed by the ledger.
    pub answer: Option<Vec<u8>>,
}

/// Whose line it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// That of the partition that this worker runs.
    Us {
        /// The ledger of this worker has told it.
        is_of_ledger: bool,
    },
    Another {
        /// A worker runs that partition now.
        is_running: bool,
    },
}

/// The line of a request in the book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub owner: Owner,
    pub told: Told,
}

/// What a worker does with a request that it would send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStep {
    /// It claims the line, and sends.
    Claim,
    /// It takes what the line says into its ledger, and what it cost if the partition pays for it.
    Adopt { with_charge: bool },
    /// Another partition has sent it and has no answer yet.
    Wait { is_running: bool },
}

/// How far a ledger is with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    pub attempts: u32,
    pub generation: u32,
    pub revision: u32,
}

/// What to do with a request.
pub fn line_step(known: Known, line: Option<&Line>) -> LineStep {
    let Some(Line { owner, told }) = line else { return LineStep::Claim };
    match owner {
        // An earlier ledger of the partition, or a newer copy of this one, went on with it.
        Owner::Us { .. } if told.is_ahead_of(known) => LineStep::Adopt { with_charge: true },
        Owner::Us { .. } => LineStep::Claim,
        // It was not sent after all, or was refused. Its key keeps its age.
        Owner::Another { .. } if told.is_free() && told.state == State::Planned => match told.attempts > known.attempts
        {
            true => LineStep::Adopt { with_charge: false },
            false => LineStep::Claim,
        },
        Owner::Another { .. }
            if told.is_free() && told.state == State::Failed && told.generation < known.generation =>
        {
            LineStep::Claim
        }
        Owner::Another { .. } if told.state.is_settled() => LineStep::Adopt { with_charge: false },
        Owner::Another { is_running } => LineStep::Wait { is_running: *is_running },
    }
}

impl Told {
    /// Whether it says more than a ledger knows that would send the request. Revisions alone do not show it: two copies of one
    /// ledger count on from the same one.
    fn is_ahead_of(&self, known: Known) -> bool {
        self.revision > known.revision
            || self.attempts > known.attempts
            || self.generation > known.generation
            || self.state.is_settled() && self.generation == known.generation
    }

    /// Nothing was or may be charged for it.
    fn is_free(&self) -> bool {
        (self.held, self.charged) == (Credits::ZERO, Credits::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Known = Known { attempts: 0, generation: 0, revision: 0 };

    fn line(owner: Owner, state: State) -> Line {
        let key = IdempotencyKey::from_slice(&[7; 16]).unwrap();
        let (held, charged) = (Credits::ZERO, Credits::ZERO);
        let (attempts, generation, revision) = (1, 0, 3);
        let (record, body, answer) = (String::new(), None, None);
        let told = Told { key, state, attempts, generation, revision, held, charged, record, body, answer };
        Line { owner, told }
    }

    #[test]
    fn a_request_that_no_one_has_sent_is_claimed() {
        assert_eq!(line_step(NEW, None), LineStep::Claim);
    }

    #[test]
    fn a_partition_goes_on_where_its_lost_ledger_stopped_and_pays_once() {
        for state in State::ALL {
            let ours = line(Owner::Us { is_of_ledger: false }, state);
            let adopts = LineStep::Adopt { with_charge: true };
            assert_eq!(line_step(Known { revision: 2, ..NEW }, Some(&ours)), adopts, "{state:?}");
            let knows_as_much = Known { attempts: 1, revision: 5, ..NEW };
            let expected = if state.is_settled() { adopts } else { LineStep::Claim };
            assert_eq!(line_step(knows_as_much, Some(&ours)), expected, "{state:?}: an older copy may count further");
            let retries = Known { generation: 1, ..knows_as_much };
            assert_eq!(line_step(retries, Some(&ours)), LineStep::Claim, "{state:?}");
            for behind in [Known { attempts: 0, ..retries }, Known { revision: 2, ..retries }] {
                assert_eq!(line_step(behind, Some(&ours)), adopts, "{state:?} {behind:?}");
            }
        }
    }

    #[test]
    fn another_partitions_answer_costs_nothing_and_its_doubt_is_waited_for() {
        for state in State::ALL {
            let theirs = line(Owner::Another { is_running: true }, state);
            let expected = match state {
                State::Answered | State::Failed | State::Planned => LineStep::Adopt { with_charge: false },
                _ => LineStep::Wait { is_running: true },
            };
            assert_eq!(line_step(NEW, Some(&theirs)), expected, "{state:?}");
        }
        // What another partition did not send after all has its key's age, and is then sent.
        let theirs = line(Owner::Another { is_running: true }, State::Planned);
        assert_eq!(line_step(Known { attempts: 1, ..NEW }, Some(&theirs)), LineStep::Claim);
    }

    #[test]
    fn a_free_failure_of_another_partition_is_retried_under_a_new_key_and_a_paid_one_is_not() {
        let mut failed = line(Owner::Another { is_running: false }, State::Failed);
        let retried = Known { attempts: 1, generation: 1, revision: 0 };
        assert_eq!(line_step(retried, Some(&failed)), LineStep::Claim);
        failed.told.charged = Credits(1);
        assert_eq!(line_step(retried, Some(&failed)), LineStep::Adopt { with_charge: false });
    }
}
