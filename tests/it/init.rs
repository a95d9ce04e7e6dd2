//! The promise: `rescreen init` writes a campaign file that `plan` reads, names why each column was chosen, leaves open
//! what it cannot know, and repeats no value of the list.

mod decisions;
mod hostile_headers;
mod layouts;
mod named_columns;
mod nothing_repeated;
mod real_lists;
mod sample_lists;

/// The lines of a campaign file that are settings.
fn settings(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect()
}

/// Whether a campaign file sets this.
#[track_caller]
fn sets(text: &str, line: &str) {
    assert!(settings(text).contains(&line), "expected `{line}` in:\n{text}");
}
