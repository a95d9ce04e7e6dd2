//! Why rows failed, and where the first of them are. A position says where a row is in its file; neither its values nor
//! its subject are kept, so that the page can be shown to people who must not see them.

use crate::{
    ledger::{AskFate, AskView},
    model::{Failure, FailureCode, Stage},
};
use std::collections::BTreeMap;

/// The number of rows of each reason whose positions are kept.
pub const POSITIONS_MAX: usize = 12;

/// Where a row is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowPlace {
    pub source: String,
    pub row_number: u64,
    pub line: u64,
}

/// The failed asks of one check and code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reason {
    pub asks: u64,
    /// What they were charged, as far as it is known.
    pub credits: u64,
    /// Those that may have been charged.
    pub possibly_charged: u64,
    /// The stages at which they failed.
    pub stages: Vec<Stage>,
    /// The last HTTP status of each, with the number of asks.
    pub statuses: BTreeMap<u16, u64>,
    /// The first of them, in input order.
    pub first: Vec<RowPlace>,
}

/// The failed asks by check in the campaign and by code. Rows that could not be read are under `None`.
pub type Reasons = BTreeMap<(Option<i64>, FailureCode), Reason>;

/// Counts a failed ask. An ask that did not fail is not counted.
pub fn count(reasons: &mut Reasons, ask: &AskView<'_>) {
    let (failure, status, credits, possibly_charged) = match &ask.fate {
        AskFate::Failure(failure) => (failure, None, 0, false),
        AskFate::Request(request) => {
            let Some(failure) = &request.failure else { return };
            (failure, request.http_status, request.credits.0, request.possibly_charged)
        }
        AskFate::Skipped(_) => return,
    };
    let Failure { stage, code, .. } = failure;
    let reason = reasons.entry((ask.check_use, *code)).or_default();
    reason.asks += 1;
    reason.credits = reason.credits.saturating_add(credits);
    reason.possibly_charged += u64::from(possibly_charged);
    if !reason.stages.contains(stage) {
        reason.stages.push(*stage);
    }
    if let Some(status) = status {
        *reason.statuses.entry(status).or_default() += 1;
    }
    if reason.first.len() < POSITIONS_MAX {
        let (row_number, line) = (ask.row.row_number, ask.row.line);
        reason.first.push(RowPlace { source: ask.source.to_owned(), row_number, line });
    }
}

/// What a code means, for readers who do not know the program.
pub fn explained(code: FailureCode) -> &'static str {
    match code {
        FailureCode::RaggedRow => "the row has more or fewer cells than the header",
        FailureCode::InvalidUtf8 => "the row contains bytes that are not text in the encoding of the file",
        FailureCode::NulByte => "the row contains a zero byte",
        FailureCode::RowTooLarge => "the row is larger than the limit",
        FailureCode::FieldTooLarge => "a cell is larger than the limit",
        FailureCode::InvalidJson => "the line is not valid JSON",
        FailureCode::NotAnObject => "the line is JSON, but not an object",
        FailureCode::IncompleteLine => "the last line had no end when it was read, and was completed later",
        FailureCode::MissingValue => "a value that the check needs is missing",
        FailureCode::InvalidValue => {
            "a value is not what the check needs, such as an identity number with a wrong digit"
        }
        FailureCode::SpreadsheetDamage => {
            "a spreadsheet program has lost digits of an identifier, or wrote an error in place of a value"
        }
        FailureCode::TemplateError => "a template could not be filled",
        FailureCode::UnknownCountry => "a value is not a country, or could mean several",
        FailureCode::UnreadableFile => "a file that the row names could not be read",
        FailureCode::WrongFileFormat => "a file is of a format that the service does not accept",
        FailureCode::FileTooLarge => "a file is larger than the service accepts",
        FailureCode::FileChanged => "a file was replaced after its row was read; nothing was charged",
        FailureCode::Refused => "the service refused the request",
        FailureCode::NeedsWebhook => {
            "the service would answer later, to a receiver that was not set up; nothing was charged"
        }
        FailureCode::CachedFailure => {
            "the service failed to process the request, and repeats that failure; nothing was charged"
        }
        FailureCode::JobFailed => "the service accepted the request as a job, and ended it without a result",
        FailureCode::JobLost => "the service lost the job, or had no result after 72 hours; it may have been charged",
        FailureCode::UnreadableAnswer => "the reply could not be read, even when repeated; it may have been charged",
        FailureCode::AttemptsOver => "all attempts were used up in sandbox; nothing was charged",
        FailureCode::WrittenOff => "a person wrote the request off",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::IngestedRow;

    #[test]
    fn asks_are_counted_by_check_and_code_and_only_the_first_places_are_kept() {
        let mut reasons = Reasons::new();
        for number in 1..=POSITIONS_MAX as u64 + 5 {
            let row = IngestedRow {
                row_number: number,
                line: number + 1,
                byte_offset: 0,
                subject: Some("secret".to_owned()),
                input: serde_json::json!({ "name": "secret" }),
            };
            let code = if number == 3 { FailureCode::InvalidValue } else { FailureCode::MissingValue };
            let failed = AskFate::Failure(Failure::map(code, "expected a name"));
            for fate in [failed, AskFate::Skipped("when".to_owned())] {
                let (id, place, source) = (number as i64, (1, 0), "a.csv");
                let (check_use, expected, accepted) = (Some(1), None, None);
                count(&mut reasons, &AskView { id, place, check_use, source, row: &row, fate, expected, accepted });
            }
        }
        let missing = &reasons[&(Some(1), FailureCode::MissingValue)];
        assert_eq!((missing.asks, missing.first.len()), (POSITIONS_MAX as u64 + 4, POSITIONS_MAX));
        assert_eq!(missing.stages, [Stage::Map]);
        let invalid = &reasons[&(Some(1), FailureCode::InvalidValue)];
        assert_eq!(invalid.first, [RowPlace { source: "a.csv".to_owned(), row_number: 3, line: 4 }]);
        assert!(!format!("{reasons:?}").contains("secret"));
    }

    #[test]
    fn every_code_has_its_own_explanation() {
        let all: std::collections::BTreeSet<&str> = FailureCode::ALL.into_iter().map(explained).collect();
        assert_eq!(all.len(), FailureCode::ALL.len());
    }
}
