//! A failure: an ask's misfortune. It is data, ends in an output and never stops the run; what stops a run is an `Error`.

use serde::{Deserialize, Serialize};

/// Where on its way an ask failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The record could not be read.
    Read,
    /// The row could not be mapped to a request. Nothing was sent.
    Map,
    /// The service refused the request.
    Send,
    /// A person decided it (`rescreen resolve`).
    Resolve,
}

/// The closed list of failure codes; `failures` outputs and `--retry CODE` use these words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    RaggedRow,
    InvalidUtf8,
    NulByte,
    RowTooLarge,
    FieldTooLarge,
    InvalidJson,
    NotAnObject,
    /// The last line had no line end when it was read, and was completed later.
    IncompleteLine,
    MissingValue,
    InvalidValue,
    /// A spreadsheet took an identifier for a number and lost digits of it.
    SpreadsheetDamage,
    TemplateError,
    /// The service refuses this request: 400, 413, 415 or 422, or another status while it answers other requests.
    Refused,
    /// A complete reply that cannot be read, and that came again when the request was repeated. It may have been charged.
    UnreadableAnswer,
    /// Sandbox only: attempts are over, and nothing is at stake.
    AttemptsOver,
    WrittenOff,
}

impl Stage {
    /// The word in the outputs.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Read => "read",
            Stage::Map => "map",
            Stage::Send => "send",
            Stage::Resolve => "resolve",
        }
    }
}

impl FailureCode {
    pub const ALL: [FailureCode; 16] = [
        FailureCode::RaggedRow,
        FailureCode::InvalidUtf8,
        FailureCode::NulByte,
        FailureCode::RowTooLarge,
        FailureCode::FieldTooLarge,
        FailureCode::InvalidJson,
        FailureCode::NotAnObject,
        FailureCode::IncompleteLine,
        FailureCode::MissingValue,
        FailureCode::InvalidValue,
        FailureCode::SpreadsheetDamage,
        FailureCode::TemplateError,
        FailureCode::Refused,
        FailureCode::UnreadableAnswer,
        FailureCode::AttemptsOver,
        FailureCode::WrittenOff,
    ];

    /// The word in the outputs.
    pub fn as_str(self) -> &'static str {
        match self {
            FailureCode::RaggedRow => "ragged_row",
            FailureCode::InvalidUtf8 => "invalid_utf8",
            FailureCode::NulByte => "nul_byte",
            FailureCode::RowTooLarge => "row_too_large",
            FailureCode::FieldTooLarge => "field_too_large",
            FailureCode::InvalidJson => "invalid_json",
            FailureCode::NotAnObject => "not_an_object",
            FailureCode::IncompleteLine => "incomplete_line",
            FailureCode::MissingValue => "missing_value",
            FailureCode::InvalidValue => "invalid_value",
            FailureCode::SpreadsheetDamage => "spreadsheet_damage",
            FailureCode::TemplateError => "template_error",
            FailureCode::Refused => "refused",
            FailureCode::UnreadableAnswer => "unreadable_answer",
            FailureCode::AttemptsOver => "attempts_over",
            FailureCode::WrittenOff => "written_off",
        }
    }
}

/// What became of an ask that has no answer and never will, unless it is retried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub stage: Stage,
    pub code: FailureCode,
    /// What was expected, what came, and what to do. Names the column, never the person.
    pub message: String,
}

impl Failure {
    /// A record that could not be read.
    pub fn read(code: FailureCode, message: impl Into<String>) -> Failure {
        Failure { stage: Stage::Read, code, message: message.into() }
    }

    /// A row that could not be mapped.
    pub fn map(code: FailureCode, message: impl Into<String>) -> Failure {
        Failure { stage: Stage::Map, code, message: message.into() }
    }
}
