//! What happens to a request whose files or upload are not what they were: it fails if it is proven uncharged, and
//! stays in doubt otherwise. It is never charged anew without proof.

use super::{Command, Engine};
use crate::{
    model::{
        Failure, FailureCode, Stage, Stop,
        state::{Event, State},
    },
    pipeline::send::{context::Candidate, file_body::FileFault, upload::GENERATIONS_MAX},
};

/// How often one document is uploaded in one run if the replies cannot be followed.
const UPLOAD_TRIES_MAX: u32 = 3;

impl Engine {
    /// Fails a request before it is armed, because one of its files was replaced. A request in doubt cannot be
    /// repeated with other bytes and stays in doubt.
    pub(super) fn file_changed(&mut self, candidate: &Candidate, fault: FileFault) {
        let FileFault { state, field, fault, row, digest, no_root } = fault;
        if state != State::Planned || no_root {
            let row = row.map(|(source, number)| format!(" of row {number} of {source}")).unwrap_or_default();
            let message = format!("the file of field `{field}`{row} ({digest}…): {fault}");
            self.files_withheld(candidate, message);
            return;
        }
        let message = format!(
            "field `{field}`: expected the file that was there when the row was read ({digest}…), {fault}; nothing was \
             sent or charged; restore the file and run with --retry file_changed, or check the new file in a new campaign"
        );
        let failure = Failure { stage: Stage::Send, code: FailureCode::FileChanged, message };
        self.fail_unsent(candidate, failure);
    }

    /// Gives a request a new key, because its upload has expired and one key always has one body.
    pub(super) fn upload_expired(&mut self, candidate: Candidate) {
        // Fails first, which is proof in the ledger that nothing was charged under the old key.
        let message = "its upload expired before the service accepted the request; run with --retry refused".to_owned();
        let failure = Failure { stage: Stage::Send, code: FailureCode::Refused, message };
        if candidate.uploads >= GENERATIONS_MAX {
            return self.fail_unsent(&candidate, failure);
        }
        self.record(candidate.request, Event::RowAtFault, Some(failure));
        self.commands.push(Command::NewKey { request: candidate.request, event: Event::Retry });
        self.put_first(Candidate { is_repeat: true, uploads: candidate.uploads + 1, ..candidate });
    }

    /// Handles a reply to an upload that cannot be followed. Nothing was charged. It is repeated, and then this request
    /// fails if other documents can be uploaded. If several different requests have such a reply in a row, no more
    /// requests of the check are sent.
    pub(super) fn upload_unusable(&mut self, candidate: Candidate, fault: String) {
        let stop = Stop::UploadUnusable { check: candidate.check.clone(), fault: fault.clone() };
        if self.guards.odd_upload(&candidate.check, candidate.request) {
            self.leave_out(&candidate.check, stop);
            return;
        }
        let mut candidate = Candidate { odd_uploads: candidate.odd_uploads + 1, ..candidate };
        if candidate.odd_uploads < UPLOAD_TRIES_MAX {
            let delay = candidate.delays.next_delay();
            self.postpone(candidate, delay);
        } else if self.guards.is_uploading(&candidate.check) {
            self.upload_failed(&candidate, &fault);
        } else {
            self.spending.leaves(candidate.request);
            self.aside.push((candidate, stop));
        }
    }

    /// Fails a request whose document cannot be uploaded, while others can.
    pub(super) fn upload_failed(&mut self, candidate: &Candidate, fault: &str) {
        let message = format!(
            "the reply to the upload of its document cannot be followed: {fault}; nothing was sent or charged; run with \
             --retry refused to try again"
        );
        self.fail_unsent(candidate, Failure { stage: Stage::Send, code: FailureCode::Refused, message });
    }

    fn fail_unsent(&mut self, candidate: &Candidate, failure: Failure) {
        let code = failure.code.as_str();
        self.record(candidate.request, Event::RowAtFault, Some(failure));
        self.spending.leaves(candidate.request);
        // A folder that is gone would fail every row.
        self.stops.extend(self.guards.refused(&candidate.check, code, "", &self.terms.guards));
    }

    /// Notes that requests in doubt are not repeated. One message names one of them.
    fn files_withheld(&mut self, candidate: &Candidate, first: String) {
        self.left_for_later(candidate);
        let is_noted = |stop: &Stop| matches!(stop, Stop::FilesChanged { check, .. } if *check == candidate.check);
        if !self.withholds.iter().any(is_noted) {
            self.withhold(Stop::FilesChanged { check: candidate.check.clone(), first });
        }
    }
}
