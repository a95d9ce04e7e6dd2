//! The promise: every row of a book is answered or accounted for, and nothing is paid for twice, whatever happens to
//! the input between two runs and whatever the service replies. These tests run the real pipeline, ledger and simulator
//! over TCP.

mod answer_output;
mod bad_rows;
mod book;
mod carried_values;
mod changed_rows;
mod checks;
mod clean_values;
mod corrected_requests;
mod corrected_rules;
mod corrections;
mod datasets;
mod dialects;
mod expectations;
mod failures_csv;
mod identity;
mod images;
mod input;
mod input_formats;
mod later_runs;
mod moved_service;
mod outputs;
mod pages;
mod push_back;
mod refusals;
mod replies;
mod sandbox;
mod shared_rate;
mod sides;
mod typed_columns;
mod unterminated_line;
mod whose_fault;
mod wrong_corrections;
