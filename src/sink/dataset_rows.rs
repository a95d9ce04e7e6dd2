//! The rows of each dataset, with typed fields.

use super::TableCell;
use crate::{
    catalogue::ColumnValue,
    model::{Credits, Failure, IdempotencyKey, Mode, Verdict, key::hex},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// The `mode` of an output: the campaign's, unless its answers came from the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputMode {
    Production,
    Sandbox,
    Simulated,
}

impl OutputMode {
    /// The mode of a ledger's outputs: `simulated` permanently once it has recorded an answer of the simulator.
    pub fn of(mode: Mode, simulated: bool) -> OutputMode {
        match mode {
            _ if simulated => OutputMode::Simulated,
            Mode::Production => OutputMode::Production,
            Mode::Sandbox => OutputMode::Sandbox,
        }
    }

    /// The value in the outputs.
    pub fn as_str(self) -> &'static str {
        match self {
            OutputMode::Production => "production",
            OutputMode::Sandbox => "sandbox",
            OutputMode::Simulated => "simulated",
        }
    }

    /// Where invented answers come from; `None` if the answers are real.
    pub fn invented_by(self) -> Option<&'static str> {
        match self {
            OutputMode::Production => None,
            OutputMode::Sandbox => Some("the sandbox of the service"),
            OutputMode::Simulated => Some("the simulator"),
        }
    }

    /// What people must know about invented answers.
    pub fn warning(self) -> Option<String> {
        let warning = |inventor| format!("the answers are INVENTED by {inventor}: they are not real verifications");
        self.invented_by().map(warning)
    }
}

/// The columns that every row of every dataset begins with: they identify the ask.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    pub campaign: &'a str,
    pub mode: OutputMode,
    /// The check's name in the campaign; `None` for a row that could not be read, which counts for all checks.
    pub check_name: Option<&'a str>,
    /// The cell of the column that `[input] id` names.
    pub subject: Option<&'a str>,
    pub source: &'a str,
    pub row_number: u64,
}

/// The identity of an ask in the outputs, for merges: 32 hexadecimal characters, the same in every run and every
/// format.
pub fn result_id(campaign: &str, mode: OutputMode, check_name: Option<&str>, source: &str, row_number: u64) -> String {
    let canonical = serde_json::json!([campaign, mode.as_str(), check_name, source, row_number]).to_string();
    hex(&Sha256::digest(canonical.as_bytes())[..16])
}

/// Whether an ask was answered by its own request or by that of an equal ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerSource {
    Sent,
    /// An equal ask of the campaign was sent; this one costs nothing.
    Duplicate,
    /// An earlier campaign has asked the same.
    Reused,
}

impl AnswerSource {
    /// The value in the outputs.
    pub fn as_str(self) -> &'static str {
        match self {
            AnswerSource::Sent => "sent",
            AnswerSource::Duplicate => "duplicate",
            AnswerSource::Reused => "reused",
        }
    }
}

/// A row of results. It is final.
pub struct ResultRow<'a> {
    pub head: Head<'a>,
    pub verdict: Verdict,
    pub finding: String,
    /// One for each carried column, in its type.
    pub carried: Vec<TableCell>,
    /// One for each typed column of the check.
    pub columns: Vec<ColumnValue>,
    /// One for each `expect`: whether the answer agrees; `None` if it does not state it.
    pub expected: Vec<Option<bool>>,
    /// Microseconds since 1970.
    pub completed_at_us: i64,
    /// 0 for a duplicate, so that the sum of the column is the total charge.
    pub credits: Credits,
    pub answer_source: AnswerSource,
    /// The service's identifier of the request, if the answer has one.
    pub request_id: Option<&'a str>,
    pub idempotency_key: IdempotencyKey,
    pub http_status: Option<u16>,
    pub attempts: u32,
    pub latency_ms: Option<u64>,
    /// Microseconds since 1970.
    pub requested_at_us: Option<i64>,
    /// The canonical fields, JSON, without secrets.
    pub sent: Cow<'a, str>,
    /// The answer, JSON, without images.
    pub answer: Cow<'a, str>,
    /// The answer was read as JSON, so its text is not examined again.
    pub answer_is_json: bool,
    /// The digest of the answer.
    pub answer_digest: String,
    /// The numbers of the decisions that accepted its matches, in JSON.
    pub decisions: Option<&'a str>,
    /// The campaign that asked, if its answer is used again.
    pub reused_from: Option<&'a str>,
}

/// A row of failures.
pub struct FailureRow<'a> {
    pub head: Head<'a>,
    pub failure: &'a Failure,
    pub http_status: Option<u16>,
    pub attempts: u32,
    pub possibly_charged: bool,
    /// Whether `run --retry` would send it again.
    pub retryable: bool,
    pub line: u64,
    pub byte_offset: u64,
    pub idempotency_key: Option<IdempotencyKey>,
    /// The input row, JSON.
    pub input: &'a str,
}

/// Why an ask is not settled yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PendingReason {
    Unsent,
    InDoubt,
    /// The service accepted it as a job, and has no result yet.
    ServiceJob,
    Repeating,
    Quarantined,
    /// Answered; its row will be in the next part.
    Answered,
    /// Answered and charged, but no rule recognises the answer.
    Unrecognised,
}

impl PendingReason {
    /// The value in the outputs.
    pub fn as_str(self) -> &'static str {
        match self {
            PendingReason::Unsent => "unsent",
            PendingReason::InDoubt => "in_doubt",
            PendingReason::ServiceJob => "service_job",
            PendingReason::Repeating => "repeating",
            PendingReason::Quarantined => "quarantined",
            PendingReason::Answered => "answered",
            PendingReason::Unrecognised => "unrecognised",
        }
    }
}

/// A row of pending.
pub struct PendingRow<'a> {
    pub head: Head<'a>,
    pub reason: PendingReason,
    pub job_id: Option<&'a str>,
    /// The time until which another run can settle it without a new charge, in microseconds since 1970.
    pub deadline_us: Option<i64>,
    /// What was charged for it, if it is answered.
    pub credits: Option<Credits>,
    /// The answer that no rule recognises, JSON, without images.
    pub answer: Option<&'a str>,
}

/// A row of skipped.
pub struct SkippedRow<'a> {
    pub head: Head<'a>,
    pub reason: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_id_never_changes_and_its_parts_cannot_run_together() {
        let id = |campaign, source| result_id(campaign, OutputMode::Sandbox, Some("aml"), source, 7);
        assert_eq!(id("2026-11", "a.csv"), FROZEN);
        assert_ne!(id("x\",\"y", "z"), id("x", "y\",\"z"));
        assert_ne!(
            result_id("c", OutputMode::Sandbox, None, "s", 1),
            result_id("c", OutputMode::Sandbox, Some("null"), "s", 1)
        );
    }

    /// SHA-256 of `["2026-11","sandbox","aml","a.csv",7]`, first 16 bytes: `printf … | sha256sum`.
    const FROZEN: &str = "9d1276c1c5780fa6f9558c71ae4ed294";
}
