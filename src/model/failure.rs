//! A failure of one ask. It is data, is written to an output and never stops the run; what stops a run is an `Error`.

use serde::{Deserialize, Serialize};

/// The stage at which an ask failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The record could not be read (`source/records/`).
    Read,
    /// The row could not be mapped to a request (`mapping/`). Nothing was sent.
    Map,
    /// The service refused the request (`pipeline/send/refusal.rs`), or it cannot be sent (`pipeline/send/engine/`).
    Send,
    /// A person decided so (`rescreen resolve`).
    Resolve,
}

/// The closed list of failure codes, as used in the `failures` output and in `--retry CODE`.
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
    /// The last line had no newline when it was read, and was completed later.
    IncompleteLine,
    MissingValue,
    InvalidValue,
    /// A spreadsheet treated an identifier as a number and lost some of its digits, or a cell has an error.
    SpreadsheetDamage,
    TemplateError,
    /// A value that should name a country names none, or a word that several share.
    UnknownCountry,
    /// A file that a row names cannot be read, is outside the files root, or is damaged.
    UnreadableFile,
    /// A file is of a format that the service does not accept.
    WrongFileFormat,
    /// A file is larger than the service accepts.
    FileTooLarge,
    /// A file was replaced after its row was read and before it was sent. Nothing was charged.
    FileChanged,
    /// The service refuses this request: 400, 413, 415 or 422, or another status while it answers other requests.
    Refused,
    /// The service cannot answer this request at once, and would deliver the answer later to a webhook. Nothing was
    /// charged.
    NeedsWebhook,
    /// The service says that it failed to process the request, and keeps that under its key. Nothing was charged.
    CachedFailure,
    /// The service ended its job without a result, and states what it charged. Without a statement a person decides.
    JobFailed,
    /// The service no longer knows its job, or has no result after 72 hours. It may have been charged.
    JobLost,
    /// A complete reply that cannot be read, even after the request was repeated. It may have been charged.
    UnreadableAnswer,
    /// Sandbox only: all attempts are used up. Nothing was charged.
    AttemptsOver,
    WrittenOff,
}

impl Stage {
    /// The name used in the outputs.
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
    pub const ALL: [FailureCode; 25] = [
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
        FailureCode::UnknownCountry,
        FailureCode::UnreadableFile,
        FailureCode::WrongFileFormat,
        FailureCode::FileTooLarge,
        FailureCode::FileChanged,
        FailureCode::Refused,
        FailureCode::NeedsWebhook,
        FailureCode::CachedFailure,
        FailureCode::JobFailed,
        FailureCode::JobLost,
        FailureCode::UnreadableAnswer,
        FailureCode::AttemptsOver,
        FailureCode::WrittenOff,
    ];

    /// The name used in the outputs.
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
            FailureCode::UnknownCountry => "unknown_country",
            FailureCode::UnreadableFile => "unreadable_file",
            FailureCode::WrongFileFormat => "wrong_file_format",
            FailureCode::FileTooLarge => "file_too_large",
            FailureCode::FileChanged => "file_changed",
            FailureCode::Refused => "refused",
            FailureCode::NeedsWebhook => "needs_webhook",
            FailureCode::CachedFailure => "cached_failure",
            FailureCode::JobFailed => "job_failed",
            FailureCode::JobLost => "job_lost",
            FailureCode::UnreadableAnswer => "unreadable_answer",
            FailureCode::AttemptsOver => "attempts_over",
            FailureCode::WrittenOff => "written_off",
        }
    }
}

/// Why an ask has no answer. It is final unless it is retried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub stage: Stage,
    pub code: FailureCode,
    /// What was expected, what was found, and what to do. It names the column, never the person.
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
